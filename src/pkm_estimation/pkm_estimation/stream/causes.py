"""Which constants of machine and sensors are not as they should be, by what innovations say of each.

With score ``s`` and information ``I`` of the constants (:mod:`pkm_estimation.kernels.carried`) and their covariance
``W W^T``, the logarithm of how likely the innovations are is ``s^T V s / 2 - log det(1 + W^T I W) / 2``,
``V = W (1 + W^T I W)^-1 W^T``.
Constants that are likely to be off together have one further variance v, of each, that makes this largest (evidence,
MacKay 1992). How much larger it is than without, with the probability that anything is off at all, gives the
probability of each such hypothesis: what is claimed contains all of them.

An IMU is usually late, turned and moved, by a part of what is usual: those are hypotheses about all of it together.
What they explain is no sign of anything else.
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
from pkm_estimation.filtering.constant_columns import ConstantColumn, ConstantScore, root_of
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
    'zero': 100.0, 'drift': 100.0, 'scale': 100.0, 'lateness': 100.0, 'backlash': 100.0, 'geometry': 30.0,
    'delay': 30.0, 'axis delays': 30.0, 'accelerometer bias': 300.0, 'gyroscope bias': 300.0,
}  # fmt: skip
_BROAD = 10.0
#: kinds of constants that may change with time, and those that say how fast
RATES = {'delay': 'skew', 'zero': 'drift'}
#: kinds of constants that say that a bias drifts, and the states that are it
WALKING = {'accelerometer bias': ACCELEROMETER_BIAS, 'gyroscope bias': GYROSCOPE_BIAS}
#: kinds of constants of the machine's geometry
GEOMETRY = 'zero', 'drift', 'scale', 'lateness', 'backlash', 'geometry'
#: kinds that are off for all drives and legs where they are for several: homing, warming up, tolerances not kept; all
#: drives that are late are an IMU that is early
_TOGETHER = ('zero',), ('drift',), ('scale',), ('backlash',), ('geometry', 'zero')
#: name, unit and factor to it of each of them
_OF_ALL = {
    'zero': ('offsets of all drives', 'mm or mrad', 1e3), 'drift': ('drifts of all drives', 'mm/s or mrad/s', 1e3),
    'scale': ('scales of all drives', '%', 1e2),
    'backlash': ('backlash of all drives', 'mm or mrad', 2e3),
    'geometry': ('geometry of all legs', 'mm or mrad', 1e3),
}  # fmt: skip
#: member of a group of all
ALL = -1
#: group that says all that a kind of constants says, as its sum
_SUMS = {'delay': ('axis delays', 0)}
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
        return self.key == _SUMS.get(other.kind) or set(other.places.tolist()) <= set(self.places.tolist())


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


class Off(NamedTuple):
    """Constants that are off.

    Attributes
    ----------
    found : those that are for certain, the likeliest first, each with those before it taken into account, and
        at the end those that usually are
    likely, possible : (p,) further variances of all constants, in squares of their units, before innovations were seen
    claimed : (p,) mean squares of them by what is possible, as they are
    """

    found: list[Found]
    likely: Array
    possible: Array
    claimed: Array


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
    groups: Sequence[Group], prior: Array, seen: ConstantScore, usual: Mapping[Key, float]
) -> Off:
    """Constants that are off: an IMU that is usually off, or others one by one.

    Where all drives or legs are likelier to be off than any one of them, a few of them together may be likelier still.

    Parameters
    ----------
    prior : (p, p) covariance of the constants, in their units
    seen : of the constants by the innovations
    usual : standard deviations, in their units, of groups that are exact or off by some part of that
    """
    often = Usual.of([group for group in groups if group.key in usual], usual)
    others = [group for group in groups if group.key not in usual]
    off = _one_by_one(others, np.ones(len(others), dtype=bool), often, prior, seen)
    if not any(one.group.member == ALL for one in off.found):
        return off
    few = _one_by_one(others, np.array([group.member != ALL for group in others]), often, prior, seen)
    return max(off, few, key=lambda one: sum(found.gain + log(POSSIBLE) for found in one.found))


def _one_by_one(
    groups: Sequence[Group], is_left: NDArray[np.bool_], often: Usual, prior: Array, seen: ConstantScore
) -> Off:
    """Some of the groups, the likeliest first, while any is likelier than all that is usual, and that at the end."""
    found: list[Found] = []
    prior, further = prior.copy(), np.zeros(len(prior))
    broad = np.array([_BROADER.get(group.kind, _BROAD) for group in groups])
    is_positive = np.array([group.kind == 'response' for group in groups], dtype=bool)
    first = np.array([group.places[0] for group in groups], dtype=int)
    while True:
        rest, shown, squares = _unexplained(prior, seen)
        principal = _principal(groups, rest, shown)
        explained = max(often.explained(rest, shown), _explained(broad, *principal))
        noise = max(1.0, (squares - explained) / max(1.0, seen.squares[1]))  # it says less than it claims
        usual_gains, usual_squares = often.weighed(rest, shown, noise)
        gains, variances = _most_likely(broad, *principal, noise)
        gains[is_positive & (rest[first] < 0.0)] = 0.0  # a variance is positive
        gains[~is_left] = -np.inf
        usual, parts = _probabilities(usual_gains, gains, _PRIOR)
        likely = further + _spread(groups, parts * variances, len(prior))
        if not np.max(parts, initial=0.0) > usual.sum():
            break
        best = int(np.argmax(gains))
        group, is_left[best], further = groups[best], False, likely
        of_group = shown[np.ix_(group.places, group.places)]
        size = np.linalg.solve(of_group + noise / variances[best] * np.eye(len(of_group)), rest[group.places])
        size *= [column.unit for column in group.columns]
        others = [other for other, part in zip(groups, parts, strict=True) if part > 0.0 and not other.contains(group)]
        found.append(Found(group, size, float(gains[best]), not others and usual.sum() < _MATTERS))
        prior[group.places, group.places] += variances[best]
    usual, parts = _probabilities(usual_gains, gains, POSSIBLE)
    claimed = further + _spread(groups, parts * variances, len(prior))
    possible = claimed.copy()
    possible[often.places] += usual @ often.roots**2
    claimed[often.places] += usual @ usual_squares
    certain = []
    for group, is_exact in zip(often.groups, (often.parts == 0.0).T, strict=True):
        rivals = gains[[not other.contains(group) for other in groups]] + log(POSSIBLE)
        gain = _together(usual_gains[~is_exact]) - _together(np.concatenate([usual_gains[is_exact], rivals]))
        if gain > -log(POSSIBLE):
            certain.append((group, gain))
    if certain:  # they are known together
        likely[often.places] = possible[often.places]
        sizes = Explanation.of(prior, likely, seen).sizes
        for group, gain in certain:
            found.append(Found(group, sizes[group.places] * [column.unit for column in group.columns], gain))
    return Off(found, likely, possible, claimed)


def _unexplained(prior: Array, seen: ConstantScore) -> tuple[Array, Array, float]:
    """Score (p,), information (p, p) and square that constants with a covariance (p, p) do not explain."""
    known = _posterior(prior, seen.information)
    rest = seen.score - seen.information @ (known @ seen.score)
    shown = seen.information - seen.information @ known @ seen.information
    return rest, shown, float(seen.squares[0] - seen.score @ known @ seen.score)


class Usual(NamedTuple):
    """Constants that are often off: hypotheses about all of them together, of the same probability before.

    Attributes
    ----------
    groups : each is exact, or off by a part of what is usual, whatever the others are
    parts : (H, G) of the hypotheses; those of the first are zero
    places, roots : (k,), (H, k) of all their constants, and the standard deviations, in their units
    """

    groups: Sequence[Group]
    parts: Array
    places: Integers
    roots: Array

    @classmethod
    def of(cls, groups: Sequence[Group], usual: Mapping[Key, float]) -> Usual:
        """All hypotheses about groups that are off by standard deviations ``usual``, in their units."""
        parts = np.array(list(product(_USUAL_PARTS, repeat=len(groups))))
        stds, sizes = [usual[group.key] for group in groups], [len(group.places) for group in groups]
        places = np.concatenate([np.zeros(0, dtype=int), *(group.places for group in groups)])
        return cls(groups, parts, places, np.repeat(parts * stds, np.array(sizes, dtype=int), axis=1))

    def explained(self, score: Array, information: Array) -> float:
        """By how much the last hypothesis, which is the widest, lessens the square of the innovations."""
        shown = information[np.ix_(self.places, self.places)] + np.diag(self.roots[-1] ** -2.0)
        return float(score[self.places] @ np.linalg.solve(shown, score[self.places]))

    def weighed(self, score: Array, information: Array, noise: float) -> tuple[Array, Array]:
        """How much likelier the innovations are by each (H,), and the mean squares (H, k) of the constants then."""
        score, roots = score[self.places] / noise, self.roots
        shown = information[np.ix_(self.places, self.places)] / noise
        whole = np.eye(len(score)) + roots[:, :, None] * shown * roots[:, None]
        covariances = roots[:, :, None] * np.linalg.inv(whole) * roots[:, None]
        sizes = covariances @ score
        gains = 0.5 * (sizes @ score - np.linalg.slogdet(whole)[1])
        return gains, np.diagonal(covariances, axis1=1, axis2=2) + sizes**2


def _together(gains: Array) -> float:
    """Logarithm of the sum of likelihoods, by their logarithms."""
    return float(np.logaddexp.reduce(gains))


def _shares(gains: Array) -> Array:
    """Probabilities (n,) of hypotheses, by logarithms of their likelihoods."""
    return np.asarray(np.exp(gains - _together(gains)))


def _probabilities(usual: Array, gains: Array, prior: float) -> tuple[Array, Array]:
    """Probabilities of what is usual (H,), and (G,) that a group is off, by how much likelier each made what was seen.

    ``prior`` is the probability of a group by that of one of what is usual, before.
    """
    parts = _shares(np.concatenate([usual, gains + log(prior)]))
    of_groups = parts[len(usual) :]
    return parts[: len(usual)], np.where(of_groups > _MATTERS, of_groups, 0.0)


def probabilities(gains: Array, prior: float) -> Array:
    """Probabilities (n,) of hypotheses, one at most, by how much likelier than none each made what was seen.

    Parameters
    ----------
    gains : (n,) logarithms of that
    prior : probability of each by that of none, before
    """
    return _shares(np.append(gains + log(prior), 0.0))[:-1]


def _spread(groups: Sequence[Group], variances: Array, count: int) -> Array:
    """Variances (p,) of all constants by those (G,) of groups."""
    spread = np.zeros(count)
    for group, variance in zip(groups, variances.tolist(), strict=True):
        spread[group.places] += variance
    return spread


def _principal(groups: Sequence[Group], score: Array, information: Array) -> tuple[Array, Array]:
    """Principal values (G, k) of the information of groups, and their scores (G, k) along the axes; others are zero."""
    sizes = [len(group.places) for group in groups]
    values, along = np.zeros((2, len(groups), max(sizes, default=0)))
    for size in set(sizes):
        rows = [row for row, other in enumerate(sizes) if other == size]
        places = np.array([groups[row].places for row in rows])
        found, axes = np.linalg.eigh(information[places[:, :, None], places[:, None, :]])
        values[rows, :size], along[rows, :size] = found.clip(0.0), np.einsum('gij,gi->gj', axes, score[places])
    return values, along


def _explained(broad: Array, values: Array, along: Array) -> float:
    """By how much the best of the groups lessens the square of the innovations, as in :func:`_most_likely`."""
    return float(np.max(np.sum(along**2 / (values + broad[:, None] ** -2.0), axis=1), initial=0.0))


def _most_likely(broad: Array, values: Array, along: Array, noise: float) -> tuple[Array, Array]:
    """Gains (G,) and variances (G,), in units, of groups with what makes the innovations likeliest.

    Parameters
    ----------
    broad : (G,) standard deviations of the priors
    values, along : (G, k), see :func:`_principal`
    noise : by how much the variance of innovations is larger than they claim
    """
    tried = _PARTS[:, None] * broad**2
    widened = 1.0 + tried[:, :, None] * (values / noise)
    gains = 0.5 * np.sum(tried[:, :, None] * (along / noise) ** 2 / widened - np.log(widened), axis=2)
    best, rows = np.argmax(gains, axis=0), np.arange(len(broad))
    return gains[best, rows], tried[best, rows]


def _posterior(prior: Array, information: Array) -> Array:
    """Covariance (p, p) of constants that had another one (p, p) before, in their units."""
    some = np.flatnonzero(prior.diagonal())  # what is known exactly stays so
    rows = np.ix_(some, some)
    root = root_of(prior[rows])
    covariance = np.zeros_like(prior)
    covariance[rows] = root @ np.linalg.solve(np.eye(len(some)) + root.T @ information[rows] @ root, root.T)
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
    def of(cls, prior: Array, further: Array, seen: ConstantScore) -> Explanation:
        """Those that have a covariance (p, p) and further variances (p,) before innovations are seen."""
        covariance = _posterior(prior + np.diag(further), seen.information)
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

    def predicts(self, later: ConstantScore) -> bool:
        """Whether they predict innovations that came later: as large as they should be (prequential, Dawid 1984)."""
        (square, *_), count = self._unpredicted(later, []), later.squares[1]
        return bool(square <= count * max(LARGEST, 1.0 + CERTAIN * (2.0 / max(1.0, count)) ** 0.5))

    def predicts_better(self, later: ConstantScore) -> bool:
        """Whether innovations that came later are far likelier by them than without, each with noise as it is seen."""
        (square, *_), (raw, count) = self._unpredicted(later, []), later.squares
        noises = max(1.0, raw / count), max(1.0, square / count)
        widened = np.linalg.slogdet(np.eye(len(self.sizes)) + later.information @ self.covariance)[1]
        gain = 0.5 * (raw / noises[0] - square / noises[1] + count * log(noises[0] / noises[1]) - widened)
        return bool(gain > -log(_PRIOR))

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
    """Constants of the IMU, if one is so far off that its column does not say all: sizes and standard deviations, SI.

    Parameters
    ----------
    groups : of all constants
    known : keys of those that are off
    constants : all, by the same innovations
    elapsed : s, since when a skew of the clocks adds to the delay
    priors : standard deviation of each kind; what is far beyond it has another cause
    """
    taken: dict[str, tuple[Array, Array]] = {}
    is_far = False
    for group in groups:
        if group.kind not in priors or not known & {group.key, rate_of(group)}:
            continue
        unit = group.columns[0].unit
        sizes, std = constants.sizes[group.places], constants.std[group.places]
        sizes = sizes + growth_of(group, groups, known, constants, elapsed) / unit
        size = float(np.linalg.norm(sizes))
        if unit * size < _FAR * priors[group.kind]:
            taken[group.kind] = unit * sizes, unit * std
            is_far |= size > max(1.0, CERTAIN * float(np.linalg.norm(std)))
    return taken if is_far else {}


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
        rows = ', '.join(_list(row) for row in imu.corrected_matrix(kind, size.reshape(3, 3)))
        mend = f'sensors.imu.{kind}.matrix: [{rows}]'
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
    if kind == 'backlash':
        told = f'{2e3 * abs(float(found.size[0])):.3g} m{machine.position_units[member]}'
        return LikelyCause(f'backlash of {name}', told, f'{name}: preload it, or measure behind the gear', found.gain)
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
