"""Motion of all joints, passive ones included, from that of the platform; positions of the drives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import overload

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import ArgumentError, KinematicsError, ShapeError
from pkm_description.kernels.forward_kinematics.rods import strut_jacobians, strut_lengths
from pkm_description.kernels.kinematics.joint_motion import motions_of_joints
from pkm_description.kinematics.arguments import (
    of_poses,
    of_samples,
    poses,
    require_machine,
    require_machine_and_motion,
    require_platform,
    run_kernel,
)
from pkm_description.machine import Machine, PlatformMotion

#: start of iterations that begin at home, every sample
FROM_HOME = np.zeros(0)
#: of what is not given
_NOTHING = np.zeros((0, 3))


@dataclass(frozen=True)
class JointMotion:
    """Motion of all J joints, N samples; columns in the order of ``machine.joint_names``.

    Attributes
    ----------
    time : (N,) s
    positions, velocities, accelerations : (N, J), rad or m and their time derivatives
    position, rotation_base_platform : (N, 3) m, (N, 3, 3), the platform poses that the legs are closed onto
    """

    time: Array
    positions: Array
    velocities: Array
    accelerations: Array
    position: Array
    rotation_base_platform: Array


@of_poses
def joint_positions(
    machine: Machine, position: Array, rotation_base_platform: Array, start: Array | None = None
) -> Array:
    """Positions (N, J) of all joints [rad, m] that close the legs onto the platform, on the branch of home.

    Struts on universal joints in closed form, all other legs by Newton iterations.

    Parameters
    ----------
    position : (N, 3) or (3,) m
    rotation_base_platform : (N, 3, 3) or (3, 3)
    start : (J,) joint positions next to those of the first pose, from which on each pose follows the one before;
        default: each starts from home, so that results do not depend on other samples

    Raises
    ------
    SingularPoseError
        Where a strut lies along its first universal axis, so that the first angle is undefined.
    AssemblyModeError
        Where a leg without closed form gets there only on another branch than at home (elbow turned over).
    KinematicsError
        If a leg cannot reach, the legs do not admit the pose, or a pose contains NaN.
    """
    require_legs(machine)
    return _solved(machine, start, packed(position), packed(rotation_base_platform))[0]


def joint_rates(
    machine: Machine, position: Array, rotation_base_platform: Array, linear_velocity: Array, angular_velocity: Array,
    start: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Positions and velocities (N, J) of all joints.

    Parameters
    ----------
    position : (N, 3) m; or one sample without the first axis, like all others, which then the results lack, too
    rotation_base_platform : (N, 3, 3)
    linear_velocity : (N, 3) m/s, of the platform origin, base axes
    angular_velocity : (N, 3) rad/s, base axes
    start : see :func:`joint_positions`

    Raises
    ------
    KinematicsError
        As :func:`joint_motion`.
    ShapeError
        Another shape, or another number of samples than of poses.
    """
    require_machine(machine)
    position, rotation, single = poses(position, rotation_base_platform)
    count = len(position)
    linear_velocity = of_samples('linear_velocity', linear_velocity, count, 3)
    angular_velocity = of_samples('angular_velocity', angular_velocity, count, 3)
    require_legs(machine)
    given = (packed(one) for one in (position, rotation, linear_velocity, angular_velocity))
    positions, velocities, _ = _solved(machine, start, *given)
    return (positions[0], velocities[0]) if single else (positions, velocities)


def joint_motion(machine: Machine, motion: PlatformMotion, start: Array | None = None) -> JointMotion:
    """Motion of all joints, passive ones too, that closes the legs onto the moving platform.

    Positions as in :func:`joint_positions`, velocities by elimination of each leg's closures, accelerations with their
    analytic second derivatives.

    Raises
    ------
    SingularPoseError
        Where a leg is stretched or folded, or lies along its first universal axis; names sample, leg and number.
    KinematicsError
        A pose or a velocity that the machine does not admit, or numbers that are not finite.
    """
    require_machine_and_motion(machine, motion)
    require_legs(machine)
    joints = _solved(machine, start, *packed_motion(motion))
    return JointMotion(motion.time, *joints, motion.position, motion.rotation_base_platform)


