"""Checks at the home pose: the legs reach their platform joints and hold the platform."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.errors import KinematicsError
from pkm_description.kernels.kinematics.closures import closure_gaps
from pkm_description.kernels.kinematics.drive_map import admitted_twists, map_drives
from pkm_description.kernels.kinematics.pose import CLOSING_TOLERANCE, pose_of_joints, start_at_home
from pkm_description.kinematics.arguments import holds_platform, require_ok
from pkm_description.kinematics.rotation import rotation_log
from pkm_description.loading.yaml_reader import (
    MILLIMETRES,
    bodies_with_keys,
    closure_key,
    closures_with_legs,
    joint_key,
    machine_error,
)
from pkm_description.machine import Machine, Pose
from pkm_description.machine.idle_freedoms import AtHome, close_together, nearest_closed

#: rad, by which the platform must be able to move from home (times its radius: m)
_STEP = 0.05

#: axes of the closure frames that must point the same way
_SAME_WAY = {'ball': (), 'universal': (), 'pin': (2,), 'fixed': (0, 2)}


def check_closed_the_right_way(machine: Machine) -> None:
    """Pins and fixed ends close at home with axes that point the same way, not turned over.

    Raises
    ------
    MachineFileError
        Naming the closure.
    """
    model = machine.model
    rotations = AtHome.of(model).placed().memory.rotation
    for number, (leg, closure) in enumerate(closures_with_legs(machine)):
        here = rotations[model.closure_body[number]] @ closure.rotation_body
        there = rotations[model.closure_other[number]] @ closure.rotation_other
        for axis in _SAME_WAY[closure.kind]:
            if here[:, axis] @ there[:, axis] < 0.0:
                raise machine_error(
                    machine, closure_key(leg, closure), None,
                    f'{closure.name} is closed turned over at home: the {"xyz"[axis]} axes of its frames on '
                    f'{closure.body} and {closure.other} point opposite ways; turn rpy or to_rpy by half a turn',
                )  # fmt: skip


def check_mobility(machine: Machine) -> None:
    """Loops that close at home must close beside it, too: more equations than freedoms may do so by luck only.

    Raises
    ------
    MachineFileError
        Naming the freedoms that end at once.
    """
    constraints = machine.constraint_count
    if constraints == 6 - machine.degrees_of_freedom:
        return  # as many equations as they take freedoms: regular at home, so movable
    home = AtHome.of(machine.model)
    memory, scratch = machine.scratch
    admitted_twists(machine.compiled_model, scratch)
    twists = memory.admitted[:, : machine.degrees_of_freedom].copy()
    for twist in twists.T:
        # the basis has length 1 in metres and in radians times the radius
        step = _STEP * machine.model.radius[0] * twist
        gap, moved = _beside_home(home, step)
        if gap > CLOSING_TOLERANCE or moved < 0.5:
            raise machine_error(
                machine, 'legs', [leg.name for leg in machine.legs],
                f'the loops close at home only: by their equations there the platform has {machine.degrees_of_freedom} '
                f'degrees of freedom, but it cannot move on along {np.round(twist, 3).tolist()} (m, rad). Legs that '
                'hold the same freedom twice need exact geometry (axes parallel, or through one point), or closures '
                'that hold less',
            )  # fmt: skip


def _beside_home(home: AtHome, twist: Array) -> tuple[float, float]:
    """Move the platform by a small twist and bring it and the joints together again, by the shortest way.

    Returns
    -------
    Largest gap that is left [m, 1], and the part of the twist that is left.
    """
    model, start = home.model, Pose(home.model.home_position, home.model.home_rotation)
    home.at(model.home_joints, start).move(np.zeros(len(model.kind)), twist)
    for leg in range(len(model.closed_form)):
        nearest_closed(home, leg)  # so that the shortest way on is not the way back
    gap, pose = close_together(home), home.pose
    turn = rotation_log(pose.rotation_base_platform @ start.rotation_base_platform.T)
    scale = np.repeat([1.0, model.radius[0]], 3) ** 2
    went = np.concatenate([pose.position - start.position, turn])
    return gap, float((went * scale) @ twist / ((twist * scale) @ twist))


#: condition number of the drives' Jacobian (rotations scaled by the platform's radius) at home that is refused
MAX_CONDITION = 1e3

#: ratio of two lengths of one machine beyond which one of them is in millimetres
_UNIT_RATIO = 20.0

#: ratio of a centre of mass, IMU place or radius of gyration to the legs beyond which its unit is another one
_BODY_RATIO = 3.0


def check_home(machine: Machine) -> None:
    """Check the graph, lengths, drives, condition, joint limits and drive forces at home.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    try:
        _ = machine.model
    except KinematicsError as error:
        raise machine_error(machine, _chains_key(machine), None, str(error)) from None
    if not machine.has_platform:
        _check_positions(machine, machine.home_positions)
        return
    _check_platform_points(machine)
    _check_strokes(machine)
    _check_sizes(machine)
    if machine.planar:
        check_plane(machine)
    check_closed_the_right_way(machine)
    _check_closed(machine)
    check_mobility(machine)
    _check_drive_count(machine)
    _check_condition(machine)
    _check_positions(machine, machine.model.home_joints)
    _check_forces(machine)


