"""Random states of a machine, for base parameters and tests."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.closed_legs import close_legs, mean_leg_length
from pkm_description.kinematics.drive_motion import motion_from_drives
from pkm_description.kinematics.drives import drive_positions
from pkm_description.kinematics.failures import holds_platform
from pkm_description.kinematics.joint_motion import require_legs
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion

#: how often the range is halved until the legs reach every state
_HALVINGS = 8


def random_states(
    machine: Machine, count: int, seed: int = 0, turn: float = 0.25, move: float = 0.12
) -> PlatformMotion:
    """Unrelated random states around home that the machine admits.

    Free and planar platforms: random poses, velocities and accelerations of the platform. Platforms that their legs
    hold (3-RPS): random positions, velocities and accelerations of the drives. Where a leg does not reach all of them,
    the range of positions is halved until it does.

    Parameters
    ----------
    turn : rad, range of rotations, and of drives that turn
    move : range of positions, and of sliding drives, as a fraction of the mean leg length at home

    Raises
    ------
    KinematicsError
        For open chains (see :func:`random_joint_states`), or if even tiny ranges fail.
    """
    require_legs(machine)
    for halving in range(_HALVINGS):
        shrink = 0.5**halving
        try:
            if holds_platform(machine):
                return _states_of_drives(machine, count, seed, shrink * turn, shrink * move)
            states = _states_of_platform(machine, count, seed, shrink * turn, shrink * move)
            if not machine.model.closed_form.all():
                close_legs(machine, states.position, states.rotation_base_platform)
        except KinematicsError:
            if halving == _HALVINGS - 1:
                raise
        else:
            return states
    raise AssertionError('unreachable')


def random_joint_states(
    machine: Machine, count: int, seed: int = 0, turn: float = 0.8
) -> tuple[Array, Array, Array]:
    """Random joint positions, velocities and accelerations (N, J) around home, for open chains."""
    random = np.random.default_rng(seed)
    shape = (count, len(machine.joints))
    positions = machine.home_positions + random.uniform(-turn, turn, shape)
    return positions, random.uniform(-1.0, 1.0, shape), random.uniform(-5.0, 5.0, shape)


def _states_of_platform(machine: Machine, count: int, seed: int, turn: float, move: float) -> PlatformMotion:
    home, reach = machine.home, move * mean_leg_length(machine)
    random = np.random.default_rng(seed)
    # of planar machines only x, y and the turn about z
    linear, angular = ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0]) if machine.planar else (np.ones(3), np.ones(3))

    def uniform(size: float, components: Array | list[float]) -> Array:
        return random.uniform(-size, size, (count, 3)) * components

    return PlatformMotion(
        time=np.arange(count, dtype=float),
        position=home.position + uniform(reach, linear),
        rotation_base_platform=rotation_exp(uniform(turn, angular)) @ home.rotation_base_platform,
        linear_velocity=uniform(1.0, linear),
        angular_velocity=uniform(1.0, angular),
        linear_acceleration=uniform(5.0, linear),
        angular_acceleration=uniform(5.0, angular),
    )


def _states_of_drives(machine: Machine, count: int, seed: int, turn: float, move: float) -> PlatformMotion:
    home, random = machine.home, np.random.default_rng(seed)
    at_home = drive_positions(machine, home.position, home.rotation_base_platform)
    slide = move * mean_leg_length(machine)
    size = np.array([slide if joint.kind == 'prismatic' else turn for joint in machine.actuated_joints])
    shape = (count, machine.actuated_count)
    return motion_from_drives(
        machine,
        np.arange(count, dtype=float),
        at_home + random.uniform(-size, size, shape),
        random.uniform(-1.0, 1.0, shape),
        random.uniform(-5.0, 5.0, shape),
    )
