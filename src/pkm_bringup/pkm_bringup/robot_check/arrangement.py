"""Which joint belongs to which leg, and which way it counts: what explains the IMU best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.machine import Machine

from pkm_bringup.robot_check.agreement import AXES, Agreement, ImuEvidence, SensorPrediction, agreement, predict

#: what a further mistake must explain of the IMU's power to be believed
_PRICE = 0.08
#: hypotheses that are worked out with forward kinematics, after a linear choice
_FINALISTS = 40
#: instants at which they are
_INSTANTS = 120
#: at most so many legs are permuted in all ways
_MOST_LEGS = 7


@dataclass(frozen=True)
class LegAssignment:
    """A hypothesis about the drives.

    Attributes
    ----------
    order : (A) column of the joint states that belongs to each drive
    flipped : (A,) whether a drive counts the other way round
    cost : how unusual it is: 0 as in the names, about 1 for one mistake
    about_zero : what counts the other way round does so from the same zero, not from the other end of the stroke
    """

    order: tuple[int, ...]
    flipped: tuple[bool, ...]
    cost: float
    about_zero: bool = False

    def moves_as(self, other: LegAssignment) -> bool:
        """Whether another one differs at most in its price and in the ends of the strokes."""
        return (self.order, self.flipped) == (other.order, other.flipped)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is changed."""
        return self.cost == 0.0


@dataclass(frozen=True)
class Judged:
    """An arrangement, what it predicts, and how that agrees with the IMU."""

    arrangement: LegAssignment
    prediction: SensorPrediction
    agreement: Agreement

    @property
    def score(self) -> float:
        """Lower is better: what stays unexplained, poses that are not found, and the price of mistakes."""
        fit = self.agreement
        rate = 0.0 if np.isnan(fit.rate_misfit) else fit.rate_misfit
        force = 0.0 if np.isnan(fit.force_misfit) else fit.force_misfit
        lost = 1.0 - float(self.prediction.found.mean())
        penalty = 0.05 * force + max(0.0, force - 1.0)
        return rate + penalty + lost + _PRICE * (self.arrangement.cost + fit.axes_cost)


