"""Interface of the measurement models of the drives, for any kind of legs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.kinematics.geometry_slopes import DRIVE_ZERO
from pkm_description.kernels.model import constraint_row_count, scratch_data
from pkm_description.kernels.structures import structure
from pkm_description.kinematics import drive_positions, leg_lengths
from pkm_description.kinematics.geometry_constants import geometry_constants
from pkm_description.machine import Machine, Tolerances
from pkm_description.machine.tolerances import EXACT

from pkm_estimation.filters.interface import CorrectionMemory, FilterMemory, MeasurementModel
from pkm_estimation.kernels.carried import TOGETHER
from pkm_estimation.kernels.leg_lengths import (
    DrivesData,
    LegsData,
    drives_of_all,
    lengths_of_all,
    slopes_of_drives,
    slopes_of_struts,
)
from pkm_estimation.kernels.steps import update
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import STATE_SIZE, as_points


class LegModel(MeasurementModel):
    """Predicts what the drives measure; delay and place of the IMU and errors of the positions may be states.

    Attributes
    ----------
    imu : (6,) the IMU's last sample, nominal platform axes; kernels read it, too
    turning : (3,) rad/s^2, the slope of the last two of the rate; the same
    zeros : (A,) m or rad, what is known to lack in the positions of the drives
    start : joints of the legs from which those of the next first point are looked for; empty where they are in no need
    drive_count : A
    constraint_count : K, numbers of :meth:`observe` behind those of the drives, whose measured value is always zero
    constant_count : p, columns of :meth:`slopes_by_constants`, a multiple of six; 0: the geometry counts as exact
    """

    imu: Array
    turning: Array
    zeros: Array
    start: Array
    data: LegsData | DrivesData
    drive_count: int
    constraint_count: int = 0
    constant_count: int = 0

    @property
    def angular_acceleration(self) -> Array:
        """Angular acceleration (3,) rad/s^2 of now, the slope of the last two samples, nominal platform axes."""
        return self.turning.copy()

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return int(self.data.outside[0])

    @abstractmethod
    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""

    @abstractmethod
    def measured(self, drive_positions: Array) -> Array:
        """What :meth:`observe` predicts, as measured (A + K,), by the positions of the drives (A,) m or rad."""

    @abstractmethod
    def constants(self) -> list[tuple[int, int, float]]:
        """Leg of each constant of the geometry, the drive whose zero it is or -1, and its unit [m, rad]."""

    @abstractmethod
    def slopes_by_constants(self, points: Array) -> Array:
        """Slopes (A + K, p) with respect to the geometry, at the first of the points (N, n) that were observed last."""

    @property
    def at_zero(self) -> Array:
        """What sensors measure (A,), m or rad, where the drives are at zero."""
        return self.measured(-self.zeros)[: self.drive_count]

    def follow(self, imu_start: Array, imu_end: Array, duration: float) -> None:
        """Take note of the IMU samples (6,) between which the state was predicted, ``duration`` s."""
        self.imu[:], self.turning[:] = imu_end, (imu_end[3:] - imu_start[3:]) / duration

    def snapshot(self) -> tuple[Array, ...]:
        """State for :meth:`restore`; it is never changed in place."""
        return self.imu.copy(), self.turning.copy(), self.zeros.copy(), self.start.copy()

    def restore(self, snapshot: tuple[Array, ...]) -> None:
        """Restore a snapshot."""
        self.imu[:], self.turning[:], self.zeros[:], self.start[:] = snapshot


def measured_at_zero(machine: Machine) -> Array:
    """What sensors measure (A,) where the drives' joints are at zero: the lengths of struts, or else zero."""
    return machine.lengths_at_zero if machine.has_closed_form else np.zeros(machine.actuated_count)


def measures_lengths(machine: Machine) -> bool:
    """Whether the drives measure the lengths of struts that leave the platform all its freedom."""
    return machine.has_closed_form and not machine.constraint_count and machine.drives_are_struts


