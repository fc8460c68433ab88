"""Checks at the home pose: the legs reach their platform joints and hold the platform."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kernels.pose import CLOSING_TOLERANCE
from pkm_description.kinematics.closed_legs import body_poses, close_legs
from pkm_description.kinematics.drive_map import scaled_condition
from pkm_description.kinematics.failures import holds_platform
from pkm_description.kinematics.joint_motion import joint_positions
from pkm_description.loading.keys import MILLIMETRES, bodies_with_keys, joint_key, machine_error
from pkm_description.machine import Joint, Machine

#: condition number of the drives' Jacobian (rotations scaled by the platform's radius) at home that is refused
MAX_CONDITION = 1e3

#: ratio of two lengths of one machine beyond which one of them is in millimetres
_UNIT_RATIO = 20.0

#: ratio of a centre of mass, IMU place or radius of gyration to the legs beyond which its unit is another one
_BODY_RATIO = 3.0


def check_home(machine: Machine) -> None:
    """Check lengths, drives, condition, joint limits and drive forces at home.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    try:
        machine.check_legs()
    except KinematicsError as error:
        raise machine_error(machine, 'leg_chain', None, str(error)) from None
    if not machine.has_platform:
        _check_positions(machine, machine.home_positions)
        return
    _check_drive_count(machine)
    _check_platform_points(machine)
    if machine.has_closed_form:
        _check_strokes(machine)
    _check_sizes(machine)
    if machine.planar:
        _check_plane(machine)
    _check_condition(machine)
    _check_joints_and_forces(machine)


def _check_drive_count(machine: Machine) -> None:
    if machine.actuated_count == machine.degrees_of_freedom:
        return
    raise machine_error(
        machine, 'legs', [leg.name for leg in machine.legs],
        f'{len(machine.legs)} legs of {machine.joint_count} joints leave the platform {machine.degrees_of_freedom} '
        f'degrees of freedom, but {machine.actuated_count} drives act; one drive per degree of freedom is needed '
        '(a free platform: 6 legs of three joints or 3 of two; a planar one: 3 legs of two)',
    )  # fmt: skip


def _anchors(machine: Machine) -> Array:
    turned: Array = machine.platform_points @ machine.home.rotation_base_platform.T
    return turned


def _leg_vectors(machine: Machine) -> Array:
    vectors: Array = machine.home.position + _anchors(machine) - machine.base_points
    return vectors


def _check_platform_points(machine: Machine) -> None:
    lengths = np.linalg.norm(_leg_vectors(machine), axis=1)
    if lengths.min() == 0.0:
        leg = machine.legs[int(lengths.argmin())].name
        raise machine_error(
            machine, f'legs.{leg}', 0.0, 'at home this leg has no length; move home or the joint points'
        )
    if not np.any(machine.platform_points):
        raise machine_error(
            machine, 'legs', machine.platform_points,
            'all platform points lie in the platform origin; give their places',
        )  # fmt: skip


def _check_strokes(machine: Machine) -> None:
    """Every strut must reach its platform joint at home."""
    lengths = np.linalg.norm(_leg_vectors(machine), axis=1)
    for leg, length in zip(machine.legs, lengths, strict=True):
        drive = next(joint for joint in leg.joints if joint.actuated)
        if drive.kind != 'prismatic':
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
    lengths = np.linalg.norm(_leg_vectors(machine), axis=1)
    size = float(max(lengths.max(), np.abs(machine.platform_points).max()))
    vectors = [(f'{key}.center_of_mass', body.center_of_mass) for key, body in bodies_with_keys(machine)]
    if machine.has_imu:
        vectors.insert(0, ('sensors.imu.xyz', machine.imu.position))
    for key, vector in vectors:
        if np.abs(vector).max() > _BODY_RATIO * size:
            at_home = f'at home the legs are {lengths.max():.6g} m long'
            raise machine_error(machine, key, vector, f'{MILLIMETRES} ({at_home})')
    for key, body in bodies_with_keys(machine):
        gyration = np.sqrt(np.linalg.eigvalsh(body.inertia)[-1] / body.mass)
        if gyration > _BODY_RATIO * size:
            raise machine_error(
                machine, f'{key}.inertia', body.inertia,
                f'with {body.mass:.6g} kg the radius of gyration is {gyration:.6g} m, at home the legs are '
                f'{lengths.max():.6g} m long; give kg m^2 (CAD programs: kg mm^2, g mm^2), and the mass in kg',
            )  # fmt: skip


