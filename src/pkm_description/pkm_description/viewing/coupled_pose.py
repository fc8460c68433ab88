"""Platform pose for a viewer: from joint states, or from independent coordinates of fewer than six freedoms.

The platform of a 3-RPS machine turns about x and y and rises; its x, y and yaw follow. Coordinates are displacement
from home [m] in base axes, and roll, pitch, yaw from home [rad] with ``R = Rz Ry Rx R_home``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from pkm_description.arrays import Array
from pkm_description.errors import ConvergenceError, KinematicsError
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics import ForwardKinematicsResult, PoseSolver, drive_positions, forward_kinematics
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.pose_solver import FoundPose
from pkm_description.kinematics.rotation import matrix_from_rpy, rpy_from_matrix
from pkm_description.machine import Machine, Pose

COORDINATES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')

#: m and rad, how exactly the coordinates are met
_TOLERANCE = 1e-10
_MAX_ITERATIONS = 20
#: steps from home to the wanted coordinates where one is too long
_CONTINUATION_STEPS = 12


def pose_of_coordinates(coordinates: Array, home: Pose) -> tuple[Array, Array]:
    """Position (3,) m and rotation_base_platform (3, 3) of all six coordinates (6,)."""
    rotation = matrix_from_rpy(coordinates[3:]) @ home.rotation_base_platform
    return home.position + coordinates[:3], rotation


def coordinates_of_pose(position: Array, rotation_base_platform: Array, home: Pose) -> Array:
    """Inverse (6,) of :func:`pose_of_coordinates`."""
    angles = rpy_from_matrix(rotation_base_platform @ home.rotation_base_platform.T)
    return np.concatenate([position - home.position, angles])


def independent_coordinates(machine: Machine) -> tuple[int, ...]:
    """Places in :data:`COORDINATES` that may be chosen freely; the legs determine the others.

    The constraints' rows at home say which coordinates they determine best: QR decomposition with pivoting,
    rotations scaled by the platform's radius.
    """
    home = machine.home
    legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    rows = legs.constraints[0] / np.repeat([1.0, machine.model.radius[0]], 3)
    if not len(rows):
        return tuple(range(6))
    pivots = qr(rows, mode='r', pivoting=True)[1]
    held = 6 - int(machine.model.degrees_of_freedom[0])
    return tuple(sorted(int(place) for place in pivots[held:]))


def home_configuration(machine: Machine) -> ForwardKinematicsResult:
    """The closed machine at home."""
    home = machine.home
    return _closed(machine, drive_positions(machine, home.position[None], home.rotation_base_platform[None]), None)


def solve_coordinates(machine: Machine, places: tuple[int, ...], values: Array) -> ForwardKinematicsResult:
    """Configuration in which the coordinates ``places`` have the given values (D,), one per degree of freedom.

    Newton iterations on the drives, all loops closed in each; from home, in small steps where one is too long.

    Raises
    ------
    ConvergenceError, SingularPoseError, AssemblyModeError
        No such configuration on the home branch; says how far it goes.
    """
    home = home_configuration(machine)
    try:
        return solve_coordinates_near(machine, places, values, home)
    except KinematicsError:
        result = home
    for step in range(1, _CONTINUATION_STEPS + 1):
        part = step / _CONTINUATION_STEPS
        try:
            result = solve_coordinates_near(machine, places, values * part, result)
        except KinematicsError as error:
            reason = str(error).removeprefix('sample 0: ')
            raise type(error)(
                f'{_described(places, values)} is out of reach: less than {part:.0%} of the way from home; {reason}'
            ) from None
    return result


def solve_coordinates_near(
    machine: Machine, places: tuple[int, ...], values: Array, start: ForwardKinematicsResult
) -> ForwardKinematicsResult:
    """As :func:`solve_coordinates`, from a configuration near by, without small steps."""
    home, chosen = machine.home, list(places)
    result = start
    for _ in range(_MAX_ITERATIONS):
        position, rotation = result.position, result.rotation_base_platform
        coordinates = coordinates_of_pose(position[0], rotation[0], home)
        error = values - coordinates[chosen]
        if np.abs(error).max() <= _TOLERANCE:
            return result
        legs = close_legs(machine, position, rotation, result.joint_positions)
        by_drives = (_rates_of_twist(coordinates[3:]) @ twist_per_drive(legs)[0])[chosen]
        drives = result.joint_positions[..., machine.drive_columns]
        result = _closed(machine, drives + np.linalg.lstsq(by_drives, error, rcond=None)[0], result)
    raise ConvergenceError(f'no configuration found with {_described(places, values)}')


def _described(places: tuple[int, ...], values: Array) -> str:
    return ', '.join(f'{COORDINATES[place]} = {value:.4g}' for place, value in zip(places, values, strict=True))


def _closed(machine: Machine, drives: Array, start: ForwardKinematicsResult | None) -> ForwardKinematicsResult:
    return forward_kinematics(machine, drives, start).require()


def _rates_of_twist(angles: Array) -> Array:
    """Rates of the coordinates (6, 6) from the twist [origin velocity, angular velocity] at roll, pitch, yaw (3,)."""
    yaw_turn, tilt = matrix_from_rpy(np.array([0.0, 0.0, angles[2]])), matrix_from_rpy(np.array([0.0, *angles[1:]]))
    spin = np.column_stack([tilt[:, 0], yaw_turn[:, 1], [0.0, 0.0, 1.0]])
    result = np.eye(6)
    result[3:, 3:] = np.linalg.inv(spin)
    return result


@dataclass(frozen=True)
class PlatformReading:
    """Where a machine is, and with what its drives push.

    Attributes
    ----------
    joint_positions : (J,) rad or m, passive ones too
    position, rotation_base_platform : (3,) m, (3, 3); None on open chains
    twist_per_drive : (6, A), of the platform per rate of the drives; None on open chains
    efforts : of the joints asked for [N, N m], NaN where not measured
    """

    joint_positions: Array
    position: Array | None
    rotation_base_platform: Array | None
    twist_per_drive: Array | None
    efforts: Array


class JointReader:
    """Completes joint states: the drives are enough, the loops are closed from the configuration before.

    Parameters
    ----------
    machine : any machine
    effort_joints : whose efforts are read
    """

    def __init__(self, machine: Machine, effort_joints: Sequence[str]) -> None:
        if machine.has_platform and tuple(effort_joints) == machine.actuated_joint_names:
            self._positions = self._efforts = JointStateReader.of_drives(machine)
        else:
            needed = machine.actuated_joint_names if machine.has_platform else machine.joint_names
            self._positions, self._efforts = JointStateReader(needed), JointStateReader(effort_joints)
        self._machine = machine
        self._solver = PoseSolver(machine, 1e-9, 30) if machine.has_platform else None
        self._last: FoundPose | None = None
        self._speeds = JointStateReader(machine.actuated_joint_names)
        self._driven, self._passive = frozenset(machine.actuated_joint_names), frozenset(machine.passive_joint_names)

    def lacks(self, names: Sequence[str]) -> bool:
        """Whether a joint state has all drives and not all passive joints."""
        present = set(names)
        return self._driven <= present and not self._passive <= present

    def rates(self, reading: PlatformReading, names: Sequence[str], velocities: Array) -> Array | None:
        """Rates (J,) of all joints of a reading; None where those of the drives are not all known."""
        position, rotation, twists = reading.position, reading.rotation_base_platform, reading.twist_per_drive
        drives = self._speeds.order(names).by_joint_or_nan(velocities)
        if position is None or rotation is None or twists is None or not np.isfinite(drives).all():
            return None
        legs = close_legs(self._machine, position[None], rotation[None], reading.joint_positions[None])
        return np.asarray(legs.joint_map[0] @ (twists @ drives))

    def read(
        self, names: Sequence[str], positions: Sequence[float] | Array, efforts: Sequence[float] | Array
    ) -> PlatformReading:
        """Read one joint state; joints of other devices in it do not matter.

        Raises
        ------
        JointStateError
            A driven joint (open chains: any joint) is missing, named twice or not finite.
        KinematicsError
            The loops cannot be closed.
        """
        drives = self._positions.order(names).complete(positions)
        forces = self._efforts.order(names).by_joint_or_nan(efforts)
        if self._solver is None:
            return PlatformReading(drives, None, None, None, forces)
        # near the configuration before; after a jump, or on a wrong branch, from home
        found = self._last = self._solver.solve(drives, self._last)
        return PlatformReading(found.joint_positions, found.position, found.rotation, found.inverse_jacobian, forces)