@dataclass(frozen=True)
class EstimatorGeometry:
    """Joint centres, IMU mounting and gravity; no assumption about the direction of any axis.

    Attributes
    ----------
    base_points, platform_points : (L, 3) m, base frame and platform frame; empty where the legs are no struts
    gravity : (3,) m/s^2, base frame
    imu_position : (3,) m, platform frame
    rotation_platform_imu : (3, 3), maps IMU axes to platform axes
    lengths_at_zero : (A,) m, of legs whose drives are at zero; zeros where the legs are no struts
    radius : m, mean distance of the platform joints from the platform's origin
    """

    base_points: Array
    platform_points: Array
    gravity: Array
    imu_position: Array
    rotation_platform_imu: Array
    lengths_at_zero: Array
    radius: float

    @classmethod
    def from_machine(cls, machine: Machine) -> EstimatorGeometry:
        """Read the geometry from a machine file's data."""
        struts, none = measures_lengths(machine), np.zeros((0, 3))
        return cls(
            machine.base_points if struts else none,
            machine.platform_points if struts else none,
            machine.gravity,
            machine.imu.position,
            machine.imu.rotation_platform_imu,
            measured_at_zero(machine),
            float(machine.model.radius[0]),
        )

    @property
    def platform_points_from_imu(self) -> Array:
        """Platform joint centres seen from the IMU's point, platform axes (L, 3) (Miletovic Eq. 25)."""
        return self.platform_points - self.imu_position


# Leg lengths as a function of the state: the measurement model (Miletovic Eq. 20 with Eqs 1 and 25).
#
# The equations are in :mod:`pkm_estimation.kernels.leg_lengths`.
class LegLengthModel(LegModel):
    """Distances between base and platform joint centres.

    Leg offsets, and delay, mounting and place of the IMU may be states.

    Parameters
    ----------
    base_points : (L, 3) m, base frame
    platform_points : (L, 3) m, from the point that the state describes (the IMU's nominal place), platform axes
    lengths_at_zero : (L,) m, of legs whose drives are at zero; default: lengths themselves are measured
    gravity : (3,) m/s^2, base frame; needed where the delay is a state
    layout : where constants lie as states; default: there are none
    tolerances : of the geometry

    Attributes
    ----------
    data, struct : what the kernels read, for NumPy and for kernels
    """

    data: LegsData

    def __init__(
        self,
        base_points: Array,
        platform_points: Array,
        lengths_at_zero: Array | float = 0.0,
        gravity: Array | None = None,
        layout: StateLayout | None = None,
        tolerances: Tolerances = EXACT,
    ) -> None:
        self.drive_count = len(base_points)
        if not tolerances.are_zero:  # where there are any columns, the kernel writes those of the zeros, too
            centres = 6 * self.drive_count if np.any(tolerances.joint_centres) else 0
            self.constant_count = whole_sixes(self.drive_count + centres)
        self._lengths_at_zero = lengths_at_zero
        self._base_points, self._gravity = base_points, np.zeros(3) if gravity is None else gravity
        self.imu, self.turning, self.zeros = np.zeros(6), np.zeros(3), np.zeros(self.drive_count)
        self.start = np.zeros(0)
        self.data = LegsData(
            base_points=np.array(base_points, dtype=float),
            platform_points=np.array(platform_points, dtype=float),
            gravity=np.array(self._gravity, dtype=float),
            rows=(layout or StateLayout(STATE_SIZE)).first_rows,
            imu=self.imu,
            angular_acceleration=self.turning,
            outside=np.zeros(1, dtype=np.int64),
            tolerances=np.zeros((self.drive_count, 3)),
            chart=np.eye(3),
        )
        self.data.tolerances[:, :2] = np.reshape(tolerances.joint_centres, (-1, 1))
        self.data.tolerances[:, 2] = tolerances.leg_zeros
        self.struct = structure(self.data)
        self._memory: FilterMemory | None = None
        self._correction: CorrectionMemory | None = None
        self._update: Callable[..., int]

    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""
        self.data.base_points[:] = self._base_points @ rotation
        self.data.chart[:] = rotation
        self.data.gravity[:] = rotation.T @ self._gravity

    def measured(self, drive_positions: Array) -> Array:
        """Leg lengths (L,) m by the positions of the drives (L,) m."""
        return drive_positions + self.zeros + self._lengths_at_zero

    def observe(self, points: Array) -> Array:
        """Leg lengths (N, L) of points (N, n)."""
        values = np.empty((len(points), self.drive_count))
        lengths_of_all(self.struct, as_points(points), values)
        return values

    def constants(self) -> list[tuple[int, int, float]]:
        """Zero of each leg, then its joint centres where they are not exact."""
        centres, zeros = self.data.tolerances[:, 0].tolist(), self.data.tolerances[:, 2].tolist()
        found = [(leg, leg, zero) for leg, zero in enumerate(zeros) if self.constant_count]
        if any(centres):
            found += [(leg, -1, centre) for leg, centre in enumerate(centres) for _ in range(6)]
        return found

    def slopes_by_constants(self, points: Array) -> Array:
        """Slopes (L, p) with respect to the geometry at the first point, in its standard deviations."""
        slopes = np.zeros((self.drive_count, self.constant_count))
        slopes_of_struts(self.struct, as_points(points), slopes)
        return slopes

    def correct(self, memory: FilterMemory, correction: CorrectionMemory, limit: float) -> int:
        """Correct an unscented filter in a single call."""
        if memory is not self._memory or correction is not self._correction:
            self._memory, self._correction = memory, correction
            self._update = partial(update, memory.struct, self.struct, correction.struct)
        return self._update(limit)


