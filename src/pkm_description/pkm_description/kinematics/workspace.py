"""Workspace: limits that poses violate, ranges along single axes; random states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.arguments import holds_platform, require_machine, require_machine_and_motion
from pkm_description.kinematics.closed_legs import close_legs, mean_leg_length
from pkm_description.kinematics.drive_map import branch_signs, motion_from_drives
from pkm_description.kinematics.joint_limits import LimitViolation, position_limits, tilt_limits
from pkm_description.kinematics.joint_motion import drive_positions, require_legs
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion

#: random numbers of N states, (N, ...) each
Draws = tuple[Array, ...]

#: how often the range is halved until the legs reach most states
_HALVINGS = 8
#: poses of one scan along an axis; finer scans inside narrow the limit down
_SCAN = 101


def position_violations(machine: Machine, motion: PlatformMotion) -> list[LimitViolation]:
    """Every joint of every sample outside of its position limits, ball joints' cones too, in order of samples.

    Parameters
    ----------
    motion : poses to check; velocities do not matter

    Raises
    ------
    KinematicsError
        A pose that the legs cannot reach or do not admit.
    SingularPoseError
        A leg lies on its first universal axis.
    """
    require_machine_and_motion(machine, motion)
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    found = position_limits(machine, legs.positions).violations(motion.time)
    found += tilt_limits(machine, legs, len(motion)).violations(motion.time)
    return sorted(found, key=lambda one: one.sample)


def free_axes(machine: Machine) -> tuple[int, ...]:
    """Axes along and about which the platform moves by itself: of x, y, z, about x, about y, about z (0 .. 5).

    All six of a free platform, three of a planar one; none where the legs couple them (3-RPS, 3-PRS, five-bar).
    """
    return () if holds_platform(machine) else tuple(machine.model.freedom.tolist())


def single_axis_limits(machine: Machine, margin: float = 0.0, tolerance: float = 1e-6) -> dict[int, Array]:
    """How far the platform moves from home along or about one axis at a time.

    Up to a joint's limit (passive joints and the cones of ball joints too), a leg's end, or a singular pose.

    Parameters
    ----------
    margin : m or rad to keep free at both ends of the drives' strokes
    tolerance : m and rad, of the bisection

    Returns
    -------
    dict
        Axis (see :func:`free_axes`) -> smallest and largest excursion (2,) m or rad, home pose being 0.
    """
    require_machine(machine)
    farthest = 4.0 * max(mean_leg_length(machine), float(machine.model.radius[0]))

    def reach(axis: int, sign: float) -> float:
        return _last_allowed(
            lambda steps: _poses_allowed(machine, axis, sign * steps, margin), np.pi if axis >= 3 else farthest,
            tolerance,
        )  # fmt: skip

    return {axis: np.array([-reach(axis, -1.0), reach(axis, 1.0)]) for axis in free_axes(machine)}


def _last_allowed(allowed: Callable[[Array], NDArray[np.bool_]], farthest: float, tolerance: float) -> float:
    """Largest step from 0 before the first that is not allowed: a scan finds it, finer ones inside narrow it down."""
    near, far = 0.0, farthest
    while far - near > tolerance:
        steps = np.linspace(near, far, _SCAN)
        bad = ~allowed(steps)
        if not bad.any():
            return far
        first = int(np.argmax(bad))
        if first == 0:
            return near
        near, far = float(steps[first - 1]), float(steps[first])
    return near


def _poses_allowed(machine: Machine, axis: int, steps: Array, margin: float) -> NDArray[np.bool_]:
    """Which poses along an axis break no limit; none after the first that a leg cannot reach."""
    home, direction = machine.home, np.zeros((len(steps), 6))
    direction[:, axis] = steps
    position, rotation = home.position + direction[:, :3], rotation_exp(direction[:, 3:]) @ home.rotation_base_platform
    closable, refused = 0, len(steps) + 1
    count = len(steps)
    # a batch closes as a whole or not at all: halve it to find the first pose that a leg cannot reach
    while refused - closable > 1:
        try:
            close_legs(machine, position[:count], rotation[:count])
            closable = count
        except KinematicsError:
            refused = count
        count = (closable + refused) // 2
    good = np.zeros(len(steps), dtype=bool)
    if closable:
        legs = close_legs(machine, position[:closable], rotation[:closable])
        joints = position_limits(machine, legs.positions)
        shrink = margin * np.array([joint.actuated for joint in machine.joints])
        outside = (joints.values < joints.lower + shrink) | (joints.values > joints.upper - shrink)
        outside_cones = tilt_limits(machine, legs, closable).outside()
        # beyond a singular pose the drives' determinant has another sign than at the first pose, which is allowed
        signs = branch_signs(legs)
        good[:closable] = ~outside.any(axis=1) & ~outside_cones.any(axis=1) & (signs * signs[0] > 0.0)
    return good


def random_states(
    machine: Machine, count: int, seed: int = 0, turn: float = 0.25, move: float = 0.12
) -> PlatformMotion:
    """Unrelated random states around home that the machine admits.

    Free and planar platforms: random poses, velocities and accelerations of the platform. Platforms that their legs
    hold (3-RPS): random positions, velocities and accelerations of the drives. States that a leg does not reach are
    drawn again; where these are most of them, the range of positions is halved.

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
    held = holds_platform(machine)
    draw, states = (_draw_drives, _states_of_drives) if held else (_draw_platform, _states_of_platform)
    for halving in range(_HALVINGS):
        random, shrink = np.random.default_rng(seed), 0.5**halving
        drawn = draw(machine, count, random, shrink * turn, shrink * move)
        try:
            return states(machine, *drawn)
        except KinematicsError as error:
            refused = error
        reached = _reached(machine, drawn, states)
        if 2 * len(reached[0]) < count:
            continue
        while len(reached[0]) < count:
            more = _reached(machine, draw(machine, count, random, shrink * turn, shrink * move), states)
            reached = tuple(np.concatenate(pair) for pair in zip(reached, more, strict=True))
        return states(machine, *(values[:count] for values in reached))
    raise refused


