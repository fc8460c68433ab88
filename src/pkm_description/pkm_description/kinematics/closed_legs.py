"""Legs closed onto poses of the platform, and a home pose that they admit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import ConvergenceError, KinematicsError
from pkm_description.kernels.kinematics.joint_motion import bodies_of_joints, maps_of_poses, regularities_of_legs
from pkm_description.kernels.kinematics.pose import stretch_leg
from pkm_description.kernels.model import Integers, constraint_row_count
from pkm_description.kinematics.arguments import of_poses, run_kernel
from pkm_description.kinematics.joint_motion import joint_positions, length_jacobian, require_legs
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.machine import Machine, Pose
from pkm_description.machine.idle_freedoms import AtHome, closing_equations

#: m, largest gap of a closure in the result
_TOLERANCE = 1e-12

#: m and rad (times the platform's radius), length of the last step
_LAST_STEP = 1e-10

_MAX_ITERATIONS = 500

#: longest step: rad, and m as a fraction of the platform's radius
_LONGEST_STEP = 0.2

#: weight of the joints' steps beside the pose's: keeps legs that could move by themselves where they are
_JOINT_WEIGHT = 1e-9


@dataclass(frozen=True)
class ClosedLegs:
    """Legs closed onto N poses of the platform.

    Attributes
    ----------
    machine : whose legs they are
    position, rotation_base_platform : (N, 3) m, (N, 3, 3)
    positions : (N, J) rad, m, of all joints
    joint_map : (N, J, 6), joint rates = ``joint_map @ [velocity of the platform origin, angular velocity]``
    constraints : (N, K, 6), rows with ``constraints @ twist = 0``: of the legs, then of a plane; rows may repeat others
    admitted : (N, 6, D), columns: the twists that legs and plane admit, an orthonormal basis if lengths are measured in
        platform radii; NaN where there are more or fewer than at home
    """

    machine: Machine
    position: Array
    rotation_base_platform: Array
    positions: Array
    joint_map: Array
    constraints: Array
    admitted: Array

    @property
    def drive_map(self) -> Array:
        """Rates of the drives from the platform's twist, (N, A, 6): the driven joints' rows of the joint map."""
        return self.joint_map[:, self.machine.drive_columns]

    def body_poses(self) -> tuple[Array, Array]:
        """Poses of the J leg bodies, see :func:`body_poses`."""
        return body_poses(self.machine, self.positions)


def close_legs(
    machine: Machine, position: Array, rotation_base_platform: Array, positions: Array | None = None
) -> ClosedLegs:
    """Close all legs onto platform poses (N, 3) m, (N, 3, 3).

    ``positions`` (N, J) are joint positions that are known to close the legs there; they are not solved again.

    Raises
    ------
    SingularPoseError, AssemblyModeError, KinematicsError
        As :func:`pkm_description.kinematics.joint_motion`.
    """
    require_legs(machine)
    data = machine.scratch[0]
    count, joints = len(position), len(data.joints)
    known = np.zeros((0, joints)) if positions is None else packed(positions).reshape(count, joints)
    found = np.empty((count, joints))
    joint_map = np.empty((count, joints, 6))
    constraints = np.empty((count, constraint_row_count(machine.model), 6))
    admitted = np.empty((count, 6, int(machine.model.degrees_of_freedom[0])))
    run_kernel(
        machine, maps_of_poses, known, packed(position), packed(rotation_base_platform), found, joint_map, constraints,
        admitted,
    )  # fmt: skip
    return ClosedLegs(machine, position, rotation_base_platform, found, joint_map, constraints, admitted)


@of_poses
def drive_jacobian(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Jacobian (N, A, 6) of the drives: their rates = jacobian @ [velocity of the platform origin, angular velocity].

    For struts the row of a drive is ``[n_i, (R p_i) x n_i]`` with the strut's unit vector n_i (Heimann &
    Abdellatif); for other legs the driven joint's row of the map from the platform's twist to the joints' rates.

    Parameters
    ----------
    position : (N, 3) or (3,) m, platform origin in the base frame
    rotation_base_platform : (N, 3, 3) or (3, 3)

    Raises
    ------
    KinematicsError
        A pose that the legs do not reach, or where a leg is singular; names the sample.
    """
    require_legs(machine)
    if machine.drives_are_struts:
        return length_jacobian(machine, position, rotation_base_platform)
    return close_legs(machine, position, rotation_base_platform).drive_map


def body_poses(machine: Machine, positions: Array) -> tuple[Array, Array]:
    """Poses of the J leg bodies at joint positions (N, J), of open chains too.

    Returns
    -------
    rotations : (N, J, 3, 3), link axes to base axes
    origins : (N, J, 3) m, of the link frames
    """
    positions = packed(positions)
    rotations, origins = np.empty((*positions.shape, 3, 3)), np.empty((*positions.shape, 3))
    bodies_of_joints(machine.compiled_model, machine.scratch[1], positions, rotations, origins)
    return rotations, origins


