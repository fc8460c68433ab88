"""What a kernel's negative status means, as the error that the user sees."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.errors import AssemblyModeError, ConvergenceError, KinematicsError, SingularPoseError
from pkm_description.kernels import status
from pkm_description.machine import Machine


def require_ok(machine: Machine, result: int, detail: Array) -> None:
    """Raise the error of a negative status.

    Parameters
    ----------
    result : what the kernel returned
    detail : (4,) ``scratch.detail``: sample, leg or row, and a number that says how far off

    Raises
    ------
    SingularPoseError, AssemblyModeError, ConvergenceError, KinematicsError
        Naming sample, leg and number.
    """
    if result >= 0:
        return
    sample, value = f'sample {int(detail[0])}', float(detail[2])
    leg = machine.legs[int(detail[1])].name if 0 <= detail[1] < len(machine.legs) else ''
    if result == status.NOT_FINITE:
        raise KinematicsError(f'{sample}: the platform pose contains NaN or infinity, no leg can be closed')
    if result == status.LEG_SINGULAR:
        raise SingularPoseError(
            f'{sample}: {leg} is stretched or folded (relative size of its joint directions {value:.3g}): its joints '
            'cannot follow the platform'
        )
    if result == status.UNIVERSAL_SINGULAR:
        raise SingularPoseError(
            f'{sample}: {leg} lies along its first universal axis (sine of the angle {value:.3g}, at least 0.001 '
            'needed)'
        )
    if result == status.DRIVES_SINGULAR:
        raise SingularPoseError(
            f'{sample}: the Jacobian of the drives is singular (condition number {value:.3g}), no drive forces can '
            'hold the platform here'
        )
    if result == status.CONSTRAINTS_SINGULAR:
        raise SingularPoseError(
            f'{sample}: the legs leave the platform {int(value)} degrees of freedom here, at home they leave '
            f'{machine.degrees_of_freedom}: the platform can move otherwise than its legs admit'
        )
    if result == status.NOT_ADMITTED:
        raise KinematicsError(
            f'{sample}: {machine.name} does not admit this velocity (constraint {int(detail[1]) + 1} is violated by '
            f'{value:.3g}); make the motion from the drives (motion_from_drives)'
        )
    if result == status.OTHER_BRANCH:
        raise AssemblyModeError(
            f'{sample}: {leg} reaches its platform joint only on another branch than at home (elbow or strut turned '
            'over): it would have to pass its own singular position'
        )
    if result == status.NOT_REACHED:
        reason = (
            'the legs do not admit this pose; make the motion from the drives (motion_from_drives)'
            if holds_platform(machine)
            else 'it is out of reach'
        )
        raise KinematicsError(f'{sample}: {leg} misses its platform joint by {value:.3g} m: {reason}')
    if result == status.OUT_OF_PLANE:
        raise KinematicsError(
            f'{sample}: {machine.name} moves in a plane; this pose leaves it by {value:.3g} m and tilts by '
            f'{float(detail[3]):.3g} rad'
        )
    if result == status.MOTION_NOT_FINITE:
        raise KinematicsError(f'{sample}: a velocity, acceleration or force contains NaN or infinity')
    if result == status.FRICTION_NOT_SETTLED:
        raise ConvergenceError(
            f'{sample}: friction and the forces in the joints do not settle, the loads still change by {value:.3g} N; '
            'a joint locks itself, its friction coefficient is too large for this pose'
        )
    if result == status.MASS_SINGULAR:
        raise SingularPoseError(
            f'{sample}: a freedom of {machine.name} moves no mass, its acceleration is not determined'
        )
    if result == status.DRIVES_DISAGREE:
        drive = machine.actuated_joint_names[int(detail[1])]
        raise KinematicsError(
            f'{sample}: {machine.name} has more drives than degrees of freedom, and what they are told does not fit '
            f'together: {drive} is off by {value:.3g}; take rates and accelerations from a motion of the platform'
        )
    raise ConvergenceError(f'{sample}: the iterations do not close the loops')


def holds_platform(machine: Machine) -> bool:
    """Whether legs take freedom from the platform (3-RPS), so that they admit some poses only."""
    return int(machine.model.degrees_of_freedom[0]) < len(machine.model.freedom)
