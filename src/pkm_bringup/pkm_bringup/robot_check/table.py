"""The table of hypotheses about a robot's wiring: all rows explain the same samples, the likeliest rows are returned.

A row says which entry is which drive, in which unit, counted in which direction and from where, and how the IMU is
turned, in which unit its rates are, and which sign its gravity has. Rows are compared three times, by fewer and fewer
of them: by the strokes; by covariances, linearised at home, with the rotation that suits each row best (Wahba's
problem, solved by singular values, Markley 1988); by forward kinematics along the recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.driver.driver import ANGULAR_RATE
from pkm_description.kinematics import drive_positions
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.rotation import skew
from pkm_description.machine import Machine

from pkm_bringup.robot_check.expected import Unit, inside, mounting, predict, strokes, units_of
from pkm_bringup.robot_check.signals import Signal

#: rows of the linear table, rows and instants of forward kinematics
_MOST, _FINALISTS, _INSTANTS = 60_000, 80, 60
#: at most so many drives are permuted in all ways
_MOST_DRIVES = 8
#: part of its stroke that a drive may be away from home on the mean
_NEAR = 0.35
#: mistakes that an IMU counts for: gravity down, turned; that one is as in the file by chance is unlikely, so that a
#: turned one counts for more than names that are exchanged (1), and both are told where nothing else is amiss
_DOWN, _TURNED = 0.8, 1.8
#: units of the rates, and how unlikely
_RATE_COSTS = {'rad/s': 0.0, 'deg/s': 1.0, 'mrad/s': 1.5}


class HeardSignals(NamedTuple):
    """What is heard on the grid.

    Attributes
    ----------
    drives : published positions, by entry (A, in the order of the names)
    imu : specific force [m/s^2] and angular rate [unit of the driver]; None without an IMU
    turns, shakes : whether angular rate, and changes of the specific force, show more than noise
    feels : whether gravity is in the specific force
    force_allowed : m/s^2 by which the mean specific force may be off by bias
    named : what it costs that the order is not that of the names; 0 where these say nothing
    """

    drives: Signal
    imu: Signal | None = None
    turns: bool = False
    shakes: bool = False
    feels: bool = True
    force_allowed: float = 1.0
    named: float = 1.0

    @property
    def tells_order(self) -> bool:
        """Whether the motion tells drives apart."""
        return self.turns or self.shakes


class Row(NamedTuple):
    """A hypothesis, and how well it explains the samples.

    Attributes
    ----------
    order : (A) entry that belongs to each drive
    scale, offset : (A,) ``position = scale * entry + offset``, by drive
    unit : the unit
    drive_cost, imu_cost : how many mistakes about the drives and about the IMU it takes
    gyroscope, accelerometer : (3, 3), measured axes = matrix @ those of the machine file; orthogonal, perhaps mirrored
    rate_unit : of the gyroscope
    rate_gain : factor that is left between measured and expected rate
    rate_misfit, force_misfit : parts of the power about the mean that are not explained; NaN where nothing is compared
    force_error : m/s^2, of the mean specific force; NaN without gravity
    found : part of the samples that have a pose
    score : lower is better; without the price of mistakes
    """

    order: tuple[int, ...]
    scale: Array
    offset: Array
    unit: Unit
    drive_cost: float = 0.0
    imu_cost: float = 0.0
    gyroscope: Array = np.eye(3)
    accelerometer: Array = np.eye(3)
    rate_unit: str = 'rad/s'
    rate_gain: float = 1.0
    rate_misfit: float = float('nan')
    force_misfit: float = float('nan')
    force_error: float = float('nan')
    found: float = 0.0
    score: float = float('inf')

    @property
    def moved(self) -> bool:
        """Whether the order is not that of the names."""
        return self.order != tuple(range(len(self.order)))

    def misfit(self, evidence: HeardSignals) -> float:
        """Part of what the IMU shows that is not explained: of the rate, where it turns, else of the force."""
        return self.rate_misfit if evidence.turns else self.force_misfit if evidence.shakes else 0.0

    @property
    def cost(self) -> float:
        """How many mistakes it takes."""
        return self.drive_cost + self.imu_cost

    @property
    def gravity_down(self) -> bool:
        """Whether the accelerometer has the opposite sign of the gyroscope's axes."""
        return bool(np.allclose(self.accelerometer, -self.gyroscope))

    @property
    def price(self) -> float:
        """Score with what mistakes cost."""
        return self.score + 0.03 * self.cost

    def drives(self, entries: Signal) -> Signal:
        """Motion of the drives."""
        value, rate, acceleration, noise = (
            getattr(entries, part)[..., list(self.order)] * self.scale
            for part in ('value', 'rate', 'acceleration', 'rate_noise')
        )
        value = value + self.offset
        return entries._replace(value=value, rate=rate, acceleration=acceleration, rate_noise=np.abs(noise))


