"""Checks of a reference before anything moves (Heimann & Abdellatif on their hydraulic hexapod; R4-05)."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics import JointMotion, joint_motion
from pkm_description.kinematics.joint_limits import Limit, LimitedQuantity, LimitViolation
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.limits import check_motion, worst_violation
from pkm_description.motion.recorded_poses import QuinticInterpolator

#: s, longest distance of knots that need no check of passive joints in between
_LONG_STEP = 0.03

#: m, rad and their rates, by which a polynomial between two knots on a limit may pass it
_ROUNDING = 1e-9


class ReferenceRefusedError(PkmError):
    """A reference motion that the machine cannot or must not follow."""


def check_reference(machine: Machine, motion: PlatformMotion) -> JointMotion:
    """Check a motion against all limits: strokes, passive joints, ball joints, speeds and drive forces.

    Knots that lie further apart than 30 ms are interpolated for the check, except on machines whose legs admit some
    poses only: what :class:`LegReference` makes between the knots of these is checked drive by drive.

    Parameters
    ----------
    machine : the machine
    motion : knots

    Returns
    -------
    JointMotion
        The joint motion at the knots.

    Raises
    ------
    ReferenceRefusedError
        Names the joint, the limit and the time of the worst excess.
    """
    check_knots(motion)
    _refuse(check_motion(machine, motion))
    if len(motion) > 1 and np.diff(motion.time).max() > _LONG_STEP and not machine.legs_hold_platform:
        count = round(np.ceil((motion.time[-1] - motion.time[0]) / _LONG_STEP)) + 1
        times = np.linspace(motion.time[0], motion.time[-1], count)
        _refuse(check_motion(machine, QuinticInterpolator(motion).evaluate(times)))
    return joint_motion(machine, motion)


def check_drives(machine: Machine, time: Array, positions: Array, rates: Array) -> None:
    """Check positions and rates (N, A) of the drives at times (N,) s against their limits.

    Raises
    ------
    ReferenceRefusedError
        Names the drive, the limit and the time of the worst excess.
    """
    joints = machine.actuated_joints
    names = machine.drive_labels, machine.actuated_joint_names
    turning = [joint.kind == 'revolute' for joint in joints]
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in joints]).T
    fastest = np.array([joint.limits.velocity for joint in joints])
    found: list[LimitViolation] = []
    quantities: tuple[tuple[Limit, str, str, Array, Array, Array], ...] = (
        ('position', 'm', 'rad', positions, lower, upper),
        ('speed', 'm/s', 'rad/s', rates, -fastest, fastest),
    )
    for limit, linear, angular, values, low, high in quantities:
        units = tuple(angular if turns else linear for turns in turning)
        quantity = LimitedQuantity(limit, *names, units, values, low - _ROUNDING, high + _ROUNDING)
        found += quantity.violations(time)
    _refuse(found)


def check_knots(motion: PlatformMotion, from_rest: bool = True) -> None:
    """Check that knots can be interpolated, and that the motion begins (``from_rest``) and ends at rest.

    Raises
    ------
    ReferenceRefusedError
        Names the knot.
    """
    if len(motion) == 0:
        raise ReferenceRefusedError('the reference has no points')
    for name in motion.__dataclass_fields__:
        values = getattr(motion, name)
        bad = ~np.isfinite(values.reshape(len(motion), -1)).all(axis=1)
        if bad.any():
            raise ReferenceRefusedError(f'point {int(np.argmax(bad))} of the reference: {name} is not finite')
    steps = np.diff(motion.time)
    if (steps <= 0.0).any():
        raise ReferenceRefusedError(
            f'point {int(np.argmax(steps <= 0.0)) + 1} of the reference is not later than the one before it'
        )
    for place, where in ((0, 'first'), (-1, 'last')) if from_rest else ((-1, 'last'),):
        speed = float(np.abs(motion.twist[place]).max())
        if speed > 1e-3:
            raise ReferenceRefusedError(
                f'the {where} point of the reference moves ({speed:.4f} m/s or rad/s); references begin and end at rest'
            )


def _refuse(violations: list[LimitViolation]) -> None:
    if violations:
        worst = worst_violation(violations)
        raise ReferenceRefusedError(f'{worst} at t = {worst.time:.3f} s; reduce amplitude or frequency')
