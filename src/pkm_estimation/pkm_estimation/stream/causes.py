"""Which constants of machine and sensors are not as they should be, by what innovations say of each.

With score ``s`` and information ``I`` of the constants (:mod:`pkm_estimation.kernels.carried`) and their variances W^2,
the logarithm of how likely the innovations are is ``s^T V s / 2 - log det(1 + W I W) / 2``, ``V = W (1 + W I W)^-1 W``.
Constants that are likely to be off together have one further variance v, of each, that makes this largest (evidence,
MacKay 1992). How much larger it is than without, with the probability that anything is off at all, gives the
probability of each such hypothesis: what is claimed contains all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import product
from math import degrees, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics.rotation import rotation_exp, rpy_from_matrix
from pkm_description.machine import Machine

from pkm_estimation.exchange.health import LikelyCause
from pkm_estimation.filtering.constant_columns import ConstantColumn, ConstantScore
from pkm_estimation.models import ACCELEROMETER_BIAS, GYROSCOPE_BIAS
from pkm_estimation.stream.blocks import LARGEST

#: probability that a group of constants turns out to be off within the memory of the scores: for what is told and taken
#: into account, of which nothing may come by chance, and for what is claimed, which must not be too small
_PRIOR, POSSIBLE = 1e-9, 1e-4
#: standard deviations of a prior beyond which a constant has another cause
_FAR = 4.0
#: standard deviations of a known constant that it is off for certain
CERTAIN = 5.0
#: probability of a hypothesis below which it does not count
_MATTERS = 1e-3
#: standard deviations of the priors, in units; of all else
_BROADER = {
    'zero': 100.0, 'drift': 100.0, 'scale': 100.0, 'lateness': 100.0, 'geometry': 30.0, 'delay': 30.0,
    'axis delays': 30.0, 'accelerometer bias': 300.0, 'gyroscope bias': 300.0,
}  # fmt: skip
_BROAD = 10.0
#: kinds of constants that may change with time, and those that say how fast
RATES = {'delay': 'skew', 'zero': 'drift'}
#: kinds of constants that say that a bias drifts, and the states that are it
WALKING = {'accelerometer bias': ACCELEROMETER_BIAS, 'gyroscope bias': GYROSCOPE_BIAS}
#: kinds of constants of the machine's geometry
GEOMETRY = 'zero', 'drift', 'scale', 'lateness', 'geometry'
#: kinds that are off for all drives and legs where they are for several: homing, warming up, a delay of the IMU that
#: has changed, tolerances not kept
_TOGETHER = ('zero',), ('drift',), ('scale',), ('lateness',), ('geometry', 'zero')
#: name, unit and factor to it of each of them
_OF_ALL = {
    'zero': ('offsets of all drives', 'mm or mrad', 1e3), 'drift': ('drifts of all drives', 'mm/s or mrad/s', 1e3),
    'scale': ('scales of all drives', '%', 1e2), 'lateness': ('lateness of all drives', 'ms', 1e3),
    'geometry': ('geometry of all legs', 'mm or mrad', 1e3),
}  # fmt: skip
#: member of a group of all
ALL = -1
#: groups that say all that a kind of constants says, as their sum
_SUMS = {'delay': (('axis delays', 0), ('lateness', ALL))}
#: parts of the squares of the priors' standard deviations that are tried as variances
_PARTS = 10.0 ** np.arange(-6.0, 0.01, 0.5)
#: parts of what is usual by which constants of the IMU may be off; the first: they are exact
_USUAL_PARTS = 0.0, 0.1, 1.0


#: kind and member of a group
Key = tuple[str, int]


class Group(NamedTuple):
    """Constants that are off together.

    Attributes
    ----------
    kind, member : as of :class:`ConstantColumn`, or :data:`ALL`
    columns : of them
    places : of the columns
    """

    kind: str
    member: int
    columns: tuple[ConstantColumn, ...]
    places: Integers

    @property
    def key(self) -> Key:
        """Kind and member."""
        return self.kind, self.member

    def contains(self, other: Group) -> bool:
        """Whether these say all that another group says."""
        return self.key in _SUMS.get(other.kind, ()) or set(other.places.tolist()) <= set(self.places.tolist())


class Found(NamedTuple):
    """Constants that are off, more likely than not.

    Attributes
    ----------
    group : which
    size : (k,) by how much they are off, SI
    gain : logarithm of how much likelier the innovations are with them
    is_told_apart : whether they are off whatever else is: all groups that may be off contain them
    """

    group: Group
    size: Array
    gain: float
    is_told_apart: bool = True

    @property
    def units(self) -> float:
        """By how many units they are off together."""
        return float(np.linalg.norm(self.size / [column.unit for column in self.group.columns]))


def groups_of(columns: Sequence[ConstantColumn]) -> list[Group]:
    """Groups of columns: the constants of a sensor, a drive or a leg, and those of all drives or legs."""
    found: dict[Key, list[ConstantColumn]] = {}
    for column in columns:
        found.setdefault((column.kind, column.member), []).append(column)
    for column in columns:  # a zero is one of the constants of its leg, too
        if column.kind == 'zero' and ('geometry', column.leg) in found:
            found['geometry', column.leg].append(column)
    for kinds in _TOGETHER:
        if {column.kind for column in columns} >= set(kinds):
            found[kinds[0], ALL] = [column for column in columns if column.kind in kinds]
    return [
        Group(*key, tuple(members), np.array([column.place for column in members])) for key, members in found.items()
    ]


def constants_that_are_off(
    groups: Sequence[Group], weights: Array, seen: ConstantScore
) -> tuple[list[Found], Array, Array]:
    """Constants that are off, the likeliest first, each with those before it taken into account.

    Where all drives or legs are likelier to be off than any one of them, a few of them together may be likelier still.

    Parameters
    ----------
    weights : (p,) standard deviations of the constants, in their units
    seen : of the constants by the innovations

    Returns
    -------
    Those that are off, further variances (p,) of all constants, in squares of their units, by what is likely, and
    by what is possible
    """
    off = _one_by_one(groups, np.ones(len(groups), dtype=bool), weights, seen)
    if not any(one.group.member == ALL for one in off[0]):
        return off
    few = _one_by_one(groups, np.array([group.member != ALL for group in groups]), weights, seen)
    return max(off, few, key=lambda one: sum(found.gain + log(POSSIBLE) for found in one[0]))


def _one_by_one(
    groups: Sequence[Group], is_left: NDArray[np.bool_], weights: Array, seen: ConstantScore
) -> tuple[list[Found], Array, Array]:
    """Constants of some of the groups that are off, as :func:`constants_that_are_off`."""
    found: list[Found] = []
    weights = weights.copy()
    further = claimed = np.zeros(len(weights))
    broad = np.array([_BROADER.get(group.kind, _BROAD) for group in groups])
    is_positive = np.array([group.kind == 'response' for group in groups])
    first = np.array([group.places[0] for group in groups])
    while is_left.any():
        rest, shown, squares = _unexplained(weights, seen)
        gains, variances, noise = _most_likely(broad, *_principal(groups, rest, shown), squares, seen.squares[1])
        gains[is_positive & (rest[first] < 0.0)] = 0.0  # a variance is positive
        gains[~is_left] = -np.inf
        parts, best = _probabilities(gains, _PRIOR), int(np.argmax(gains))
        claimed = further + _spread(groups, _probabilities(gains, POSSIBLE) * variances, len(weights))
        further = further + _spread(groups, parts * variances, len(weights))
        if not parts[best] > 1.0 - parts.sum():
            break
        group, is_left[best] = groups[best], False
        of_group = shown[np.ix_(group.places, group.places)]
        size = np.linalg.solve(of_group + noise / variances[best] * np.eye(len(of_group)), rest[group.places])
        size *= [column.unit for column in group.columns]
        rivals = [other for other, part in zip(groups, parts, strict=True) if part > 0.0 and not other.contains(group)]
        found.append(Found(group, size, float(gains[best]), not rivals))
        weights[group.places] = np.sqrt(weights[group.places] ** 2 + variances[best])
    return found, further, np.maximum(further, claimed)


def _unexplained(weights: Array, seen: ConstantScore) -> tuple[Array, Array, float]:
    """Score (p,), information (p, p) and square that constants with standard deviations (p,) do not explain."""
    known = _variances(weights, seen.information)
    rest = seen.score - seen.information @ (known @ seen.score)
    shown = seen.information - seen.information @ known @ seen.information
    return rest, shown, float(seen.squares[0] - seen.score @ known @ seen.score)


def usually_off(weights: Array, groups: Sequence[tuple[Integers, Array]], seen: ConstantScore) -> Array:
    """Further variances (p,) of constants that may be exact or off by some part of what is usual.

    Each group with the same probability before, whatever the others are.

    Parameters
    ----------
    weights : (p,) standard deviations of all constants, in their units, if those are exact
    groups : their places (k,), and the usual standard deviations (k,), in their units
    seen : of the constants by the innovations
    """
    further = np.zeros(len(weights))
    if not groups:
        return further
    rest, shown, _ = _unexplained(weights, seen)
    places, stds = (np.concatenate(parts) for parts in zip(*groups, strict=True))
    parts = np.array(list(product(_USUAL_PARTS, repeat=len(groups))))[1:]
    roots = stds * np.repeat(parts, [len(one) for one, _ in groups], axis=1)
    whole = np.eye(len(places)) + roots[:, :, None] * shown[np.ix_(places, places)] * roots[:, None]
    covariances = roots[:, :, None] * np.linalg.inv(whole) * roots[:, None]
    sizes = covariances @ rest[places]
    gains = 0.5 * (sizes @ rest[places] - np.linalg.slogdet(whole)[1])
    further[places] = probabilities(gains, 1.0) @ (np.diagonal(covariances, axis1=1, axis2=2) + sizes**2)
    return further


def _probabilities(gains: Array, prior: float) -> Array:
    """Probabilities (G,) that groups are off, one at most, each with the same before innovations were seen."""
    parts = probabilities(gains, prior)
    return np.where(parts > _MATTERS, parts, 0.0)


def probabilities(gains: Array, prior: float) -> Array:
    """Probabilities (n,) of hypotheses, one at most, by how much likelier than none each made what was seen.

    Parameters
    ----------
    gains : (n,) logarithms of that
    prior : probability of each by that of none, before
    """
    likely = np.append(gains + log(prior), 0.0)
    likely = np.exp(likely - likely.max())
    parts: Array = likely[:-1] / likely.sum()
    return parts


def _spread(groups: Sequence[Group], variances: Array, count: int) -> Array:
    """Variances (p,) of all constants by those (G,) of groups."""
    spread = np.zeros(count)
    for group, variance in zip(groups, variances.tolist(), strict=True):
        spread[group.places] += variance
    return spread


def _principal(groups: Sequence[Group], score: Array, information: Array) -> tuple[Array, Array]:
    """Principal values (G, k) of the information of groups, and their scores (G, k) along the axes; others are zero."""
    sizes = [len(group.places) for group in groups]
    values, along = np.zeros((len(groups), max(sizes))), np.zeros((len(groups), max(sizes)))
    for size in set(sizes):
        rows = [row for row, other in enumerate(sizes) if other == size]
        places = np.array([groups[row].places for row in rows])
        found, axes = np.linalg.eigh(information[places[:, :, None], places[:, None, :]])
        values[rows, :size], along[rows, :size] = found.clip(0.0), np.einsum('gij,gi->gj', axes, score[places])
    return values, along


def _most_likely(
    broad: Array, values: Array, along: Array, squares: float, count: float
) -> tuple[Array, Array, float]:
    """Gains (G,) and variances (G,), in units, of groups with what makes the innovations likeliest, and their noise.

    Innovations that are larger than they claim even where the best of the groups has explained all that it can are
    noise that says less than they claim, by the factor that is returned.

    Parameters
    ----------
    broad : (G,) standard deviations of the priors
    values, along : (G, k), (G, k), see :func:`_principal`
    squares, count : sum of the squares of the innovations, and how many there are
    """
    explained = np.sum(along**2 / (values + broad[:, None] ** -2.0), axis=1).max()
    noise = float(max(1.0, (squares - explained) / max(1.0, count)))
    tried = _PARTS[:, None] * broad**2
    widened = 1.0 + tried[:, :, None] * (values / noise)
    gains = 0.5 * np.sum(tried[:, :, None] * (along / noise) ** 2 / widened - np.log(widened), axis=2)
    best, rows = np.argmax(gains, axis=0), np.arange(len(broad))
    return gains[best, rows], tried[best, rows], noise


def _variances(weights: Array, information: Array) -> Array:
    """Covariance (p, p) of constants that had standard deviations (p,) before, in their units."""
    some = np.flatnonzero(weights)  # what is known exactly stays so
    rows, within = np.ix_(some, some), weights[some]
    whole = np.eye(len(some)) + within[:, None] * information[rows] * within
    covariance = np.zeros((len(weights), len(weights)))
    covariance[rows] = within[:, None] * np.linalg.solve(whole, np.diag(within))
    return covariance


class Explanation(NamedTuple):
    """What constants explain innovations best.

    Attributes
    ----------
    sizes : (p,) by how much they are off, in their units
    covariance : (p, p) of that
    """

    sizes: Array
    covariance: Array

    @classmethod
    def of(cls, weights: Array, further: Array, seen: ConstantScore) -> Explanation:
        """Those that have standard deviations (p,) and further variances (p,) before innovations are seen."""
        covariance = _variances(np.sqrt(weights**2 + further), seen.information)
        return cls(covariance @ seen.score, covariance)

    @property
    def std(self) -> Array:
        """Standard deviations (p,)."""
        return np.asarray(np.sqrt(self.covariance.diagonal()))

    def anew(self, place: int, std: float) -> Explanation:
        """The same where one of them is about zero again, with a standard deviation in its unit."""
        sizes, covariance = self.sizes.copy(), self.covariance.copy()
        sizes[place], covariance[place], covariance[:, place] = 0.0, 0.0, 0.0
        covariance[place, place] = std**2
        return Explanation(sizes, covariance)

    def walked(self, place: int, variance: float) -> Explanation:
        """The same where one of them moves by a step of such a variance, in its unit."""
        covariance = self.covariance.copy()
        covariance[place, place] += variance
        return Explanation(self.sizes, covariance)

    def predicts(self, later: ConstantScore) -> bool:
        """Whether they predict innovations that came later: as large as they should be (prequential, Dawid 1984)."""
        (square, *_), count = self._unpredicted(later, []), later.squares[1]
        return bool(square <= count * max(LARGEST, 1.0 + CERTAIN * (2.0 / max(1.0, count)) ** 0.5))

    def evidence_of_steps(self, place: int, variances: Array, later: ConstantScore) -> Array:
        """Logarithms of how much likelier later innovations are if one has moved by steps of variances (n,), its unit.

        What is left beside the step counts as noise.
        """
        square, scores, informations = self._unpredicted(later, [place])
        score, information = scores[place], informations[place, 0]
        if not information > 0.0:
            return np.zeros(len(variances))
        noise = max(1.0, (square - score**2 / information) / later.squares[1])
        wider = 1.0 + variances * information / noise
        return np.asarray(0.5 * (variances * (score / noise) ** 2 / wider - np.log(wider)))

    def _unpredicted(self, later: ConstantScore, places: list[int]) -> tuple[float, Array, Array]:
        """Innovations that came later by the covariance that is predicted.

        Their square, score (p,), and columns of their information (p, n) at ``places``.
        """
        score, sizes = later.score - later.information @ self.sizes, self.sizes
        whole = np.eye(len(score)) + later.information @ self.covariance
        by = np.asarray(np.linalg.solve(whole, np.column_stack([score, later.information[:, places]])))
        left = later.squares[0] - sizes @ (later.score + score)
        return float(left - score @ self.covariance @ by[:, 0]), by[:, 0], by[:, 1:]


def far_constants(
    groups: Sequence[Group], known: Set[Key], constants: Explanation, elapsed: float, priors: Mapping[str, float]
) -> dict[str, tuple[Array, Array]]:
    """Constants of the IMU that are so far off that their columns do not say all: sizes and standard deviations, SI.

    Parameters
    ----------
    groups : of all constants
    known : keys of those that are off
    constants : all, by the same innovations
    elapsed : s, since when a skew of the clocks adds to the delay
    priors : standard deviation of each kind; what is far beyond it has another cause
    """
    taken: dict[str, tuple[Array, Array]] = {}
    for group in groups:
        if group.kind not in priors or not known & {group.key, rate_of(group)}:
            continue
        unit = group.columns[0].unit
        sizes, std = constants.sizes[group.places], constants.std[group.places]
        sizes = sizes + growth_of(group, groups, known, constants, elapsed) / unit
        size = float(np.linalg.norm(sizes))
        if size > max(1.0, CERTAIN * float(np.linalg.norm(std))) and unit * size < _FAR * priors[group.kind]:
            taken[group.kind] = unit * sizes, unit * std
    return taken


def growth_of(
    of: Group, groups: Sequence[Group], known: Set[Key], constants: Explanation, elapsed: float
) -> float:
    """By how much a rate, if one is known, has changed a constant in ``elapsed`` s, as in :func:`far_constants`, SI."""
    rates = [one for one in groups if one.key == rate_of(of) and one.key in known]
    return sum(elapsed * float(constants.sizes[one.places[0]]) * one.columns[0].unit for one in rates)


def rate_of(group: Group) -> Key:
    """Key of the constant that says how fast another one changes; its kind is '' where it does not."""
    return RATES.get(group.kind, ''), group.member


def told_cause(found: Found, machine: Machine, delay: float) -> LikelyCause:
    """A group of constants that is off, in words: what, by how much, and what mends it.

    Parameters
    ----------
    machine, delay : what is taken into account already, the delay of the IMU's stamps [s]
    """
    kind, size, imu = found.group.kind, found.size, machine.imu
    most = float(np.linalg.norm(size))
    if kind in GEOMETRY:
        return _told_leg(found, machine)
    if kind == 'delay':
        name, told, mend = 'delay of the IMU', f'{1e3 * size[0]:.2f} ms', f'imu_delay: {delay + size[0]:.5f}'
    elif kind == 'axis delays':
        each = ', '.join(f'{1e3 * late:.2g}' for late in size)
        name, told = 'delays of single axes of the IMU', f'{each} ms more (accelerometer x, y, z, gyroscope x, y, z)'
        mend = 'set the same filter for all axes in the IMU'
    elif kind == 'skew':
        name, told = 'clock skew', f'{1e6 * size[0]:.3g} ppm between the clocks of IMU and legs'
        mend = 'synchronise the clocks'
    elif kind == 'response':
        name, told = 'low-pass of the IMU', f'its samples are means over about {2e3 * abs(size[0]) ** 0.5:.2g} ms'
        mend = 'a wider filter in the IMU'
    elif kind == 'mounting':
        rpy = _list(rpy_from_matrix(rotation_exp(size) @ imu.rotation_platform_imu))
        name, told, mend = 'mounting of the IMU', f'turned by {degrees(most):.3g} degrees', f'sensors.imu.rpy: {rpy}'
    elif kind == 'place':
        place = _list(imu.position + size)
        name, told, mend = 'place of the IMU', f'{1e3 * most:.3g} mm', f'sensors.imu.xyz: {place}'
    elif kind in WALKING:
        unit = 'm/s^2' if kind == 'accelerometer bias' else 'rad/s'
        name, told = f'{kind} that drifts', f'{most:.3g} {unit} per s'
        mend = f'let the IMU warm up, or state sensors.imu.{kind.split()[0]}.bias_walk'
    elif kind == 'gravity':
        along = float(size @ machine.gravity) / float(machine.gravity @ machine.gravity)
        off = float(np.linalg.norm(size - along * machine.gravity))
        name, told = 'gravity', f'{1e2 * along:+.3g} %'
        if off > 0.7 * most:
            angle = degrees(off / float(np.linalg.norm(machine.gravity)))
            name, told = 'base is not level', f'{angle:.3g} degrees'
        mend = f'gravity: {_list(machine.gravity + size)}'
    else:
        name, told = f'scale or axes of the {kind}', f'off by {100.0 * most:.3g} %'
        rows = ', '.join(_list(row) for row in np.eye(3) + size.reshape(3, 3))
        mend = f'driver: the samples of the {kind}, platform axes, times [{rows}]'
    return LikelyCause(name, told, mend, found.gain)


def _told_leg(found: Found, machine: Machine) -> LikelyCause:
    kind, member = found.group.kind, found.group.member
    if member == ALL:
        name, unit, shown = _OF_ALL[kind]
        told = f'{shown * float(np.abs(found.size).max()):.3g} {unit} at most'
        return LikelyCause(name, told, 'calibrate the machine', found.gain)
    if kind == 'geometry':
        centres = [column.kind == 'geometry' for column in found.group.columns]
        name, off = machine.legs[member].name, 1e3 * float(np.linalg.norm(found.size[centres]))
        return LikelyCause(f'geometry of {name}', f'{off:.3g} mm', f'{name}: calibrate its joint centres', found.gain)
    name, told = machine.drive_labels[member], f'{1e3 * float(found.size[0]):+.3g} m{machine.position_units[member]}'
    if kind == 'drift':
        return LikelyCause(f'drift of {name}', f'{told}/s', f'{name}: check its encoder and coupling', found.gain)
    if kind == 'scale':
        factor = f'driver: position.scale of {name} times {1.0 + found.size[0]:.6g}'
        return LikelyCause(f'scale of {name}', f'{1e2 * found.size[0]:+.3g} %', factor, found.gain)
    if kind == 'lateness':
        late = f'{1e3 * found.size[0]:+.3g} ms after the other drives'
        return LikelyCause(f'lateness of {name}', late, f'{name}: check when its encoder is read', found.gain)
    unit = machine.position_units[member]
    mend = f'driver: position.offset of {name} {float(found.size[0]):+.6g} {unit} more, or calibrate its zero'
    return LikelyCause(f'offset of {name}', told, mend, found.gain)


def _list(values: Array) -> str:
    return '[' + ', '.join(f'{value:.6g}' for value in values) + ']'