def judge(machine: Machine, evidence: HeardSignals, row: Row, instants: int = _INSTANTS) -> Row:
    """The row with the axes and the unit of the IMU that explain most, and its figures."""
    rows = evidence.drives.some(instants)
    drives = row.drives(evidence.drives.rows(rows))
    lower, upper = strokes(machine)
    # half of a stroke from its middle is its end: values in too large a unit lie there
    middle = np.abs(drives.value.mean(axis=0) - 0.5 * (lower + upper)) / (upper - lower)
    far = max(0.0, 4.0 * (float(middle.mean()) - 0.4))
    prediction = predict(machine, drives)
    if prediction is None:
        return row._replace(score=3.0 + far)
    found = float(prediction.found.mean())
    row = row._replace(found=found, score=1.0 - found + far + 2.0 * (1.0 - prediction.fits) * evidence.tells_order)
    if evidence.imu is None or not (evidence.feels or evidence.turns):
        return row
    own = evidence.imu.good[rows] & prediction.found
    measured, seen = evidence.imu.value[rows][own], own[prediction.found]
    if len(measured) < 10:
        return row._replace(score=row.score + 3.0)
    return _compared(evidence, row, measured, prediction.specific_force[seen], prediction.angular_rate[seen])


def _compared(evidence: HeardSignals, row: Row, measured: Array, force: Array, rate: Array) -> Row:
    """The row beside the IMU, mounted as in the file, or as suits best."""
    felt, turned = measured[:, :3], measured[:, 3:]
    rate_cross, rate_about = _cross(turned, rate)
    shake_cross, shake_about = _cross(felt, force)
    mean, expected = felt.mean(axis=0), force.mean(axis=0)
    level = np.outer(mean, expected) / max(float(np.linalg.norm(mean) * np.linalg.norm(expected)), 1e-12)
    weight = 0.3 if evidence.turns else 1.0
    of_force = evidence.feels * weight * (evidence.shakes * shake_cross + level)

    def judged(axes: Array, accelerometer: Array, cost: float) -> Row:
        score, one = row.score, row._replace(gyroscope=axes, accelerometer=accelerometer)
        if evidence.turns:
            like = float(np.sum(axes * rate_cross))
            gain = like * rate_about[0] / max(rate_about[1], 1e-12)
            unit = min(_RATE_COSTS, key=lambda name: abs(np.log(max(gain, 1e-12) * ANGULAR_RATE[name])))
            gain *= ANGULAR_RATE[unit]
            misfit = 1.0 - max(like, 0.0) ** 2
            score += misfit + min(1.0, max(0.0, abs(np.log(max(gain, 1e-6))) - 0.2))
            cost += _RATE_COSTS[unit]
            one = one._replace(rate_unit=unit, rate_gain=gain, rate_misfit=misfit)
        if evidence.feels:
            error = float(np.linalg.norm(mean - accelerometer @ expected))
            score += 0.005 * error + max(0.0, error / evidence.force_allowed - 1.0)
            one = one._replace(force_error=error)
            if evidence.shakes:
                like = float(np.sum(accelerometer * shake_cross)) * shake_about[1] / max(shake_about[0], 1e-12)
                misfit = 1.0 - 2.0 * like + (shake_about[1] / max(shake_about[0], 1e-12)) ** 2
                score += weight * min(2.0, misfit)
                one = one._replace(force_misfit=misfit)
        return one._replace(imu_cost=cost, score=score)

    mountings = _mountings(rate_cross * evidence.turns, of_force)
    return min((judged(*mounting) for mounting in mountings), key=lambda one: one.price)


def _cross(measured: Array, expected: Array) -> tuple[Array, tuple[float, float]]:
    """Correlation (3, 3) of changes about the mean, of largest norm 1, and the root powers of both."""
    measured, expected = measured - measured.mean(axis=0), expected - expected.mean(axis=0)
    powers = float(np.linalg.norm(measured)), float(np.linalg.norm(expected))
    return measured.T @ expected / max(powers[0] * powers[1], 1e-12), powers


