"""Hypotheses about a robot's wiring: order and signs of the drives, axes of the IMU; which explains the IMU best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import motion_of_configurations, twist_per_drive
from pkm_description.kinematics.rotation import rotation_log
from pkm_description.machine import Machine, PlatformMotion
from pkm_estimation.sensors.conditions import imu_truth

from pkm_bringup.robot_check.signals import Signal

#: (48, 3, 3): measured axes = matrix @ the file's axes; the identity first, then proper rotations, then mirrored
AXES: Array = np.array(
    sorted(
        (
            np.diag(signs)[:, list(order)]
            for order in permutations(range(3))
            for signs in product((1.0, -1.0), repeat=3)
        ),
        key=lambda matrix: (-round(np.linalg.det(matrix)), -np.trace(matrix)),
    )
)
#: what a further mistake must explain of the IMU's power to be believed
_PRICE = 0.08
#: hypotheses that are worked out with forward kinematics, after a linear choice, and instants at which they are
_FINALISTS, _INSTANTS = 40, 120
#: at most so many legs are permuted in all ways
_MOST_LEGS = 7
#: part of the angular rate's power that a mounting by any angle may leave unexplained
_UNEXPLAINED = 0.05
#: least second singular value (of at most 2): with less, gravity and rates lie on one axis, and a turn about it is free
_SECOND = 0.02
#: rad, nearer to a turn by right angles the named axes are said
_APART = np.radians(12.0)


def is_rotation(matrix: Array) -> bool:
    """Whether a matrix is a rotation and not a mirror image."""
    return bool(np.linalg.det(matrix) > 0.0)


def _mistakes() -> Array:
    """How many mistakes (48, 48) it takes that gyroscope and accelerometer have these of :data:`AXES`."""
    likeness = np.einsum('aij,bij->ab', AXES, AXES)
    alike, opposite = likeness == 3.0, likeness == -3.0
    own = np.zeros_like(alike)
    own[0], own[:, 0] = True, True
    # a mirrored frame is rarer than legs that are numbered the other way round, which looks the same
    result = np.where(own | alike | opposite, 1.5, 2.0)
    result[(alike & (np.linalg.det(AXES) > 0.0)) | (opposite & own)] = 1.0  # turned; the sign of one sensor
    result[0, 0] = 0.0
    return result


_AXES_MISTAKES = _mistakes()


@dataclass(frozen=True)
class ImuEvidence:
    """What the IMU says on the grid.

    Attributes
    ----------
    signal : specific force [m/s^2] and angular rate [rad/s], 6 channels
    force_allowed : m/s^2, how far the specific force may be off by bias
    uses_force : False where gravity is not in it, so that it cannot be compared
    turns : whether the angular rate is large enough to be compared
    """

    signal: Signal
    force_allowed: float
    uses_force: bool = True
    turns: bool = True

    def rows(self, rows: NDArray[np.intp]) -> ImuEvidence:
        """Evidence at some of its instants."""
        return replace(self, signal=self.signal.rows(rows))

    def beside(self, prediction: Prediction) -> tuple[Array, Array, Array, Array]:
        """Specific force and angular rate (K, 3) as measured, and as predicted, where both can be trusted."""
        rows, own = self.signal.good[prediction.found], self.signal.good & prediction.found
        measured = self.signal.value[own]
        return measured[:, :3], measured[:, 3:], prediction.specific_force[rows], prediction.angular_rate[rows]


@dataclass(frozen=True)
class Prediction:
    """Platform and IMU by forward kinematics.

    Attributes
    ----------
    found : (N,) samples whose pose can be trusted
    motion : of those K samples
    specific_force, angular_rate : (K, 3) in the axes that the machine file gives to the IMU; of machines without an
        IMU in those of the platform, at its origin
    """

    found: NDArray[np.bool_]
    motion: PlatformMotion
    specific_force: Array
    angular_rate: Array


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
    cost: float = 0.0
    about_zero: bool = False

    @classmethod
    def plain(cls, count: int) -> LegAssignment:
        """As the names say."""
        return cls(tuple(range(count)), (False,) * count)

    @property
    def moved(self) -> bool:
        """Whether the order is not that of the names."""
        return self.order != tuple(range(len(self.order)))

    @property
    def sign(self) -> Array:
        """(A,) 1, or -1 for a drive that counts the other way round."""
        return np.where(self.flipped, -1.0, 1.0)

    def shifts(self, machine: Machine) -> Array:
        """Constants (A,) [m, rad] that it adds to the positions, after their signs."""
        return np.zeros(len(self.order)) if self.about_zero else np.where(self.flipped, turning_points(machine), 0.0)

    def arranged(self, machine: Machine, drives: Signal) -> Signal:
        """Motion of the drives under this hypothesis; what counts the other way round does so about mid-stroke."""
        order = list(self.order)
        value, rate, acceleration = (
            part[:, order] * self.sign for part in (drives.value, drives.rate, drives.acceleration)
        )
        return replace(drives, value=value + self.shifts(machine), rate=rate, acceleration=acceleration)


def turning_points(machine: Machine) -> Array:
    """Sum (A,) of both ends of each drive's stroke: ``turning point - q`` is q counted from the other end."""
    drives = machine.drive_columns
    ends = machine.position_lower[drives] + machine.position_upper[drives]
    return np.where(np.isfinite(ends), ends, 0.0)