def _chains_key(machine: Machine) -> str:
    return 'leg_chains' if machine.legs[0].chain else 'leg_chain'


def _check_drive_count(machine: Machine) -> None:
    freedom, drives = machine.degrees_of_freedom, machine.actuated_count
    if freedom == 0:
        raise machine_error(
            machine, 'legs', [leg.name for leg in machine.legs],
            'the legs leave the platform no degree of freedom: it cannot move; take closures or legs away, or let '
            'closures hold less',
        )  # fmt: skip
    if drives < freedom:
        raise machine_error(
            machine, 'legs', [leg.name for leg in machine.legs],
            f'the legs leave the platform {freedom} degrees of freedom, but the number of drives is {drives}; one '
            'per degree of freedom is needed at least: set actuated: true for more joints, or let closures hold more',
        )  # fmt: skip
    if machine.drive_weights and not machine.is_redundant:
        raise machine_error(
            machine, 'drive_forces', list(machine.drive_weights),
            f'there are {drives} drives for {freedom} degrees of freedom, so their forces are determined; leave it out',
        )  # fmt: skip


def _leg_lengths(machine: Machine) -> Array:
    """Largest distance (L,) m from base joint to platform points at home."""
    position, turn = machine.home.position, machine.home.rotation_base_platform.T
    ends = [np.array([closure.other_point for closure in leg.platform_closures]) @ turn for leg in machine.legs]
    return np.array([
        np.linalg.norm(position + points - leg.base_point, axis=1).max()
        for leg, points in zip(machine.legs, ends, strict=True)
    ])  # fmt: skip


def _check_platform_points(machine: Machine) -> None:
    lengths = _leg_lengths(machine)
    for leg, length, is_strut in zip(machine.legs, lengths, machine.model.closed_form, strict=True):
        if is_strut and length == 0.0:
            reason = 'at home this leg has no length; move home or the joint points'
            raise machine_error(machine, f'legs.{leg.name}', 0.0, reason)
    ends = [closure for leg in machine.legs for closure in leg.platform_closures]
    points = np.array([closure.other_point for closure in ends])
    if not np.any(points) and all(closure.kind in ('ball', 'pin') for closure in ends):
        raise machine_error(
            machine, 'legs', points, 'all platform points lie in the platform origin; give their places'
        )


def _check_strokes(machine: Machine) -> None:
    """Every strut must reach its platform joint at home."""
    lengths = _leg_lengths(machine)
    for leg, length, is_strut in zip(machine.legs, lengths, machine.model.closed_form, strict=True):
        drive = leg.joints[-1]
        if not is_strut or not drive.actuated:
            continue
        shortest = leg.length_at_zero + drive.limits.lower
        longest = leg.length_at_zero + drive.limits.upper
        key = joint_key(machine, drive)
        if drive.limits.upper - drive.limits.lower > _UNIT_RATIO * length:
            stroke, at_home = [drive.limits.lower, drive.limits.upper], f'at home {leg.name} is {length:.6g} m long'
            raise machine_error(machine, f'{key}.limits', stroke, f'{MILLIMETRES} ({at_home})')
        if shortest <= length <= longest:
            continue
        ratio = length / max(abs(0.5 * (shortest + longest)), np.finfo(float).tiny)
        hint = 'change platform.home, the joint points or the stroke'
        if not 1.0 / _UNIT_RATIO < ratio < _UNIT_RATIO:
            hint = 'one of geometry and stroke looks like millimetres; give metres'
        raise machine_error(
            machine, f'legs.{leg.name}', float(length),
            f'at home this leg is {length:.6g} m long, outside of its stroke {shortest:.6g} to {longest:.6g} m; {hint}',
        )  # fmt: skip


def _check_sizes(machine: Machine) -> None:
    """Nothing may be a thousand times longer than the legs."""
    longest = float(_leg_lengths(machine).max())
    ends = [np.abs(closure.other_point).max() for leg in machine.legs for closure in leg.platform_closures]
    size = max(longest, *ends, machine.model.radius[0])
    vectors = [(f'{key}.center_of_mass', body.center_of_mass) for key, body in bodies_with_keys(machine)]
    if machine.has_imu:
        vectors.insert(0, ('sensors.imu.xyz', machine.imu.position))
    for key, vector in vectors:
        if np.abs(vector).max() > _BODY_RATIO * size:
            at_home = f'at home the legs are {longest:.6g} m long'
            raise machine_error(machine, key, vector, f'{MILLIMETRES} ({at_home})')
    for key, body in bodies_with_keys(machine):
        gyration = np.sqrt(np.linalg.eigvalsh(body.inertia)[-1] / body.mass) if body.mass else 0.0
        if gyration > _BODY_RATIO * size:
            raise machine_error(
                machine, f'{key}.inertia', body.inertia,
                f'with {body.mass:.6g} kg the radius of gyration is {gyration:.6g} m, at home the legs are '
                f'{longest:.6g} m long; give kg m^2 (CAD programs: kg mm^2, g mm^2), and the mass in kg',
            )  # fmt: skip