def _mountings(of_rate: Array, of_force: Array) -> Iterator[tuple[Array, Array, float]]:
    """Axes of gyroscope and accelerometer by their correlations with the motion, and what they cost.

    As in the file; one frame for both, turned or mirrored; each with gravity down; a frame for each.
    """
    for sign, down in ((1.0, 0.0), (-1.0, _DOWN)):
        yield np.eye(3), sign * np.eye(3), down
        # of the specific force alone a mirrored frame looks like one turned, with gravity down
        for hand in (1.0, -1.0) if of_rate.any() else (1.0,):
            axes = _orthogonal(of_rate + sign * of_force, hand)
            yield axes, sign * axes, _TURNED + down + (hand < 0.0)
    if of_rate.any() and of_force.any():
        yield _orthogonal(of_rate), _orthogonal(of_force), 4.0


def _orthogonal(correlation: Array, hand: float = 0.0) -> Array:
    """Axes (3, 3) that explain most of a correlation (3, 3), of a hand or of any; where a turn is free, the least."""
    left, _, right = np.linalg.svd(correlation + 1e-4 * np.eye(3))
    last = hand * np.sign(np.linalg.det(left @ right)) if hand else 1.0
    return np.asarray(left @ np.diag([1.0, 1.0, last]) @ right)


def search(machine: Machine, evidence: HeardSignals, published: Array) -> list[Row]:
    """Rows that explain the samples best, the likeliest first.

    Parameters
    ----------
    published : (K, A) some of the entries' samples, as they came
    """
    rows = list(_candidates(machine, evidence, published))
    judged = sorted((judge(machine, evidence, row) for row in rows), key=lambda row: row.price)
    again = [judge(machine, evidence, row, 6 * _INSTANTS) for row in judged[:16]]
    return sorted(again, key=lambda row: row.price)


def plain_row(machine: Machine) -> Row:
    """As the names and the suite's convention say."""
    count = machine.actuated_count
    return Row(tuple(range(count)), np.ones(count), np.zeros(count), units_of(machine)[0])


def _candidates(machine: Machine, evidence: HeardSignals, published: Array) -> Iterator[Row]:
    """Rows to be judged by forward kinematics."""
    count, units = machine.actuated_count, units_of(machine)
    usual, turn = np.arange(count), np.add(*strokes(machine))
    orders, signs = _readings(count)
    orders = orders if evidence.tells_order else usual[None]
    back = signs < 0.0
    valid = np.zeros((len(units), len(orders), len(signs)), dtype=bool)
    # which entry lies within the stroke of which drive only if it counts from the other end
    from_end = np.zeros((len(units), count, count), dtype=bool)
    for place, unit in enumerate(units):
        own, offset = published[:, :, None] * unit.factor, unit.offset(machine)
        plus, minus = inside(machine, own + offset), inside(machine, offset - own)
        from_end[place] = inside(machine, turn - own) & ('quantity' not in unit.keys) & ~minus
        bad = [(~table[orders, usual]).astype(float) for table in (plus, minus | from_end[place])]
        valid[place] = bad[0] @ (~back).T.astype(float) + bad[1] @ back.T.astype(float) == 0.0
        if not evidence.tells_order:
            # nothing tells a drive that counts backwards, unless it would lie outside
            valid[place, 0] &= (back == ~plus[usual, usual]).all(axis=1)
    if (mixed := _mixed(machine, published)) is not None:
        yield mixed
    some = np.argwhere(valid.any(axis=0))
    if evidence.tells_order and len(some) > _FINALISTS:
        chosen = _linear(machine, evidence, orders, signs, some)
        some = some[np.union1d(chosen, np.flatnonzero((some == 0).all(axis=1)))]  # as the names say, none backwards
    for order, pattern in some.tolist():
        for place in np.flatnonzero(valid[:, order, pattern]).tolist():
            unit, own, sign = units[place], orders[order], signs[pattern]
            offset = np.where(back[pattern] & from_end[place, own, usual], turn, unit.offset(machine))
            mistakes = 1 if back[pattern].all() else int(np.count_nonzero(back[pattern]))
            cost = unit.cost + mistakes + evidence.named * bool((own != usual).any())
            yield Row(tuple(own.tolist()), sign * unit.factor, offset, unit, cost)


def _mixed(machine: Machine, published: Array) -> Row | None:
    """Each drive in the unit that brings it nearest to home; None where all have one, or one comes nowhere near."""
    lower, upper = strokes(machine)
    home = np.ravel(drive_positions(machine, machine.home.position, machine.home.rotation_base_platform))
    units = [unit for unit in units_of(machine) if 'quantity' not in unit.keys]
    factors = np.array([unit.factor for unit in units])
    away = np.abs(published.mean(axis=0) * factors[:, None] - home) / (upper - lower)
    nearest = away.argmin(axis=0)
    if away.min(axis=0).max() > _NEAR or (nearest == nearest[0]).all():
        return None
    usual = units[int(np.bincount(nearest).argmax())]
    return plain_row(machine)._replace(scale=factors[nearest], unit=usual, drive_cost=2.0)


