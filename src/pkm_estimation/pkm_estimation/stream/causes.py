"""Which constants of machine and sensors are not as they should be, by what innovations say of each.

With score ``s`` and information ``I`` of the constants (:mod:`pkm_estimation.kernels.carried`) and their variances W^2,
the logarithm of how likely the innovations are is ``s^T V s / 2 - log det(1 + W I W) / 2``, ``V = W (1 + W I W)^-1 W``.
Constants that are likely to be off together have one further variance v, of each, that makes this largest (evidence,
MacKay 1992). How much larger it is than without, with the probability that anything is off at all, gives the
probability of each such hypothesis: what is claimed contains all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from math import degrees
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics.rotation import rotation_exp, rpy_from_matrix
from pkm_description.machine import Machine

from pkm_estimation.filtering.constant_columns import ConstantColumn, ConstantScore
from pkm_estimation.stream.health import LikelyCause

#: probability that a group of constants turns out to be off within the memory of the scores
_PRIOR = 1e-9
#: standard deviations of a prior beyond which a constant has another cause
_FAR = 4.0
#: standard deviations of a known constant that it is off for certain
CERTAIN = 5.0
#: probability of a hypothesis below which it does not count
_MATTERS = 1e-3
#: standard deviations of the priors, in units: of geometry, of the delay, and of all else
_BROADER, _BROAD = {'leg': 30.0, 'delay': 30.0}, 10.0
#: parts of the squares of these that are tried as variances
_PARTS = 10.0 ** np.arange(-6.0, 0.01, 0.25)


class Group(NamedTuple):
    """Constants that are off together.

    Attributes
    ----------
    kind, member : as of :class:`ConstantColumn`
    columns : of them
    places : of the columns
    """

    kind: str
    member: int
    columns: tuple[ConstantColumn, ...]
    places: Integers


class Found(NamedTuple):
    """Constants that are off, more likely than not.

    Attributes
    ----------
    group : which
    size : (k,) by how much they are off, SI
    gain : logarithm of how much likelier the innovations are with them
    """

    group: Group
    size: Array
    gain: float

    @property
    def units(self) -> float:
        """By how many units they are off together."""
        return float(np.linalg.norm(self.size)) / self.group.columns[0].unit


def groups_of(columns: Sequence[ConstantColumn]) -> list[Group]:
    """Groups of columns."""
    found: dict[tuple[str, int], list[ConstantColumn]] = {}
    for column in columns:
        found.setdefault((column.kind, column.member), []).append(column)
    return [
        Group(*key, tuple(members), np.array([column.place for column in members])) for key, members in found.items()
    ]


def constants_that_are_off(
    groups: Sequence[Group], weights: Array, seen: ConstantScore
) -> tuple[list[Found], Array]:
    """Constants that are off, the likeliest first, each with those before it taken into account.

    Parameters
    ----------
    weights : (p,) standard deviations of the constants, in their units
    seen : of the constants by the innovations

    Returns
    -------
    Those that are off, and further variances (p,) of all constants, in squares of their units, by what is likely
    """
    found: list[Found] = []
    weights, further, is_left = weights.copy(), np.zeros(len(weights)), np.ones(len(groups), dtype=bool)
    # all groups at once: those that are smaller than the largest have constants that nothing is seen of
    largest = max(len(group.places) for group in groups)
    broad = np.array([_BROADER.get(group.kind, _BROAD) for group in groups])
    is_positive = np.array([group.kind == 'response' for group in groups])
    places = np.full((len(groups), largest), len(weights))
    for row, group in zip(places, groups, strict=True):
        row[: len(group.places)] = group.places
    while is_left.any():
        known = _variances(weights, seen.information)
        rest = np.append(seen.score - seen.information @ (known @ seen.score), 0.0)
        shown = np.zeros((len(rest), len(rest)))
        shown[:-1, :-1] = seen.information - seen.information @ known @ seen.information
        squares, count = seen.squares[0] - seen.score @ known @ seen.score, seen.squares[1]
        gains, variances, sizes = _most_likely(
            broad, rest[places], shown[places[:, :, None], places[:, None, :]], squares, count
        )
        gains[is_positive & (sizes[:, 0] < 0.0)] = 0.0  # a variance is positive
        likely = np.append(np.where(is_left, gains + np.log(_PRIOR), -np.inf), 0.0)
        likely = np.exp(likely - likely.max())
        best, parts = int(np.argmax(likely[:-1])), likely[:-1] / likely.sum()
        for group, part, variance in zip(groups, parts.tolist(), variances.tolist(), strict=True):
            further[group.places] += part * variance if part > _MATTERS else 0.0
        if not likely[best] > likely[-1]:
            break
        group, is_left[best] = groups[best], False
        size = sizes[best, : len(group.places)] * [column.unit for column in group.columns]
        found.append(Found(group, size, float(gains[best])))
        weights[group.places] = np.sqrt(weights[group.places] ** 2 + variances[best])
    return found, further


def _most_likely(
    broad: Array, score: Array, information: Array, squares: float, count: float
) -> tuple[Array, Array, Array]:
    """Gains (G,), variances (G,) and means (G, k), in units, of groups with what makes the innovations likeliest.

    Innovations that are larger than they claim even where the best of the groups has explained all that it can are
    noise that says less than they claim.

    Parameters
    ----------
    broad : (G,) standard deviations of the priors
    score, information : (G, k), (G, k, k)
    squares, count : sum of the squares of the innovations, and how many there are
    """
    values, vectors = np.linalg.eigh(information)
    values, along = values.clip(0.0), np.einsum('gij,gi->gj', vectors, score)
    explained = np.sum(along**2 / (values + broad[:, None] ** -2.0), axis=1).max()
    noise = max(1.0, (squares - explained) / max(1.0, count))
    values, along = values / noise, along / noise
    tried = _PARTS[:, None] * broad**2
    widened = 1.0 + tried[:, :, None] * values
    gains = 0.5 * np.sum(tried[:, :, None] * along**2 / widened - np.log(widened), axis=2)
    best, rows = np.argmax(gains, axis=0), np.arange(len(score))
    variances = tried[best, rows]
    sizes = np.einsum('gij,gj->gi', vectors, variances[:, None] * along / widened[best, rows])
    return gains[best, rows], variances, sizes


def _variances(weights: Array, information: Array) -> Array:
    """Covariance (p, p) of constants that had standard deviations (p,) before, in their units."""
    whole = np.eye(len(weights)) + weights[:, None] * information * weights
    return np.asarray(weights[:, None] * np.linalg.solve(whole, np.diag(weights)))


class Constants(NamedTuple):
    """All constants as innovations have them.

    Attributes
    ----------
    sizes, std : (p,) by how much they are off, and its standard deviation, in their units
    left : mean square of the innovations that this leaves, 1 where it explains them
    """

    sizes: Array
    std: Array
    left: float

    @classmethod
    def of(cls, weights: Array, further: Array, seen: ConstantScore) -> Constants:
        """Those that have standard deviations (p,) and further variances (p,) before innovations are seen."""
        covariance = _variances(np.sqrt(weights**2 + further), seen.information)
        sizes, (squares, count) = covariance @ seen.score, seen.squares
        left = float(squares - seen.score @ sizes) / max(1.0, count)
        return cls(sizes, np.sqrt(covariance.diagonal()), left)


def far_constants(
    groups: Sequence[Group], known: Set[str], constants: Constants, elapsed: float, priors: Mapping[str, float]
) -> dict[str, tuple[Array, Array]]:
    """Constants of the IMU that are so far off that their columns do not say all: sizes and standard deviations, SI.

    Parameters
    ----------
    groups : of all constants
    known : kinds of those that are off
    constants : all, by the same innovations
    elapsed : s, since when a skew of the clocks adds to the delay
    priors : standard deviation of each kind; what is far beyond it has another cause
    """
    taken: dict[str, tuple[Array, Array]] = {}
    if 'skew' in known:
        known = known | {'delay'}
    for group in groups:
        if group.kind not in priors or group.kind not in known:
            continue
        unit = group.columns[0].unit
        sizes, std = constants.sizes[group.places], constants.std[group.places]
        if group.kind == 'delay':
            sizes = sizes + delay_of_skew(groups, known, constants, elapsed) / unit
        size = float(np.linalg.norm(sizes))
        if size > max(1.0, CERTAIN * float(np.linalg.norm(std))) and unit * size < _FAR * priors[group.kind]:
            taken[group.kind] = unit * sizes, unit * std
    return taken


def delay_of_skew(groups: Sequence[Group], known: Set[str], constants: Constants, elapsed: float) -> float:
    """Delay [s] that a skew of the clocks, if one is known, has made in ``elapsed`` s, as in :func:`far_constants`."""
    skews = [group for group in groups if group.kind == 'skew' and 'skew' in known]
    return sum(elapsed * float(constants.sizes[skew.places[0]]) * skew.columns[0].unit for skew in skews)


def told_cause(found: Found, machine: Machine, delay: float) -> LikelyCause:
    """A group of constants that is off, in words: what, by how much, and what mends it.

    Parameters
    ----------
    machine, delay : what is taken into account already, the delay of the IMU's stamps [s]
    """
    kind, size, imu = found.group.kind, found.size, machine.imu
    most = float(np.linalg.norm(size))
    if kind == 'leg':
        return _told_leg(found, machine)
    if kind == 'delay':
        name, told, mend = 'delay of the IMU', f'{1e3 * size[0]:.2f} ms', f'imu_delay: {delay + size[0]:.5f}'
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
    elif kind == 'gravity':
        along = float(size @ machine.gravity) / float(machine.gravity @ machine.gravity)
        off = float(np.linalg.norm(size - along * machine.gravity))
        name, told = 'gravity', f'{1e2 * along:+.3g} %'
        if off > 0.7 * most:
            angle = degrees(off / float(np.linalg.norm(machine.gravity)))
            name, told = 'base is not level', f'{angle:.3g} degrees'
        mend = f'gravity: {_list(machine.gravity + size)}'
    else:
        name, told = f'scale or units of the {kind}', f'off by {100.0 * most:.3g} %'
        mend = f'driver: the samples of the {kind} times {_list(1.0 + size)}, by platform axis'
    return LikelyCause(name, told, mend, found.gain)


def _told_leg(found: Found, machine: Machine) -> LikelyCause:
    leg = machine.legs[found.group.member]
    pairs = zip(found.group.columns, found.size.tolist(), strict=True)
    zeros = [(column.axis, size) for column, size in pairs if column.axis >= 0]
    off = float(np.linalg.norm(found.size))
    if len(zeros) < len(found.size) and off > 1.5 * max((abs(size) for _, size in zeros), default=0.0):
        return LikelyCause(
            f'geometry of {leg.name}', f'{1e3 * off:.3g} mm', f'{leg.name}: calibrate its joint centres and zero',
            found.gain,
        )  # fmt: skip
    drive, size = max(zeros, key=lambda zero: abs(zero[1]))
    name, unit = machine.drive_labels[drive], machine.position_units[drive]
    mend = f'{name}: calibrate its zero, or its joint centres'
    return LikelyCause(f'offset of {name}', f'{1e3 * size:+.3g} m{unit}', mend, found.gain)


def _list(values: Array) -> str:
    return '[' + ', '.join(f'{value:.6g}' for value in values) + ']'
