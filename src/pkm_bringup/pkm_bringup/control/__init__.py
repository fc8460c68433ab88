"""Leg control: references, the servo that follows them, and commanded forces; without ROS."""

from pkm_bringup.control.effort_commands import CommandError, EffortCommands
from pkm_bringup.control.leg_reference import (
    FEEDFORWARD_MODES,
    LegReference,
    ReferenceRefusedError,
    check_reference,
)
from pkm_bringup.control.leg_servo import LegServo
from pkm_bringup.control.reference_plan import ReferencePlan
from pkm_bringup.control.servo_gains import gains_for_delay

__all__ = [
    'FEEDFORWARD_MODES',
    'CommandError',
    'EffortCommands',
    'LegReference',
    'LegServo',
    'ReferencePlan',
    'ReferenceRefusedError',
    'check_reference',
    'gains_for_delay',
]
