"""Measurements: positions of the drives from named joint positions in any order, those of users, and their queue."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError, JointStateError
from pkm_description.joint_states import JointOrder, JointStateReader, not_finite_text
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine

from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.models.extra_states import ImuFrame

#: numbers of the covariance of one sensor
_NUMBERS = 9
#: fraction of the stroke by which a position may exceed its limit before it counts as wrong (unit or sensor error)
STROKE_MARGIN = 0.1


class LegSample(NamedTuple):
    """Positions (A,) m or rad and efforts (A,) N or N m of one message, NaN if missing; ``used``: drives to use."""

    positions: Array
    efforts: Array
    used: NDArray[np.intp]


class LegMeasurement(NamedTuple):
    """Positions of the drives at an instant; counted as ``topic``."""

    instant: Instant
    sample: LegSample
    topic: str = 'legs'


class UserMeasurement(NamedTuple):
    """A user's measurement (m,), counted as ``topic``, with its covariance (m, m).

    ``observe`` maps sigma points to predictions (m, N).
    """

    instant: Instant
    topic: str
    observe: Callable[[Any], Array]
    value: Array
    covariance: Array


Measurement = LegMeasurement | UserMeasurement


def measurement_order(measurement: Measurement) -> tuple[Instant, str]:
    """Measurements are processed by time; of equal times the legs come first."""
    return measurement.instant, measurement.topic if isinstance(measurement, UserMeasurement) else ''


def checked_measurement(value: Sequence[float] | Array, covariance: Array, name: str) -> tuple[Array, Array]:
    """Value (m,) and covariance (m, m) of a user's measurement as arrays of their own.

    Raises
    ------
    ConfigurationError
        The covariance does not fit the value or is not positive definite.
    """
    numbers, noise = np.array(value, dtype=float), np.array(covariance, dtype=float)
    count = len(numbers)
    if noise.shape != (count, count) or not np.isfinite(noise).all() or np.linalg.eigvalsh(noise)[0] <= 0.0:
        raise ConfigurationError(
            f'{name}: covariance has shape {noise.shape}; it must be ({count}, {count}) and positive definite'
        )
    return numbers, noise


class MeasurementQueue(deque[Measurement]):
    """Measurements that wait for the IMU, in the order in which they are processed."""

    def add(self, measurement: Measurement) -> None:
        """Insert a measurement by its time."""
        if self and (order := measurement_order(measurement)) < measurement_order(self[-1]):
            self.insert(bisect_left(self, order, key=measurement_order), measurement)
        else:
            self.append(measurement)

    def oldest_of_too_many(self, topic: str, most: int) -> Measurement | None:
        """Remove and return the oldest measurement of a topic that has ``most`` or more, else ``None``."""
        places = [place for place, measurement in enumerate(self) if measurement.topic == topic]
        if len(places) < most:
            return None
        oldest = self[places[0]]
        del self[places[0]]
        return oldest


#: sets of names beside those of the drives that were told
_REMEMBERED = 16


class LegMessageReader:
    """Sorts joint positions into the machine's leg order.

    Parameters
    ----------
    machine : names and strokes of the actuated joints
    minimum_legs : below this a message is rejected

    Attributes
    ----------
    all : (A,) indices of the drives
    """

    def __init__(self, machine: Machine, minimum_legs: int) -> None:
        self._names = tuple(joint.name for joint in machine.actuated_joints)
        lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]).T
        margin = STROKE_MARGIN * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        self._lowest, self._highest = lower - margin, upper + margin
        self._ranges = list(zip(self._lowest.tolist(), self._highest.tolist(), strict=True))
        self._reader = JointStateReader.of_drives(machine)
        self.minimum_legs = min(minimum_legs, len(self._names))
        self.all = np.arange(len(self._names))
        self._foreign: set[tuple[str, ...]] = set()

    def read(
        self,
        names: Sequence[str],
        positions: Sequence[float] | Array,
        efforts: Sequence[float] | Array | None,
        complain: Callable[[str, str], None],
    ) -> LegSample | None:
        """Return the sample, ``None`` if too few legs are usable; ``complain(reason, detail)`` says what is wrong."""
        try:
            order = self._reader.order(names)
            drives = order.by_joint(positions)
        except JointStateError as error:
            complain(error.reason, str(error))
            return None
        if order.unknown:
            self._name_unknown(order, complain)
        # plain floats are faster than numpy for six numbers
        inside = [low <= value <= high for value, (low, high) in zip(drives.tolist(), self._ranges, strict=True)]
        if all(inside):
            return LegSample(drives, order.by_joint_or_nan(efforts), self.all)
        return self._doubtful(drives, order, order.by_joint_or_nan(efforts), complain)

    def read_all(self, names: Sequence[str], positions: Array, efforts: Array) -> tuple[Array, Array] | None:
        """Positions and efforts (N, A) by N messages (N, J) with the same names, ``None`` if one is doubtful."""
        try:
            order = self._reader.order(names)
            drives = order.by_joint(positions)
        except JointStateError:
            return None
        if self._is_new(order) or not ((drives >= self._lowest) & (drives <= self._highest)).all():
            return None
        return drives, order.by_joint_or_nan(efforts)

    def _is_new(self, order: JointOrder) -> bool:
        """Whether a message has names that must be told."""
        return bool(order.unknown) and (bool(order.missing) or order.names not in self._foreign)

    def _name_unknown(self, order: JointOrder, complain: Callable[[str, str], None]) -> None:
        """Names beside those of all drives are told once: a gripper. Where drives are missing, they may be meant."""
        if order.missing:
            complain('unknown_joint', order.unknown_text())
        elif self._is_new(order):
            if len(self._foreign) >= _REMEMBERED:  # of a driver that changes them all the time
                self._foreign.clear()
            self._foreign.add(order.names)
            complain('foreign_joints', order.unknown_text())

    def _doubtful(
        self, positions: Array, order: JointOrder, efforts: Array, complain: Callable[[str, str], None]
    ) -> LegSample | None:
        """Return the sample without its missing or wrong positions; ``None`` if too few are left."""
        finite = np.isfinite(positions)
        outside = (positions < self._lowest) | (positions > self._highest)
        if outside.any():
            told = ', '.join(f'{self._names[leg]} = {positions[leg]:g} m' for leg in np.flatnonzero(outside))
            metres = 1e-3 * positions[outside]
            fits = ((metres >= self._lowest[outside]) & (metres <= self._highest[outside])).all()
            hint = 'inside in millimetres: expected metres' if fits else 'check unit and zero'
            complain('position_out_of_stroke', f'{told}: far outside of the stroke, left out; {hint}')
            positions[outside] = np.nan
        if order.missing:
            complain('missing_joint', order.missing_text())
        bad = [self._names[leg] for leg in order.joints if not finite[leg]]
        if bad:
            complain('position_not_finite', not_finite_text(bad))
        used = np.flatnonzero(finite & ~outside)
        if len(used) < self.minimum_legs:
            complain('too_few_legs', f'{len(used)} usable leg positions, at least {self.minimum_legs} are needed')
            return None
        return LegSample(positions, efforts, used)


class MessageNoise:
    """Takes the covariances of the first message of the IMU for all: no driver measures the noise of each sample.

    What changes later is told. So the noise does not depend on which topic comes first.

    Parameters
    ----------
    frame, filter_ : get the noise
    health : gets the events ``imu_covariance_missing`` and ``imu_covariance_changed``
    """

    def __init__(self, frame: ImuFrame, filter_: PlatformFilter, health: HealthMonitor) -> None:
        self._frame, self._filter, self._health = frame, filter_, health
        self._first: Array | None = None

    def go_on_with(self, frame: ImuFrame, filter_: PlatformFilter) -> None:
        """Give what the first message stated to another frame and filter."""
        self._frame, self._filter = frame, filter_
        if self._first is not None:
            self._give(stated_covariance(self._first))

    def _give(self, stated: Array) -> None:
        self._frame.take_stated(stated)
        self._filter.set_imu_noise(self._frame.noise_covariance)

    def take(self, stamp: int, covariances: Sequence[float] | Array | None) -> None:
        """Take what the message of a stamp [ns] states: of specific force, then of angular rate, row by row (18,)."""
        self.take_all(np.array([stamp]), None if covariances is None else np.asarray(covariances, dtype=float)[None])

    def take_all(self, stamps: Integers, covariances: Array | None) -> None:
        """Take what messages (N,) state, see :meth:`take`; ``None``: nothing."""
        if not len(stamps):
            return
        rows = np.full((len(stamps), 2 * _NUMBERS), np.nan) if covariances is None else covariances
        if self._first is None:
            self._first = rows[0].copy()
            self._begin(stamps.item(0), rows[0])
        for other in np.flatnonzero(~((rows == self._first) | (np.isnan(rows) & np.isnan(self._first))).all(axis=1)):
            detail = 'the covariances of the IMU messages change; those of the first one are used for all'
            self._health.event(stamps.item(other), 'imu_covariance_changed', detail)

    def _begin(self, stamp: int, numbers: Array) -> None:
        stated = stated_covariance(numbers)
        missing = [
            name
            for name, part in (('linear_acceleration_covariance', 0), ('angular_velocity_covariance', 3))
            if np.isnan(stated[part, part])
        ]
        if missing:
            detail = f'the first message states no {" and no ".join(missing)}: noise as in the machine file'
            self._health.event(stamp, 'imu_covariance_missing', detail)
        self._give(stated)


def stated_covariance(numbers: Array) -> Array:
    """Covariance (6, 6) by the 18 numbers of a ``sensor_msgs/Imu``, specific force first.

    NaN where the message states none: zeros (unknown), -1 (no such sensor), or what is no covariance.
    """
    covariance = np.zeros((6, 6))
    for part in range(2):
        block = numbers[part * _NUMBERS : (part + 1) * _NUMBERS].reshape(3, 3)
        rows = slice(3 * part, 3 * part + 3)
        covariance[rows, rows] = block if _is_covariance(block) else np.nan
    return covariance


def _is_covariance(block: Array) -> bool:
    if not np.isfinite(block).all() or not np.allclose(block, block.T, rtol=1e-6, atol=0.0):
        return False
    return bool(np.linalg.eigvalsh(block)[0] > 0.0)
