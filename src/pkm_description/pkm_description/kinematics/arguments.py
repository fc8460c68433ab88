"""Checks of what functions of motion are given, and the single pose in the place of many."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, KinematicsError, ShapeError
from pkm_description.machine import Machine, PlatformMotion

P = ParamSpec('P')


def require_machine(machine: object) -> None:
    """Refuse what is no machine, such as a motion or a name, with a text that says what to give."""
    if isinstance(machine, Machine):
        return
    what = f'the name {machine!r}' if isinstance(machine, str) else f'a {type(machine).__name__}'
    raise ArgumentError(f'the first argument is {what}, expected the Machine that load_machine returns')


def require_motion(motion: object) -> None:
    """Refuse what is no platform motion."""
    if not isinstance(motion, PlatformMotion):
        shape = f' of shape {motion.shape}' if isinstance(motion, np.ndarray) else ''
        raise ArgumentError(f'motion is a {type(motion).__name__}{shape}, expected a PlatformMotion')


def require_platform(machine: Machine, instead: str) -> None:
    """Refuse open chains; ``instead`` names the function that serves them."""
    if not machine.has_platform:
        raise KinematicsError(f'{machine.name} is an open chain, it has no platform: use {instead}')


def poses(position: Array, rotation_base_platform: Array) -> tuple[Array, Array, bool]:
    """Poses (N, 3), (N, 3, 3), and whether a single one (3,), (3, 3) was given.

    Raises
    ------
    ShapeError
        Other shapes, or another number of positions than of rotations.
    """
    position = np.asarray(position, dtype=float)
    rotation = np.asarray(rotation_base_platform, dtype=float)
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
    positions = np.asarray(positions, dtype=float)
    count = machine.actuated_count
    if positions.ndim not in (1, 2) or positions.shape[-1] != count:
        raise ShapeError('drive_positions', f'(N, {count}) or ({count},): one column per drive', positions.shape)
    return np.atleast_2d(positions), positions.ndim == 1


def of_samples(name: str, values: Array, count: int, width: int) -> Array:
    """Values (N, K) that stand beside N poses, or (K,) beside one; raises ShapeError."""
    values = np.asarray(values, dtype=float)
    if values.shape == (count, width):
        return values
    if count == 1 and values.shape == (width,):
        return values[None]
    raise ShapeError(name, f'({count}, {width})' + (f' or ({width},)' if count == 1 else ''), values.shape)


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