@dataclass(frozen=True)
class Judged:
    """A hypothesis about the drives, what it predicts, and how that agrees with the IMU on the axes that suit it best.

    Attributes
    ----------
    rate_misfit : part of the angular rate's power (about its mean) that is not explained; above 1 where the prediction
        is worse than none; NaN where neither turns
    force_error : m/s^2, root mean square of the specific force's error; NaN without it
    force_misfit : that by what is allowed
    gyroscope, accelerometer : (3, 3) axes that explain most
    mistakes : how unusual drives and axes are
    gain : factor by which the measured rate is larger than the predicted one, on those axes
    score : lower is better: what stays unexplained, poses that are not found, and the price of mistakes
    """

    arrangement: LegAssignment
    prediction: Prediction
    rate_misfit: float
    force_error: float
    force_misfit: float
    gyroscope: Array
    accelerometer: Array
    mistakes: float
    gain: float
    score: float


def predict(machine: Machine, drives: Signal) -> Prediction | None:
    """Predict from drives [m, rad] and their derivatives; None if no sample has a pose.

    Raises
    ------
    KinematicsError
        The drives of this machine do not determine its pose at all.
    """
    result = forward_kinematics(machine, drives.value, tolerance=measured_tolerance(machine))
    found = result.trusted
    if not found.any():
        return None
    closed = result.rows(np.flatnonzero(found))
    try:
        motion = motion_of_configurations(
            machine, drives.time[found], closed, drives.rate[found], drives.acceleration[found]
        )
    except KinematicsError:
        return None
    lever, turn = (
        (machine.imu.position, machine.imu.rotation_platform_imu) if machine.has_imu else (np.zeros(3), np.eye(3))
    )
    return Prediction(found, motion, *imu_truth(motion, machine.gravity, lever, turn))


def judge(machine: Machine, drives: Signal, evidence: ImuEvidence, arrangement: LegAssignment) -> Judged | None:
    """Work out one hypothesis, with the axes of both sensors that explain most for their price; None without a pose."""
    prediction = predict(machine, arrangement.arranged(machine, drives))
    if prediction is None:
        return None
    force, rate, felt, wanted = evidence.beside(prediction)
    nothing = np.zeros(len(AXES))
    misfits, gains, errors = nothing, nothing, nothing
    turns, feels = evidence.turns and len(rate) > 3, evidence.uses_force and len(force) > 0
    if turns:
        rate, wanted = rate - rate.mean(axis=0), wanted - wanted.mean(axis=0)
        power, expected = (max(float(np.sum(values**2)), 1e-12) for values in (rate, wanted))
        cross = np.einsum('kij,ij->k', AXES, rate.T @ wanted)
        misfits, gains = (power - 2.0 * cross + expected) / power, cross / expected
    if feels:
        squares = np.sum(force**2) + np.sum(felt**2) - 2.0 * np.einsum('kij,ij->k', AXES, force.T @ felt)
        errors = np.sqrt(np.maximum(squares, 0.0) / len(force))
    forces = errors / evidence.force_allowed
    scores = misfits[:, None] + 0.05 * forces + np.maximum(0.0, forces - 1.0) + _PRICE * _AXES_MISTAKES
    gyroscope, accelerometer = np.unravel_index(np.argmin(scores), scores.shape)
    nan = float('nan')
    return Judged(
        arrangement,
        prediction,
        float(misfits[gyroscope]) if turns else nan,
        float(errors[accelerometer]) if feels else nan,
        float(forces[accelerometer]) if feels else nan,
        AXES[gyroscope],
        AXES[accelerometer],
        arrangement.cost + float(_AXES_MISTAKES[gyroscope, accelerometer]),
        float(gains[gyroscope]) if turns else nan,
        float(scores[gyroscope, accelerometer])
        + _PRICE * arrangement.cost
        + 1.0
        - float(prediction.found.mean()),
    )