# Measurement model of drive positions and constraints for machines of any kind.
#
# A machine with fewer than six degrees of freedom is estimated in all six: its constraints are measurements of zero.
def measured_positions(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """What sensors measure (N, L) at poses (N, 3), (N, 3, 3): lengths of struts, positions of other drives.

    Less :func:`~pkm_estimation.models.leg_model.measured_at_zero` these are the drives' positions.
    """
    if machine.has_closed_form:
        return leg_lengths(machine, position, rotation_base_platform)
    return drive_positions(machine, position, rotation_base_platform)


class DriveModel(LegModel):
    """Drive positions and constraint residuals of all points in one call.

    The legs are closed onto the first point by iterations that begin at the legs of the last first point, the filter's
    mean, and onto the others from there. The equations are in :mod:`pkm_estimation.kernels.leg_lengths`.

    Parameters
    ----------
    machine : any machine with a platform
    imu_position : (3,) m, platform axes; states describe this point
    layout : where constants lie as states; default: there are none
    tolerances : of the geometry

    Attributes
    ----------
    size : number of states n
    constraint_count : K, numbers behind those of the drives: gaps of the legs [m], height above the plane [m], and tilt
        about x and y times the platform's radius [m]
    scratch, data, struct : memory for kernels, and what they read, for NumPy and for kernels
    geometry : constants of the geometry that are not exact, for kernels
    """

    data: DrivesData

    def __init__(
        self, machine: Machine, imu_position: Array, layout: StateLayout | None = None, tolerances: Tolerances = EXACT
    ) -> None:
        self.machine = machine
        self.drive_count = machine.actuated_count
        self.constraint_count = constraint_row_count(machine.model)
        layout = layout or StateLayout(STATE_SIZE)
        self.size = layout.size
        memory = scratch_data(machine.model)
        self.scratch = structure(memory)
        self.imu, self.turning, self.zeros = np.zeros(6), np.zeros(3), np.zeros(self.drive_count)
        self.start = machine.model.home_joints.copy()
        self.data = DrivesData(
            chart=np.eye(3)[None],
            imu_position=np.array(imu_position, dtype=float),
            gravity=np.array(machine.gravity, dtype=float),
            constants=layout.first_rows,
            imu=self.imu,
            angular_acceleration=self.turning,
            start=self.start,
            rows=np.zeros_like(memory.rows),
            reflections=np.zeros_like(memory.reflections),
            outside=np.zeros(1, dtype=np.int64),
        )
        self.struct = structure(self.data)
        constants = geometry_constants(replace(machine, tolerances=tolerances))
        self.constant_count = whole_sixes(len(constants.kind))
        self._constants, self.geometry = constants, structure(constants)

    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""
        self.data.chart[0] = rotation
        self.data.gravity[:] = rotation.T @ self.machine.gravity

    def measured(self, drive_positions: Array) -> Array:
        """Positions of the drives (A,), and zeros for the constraints (K,)."""
        return np.concatenate([drive_positions + self.zeros, np.zeros(self.constraint_count)])

    def observe(self, points: Array) -> Array:
        """Positions of the drives, then residuals of the constraints, (N, A + K) of ``points`` (N, n)."""
        values = np.empty((len(points), self.drive_count + self.constraint_count))
        drives_of_all(self.machine.compiled_model, self.scratch, self.struct, as_points(points), values)
        return values

    def constants(self) -> list[tuple[int, int, float]]:
        """Those of :func:`~pkm_description.kinematics.geometry_constants.geometry_constants`."""
        known = self._constants
        legs = np.searchsorted(known.start, np.arange(len(known.kind)), side='right') - 1
        drives = np.where(known.kind == DRIVE_ZERO, known.place, -1)
        return list(zip(legs.tolist(), drives.tolist(), known.std.tolist(), strict=True))

    def slopes_by_constants(self, points: Array) -> Array:
        """Slopes (A + K, p) with respect to the geometry, at the first of the points (N, n) that were observed last."""
        slopes = np.zeros((self.drive_count + self.constraint_count, self.constant_count))
        model = self.machine.compiled_model
        slopes_of_drives(model, self.scratch, self.struct, self.geometry, as_points(points), slopes)
        return slopes


def whole_sixes(count: int) -> int:
    """Columns that a number of constants takes."""
    return -(-count // TOGETHER) * TOGETHER