def all_body_poses(machine: Machine, positions: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
    """As :func:`body_poses`, then those of the platform, (N, 3) m and (N, 3, 3), and of the base: J + 2 bodies."""
    rotations, origins = body_poses(machine, positions)
    base = np.broadcast_to(np.eye(3), rotation.shape)
    rotations = np.concatenate([rotations, rotation[:, None], base[:, None]], axis=1)
    return rotations, np.concatenate([origins, position[:, None], np.zeros((len(position), 1, 3))], axis=1)


def leg_regularity(machine: Machine, position: Array, rotation_base_platform: Array, positions: Array) -> Array:
    """How far the legs are from stretched or folded: volume of their unit joint directions (N, L), 0 .. 1.

    Parameters
    ----------
    positions : (N, J), joint positions that close the legs onto the poses (N, 3) m, (N, 3, 3)
    """
    regularity = np.empty((len(position), machine.leg_count))
    regularities_of_legs(
        machine.compiled_model, machine.scratch[1], packed(positions), packed(position), packed(rotation_base_platform),
        regularity,
    )  # fmt: skip
    return regularity


def closing_points(machine: Machine, positions: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
    """Points (N, C, 3) m of all closures on their own body and on the other one, base axes.

    Parameters
    ----------
    positions : (N, J) of the joints
    position, rotation : (N, 3) m, (N, 3, 3) of the platform
    """
    rotations, origins = all_body_poses(machine, positions, position, rotation)
    model = machine.model

    def points(bodies: Integers, local: Array) -> Array:
        return origins[:, bodies] + (rotations[:, bodies] @ local[..., None])[..., 0]

    own = points(model.closure_body, model.closure_point)
    return own, points(model.closure_other, model.closure_other_point)


def platform_joints(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Centres (..., P, 3) m, base axes, of all closures on the platform, leg by leg, at poses (..., 3), (..., 3, 3)."""
    points = np.array([closure.other_point for leg in machine.legs for closure in leg.platform_closures])
    return position[..., None, :] + points @ np.swapaxes(rotation_base_platform, -1, -2)


def mean_leg_length(machine: Machine) -> float:
    """Mean distance [m] between the platform joints at home and the first joints of their legs."""
    home = machine.home
    bases = np.array([leg.base_point for leg in machine.legs for _ in leg.platform_closures])
    ends = platform_joints(machine, home.position, home.rotation_base_platform)
    return float(np.linalg.norm(ends - bases, axis=1).mean())


# Solve a home pose that the legs admit, and the joint positions there.
#
# Legs with fewer joints than closing equations (3-RPS, 3-PRS, 3-RRS) take freedom from the platform. Where the machine
# is not symmetric no simple pose is admissible: a level, centred platform misses its legs by millimetres.
@dataclass(frozen=True)
class AdmissibleHome:
    """A configuration in which all legs close.

    Attributes
    ----------
    pose : platform pose
    joint_positions : (J,) m and rad
    distance, angle : m and rad, how far the pose is from the one that was wished
    """

    pose: Pose
    joint_positions: Array
    distance: float
    angle: float


def admissible_home(machine: Machine, wished: Pose | None = None, drives: Array | None = None) -> AdmissibleHome:
    """Pose next to a wished one that all legs admit, and the joint positions there.

    The least move and turn (turns times the platform's radius) that close all legs: Newton steps on the conditions of
    Lagrange, in the unknowns pose and joints, from the joint positions ``home`` of the machine, which thereby name the
    legs' branches. A wished pose that is admissible is returned as it is. The machine need not pass the checks of a
    machine file.

    Parameters
    ----------
    wished : default the machine's home
    drives : (A,) m or rad, wanted positions of the driven joints; default: those of the pose

    Raises
    ------
    ValueError
        ``drives`` has another shape than one number per drive.
    KinematicsError
        An open chain.
    ConvergenceError
        The legs do not close anywhere near; names leg and distance.
    """
    if not machine.has_platform:
        raise KinematicsError(f'{machine.name} is an open chain: there is no platform, every home is admissible')
    wished = wished or machine.home
    if drives is None:
        positions = _joints_there(machine, wished)
        if positions is not None:
            return AdmissibleHome(wished, positions, 0.0, 0.0)
    else:
        drives = np.asarray(drives, dtype=float)
        if drives.shape != (machine.actuated_count,):
            raise ValueError(f'drives has shape {drives.shape}, expected ({machine.actuated_count},): one per drive')
    pose, positions = _closest(machine, wished, drives)
    move = pose.position - wished.position
    turn = rotation_log(pose.rotation_base_platform @ wished.rotation_base_platform.T)
    return AdmissibleHome(pose, positions, float(np.linalg.norm(move)), float(np.linalg.norm(turn)))


def _joints_there(machine: Machine, pose: Pose) -> Array | None:
    """Joint positions (J,) at a pose; None where the legs do not close to rounding."""
    try:
        positions = joint_positions(machine, pose.position[None], pose.rotation_base_platform[None])[0]
    except KinematicsError:
        return None
    closed = np.abs(_gaps(machine, pose, positions)[0]).max(initial=0.0) <= _TOLERANCE
    return positions if closed else None


def _closest(machine: Machine, wished: Pose, drives: Array | None) -> tuple[Pose, Array]:
    """Pose and joint positions (J,) at the least distance from a pose."""
    free, radius = machine.model.freedom, float(machine.model.radius[0])
    scale = np.repeat([1.0, radius], 3)[free]
    position, rotation = wished.position, wished.rotation_base_platform
    joints = _nearest(machine, wished)
    count, driven = len(joints), machine.drive_columns
    unit = [radius if joint.kind == 'prismatic' else 1.0 for joint in machine.joints]
    longest = _LONGEST_STEP * np.concatenate([unit, radius / scale])
    weights = np.concatenate([np.full(count, _JOINT_WEIGHT), scale**2])
    gap = np.full(1, np.inf)
    for _ in range(_MAX_ITERATIONS):
        gap, matrix = _gaps(machine, Pose(position, rotation), joints)
        rows, right = matrix[:, [*range(count), *(count + free)]], -gap
        if drives is not None:
            rows = np.concatenate([rows, np.eye(count + len(free))[driven]])
            right = np.concatenate([right, drives - joints[driven]])
        away = np.concatenate([position - wished.position, rotation_log(rotation @ wished.rotation_base_platform.T)])
        step = _step(rows, right, weights, np.concatenate([np.zeros(count), away[free]]))
        step /= max(1.0, float(np.abs(step / longest).max()))
        joints = joints + step[:count]
        move = np.zeros(6)
        move[free] = step[count:]
        position, rotation = position + move[:3], rotation_exp(move[3:]) @ rotation
        if np.abs(gap).max() <= _TOLERANCE and np.abs(step[count:] * scale).max() <= _LAST_STEP:
            return Pose(position, rotation), _wrapped(machine, joints)
    leg, distance = _worst_leg(machine, gap)
    raise ConvergenceError(
        f'{machine.name}: no pose near the wished one at which all legs close; {leg} misses its '
        f'platform joint by {distance:.3g} m. Change the wished pose or drives, or the lengths'
    )


def _memory(machine: Machine) -> AtHome:
    """Memory of this thread."""
    return AtHome(machine.model, machine.compiled_model, *machine.scratch)


def _nearest(machine: Machine, pose: Pose) -> Array:
    """Joint positions (J,) with the smallest gaps at a pose, from the machine file's home."""
    there = _memory(machine).at(machine.home_positions, pose)
    for leg in range(machine.leg_count):
        stretch_leg(there.compiled, there.scratch, leg)
    return there.memory.joints.copy()


def _wrapped(machine: Machine, joints: Array) -> Array:
    """Positions (J,) with revolute joints within half a turn around home."""
    home = machine.home_positions
    turned = home + (joints - home + np.pi) % (2.0 * np.pi) - np.pi
    return np.where([joint.kind == 'revolute' for joint in machine.joints], turned, joints)


def _worst_leg(machine: Machine, gap: Array) -> tuple[str, float]:
    """Leg with the largest gap (R,) of all rows, and its size [m]."""
    starts = machine.model.row_start[machine.model.closure_start]
    distance = [float(np.linalg.norm(gap[first:last])) for first, last in pairwise(starts)]
    worst = int(np.argmax(distance))
    return machine.legs[worst].name, distance[worst]


def _gaps(machine: Machine, pose: Pose, joints: Array) -> tuple[Array, Array]:
    """Gaps (R,) m of all closures, and their derivative (R, J + 6) by joints and twist."""
    return closing_equations(_memory(machine).at(joints, pose))


def _step(rows: Array, right: Array, weights: Array, away: Array) -> Array:
    """Step d with ``rows @ d = right`` that makes ``sum(weights (away + d)^2)`` least."""
    count = len(weights)
    system = np.zeros((count + len(rows),) * 2)
    system[:count, :count] = np.diag(weights)
    system[:count, count:], system[count:, :count] = rows.T, rows
    return np.asarray(np.linalg.lstsq(system, np.concatenate([-weights * away, right]), rcond=1e-14)[0][:count])