def _readings(count: int) -> tuple[NDArray[np.intp], Array]:
    """Orders (P, A) of the drives, the plain one first, and signs (S, A): none backwards, all, or few.

    All there are of few drives; of very many swaps only.
    """
    usual, pairs = range(count), combinations(range(count), 2)
    swaps = [[{one: other, other: one}.get(drive, drive) for drive in usual] for one, other in pairs]
    few = range(count + 1) if count <= 6 else (0, 1, 2, count)
    turned = [chosen for backwards in few for chosen in combinations(usual, backwards)]
    signs = [[-1.0 if drive in chosen else 1.0 for drive in usual] for chosen in turned]
    return np.array([*permutations(usual)] if count <= _MOST_DRIVES else [[*usual], *swaps]), np.array(signs)


def _linear(
    machine: Machine, evidence: HeardSignals, orders: NDArray[np.intp], signs: Array, some: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Best rows (F,) of ``some`` (H, 2; order and signs) with the kinematics linearised at home.

    Of more drives than freedoms, first by what the closures forbid: ``N^T M C M^T N = 0``.
    """
    assert evidence.imu is not None
    home, drives, imu = machine.home, evidence.drives, evidence.imu
    legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    twist, good = twist_per_drive(legs)[0], drives.good & imu.good
    value, rate, acceleration = (
        part[good] - part[good].mean(axis=0) for part in (drives.value, drives.rate, drives.acceleration)
    )
    left, sizes, _ = np.linalg.svd(legs.drive_map[0], full_matrices=True)
    forbidden = left[:, np.count_nonzero(sizes > 1e-9 * sizes[0]) :]
    if forbidden.shape[1]:
        square = forbidden @ forbidden.T
        moving = (value.T @ value)[orders[:, :, None], orders[:, None, :]] * square
        left_over = moving.reshape(len(orders), -1) @ (signs[:, :, None] * signs[:, None, :]).reshape(len(signs), -1).T
        kept = np.argsort(left_over[some[:, 0], some[:, 1]])[: _MOST // 10]
    else:
        kept = np.argsort(np.count_nonzero(signs[some[:, 1]] < 0.0, axis=1), kind='stable')[:_MOST]
    force, turned = imu.value[good, :3], imu.value[good, 3:]
    lever, mounted = mounting(machine)
    axes = (home.rotation_base_platform @ mounted).T
    pulled = twist[:3] - skew(home.rotation_base_platform @ lever) @ twist[3:]
    # turning the platform turns gravity in the IMU's axes
    of_force = np.stack([axes @ pulled, axes @ skew(-machine.gravity) @ twist[3:]], axis=1)
    total = np.zeros((2, len(kept), 3, 3))
    sign, entry_of = signs[some[kept, 1]][:, None, None], np.argsort(orders[some[kept, 0]])[:, None, None]
    weight = 0.3 if evidence.turns else 1.0
    for place, used, of_drives, moved, felt, own in (
        (0, evidence.turns, (axes @ twist[3:])[:, None], rate, turned, 1.0),
        (1, evidence.shakes and evidence.feels, of_force, np.hstack([acceleration, value]), force, weight),
    ):
        if not used:
            continue
        felt = felt - felt.mean(axis=0)
        of_entries = np.take_along_axis(of_drives * sign, entry_of, axis=3).reshape(len(kept), 3, -1)
        squares, mixed = moved.T @ moved, felt.T @ moved
        power = np.einsum('hij,hij->h', of_entries @ squares, of_entries)
        like = np.einsum('ij,hkj->hik', mixed, of_entries)
        total[place] = own * like / (np.sqrt(np.maximum(power, 1e-12))[:, None, None] * np.linalg.norm(felt))
    mean, rest = force.mean(axis=0), axes @ -machine.gravity
    if evidence.feels:
        total[1] += 0.2 * np.outer(mean, rest) / max(float(np.linalg.norm(mean) * np.linalg.norm(rest)), 1e-12)
    explained = np.full(len(kept), -np.inf)
    for down in (1.0, -1.0):
        explained = np.maximum(explained, np.linalg.svd(total[0] + down * total[1], compute_uv=False).sum(axis=1))
    return kept[np.argsort(-explained)[:_FINALISTS]]
