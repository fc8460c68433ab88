"""What a leg servo does, and the error of one that has stopped."""

from __future__ import annotations

from enum import Enum

from pkm_bringup.control.reference_check import ReferenceRefusedError


class ServoState(Enum):
    """All but the first follow a trip and end with :meth:`LegServo.reset`."""

    FOLLOWING = 'following'
    BRAKING = 'braking'
    HOLDING = 'holding'
    #: the position loop failed while braking or holding: weight and damping only
    DAMPED = 'damped'
    #: damping made the machine faster (a wrong sign, a broken sensor): no force
    RELEASED = 'released'


class TrippedError(ReferenceRefusedError):
    """The servo has stopped the machine and takes no motion until it is reset."""
