"""IMU and leg samples of a recording as arrays: valid samples, in the machine's leg order, on one time axis."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import JointStateError, PkmError
from pkm_description.joint_states import JointStateReader
from pkm_description.machine import Machine

from pkm_estimation.bags import JointStates, RecordedData

#: a step of the stamps by more than so many usual ones is a gap
GAP = 1.5


class TuningError(PkmError):
    """A recording does not contain the data that are needed."""


@dataclass(frozen=True)
class SensorStreams:
    """Samples of legs and IMU, each at its own times.

    Attributes
    ----------
    leg_time : (N,) s, increasing; zero is the first sample of either sensor
    drive_positions : (N, L) m or rad
    imu_time : (M,) s, by the IMU's stamps
    imu : (M, 6) specific force m/s^2 and angular rate rad/s, IMU axes
    dropped : samples that could not be used: not finite, without a stamp, or not newer than the one before
    """

    leg_time: Array
    drive_positions: Array
    imu_time: Array
    imu: Array
    dropped: int = 0

    @classmethod
    def from_recording(cls, machine: Machine, data: RecordedData) -> SensorStreams:
        """Sort a recording's joints into the machine's leg order.

        Raises
        ------
        MissingTopicError, TuningError
            A topic or a leg is missing; fewer than two usable samples.
        """
        legs = data.require(data.joint_states, 'joint_states')
        imu = data.require(data.imu_data_raw, 'imu/data_raw')
        leg_stamps, drive_positions = _drive_positions(machine, data.path, legs)
        samples = np.hstack([imu.specific_force, imu.angular_rate]) * machine.driver.imu.scale @ machine.imu.matrix.T
        leg_rows, imu_rows = _usable(leg_stamps, drive_positions), _usable(imu.stamps, samples)
        for topic, rows in (('joint_states', leg_rows), ('imu/data_raw', imu_rows)):
            if np.count_nonzero(rows) < 2:
                raise TuningError(f'{data.path}: {topic} has fewer than two usable samples of {len(rows)}')
        leg_stamps, imu_stamps = leg_stamps[leg_rows], imu.stamps[imu_rows]
        begin = min(int(leg_stamps[0]), int(imu_stamps[0]))
        dropped = int(np.count_nonzero(~leg_rows) + np.count_nonzero(~imu_rows))
        leg_time, imu_time = (1e-9 * (stamps - begin).astype(float) for stamps in (leg_stamps, imu_stamps))
        return cls(leg_time, drive_positions[leg_rows], imu_time, samples[imu_rows], dropped)

    def between(self, begin: float, end: float) -> SensorStreams:
        """Samples from ``begin`` to ``end`` [s]; their times stay as they are."""
        leg_rows = (self.leg_time >= begin) & (self.leg_time <= end)
        imu_rows = (self.imu_time >= begin) & (self.imu_time <= end)
        if np.count_nonzero(leg_rows) < 2 or np.count_nonzero(imu_rows) < 2:
            last = max(self.leg_time[-1], self.imu_time[-1])
            raise TuningError(f'nothing is left between {begin:g} and {end:g} s; the recording has {last:.2f} s')
        return replace(
            self,
            leg_time=self.leg_time[leg_rows],
            drive_positions=self.drive_positions[leg_rows],
            imu_time=self.imu_time[imu_rows],
            imu=self.imu[imu_rows],
        )


def _drive_positions(machine: Machine, path: str, legs: JointStates) -> tuple[NDArray[np.int64], Array]:
    """Stamps (N,) ns and positions (N, L) of messages that name drives, in whatever order, and whatever further joints.

    Messages of a gripper alone are left out; NaN where drives are missing.
    """
    reader = JointStateReader.of_drives(machine)
    result, is_own = np.full((len(legs), machine.actuated_count), np.nan), np.zeros(len(legs), dtype=bool)
    alike = np.array([row for row in range(len(legs)) if row not in legs.unlike], dtype=int)
    unlike = [(np.array([row]), one.names, one.positions[None]) for row, one in legs.unlike.items()]
    errors = []
    for rows, names, values in [(alike, legs.names, legs.positions[alike]), *unlike]:
        try:
            order = reader.order(names)
            is_own[rows] = len(order.joints) > 0
            order.require_all()
            result[rows] = order.by_joint(values)
        except JointStateError as error:
            errors.append(error)
    if errors and np.isnan(result).all():
        raise TuningError(f'{path}: joint_states: {errors[0]}')
    return legs.stamps[is_own], result[is_own]


def usual_interval(time: Array) -> float:
    """Usual time between two samples of (N,) s."""
    return float(np.median(np.diff(time)))


def longest_stretch(time: Array, gap: float = GAP) -> slice:
    """Longest part of (N,) s without a step of more than ``gap`` usual ones."""
    breaks = np.flatnonzero(np.diff(time) > gap * usual_interval(time)) + 1
    edges = np.concatenate([[0], breaks, [len(time)]])
    longest = int(np.argmax(np.diff(edges)))
    return slice(int(edges[longest]), int(edges[longest + 1]))


def _usable(stamps: NDArray[np.int64], values: Array) -> NDArray[np.bool_]:
    usable: NDArray[np.bool_] = np.all(np.isfinite(values), axis=1) & (stamps > 0)
    newest = np.maximum.accumulate(np.where(usable, stamps, np.iinfo(np.int64).min))
    usable[1:] &= stamps[1:] > newest[:-1]
    return usable