def _reached(machine: Machine, drawn: Draws, states: Callable[..., PlatformMotion]) -> Draws:
    """Rows of random numbers whose states the legs reach."""
    good = np.zeros(len(drawn[0]), dtype=bool)
    for row in range(len(good)):
        try:
            states(machine, *(values[row : row + 1] for values in drawn))
        except KinematicsError:
            continue
        good[row] = True
    return tuple(values[good] for values in drawn)


def random_joint_states(machine: Machine, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random joint positions, velocities and accelerations (N, J) around home, for open chains."""
    random = np.random.default_rng(seed)
    shape = (count, len(machine.joints))
    positions = machine.home_positions + random.uniform(-0.8, 0.8, shape)
    return positions, random.uniform(-1.0, 1.0, shape), random.uniform(-5.0, 5.0, shape)


def _draw_platform(machine: Machine, count: int, random: np.random.Generator, turn: float, move: float) -> Draws:
    """Move from home, turn from home, velocities and accelerations, (N, 3) each."""
    # of planar machines only x, y and the turn about z
    linear, angular = ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0]) if machine.planar else ([1.0] * 3, [1.0] * 3)
    reach = move * mean_leg_length(machine)
    sizes = ((reach, linear), (turn, angular), (1.0, linear), (1.0, angular), (5.0, linear), (5.0, angular))
    return tuple(random.uniform(-size, size, (count, 3)) * components for size, components in sizes)


def _states_of_platform(
    machine: Machine, move: Array, turn: Array, linear_velocity: Array, angular_velocity: Array,
    linear_acceleration: Array, angular_acceleration: Array,
) -> PlatformMotion:  # fmt: skip
    home = machine.home
    states = PlatformMotion(
        time=np.arange(len(move), dtype=float),
        position=home.position + move,
        rotation_base_platform=rotation_exp(turn) @ home.rotation_base_platform,
        linear_velocity=linear_velocity,
        angular_velocity=angular_velocity,
        linear_acceleration=linear_acceleration,
        angular_acceleration=angular_acceleration,
    )
    if not machine.model.closed_form.all():
        close_legs(machine, states.position, states.rotation_base_platform)
    return states


def _draw_drives(machine: Machine, count: int, random: np.random.Generator, turn: float, move: float) -> Draws:
    """Move of the drives from home, velocities and accelerations, (N, A) each."""
    slide = move * mean_leg_length(machine)
    size = np.array([slide if joint.kind == 'prismatic' else turn for joint in machine.actuated_joints])
    shape = (count, machine.actuated_count)
    return tuple(random.uniform(-most, most, shape) for most in (size, 1.0, 5.0))


def _states_of_drives(machine: Machine, move: Array, velocity: Array, acceleration: Array) -> PlatformMotion:
    home = machine.home
    at_home = drive_positions(machine, home.position, home.rotation_base_platform)
    return motion_from_drives(machine, np.arange(len(move), dtype=float), at_home + move, velocity, acceleration)
