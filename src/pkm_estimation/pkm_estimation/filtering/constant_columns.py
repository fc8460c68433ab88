"""Constants of machine and sensors that are not estimated: which columns of the sensitivity are theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.kinematics.geometry_slopes import DRIVE_ZERO
from pkm_description.kernels.model import Integers
from pkm_description.kinematics.geometry_constants import geometry_constant_names, geometry_constants
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, Tolerances
from pkm_description.machine.tolerances import EXACT, IMU_CONSTANTS, USUAL_TOLERANCE, imu_constant_name

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.kernels.carried import BY_DIRECTION, BY_POSITION, BY_SPEED, BY_TIME, DRIFT_TIME
from pkm_estimation.kernels.input_noise import (
    AXIS_DELAY,
    DELAY,
    GRAVITY,
    MOUNTING,
    PLACE,
    RESPONSE,
    SCALE,
    SKEW,
    WARMING,
)
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.leg_model import LegModel

#: kinds of constants that act through the input, but for the scales of the two sensors
_KINDS = {
    GRAVITY: 'gravity', PLACE: 'place', MOUNTING: 'mounting', DELAY: 'delay', RESPONSE: 'response', SKEW: 'skew',
    AXIS_DELAY: 'axis delays',
}  # fmt: skip
#: units of constants that count as exact: m or rad, m/s^2, m, rad; s, s^2 and relative, those of the IMU's stamps.
#: Within one unit a constant acts as its column says: products with others do not matter
_UNITS = {
    'joint_centres': USUAL_TOLERANCE, 'leg_zeros': USUAL_TOLERANCE, 'gravity': 1e-2, 'imu_position': 5e-3,
    'imu_rotation': 3e-3,
}  # fmt: skip
_DELAY_UNIT, _RESPONSE_UNIT, _SKEW_UNIT, _SCALE_UNIT = 1e-3, 1e-5, 1e-5, 1e-3
#: the same of rates at which biases change: m/s^3, rad/s^2
_WARMING_UNITS = 1e-4, 1e-5
#: kinds of constants by what changes a zero, and the part of its unit that theirs is: per s, m (or rad), m/s (or
#: rad/s), and the same
_CHANGES = {
    BY_TIME: ('drift', DRIFT_TIME), BY_POSITION: ('scale', 1.0), BY_SPEED: ('lateness', 1.0),
    BY_DIRECTION: ('backlash', 1.0),
}  # fmt: skip
#: the tolerance of constants that act through the input
_SETTINGS = {GRAVITY: 'gravity', PLACE: 'imu_position', MOUNTING: 'imu_rotation', SCALE: 'imu_scale'}

#: units, standard deviation of a constant that is known exactly
_SHARPEST = 1e-9


class ConstantColumn(NamedTuple):
    """One column of the sensitivity.

    Attributes
    ----------
    place : of the column
    kind, member : ``zero``, ``drift``, ``scale``, ``lateness`` or ``backlash`` and the drive, ``geometry`` and the
        leg, or ``gravity``, ``place``, ``mounting``, ``accelerometer``, ``gyroscope``, ``accelerometer bias``,
        ``gyroscope bias``, ``delay``, ``axis delays``, ``skew``, ``response`` and 0:
        constants of the same kind and member are likely to be off together
    axis : 0 to 2, of those that have one; 0 to 8 of the matrix, row by row, that the samples of a sensor lack
    unit : of the column, SI
    is_considered : whether a tolerance is stated; else the constant counts as exact until innovations say otherwise
    leg : whose it is; -1 of the IMU's and gravity's
    """

    place: int
    kind: str
    member: int
    axis: int
    unit: float
    is_considered: bool
    leg: int = -1


class ConstantScore(NamedTuple):
    """What innovations say of p constants (:mod:`pkm_estimation.kernels.carried`).

    Attributes
    ----------
    score, information : (p,), (p, p)
    squares : (2,) sum of the squares of the whitened innovations, and how many numbers there are
    """

    score: Array
    information: Array
    squares: Array

    @classmethod
    def nothing(cls, count: int) -> ConstantScore:
        """Of no innovation."""
        return cls(np.zeros(count), np.zeros((count, count)), np.zeros(2))

    @classmethod
    def of_known(cls, sizes: Array, std: Array, is_known: NDArray[np.bool_]) -> ConstantScore:
        """Of innovations that told constants (p,) with standard deviations (p,), and of those not known nothing."""
        information = np.zeros(len(std))
        information[is_known] = np.maximum(std[is_known], _SHARPEST) ** -2.0
        return cls(information * sizes, np.diag(information), np.zeros(2))

    def moved(self, place: int, size: float) -> ConstantScore:
        """The same for constants one of which is counted from another value on, ``size`` units away."""
        score, squares = self.score - size * self.information[:, place], self.squares.copy()
        squares[0] += size * (size * self.information[place, place] - 2.0 * self.score[place])
        return ConstantScore(score, self.information, squares)

    def without(self, place: int) -> ConstantScore:
        """The same where nothing was said of one of them."""
        score, information = self.score.copy(), self.information.copy()
        score[place], information[place], information[:, place] = 0.0, 0.0, 0.0
        return ConstantScore(score, information, self.squares)

    def walked(self, place: int, variance: float) -> ConstantScore:
        """The same for constants one of which has moved since, by a step of such a variance, in its unit."""
        along, squares = self.information[:, place], self.squares.copy()
        gain = variance / (1.0 + variance * along[place])
        squares[0] -= gain * self.score[place] ** 2
        score = self.score - gain * self.score[place] * along
        return ConstantScore(score, self.information - gain * np.outer(along, along), squares)

    def aged(self, kept: float, new: ConstantScore) -> ConstantScore:
        """The same counted as a part ``kept`` of it, and what is new."""
        return ConstantScore(*(kept * old + more for old, more in zip(self, new, strict=True)))


def with_imu_constants(machine: Machine, sizes: Mapping[str, Array]) -> Machine:
    """Machine whose gravity and IMU are off by ``sizes``, SI, by kind; what no machine file has changes nothing."""
    imu = machine.imu
    if 'mounting' in sizes:
        imu = replace(imu, rotation_platform_imu=rotation_exp(sizes['mounting']) @ imu.rotation_platform_imu)
    if 'place' in sizes:
        imu = replace(imu, position=imu.position + sizes['place'])
    matrices: dict[str, Any] = {
        f'{name}_matrix': imu.corrected_matrix(name, sizes[name].reshape(3, 3))
        for name in sizes.keys() & {'accelerometer', 'gyroscope'}
    }
    return replace(machine, imu=replace(imu, **matrices), gravity=machine.gravity + sizes.get('gravity', 0.0))


def tests_constants(config: EstimatorConfig) -> bool:
    """Whether innovations tell if constants are as they should be.

    Of a filter that never goes back, has none of them as states, and takes what is too large for no noise.
    """
    return (
        config.filter == 'manifold' and not config.estimate and config.history == 0.0 and config.adapt_noise == 'off'
    )


def considered_tolerances(
    machine: Machine | None, layout: StateLayout, config: EstimatorConfig
) -> tuple[Tolerances, Tolerances]:
    """Tolerances that are considered, none of what is estimated, and those that are the units of the sensitivity."""
    if machine is None:
        return EXACT, EXACT
    states = {'leg_offsets': 'leg_zeros', 'imu_rotation': 'imu_rotation', 'imu_position': 'imu_position'}
    estimated: dict[str, Any] = {states[name]: 0.0 for name in layout.groups if name in states}
    considered = replace(machine.tolerances, **estimated)
    if not tests_constants(config):
        return considered, considered
    units: dict[str, Any] = {}
    for name, unit in _UNITS.items():
        stated = np.asarray(getattr(considered, name), dtype=float)
        units[name] = np.where(stated > 0.0, stated, unit)
    return considered, replace(considered, **units)


def input_constants(units: Tolerances, config: EstimatorConfig) -> Array:
    """Constants (q, 3) that act through the input: kind, axis and unit; a mean over some time bends the other way."""
    rows: list[tuple[int, int, float]] = []
    for kind, name in _SETTINGS.items():
        unit = float(getattr(units, name))
        rows += [(kind, axis, unit) for axis in range(18 if kind == SCALE else 3) if unit > 0.0]
    if tests_constants(config) and not units.are_zero:
        if not units.imu_scale:
            rows += [(SCALE, axis, _SCALE_UNIT) for axis in range(18)]
        rows += [(WARMING, axis, _WARMING_UNITS[axis // 3]) for axis in range(6)]
        rows += [(AXIS_DELAY, axis, _DELAY_UNIT) for axis in range(6)]
        rows += [(DELAY, 0, _DELAY_UNIT), (RESPONSE, 0, -_RESPONSE_UNIT), (SKEW, 0, _SKEW_UNIT)]
    return np.array(rows, dtype=float).reshape(-1, 3)


def changes_of(legs: LegModel, config: EstimatorConfig) -> Integers:
    """What may change the zeros of all drives, as :func:`~pkm_estimation.kernels.carried.add_changes` takes it.

    Nothing where nothing is tested.
    """
    zeros = [(place, drive) for place, (_, drive, _) in enumerate(legs.constants()) if drive >= 0]
    changing = [(*zero, kind) for kind in _CHANGES for zero in zeros if tests_constants(config)]
    changes = [(place, *change) for place, change in enumerate(changing, legs.constant_count)]
    return np.array(changes, dtype=np.int64).reshape(-1, 4)


def constant_columns(
    legs: LegModel, changes: Integers, of_input: Array, considered: Tolerances, total: int
) -> list[ConstantColumn]:
    """All columns of a sensitivity that has ``total``: those of the geometry come first, those of the input last."""
    zeros = np.broadcast_to(np.asarray(considered.leg_zeros, dtype=float), legs.drive_count)
    legs_of = max((leg for leg, _, _ in legs.constants()), default=0) + 1
    centres = np.broadcast_to(np.asarray(considered.joint_centres, dtype=float), legs_of)
    columns = [
        ConstantColumn(place, 'geometry', leg, 0, unit, bool(centres[leg] > 0.0), leg)
        if drive < 0
        else ConstantColumn(place, 'zero', drive, 0, unit, bool(zeros[drive] > 0.0), leg)
        for place, (leg, drive, unit) in enumerate(legs.constants())
    ]
    columns += [
        columns[zero]._replace(
            place=place, kind=_CHANGES[kind][0], unit=columns[zero].unit / _CHANGES[kind][1], is_considered=False
        )
        for place, zero, _, kind in changes.tolist()
    ]
    for place, (kind, axis, unit) in enumerate(of_input.tolist(), total - len(of_input)):
        is_gyroscope = axis >= (3 if kind in (WARMING, AXIS_DELAY) else 9)
        sensor = 'gyroscope' if is_gyroscope else 'accelerometer'
        name = f'{sensor} bias' if kind == WARMING else _KINDS.get(kind, sensor)
        is_considered = kind in _SETTINGS and getattr(considered, _SETTINGS[kind]) > 0.0
        columns.append(ConstantColumn(place, name, 0, int(axis) % 9, abs(unit), bool(is_considered)))
    return columns


def named_columns(machine: Machine, columns: Sequence[ConstantColumn]) -> dict[str, ConstantColumn]:
    """Columns of constants that a machine file or a calibration has, by their names in words."""
    geometry, found = geometry_constants(machine), {}
    zeros = {column.member: column for column in columns if column.kind == 'zero'}
    centres = iter([column for column in columns if column.kind == 'geometry' and column.is_considered])
    names = geometry_constant_names(machine, geometry)
    for name, kind, place in zip(names, geometry.kind, geometry.place, strict=True):
        column = zeros.get(int(place)) if kind == DRIVE_ZERO else next(centres, None)
        if column is not None and column.is_considered:
            found[name] = column
    of_imu = [column for column in columns if column.kind in IMU_CONSTANTS]
    return found | {imu_constant_name(column.kind, column.axis): column for column in of_imu}


def prior_covariance(machine: Machine | None, columns: Sequence[ConstantColumn], total: int) -> Array:
    """Covariance (total, total) of the constants, in their units: by tolerances, or by what a calibration left of them.

    Zero of those that are exact. A calibrated constant without a column of its own is a state, or does not matter.
    """
    prior = np.zeros((total, total))
    for column in columns:
        prior[column.place, column.place] = float(column.is_considered)
    if machine is None or not machine.tolerances.calibrated.names:
        return prior
    own = named_columns(machine, columns)
    known, covariance = machine.tolerances.calibrated.within({name: column.unit for name, column in own.items()})
    places = [own[name].place for name in known]
    prior[np.ix_(places, places)] = covariance
    return prior


def root_of(covariance: Array) -> Array:
    """Lower root (p, p) of a covariance (p, p) with rows of zeros, of what is exact."""
    root, some = np.zeros_like(covariance), np.flatnonzero(covariance.diagonal())
    rows = np.ix_(some, some)
    root[rows] = np.linalg.cholesky(covariance[rows] + _SHARPEST * np.diag(covariance.diagonal()[some]))
    return root
