"""Measurement model of drive positions and constraints for machines of any kind.

A machine with fewer than six degrees of freedom is estimated in all six: its constraints are measurements of zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.jit import structure
from pkm_description.kernels.model import constraint_row_count, scratch_data
from pkm_description.kinematics import drive_positions, leg_lengths
from pkm_description.machine import Machine

from pkm_estimation.kernels.drives import DrivesData, drives_of_all
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import STATE_SIZE, as_points
from pkm_estimation.models.leg_model import LegModel


def measured_positions(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """What sensors measure (N, L) at poses (N, 3), (N, 3, 3): lengths of struts, positions of other drives.

    Less :func:`~pkm_estimation.models.geometry.measured_at_zero` these are the drives' positions.
    """
    if machine.has_closed_form:
        return leg_lengths(machine, position, rotation_base_platform)
    return drive_positions(machine, position, rotation_base_platform)


class DriveModel(LegModel):
    """Drive positions and constraint residuals of all points in one call.

    The legs are closed onto the first point by iterations that begin at the legs of the last first point, the filter's
    mean, and onto the others from there. The equations are in :mod:`pkm_estimation.kernels.drives`.

    Parameters
    ----------
    machine : any machine with a platform
    imu_position : (3,) m, platform axes; states describe this point
    layout : where constants lie as states; default: there are none

    Attributes
    ----------
    size : number of states n
    constraint_count : K, numbers behind those of the drives: gaps of the legs [m], height above the plane [m], and tilt
        about x and y times the platform's radius [m]
    scratch, data, struct : memory for kernels, and what they read, for NumPy and for kernels
    """

    def __init__(self, machine: Machine, imu_position: Array, layout: StateLayout | None = None) -> None:
        self.machine = machine
        self.drive_count = machine.actuated_count
        self.constraint_count = constraint_row_count(machine.model)
        layout = layout or StateLayout(STATE_SIZE)
        self.size = layout.size
        memory = scratch_data(machine.model)
        self.scratch = structure(memory)
        self.imu, self.turning = np.zeros(6), np.zeros(3)
        self.data = DrivesData(
            chart=np.eye(3)[None],
            imu_position=np.array(imu_position, dtype=float),
            gravity=np.array(machine.gravity, dtype=float),
            constants=layout.first_rows,
            imu=self.imu,
            angular_acceleration=self.turning,
            start=machine.model.home_joints.copy(),
            rows=np.zeros_like(memory.rows),
            reflections=np.zeros_like(memory.reflections),
            outside=np.zeros(1, dtype=np.int64),
        )
        self.struct = structure(self.data)

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return int(self.data.outside[0])

    def snapshot(self) -> tuple[Any, Array]:
        """State for :meth:`restore`."""
        return super().snapshot(), self.data.start.copy()

    def restore(self, snapshot: tuple[Any, Array]) -> None:
        """Restore a snapshot."""
        of_imu, self.data.start[:] = snapshot
        super().restore(of_imu)

    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""
        self.data.chart[0] = rotation
        self.data.gravity[:] = rotation.T @ self.machine.gravity

    def measured(self, drive_positions: Array) -> Array:
        """Positions of the drives (A,), and zeros for the constraints (K,)."""
        return np.concatenate([drive_positions, np.zeros(self.constraint_count)])

    def observe(self, points: Array) -> Array:
        """Positions of the drives, then residuals of the constraints, (N, A + K) of ``points`` (N, n)."""
        values = np.empty((len(points), self.drive_count + self.constraint_count))
        drives_of_all(self.machine.compiled_model, self.scratch, self.struct, as_points(points), values)
        return values