def search(machine: Machine, drives: Signal, evidence: ImuEvidence, free_order: bool) -> list[Judged]:
    """Hypotheses that explain the IMU best, the best one first.

    First all are compared with the drives' Jacobian at home; the best of these, and the plain one, by forward
    kinematics.

    Parameters
    ----------
    free_order : the names say nothing, so no order is more usual than another
    """
    rows = drives.some(_INSTANTS)
    few, part = drives.rows(rows), evidence.rows(rows)
    candidates = list(_candidates(machine.actuated_count, free_order))
    misfits = _linear_misfits(machine, drives, evidence, candidates)
    costs = np.array([one.cost for one in candidates])
    chosen = {*np.argsort(misfits + _PRICE * costs)[:_FINALISTS].tolist(), 0}
    finals = [candidates[index] for index in chosen]
    if turning_points(machine).any():
        finals += [replace(one, about_zero=True) for one in finals if any(one.flipped)]
    judged = (judge(machine, few, part, one) for one in finals)
    return sorted((one for one in judged if one is not None), key=lambda one: one.score)


def equivalents(
    machine: Machine, drives: Signal, evidence: ImuEvidence, slack: float = 0.02
) -> list[tuple[int, ...]]:
    """Swaps of two legs that explain the IMU as well as no swap: this motion cannot tell their order."""
    plain = LegAssignment.plain(machine.actuated_count)
    swaps = [replace(plain, order=order) for order in _swaps(plain.order)]
    usual, *misfits = _linear_misfits(machine, drives, evidence, [plain, *swaps], AXES[:1])
    return [one.order for one, misfit in zip(swaps, misfits, strict=True) if misfit < usual + slack]


def _candidates(count: int, free_order: bool) -> Iterator[LegAssignment]:
    """All orders with few flips; the plain one first."""
    usual = tuple(range(count))
    orders = list(permutations(usual)) if count <= _MOST_LEGS else [usual, usual[::-1], *_swaps(usual)]
    flips = [((), 0.0), (usual, 1.0), *(((one,), 1.0) for one in usual)]
    if count > 2:
        flips += [(pair, 2.0) for pair in combinations(usual, 2)]
    for order in orders:
        price = 0.0 if free_order or order == usual else _order_cost(order)
        for flipped, cost in flips:
            if cost + price <= 2.5:
                yield LegAssignment(order, tuple(drive in flipped for drive in usual), cost + price)


def _swaps(usual: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for a, b in combinations(usual, 2):
        yield tuple({a: b, b: a}.get(drive, drive) for drive in usual)


def _order_cost(order: tuple[int, ...]) -> float:
    """1 for swaps, shifts and reversals, a little more for others."""
    steps = {(b - a) % len(order) for a, b in zip(order, (*order[1:], order[0]), strict=True)}
    return 1.0 if sum(a != b for a, b in enumerate(order)) == 2 or len(steps) == 1 else 1.25


def _linear_misfits(
    machine: Machine, drives: Signal, evidence: ImuEvidence, candidates: list[LegAssignment], axes: Array = AXES
) -> Array:
    """Part of the angular rate's power that each hypothesis leaves, with the drives' Jacobian at home."""
    to_rate, good = rate_map(machine), drives.good & evidence.signal.good
    columns, rate = (values[good] for values in (drives.rate, evidence.signal.value[:, 3:]))
    columns, rate = columns - columns.mean(axis=0), rate - rate.mean(axis=0)
    power, squares, mixed = float(np.sum(rate**2)), columns.T @ columns, rate.T @ columns
    orders, signs = np.array([one.order for one in candidates]), np.array([one.sign for one in candidates])
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


def free_mounting(evidence: ImuEvidence, prediction: Prediction) -> Array | None:
    """Rotation (3, 3), measured = rotation @ the file's axes, that explains rates and specific force.

    Least squares over both (Wahba's problem, solved by singular values, Markley 1988), each scaled to the same power.

    Returns
    -------
    None if no rotation explains them, they do not determine one, or it is one by right angles
    """
    force, rate, felt, wanted = evidence.beside(prediction)
    rate, wanted = rate - rate.mean(axis=0), wanted - wanted.mean(axis=0)
    power = float(np.sum(rate**2))
    if not evidence.uses_force or len(rate) < 10 or min(power, float(np.sum(wanted**2))) <= 0.0:
        return None
    cross = rate.T @ wanted / (np.linalg.norm(rate) * np.linalg.norm(wanted))
    cross += force.T @ felt / (np.linalg.norm(force) * np.linalg.norm(felt))
    left, sizes, right = np.linalg.svd(cross)
    rotation: Array = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    misfit = float(np.sum((rate - wanted @ rotation.T) ** 2)) / power
    error = float(np.sqrt(np.mean(np.sum((force - felt @ rotation.T) ** 2, axis=1))))
    if sizes[1] < _SECOND or misfit > _UNEXPLAINED or error > evidence.force_allowed:
        return None
    turns = rotation_log(np.array([rotation.T @ axes for axes in AXES if is_rotation(axes)]))
    return rotation if np.linalg.norm(turns, axis=1).min() > _APART else None


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
