"""Measurement model of drive positions and constraints for machines of any kind.

A machine with fewer than six degrees of freedom is estimated in all six: its constraints are measurements of zero.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions, joint_positions, leg_lengths
from pkm_description.kinematics.chain import chain_pose, tip_jacobian
from pkm_description.kinematics.leg_inverse import leg_inverse
from pkm_description.kinematics.leg_iterations import nearest_positions
from pkm_description.machine import Machine

from pkm_estimation.models.attitude import rotations_of
from pkm_estimation.models.inertial_process import ATTITUDE, POSITION
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

    The legs are closed onto each point by iterations that begin at the legs of the last first point, the filter's mean.

    Parameters
    ----------
    machine : any machine with a platform
    imu_position : (3,) m, platform axes; states describe this point

    Attributes
    ----------
    constraint_count : K, rows behind those of the drives: gaps of the legs [m], height above the plane [m], and tilt
        about x and y times the platform's radius [m]
    joints : (L, J) where the legs were last; the next iteration begins there
    """

    def __init__(self, machine: Machine, imu_position: Array) -> None:
        self.machine, self._imu_position = machine, imu_position
        self.drive_count = machine.actuated_count
        self.constraint_count = machine.constraint_count
        self._outside = 0
        home = machine.home
        self._home_height, self._home_up = home.position[2], home.rotation_base_platform[2]
        self.joints = joint_positions(machine, home.position[None], home.rotation_base_platform[None])[0]
        self._chart = np.eye(3)

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return self._outside

    def snapshot(self) -> Array:
        """State for :meth:`restore`; it is never changed in place."""
        return self.joints

    def restore(self, snapshot: Array) -> None:
        """Restore a snapshot."""
        self.joints = snapshot

    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""
        self._chart = rotation

    def measured(self, drive_positions: Array) -> Array:
        """Positions of the drives (L,), and zeros for the constraints (K,)."""
        return np.concatenate([drive_positions, np.zeros(self.constraint_count)])

    def observe(self, points: Array) -> Array:
        """Positions of the drives, then residuals of the constraints, (N, A + K) of ``points`` (N, n)."""
        machine = self.machine
        rotation, outside = rotations_of(points[:, ATTITUDE])
        self._outside += outside
        rotation = self._chart @ rotation
        position = points[:, POSITION] @ self._chart.T - rotation @ self._imu_position
        levers = machine.platform_points @ np.swapaxes(rotation, 1, 2)
        anchors = position[:, None] + levers
        joints = nearest_positions(machine, anchors, self.joints)
        self.joints = joints[0]
        rows = [joints[..., machine.actuated_index]]
        chain = chain_pose(machine, joints)
        _, held = leg_inverse(machine, tip_jacobian(machine, chain))
        if held.shape[-1]:
            gap = np.swapaxes(held, -1, -2) @ (anchors - chain.tip)[..., None]
            rows.append(gap.reshape(len(position), -1))
        if machine.planar:
            tilt = machine.platform_radius * (rotation[:, 2] - self._home_up)[:, :2]
            rows.append(np.column_stack([position[:, 2] - self._home_height, tilt]))
        return np.concatenate(rows, axis=1)
