"""Checks of arguments (machine, motion, poses, drives), and a kernel's negative status as an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import (
    ArgumentError,
    AssemblyModeError,
    ConvergenceError,
    KinematicsError,
    ShapeError,
    SingularPoseError,
)
from pkm_description.kernels import model
from pkm_description.machine import Machine, PlatformMotion

P = ParamSpec('P')
#: no wrench of the surroundings, for all samples
NO_WRENCH = np.zeros((1, 6))


def require_machine(machine: object, argument: str = 'the first argument') -> None:
    """Refuse what is no machine, such as a motion or a name, with a text that says what to give."""
    if not isinstance(machine, Machine):
        raise ArgumentError(f'{argument} is {_kind_of(machine)}, expected the Machine that load_machine returns')


def require_motion(motion: object) -> None:
    """Refuse what is no platform motion."""
    if not isinstance(motion, PlatformMotion):
        raise ArgumentError(f'motion is {_kind_of(motion)}, expected a PlatformMotion')


def require_machine_and_motion(machine: object, motion: object) -> None:
    """Check the first two arguments of a function of motion."""
    require_machine(machine)
    require_motion(motion)


def _kind_of(value: object) -> str:
    """What a value is, in the words of an error message."""
    if isinstance(value, str):
        return f'the name {value!r}'
    if isinstance(value, Path):
        return f'the path {str(value)!r}'
    shape = f' of shape {value.shape}' if isinstance(value, np.ndarray) else ''
    return f'a {type(value).__name__}{shape}'


def require_platform(machine: Machine, instead: str) -> None:
    """Refuse open chains; ``instead`` names the function that serves them."""
    if not machine.has_platform:
        raise KinematicsError(f'{machine.name} is an open chain, it has no platform: use {instead}')


def require_drives(machine: Machine) -> None:
    """Refuse machines whose drives are fewer than the degrees of freedom."""
    if machine.actuated_count < machine.degrees_of_freedom:
        raise KinematicsError(
            f'{machine.name} has {machine.actuated_count} drives for {machine.degrees_of_freedom} degrees of freedom: '
            'its drives do not determine the motion'
        )


def numbers(name: str, values: Array, expected: str) -> Array:
    """Values as an array of floats.

    Raises
    ------
    ArgumentError
        Something that is no array of numbers, such as a machine or a motion.
    """
    if isinstance(values, np.ndarray) and values.dtype == float:
        return values
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f'{name} is {_kind_of(values)}, expected numbers of shape {expected}') from None


def poses(position: Array, rotation_base_platform: Array) -> tuple[Array, Array, bool]:
    """Poses (N, 3), (N, 3, 3), and whether a single one (3,), (3, 3) was given.

    Raises
    ------
    ShapeError
        Other shapes, or another number of positions than of rotations.
    """
    position = numbers('position', position, '(N, 3) or (3,)')
    rotation = numbers('rotation_base_platform', rotation_base_platform, '(N, 3, 3) or (3, 3)')
    if position.ndim not in (1, 2) or position.shape[-1] != 3:
        raise ShapeError('position', '(N, 3) or (3,)', position.shape)
    expected = (*position.shape, 3)
    if rotation.shape != expected:
        wanted = f'{expected} beside a position of shape {position.shape}'
        raise ShapeError('rotation_base_platform', wanted, rotation.shape)
    if position.ndim == 1:
        return position[None], rotation[None], True
    return position, rotation, False


def drives(machine: Machine, positions: Array) -> tuple[Array, bool]:
    """Positions of the drives (N, A), and whether a single set (A,) was given; raises ShapeError."""
    count = machine.actuated_count
    expected = f'(N, {count}) or ({count},): one column per drive'
    positions = numbers('drive_positions', positions, expected)
    if positions.ndim not in (1, 2) or positions.shape[-1] != count:
        raise ShapeError('drive_positions', expected, positions.shape)
    return np.atleast_2d(positions), positions.ndim == 1


def of_samples(name: str, values: Array, count: int, width: int) -> Array:
    """Values (N, K) that stand beside N poses, or (K,) beside one; raises ShapeError."""
    expected = f'({count}, {width})' + (f' or ({width},)' if count == 1 else '')
    values = numbers(name, values, expected)
    if values.shape == (count, width):
        return values
    if count == 1 and values.shape == (width,):
        return values[None]
    raise ShapeError(name, expected, values.shape)


def columns(name: str, values: Array, width: int, meaning: str) -> Array:
    """Values (N, K) of N samples in order; raises ShapeError."""
    expected = f'(N, {width}): one column per {meaning}'
    values = numbers(name, values, expected)
    if values.ndim != 2 or values.shape[1] != width:
        raise ShapeError(name, expected, values.shape)
    return values


def packed_wrench(external_wrench: Array | None, count: int) -> Array:
    """Wrench of the surroundings as kernels take it: one (1, 6) for all samples, or (N, 6); raises ShapeError."""
    if external_wrench is None:
        return NO_WRENCH
    if np.shape(external_wrench) not in ((6,), (count, 6)):
        raise ShapeError('external_wrench', f'({count}, 6) or (6,)', np.shape(external_wrench))
    return packed(external_wrench).reshape(-1, 6)


def of_poses(
    function: Callable[Concatenate[Machine, Array, Array, P], Array],
) -> Callable[Concatenate[Machine, Array, Array, P], Array]:
    """Let a function of poses (N, 3), (N, 3, 3) take a single one too, with a result that has no sample axis then."""

    @wraps(function)
    def checked(
        machine: Machine, position: Array, rotation_base_platform: Array, *args: P.args, **kwargs: P.kwargs
    ) -> Array:
        require_machine(machine)
        position, rotation, single = poses(position, rotation_base_platform)
        result = function(machine, position, rotation, *args, **kwargs)
        return np.asarray(result[0]) if single else result

    return checked


_FROM_DRIVES = 'make the motion from the drives (motion_from_drives)'
#: status of a kernel -> kind of the error, and what it says
_ERRORS: dict[int, tuple[type[KinematicsError], str]] = {
    model.NOT_FINITE: (KinematicsError, 'the platform pose contains NaN or infinity, no leg can be closed'),
    model.LEG_SINGULAR: (
        SingularPoseError,
        '{leg} is stretched or folded (relative size of its joint directions {value:.3g}): its joints cannot follow '
        'the platform',
    ),
    model.UNIVERSAL_SINGULAR: (
        SingularPoseError,
        '{leg} lies along its first universal axis (sine of the angle {value:.3g}, at least 0.001 needed)',
    ),
    model.DRIVES_SINGULAR: (
        SingularPoseError,
        'the Jacobian of the drives is singular (condition number {value:.3g}), no drive forces can hold the platform '
        'here',
    ),
    model.CONSTRAINTS_SINGULAR: (
        SingularPoseError,
        'the legs leave the platform {value:.0f} degrees of freedom here, at home they leave {freedoms}: the platform '
        'can move otherwise than its legs admit',
    ),
    model.NOT_ADMITTED: (
        KinematicsError,
        '{name} does not admit this velocity (constraint {row} is violated by {value:.3g}); ' + _FROM_DRIVES,
    ),
    model.OTHER_BRANCH: (
        AssemblyModeError,
        '{leg} reaches its platform joint only on another branch than at home (elbow or strut turned over): it would '
        'have to pass its own singular position',
    ),
    model.UNDECIDED_BRANCH: (
        AssemblyModeError,
        '{leg} closes in several ways that differ by {value:.3g} rad or m and more, and on the straight path from home '
        'it passes its own singular position, so home does not tell which; begin a sequence nearer to home, or take '
        'another pose',
    ),
    model.NOT_REACHED: (KinematicsError, '{leg} misses its platform joint by {value:.3g} m: it is out of reach'),
    model.OUT_OF_PLANE: (
        KinematicsError,
        '{name} moves in a plane; this pose leaves it by {value:.3g} m and tilts by {tilt:.3g} rad',
    ),
    model.MOTION_NOT_FINITE: (KinematicsError, 'a velocity, acceleration or force contains NaN or infinity'),
    model.FRICTION_NOT_SETTLED: (
        ConvergenceError,
        'friction and the forces in the joints do not settle, the loads still change by {value:.3g} N; a joint locks '
        'itself, its friction coefficient is too large for this pose',
    ),
    model.MASS_SINGULAR: (
        SingularPoseError, 'a freedom of {name} moves no mass, its acceleration is not determined',
    ),
    model.DRIVES_DISAGREE: (
        KinematicsError,
        '{name} has more drives than degrees of freedom, and what they are told does not fit together: {drive} is off '
        'by {value:.3g}; take rates and accelerations from a motion of the platform',
    ),
}  # fmt: skip


def run_kernel(machine: Machine, kernel: Callable[..., int], *arguments: object) -> None:
    """Call a kernel on this thread's memory; raises the error of a negative status as :func:`require_ok` does."""
    data, scratch = machine.scratch
    status = kernel(machine.compiled_model, scratch, *arguments)
    if status < 0:
        require_ok(machine, status, data.detail)


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
    kind, reason = _ERRORS.get(result, (ConvergenceError, 'the iterations do not close the loops'))
    told = {
        'name': machine.name, 'leg': leg, 'value': value, 'tilt': float(detail[3]), 'row': int(detail[1]) + 1,
        'freedoms': machine.degrees_of_freedom,
    }  # fmt: skip
    if result == model.NOT_REACHED and holds_platform(machine):
        reason = '{leg} misses its platform joint by {value:.3g} m: the legs do not admit this pose; ' + _FROM_DRIVES
    if result == model.DRIVES_DISAGREE:
        told['drive'] = machine.actuated_joint_names[int(detail[1])]
    raise kind(f'{sample}: {reason.format(**told)}')


def holds_platform(machine: Machine) -> bool:
    """Whether legs take freedom from the platform (3-RPS), so that they admit some poses only."""
    return int(machine.model.degrees_of_freedom[0]) < len(machine.model.freedom)