def _solved(
    machine: Machine, start: Array | None, position: Array, rotation: Array, linear: Array = _NOTHING,
    angular: Array = _NOTHING, linear_acceleration: Array = _NOTHING, angular_acceleration: Array = _NOTHING,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Positions, velocities and accelerations (N, J) of the joints, as far as packed ones of the platform are given."""
    joints = len(machine.joints)
    positions, velocities = np.empty((len(position), joints)), np.empty((len(linear), joints))
    accelerations = np.empty((len(linear_acceleration), joints))
    run_kernel(
        machine, motions_of_joints, start_of(machine, start), position, rotation, linear, angular, linear_acceleration,
        angular_acceleration, positions, velocities, accelerations,
    )  # fmt: skip
    return positions, velocities, accelerations


def require_joint_motion(machine: Machine, motion: object) -> None:
    """Refuse what is no motion of this machine's joints.

    Raises
    ------
    ArgumentError
        Something else, such as the motion of the platform.
    ShapeError
        The joints of a machine with other legs.
    """
    if not isinstance(motion, JointMotion):
        raise ArgumentError(
            f'joint_motion is a {type(motion).__name__}, expected the JointMotion that joint_motion(machine, motion) '
            'returns'
        )
    count = len(machine.joints)
    if motion.velocities.shape[1:] != (count,):
        raise ShapeError('joint_motion.velocities', f'(N, {count})', motion.velocities.shape)


def require_legs(machine: Machine) -> None:
    """Refuse open chains, which have no platform to close legs onto."""
    require_platform(machine, 'the functions of dynamics.open_chain, which take the motion of the joints')


def start_of(machine: Machine, start: Array | None) -> Array:
    """Start of iterations (J,) for kernels, empty for home; raises ShapeError."""
    if start is None:
        return FROM_HOME
    start = packed(start)
    if start.shape != (len(machine.joints),):
        raise ShapeError('start', f'({len(machine.joints)},): one position per joint', start.shape)
    return start


def packed_motion(motion: PlatformMotion) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Arrays of a motion as kernels take them: pose, twist, acceleration."""
    return (
        packed(motion.position), packed(motion.rotation_base_platform), packed(motion.linear_velocity),
        packed(motion.angular_velocity), packed(motion.linear_acceleration), packed(motion.angular_acceleration),
    )  # fmt: skip


@overload
def drive_positions(machine: Machine, position: PlatformMotion) -> Array: ...


@overload
def drive_positions(machine: Machine, position: Array, rotation_base_platform: Array) -> Array: ...


def drive_positions(
    machine: Machine, position: Array | PlatformMotion, rotation_base_platform: Array | None = None
) -> Array:
    """Positions (N, A) [m, rad] of the driven joints along a motion or at platform poses.

    Parameters
    ----------
    position : a motion of N samples, or positions (N, 3) or (3,) m
    rotation_base_platform : (N, 3, 3) or (3, 3), with positions

    Raises
    ------
    KinematicsError
        As :func:`pkm_description.kinematics.joint_positions`.
    """
    require_machine(machine)
    if isinstance(position, PlatformMotion):
        joints = joint_positions(machine, position.position, position.rotation_base_platform)
    elif rotation_base_platform is None:
        raise ArgumentError('drive_positions takes a PlatformMotion, or positions and rotations')
    else:
        joints = joint_positions(machine, position, rotation_base_platform)
    return np.asarray(joints[..., machine.drive_columns])


def require_struts(machine: Machine) -> None:
    """Refuse machines whose drives are not the lengths of struts: with them these functions would be wrong."""
    if not machine.drives_are_struts:
        raise KinematicsError(
            f'{machine.name}: its drives are not the lengths of struts on universal joints; drive_positions, '
            'drive_jacobian and forward_kinematics serve every machine'
        )


@of_poses
def leg_lengths(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Distance between base and platform joint of every leg, (N, L) m (Miletovic et al. 2017, Eq. 1).

    Parameters
    ----------
    position : (N, 3) or (3,) m, platform origin in the base frame
    rotation_base_platform : (N, 3, 3) or (3, 3)

    Raises
    ------
    KinematicsError
        A machine whose drives are not the lengths of struts.
    ShapeError
        Positions and rotations of other shapes.
    """
    return _of_struts(strut_lengths, machine, position, rotation_base_platform)


@of_poses
def length_jacobian(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Jacobian (N, L, 6): leg rates = J @ [velocity of the platform origin, angular velocity], base axes.

    Row i is ``[n_i, (R p_i) x n_i]`` with the leg's unit vector n_i (the derivative of Miletovic et al. 2017,
    Eq. 1). Parameters and errors as of :func:`leg_lengths`.
    """
    return _of_struts(strut_jacobians, machine, position, rotation_base_platform, 6)


def _of_struts(
    kernel: Callable[..., object], machine: Machine, position: Array, rotation_base_platform: Array, *columns: int
) -> Array:
    """What a kernel says of each strut, (N, L, ...)."""
    require_struts(machine)
    values = np.empty((len(position), machine.leg_count, *columns))
    kernel(machine.compiled_model, packed(position), packed(rotation_base_platform), values)
    return values
