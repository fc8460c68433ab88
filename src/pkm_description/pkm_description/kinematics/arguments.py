"""Checks of the arguments (machine, motion, poses, drives), and support of single poses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, KinematicsError, ShapeError
from pkm_description.machine import Machine, PlatformMotion

P = ParamSpec('P')


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


def require_wrench(external_wrench: Array | None, count: int) -> None:
    """Refuse an external wrench that is neither one (6,) for all samples nor one per sample (N, 6)."""
    if external_wrench is not None and np.shape(external_wrench) not in ((6,), (count, 6)):
        raise ShapeError('external_wrench', f'({count}, 6) or (6,)', np.shape(external_wrench))


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