def _check_plane(machine: Machine) -> None:
    """The legs of a planar machine must move in planes across z, each at the height of its platform point."""
    rotations, origins = (found[0] for found in body_poses(machine, machine.home_positions[None]))
    axes = (rotations @ machine.model.axis[..., None])[..., 0]
    for joint, axis in zip(machine.joints, axes, strict=True):
        off = np.linalg.norm(axis[:2]) if joint.kind == 'revolute' else abs(axis[2])
        if off > CLOSING_TOLERANCE:
            raise machine_error(
                machine, f'{joint_key(machine, joint)}.axis', joint.axis,
                f'of {joint.name} does not keep the leg in the plane (x, y) of a planar machine; revolute '
                'axes must be along z of base_link, prismatic ones across it: change axis, origin.rpy or base_rpy',
            )  # fmt: skip
    bodies = machine.model.closure_body
    ends = origins[bodies] + (rotations[bodies] @ machine.model.closure_point[..., None])[..., 0]
    tips, anchors = ends[:, 2], machine.home.position[2] + _anchors(machine)[:, 2]
    off = np.abs(tips - anchors)
    if off.max() > CLOSING_TOLERANCE:
        worst = int(off.argmax())
        leg = machine.legs[worst]
        raise machine_error(
            machine, f'legs.{leg.name}.platform_point', leg.platform_point,
            f'is at height {anchors[worst]:.6g} m at home, but the leg ends at {tips[worst]:.6g} m and moves in a '
            'plane (freedom: planar); give z of base_point, of the chain and of platform_point the same height',
        )  # fmt: skip


def _check_condition(machine: Machine) -> None:
    """The drives must hold the platform at home."""
    home = machine.home
    try:
        legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    except KinematicsError as error:
        raise machine_error(machine, *_not_closed_at_home(machine, error)) from None
    condition = float(scaled_condition(legs)[0])
    if condition > MAX_CONDITION:
        raise machine_error(
            machine, 'platform.home', home.position,
            # no more digits than rounding leaves
            f'singular pose: the legs do not hold the platform at home (condition number {min(condition, 1e16):.3g}, '
            f'at most {MAX_CONDITION:g}); parallel legs, or a platform of the same shape as the base, do that. '
            'Move home or the joint points',
        )  # fmt: skip


def _not_closed_at_home(machine: Machine, error: KinematicsError) -> tuple[str, object, str]:
    """Key, value and reason of a home at which the legs do not close."""
    if not holds_platform(machine):
        return 'leg_chain', None, f'{error} (at home)'
    reason = str(error).removeprefix('sample 0: ').split(':')[0]
    return (
        'platform.home', machine.home.position,
        f'{reason}: the legs do not admit this pose; new_machine --from {machine.path} solves the nearest one that '
        'they admit',
    )  # fmt: skip


def _check_joints_and_forces(machine: Machine) -> None:
    """Passive joints must reach home and the drives must hold the weight there."""
    pose = machine.home.position[None], machine.home.rotation_base_platform[None]
    _check_positions(machine, joint_positions(machine, *pose)[0])
    try:
        forces = gravity_forces(machine, *pose)[0]
    except SingularPoseError as error:
        raise machine_error(machine, 'leg_chain', None, str(error)) from None
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
    for joint, position in zip(machine.joints, positions, strict=True):
        _check_position(machine, joint, float(position))


def _check_position(machine: Machine, joint: Joint, position: float) -> None:
    lower, upper = joint.limits.lower, joint.limits.upper
    if not lower <= position <= upper:
        raise machine_error(
            machine, f'{joint_key(machine, joint)}.limits', [lower, upper],
            f'at home {joint.name} would be at {position:.4f}, its limits are {lower:.4f} and {upper:.4f}; change the '
            'limits (rad), base_rpy or platform.home',
        )  # fmt: skip