@dataclass(frozen=True)
class DriveMotion:
    """Drives on the grid, in the order of the columns: (N, A) values, rates, accelerations; (N,) good."""

    time: Array
    value: Array
    rate: Array
    acceleration: Array
    good: NDArray[np.bool_]

    def arranged(self, machine: Machine, arrangement: LegAssignment) -> DriveMotion:
        """Motion of the drives under a hypothesis; what counts the other way round does so about mid-stroke."""
        order = list(arrangement.order)
        sign = np.where(arrangement.flipped, -1.0, 1.0)
        value = self.value[:, order] * sign + shifts(machine, arrangement)
        return DriveMotion(self.time, value, self.rate[:, order] * sign, self.acceleration[:, order] * sign, self.good)

    def some(self, count: int) -> tuple[DriveMotion, NDArray[np.intp]]:
        """About ``count`` good instants, evenly taken, and which."""
        rows = np.flatnonzero(self.good)
        rows = rows[:: max(1, len(rows) // count)]
        return (
            DriveMotion(self.time[rows], self.value[rows], self.rate[rows], self.acceleration[rows], self.good[rows]),
            rows,
        )


def turning_points(machine: Machine) -> Array:
    """Sum (A,) of both ends of each drive's stroke: ``turning point - q`` is q counted from the other end."""
    drives = machine.drive_columns
    ends = machine.position_lower[drives] + machine.position_upper[drives]
    return np.where(np.isfinite(ends), ends, 0.0)


def shifts(machine: Machine, arrangement: LegAssignment) -> Array:
    """Constants (A,) [m, rad] that an arrangement adds to the positions, after their signs."""
    if arrangement.about_zero:
        return np.zeros(machine.actuated_count)
    return np.where(arrangement.flipped, turning_points(machine), 0.0)


def plain(count: int) -> LegAssignment:
    """Arrangement as the names say."""
    return LegAssignment(tuple(range(count)), (False,) * count, 0.0)


def judge(
    machine: Machine, motion: DriveMotion, evidence: ImuEvidence, arrangement: LegAssignment, turns: bool
) -> Judged | None:
    """Work out one hypothesis; None if it has no pose anywhere."""
    arranged = motion.arranged(machine, arrangement)
    prediction = predict(machine, arranged.time, arranged.value, arranged.rate, arranged.acceleration)
    if prediction is None:
        return None
    return Judged(arrangement, prediction, agreement(evidence, prediction, turns))


def search(machine: Machine, motion: DriveMotion, evidence: ImuEvidence, free_order: bool) -> list[Judged]:
    """Hypotheses that explain the IMU best, the best one first.

    First all are compared with the drives' Jacobian at home; the best of these, and the plain one, by forward
    kinematics.

    Parameters
    ----------
    free_order : the names say nothing, so no order is more usual than another
    """
    count = machine.actuated_count
    few, rows = motion.some(_INSTANTS)
    part = evidence.rows(rows)
    candidates = list(_candidates(count, free_order))
    misfits = _linear_misfits(machine, motion, evidence, candidates)
    costs = np.array([one.cost for one in candidates])
    chosen = {*np.argsort(misfits + _PRICE * costs)[:_FINALISTS].tolist(), 0}
    finals = [candidates[index] for index in chosen]
    if turning_points(machine).any():
        finals += [replace(one, about_zero=True) for one in finals if any(one.flipped)]
    judged = [judge(machine, few, part, one, True) for one in finals]
    return sorted((one for one in judged if one is not None), key=lambda one: one.score)


def equivalents(
    machine: Machine, motion: DriveMotion, evidence: ImuEvidence, slack: float = 0.02
) -> list[tuple[int, ...]]:
    """Swaps of two legs that explain the IMU as well as no swap: this motion cannot tell their order."""
    candidates = [one for one in _candidates(machine.actuated_count, False) if not any(one.flipped)]
    swaps = [one for one in candidates if sum(a != b for a, b in enumerate(one.order)) in (0, 2)]
    misfits = _linear_misfits(machine, motion, evidence, swaps, AXES[:1])
    return [one.order for one, misfit in zip(swaps[1:], misfits[1:], strict=True) if misfit < misfits[0] + slack]


def _candidates(count: int, free_order: bool) -> Iterator[LegAssignment]:
    """All orders with few flips; the plain one first."""
    usual = tuple(range(count))
    none, every = (False,) * count, (True,) * count
    single = [tuple(i == leg for i in range(count)) for leg in range(count)]
    pairs = [tuple(i in pair for i in range(count)) for pair in combinations(range(count), 2)] if count > 2 else []
    orders = list(permutations(usual)) if count <= _MOST_LEGS else [usual, usual[::-1], *_swaps(usual)]
    flips = [(none, 0.0), (every, 1.0), *((one, 1.0) for one in single), *((pair, 2.0) for pair in pairs)]
    for order in orders:
        price = 0.0 if free_order or order == usual else _order_cost(order)
        for flipped, cost in flips:
            if cost + price <= 2.5:
                yield LegAssignment(order, flipped, cost + price)


def _swaps(usual: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for a, b in combinations(usual, 2):
        swapped = list(usual)
        swapped[a], swapped[b] = swapped[b], swapped[a]
        yield tuple(swapped)


def _order_cost(order: tuple[int, ...]) -> float:
    """1 for swaps, shifts and reversals, a little more for others."""
    count = len(order)
    steps = {(b - a) % count for a, b in zip(order, (*order[1:], order[0]), strict=True)}
    moved = sum(a != b for a, b in enumerate(order))
    return 1.0 if moved == 2 or len(steps) == 1 else 1.25


def _linear_misfits(
    machine: Machine,
    motion: DriveMotion,
    evidence: ImuEvidence,
    candidates: list[LegAssignment],
    axes: Array = AXES,
) -> Array:
    """Part of the angular rate's power that each hypothesis leaves, with the drives' Jacobian at home."""
    to_rate = rate_map(machine)
    good = motion.good & evidence.good
    drives, rate = (values[good] - values[good].mean(axis=0) for values in (motion.rate, evidence.angular_rate))
    power, squares, mixed = float(np.sum(rate**2)), drives.T @ drives, rate.T @ drives
    orders = np.array([one.order for one in candidates])
    signs = np.where([one.flipped for one in candidates], -1.0, 1.0)
    maps = np.zeros((len(candidates), 3, len(to_rate[0])))
    # the rate of drive j is that of column order[j]
    np.put_along_axis(maps, orders[:, None, :].repeat(3, axis=1), to_rate[None] * signs[:, None, :], axis=2)
    own = np.einsum('hij,jk,hik->h', maps, squares, maps, optimize=True)
    cross = np.einsum('ij,hkj->hik', mixed, maps, optimize=True)
    explained = np.einsum('aik,hik->ha', axes, cross, optimize=True)
    # the file's axes have a start over others, as in the finals
    price = np.where(np.arange(len(axes)) > 0, _PRICE * power, 0.0)
    misfit: Array = (power - 2.0 * explained + price).min(axis=1) + own
    return misfit / max(power, 1e-12)


def rate_map(machine: Machine) -> Array:
    """Angular rate in the IMU's axes by the drives' rates, (3, A), at home."""
    home = machine.home
    legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    to_twist = twist_per_drive(legs)[0, 3:]
    return np.asarray((home.rotation_base_platform @ machine.imu.rotation_platform_imu).T @ to_twist)


def is_solvable(machine: Machine) -> str:
    """Why the drives do not tell the pose at home, or nothing."""
    if not machine.has_platform:
        return 'it is an open chain'
    freedoms = int(machine.model.degrees_of_freedom[0])
    if machine.actuated_count < freedoms:
        return f'it has {machine.actuated_count} drives for {freedoms} degrees of freedom'
    try:
        close_legs(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
    except KinematicsError as error:
        return str(error)
    return ''
