"""Leg control: references, the servo that follows them and stops safely, and commanded forces; without ROS."""

from pkm_description.lazy_names import exported

from pkm_bringup.control.axis_controllers import AxisControllers, CommandError, EffortCommands
from pkm_bringup.control.leg_reference import LegReference
from pkm_bringup.control.leg_servo import LegServo, ServoState, TrippedError
from pkm_bringup.control.reference_check import ReferenceRefusedError, check_reference
from pkm_bringup.control.reference_plan import ReferencePlan
from pkm_bringup.control.servo_settings import FEEDFORWARD_MODES, BeliefSettings, ServoSettings, gains_for_delay

__all__ = exported(globals())
