"""The machine: its parts, and their parameters as arrays."""

from pkm_description.lazy_names import exported
from pkm_description.machine.machine import Freedom, Machine, PlatformMotion
from pkm_description.machine.parts import (
    INERTIAL_PARAMETERS,
    Closure,
    Joint,
    JointFriction,
    JointLimits,
    Leg,
    Pose,
    RigidBody,
)
from pkm_description.machine.sensors import NO_IMU, NO_LEG_SENSORS, NO_SERVO, ImuSensor, LegSensors, ServoGains
from pkm_description.machine.tolerances import Tolerances

__all__ = exported(globals())