def _check_closed(machine: Machine) -> None:
    """The legs must close at home."""
    memory, scratch = machine.scratch
    model = machine.compiled_model
    start_at_home(model, scratch)
    home = machine.home
    status = pose_of_joints(model, scratch, home.position[None], home.rotation_base_platform[None], 0)
    try:
        require_ok(machine, status, memory.detail)
    except KinematicsError as error:
        raise machine_error(machine, *_not_closed_at_home(machine, error)) from None
    for index, leg in enumerate(machine.legs):
        gap = float(closure_gaps(model, scratch, index))
        if gap > CLOSING_TOLERANCE:
            missed = KinematicsError(f'{leg.name} misses its closures by {gap:.3g} m')
            raise machine_error(machine, *_not_closed_at_home(machine, missed))


def _not_closed_at_home(machine: Machine, error: KinematicsError) -> tuple[str, object, str]:
    """Key, value and reason of a home at which the legs do not close."""
    if not holds_platform(machine):
        return _chains_key(machine), None, f'{error} (at home)'
    reason = str(error).removeprefix('sample 0: ').split(':')[0]
    return (
        'platform.home', machine.home.position,
        f'{reason}: the legs do not admit this pose; new_machine --from {machine.path} solves the nearest one that '
        'they admit',
    )  # fmt: skip


def _check_condition(machine: Machine) -> None:
    """The drives must hold the platform at home, where the legs are mapped already."""
    memory, scratch = machine.scratch
    map_drives(machine.compiled_model, scratch)
    condition = float(memory.detail[2])
    if condition > MAX_CONDITION:
        raise machine_error(
            machine, 'platform.home', machine.home.position,
            # no more digits than rounding leaves
            f'singular pose: the legs do not hold the platform at home (condition number {min(condition, 1e16):.3g}, '
            f'at most {MAX_CONDITION:g}); parallel legs, or a platform of the same shape as the base, do that. '
            'Move home or the joint points',
        )  # fmt: skip


def _check_forces(machine: Machine) -> None:
    """The drives must hold the weight at home."""
    home = machine.home
    forces = gravity_forces(machine, home.position, home.rotation_base_platform)
    for drive, force in zip(machine.actuated_joints, forces, strict=True):
        if abs(force) > drive.limits.effort:
            unit = 'N' if drive.kind == 'prismatic' else 'N m'
            raise machine_error(
                machine, f'{joint_key(machine, drive)}.limits.effort', drive.limits.effort,
                f'{drive.name} would need {force:.6g} {unit} to hold the machine at home; '
                'give a stronger drive, or masses in kg and not in g',
            )  # fmt: skip


def _check_positions(machine: Machine, positions: Array) -> None:
    """Joint positions (J,) at home must lie within the limits."""
    for joint, position in zip(machine.joints, positions.tolist(), strict=True):
        lower, upper = joint.limits.lower, joint.limits.upper
        if not lower <= position <= upper:
            raise machine_error(
                machine, f'{joint_key(machine, joint)}.limits', [lower, upper],
                f'at home {joint.name} would be at {position:.4f}, its limits are {lower:.4f} and {upper:.4f}; change '
                'the limits (rad), base_rpy or platform.home',
            )  # fmt: skip


def check_plane(machine: Machine) -> None:
    """Every joint must keep its leg in the plane, and every closure must join bodies at the same height.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    home = AtHome.of(machine.model).placed()
    for joint, axis in zip(machine.joints, home.memory.axis, strict=True):
        off = float(np.linalg.norm(axis[:2])) if joint.kind == 'revolute' else abs(float(axis[2]))
        if off > CLOSING_TOLERANCE:
            raise machine_error(
                machine, f'{joint_key(machine, joint)}.axis', joint.axis,
                f'of {joint.name} does not keep the leg in the plane (x, y) of a planar machine; revolute '
                'axes must be along z of base_link, prismatic ones across it: change axis, origin.rpy or base_rpy',
            )  # fmt: skip
    for number, (leg, closure) in enumerate(closures_with_legs(machine)):
        ends = []
        for body, point in (
            (machine.model.closure_body[number], closure.point),
            (machine.model.closure_other[number], closure.other_point),
        ):
            ends.append(float(home.memory.origin[body, 2] + home.memory.rotation[body, 2] @ point))
        if abs(ends[0] - ends[1]) <= CLOSING_TOLERANCE:
            continue
        on_platform = closure in leg.platform_closures
        raise machine_error(
            machine, f'legs.{leg.name}.platform_point' if on_platform else closure_key(leg, closure),
            closure.other_point,
            f'is at height {ends[1]:.6g} m at home, but the leg ends at {ends[0]:.6g} m and moves in a '
            'plane (freedom: planar); give z of base_point, of the chain and of platform_point the same height',
        )  # fmt: skip
