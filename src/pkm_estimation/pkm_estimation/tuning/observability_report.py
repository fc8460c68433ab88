"""Text report of an observability analysis: observable and unobservable combinations."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.tuning.observability import SEEN, UNSEEN, Observability

_POSES = ('a shift along x', 'a shift along y', 'another height', 'a tilt about x', 'a tilt about y', 'a turn about z')
_COMMON = 'common offset of all drives'
#: length of a named direction's part in the unseen space from which the name says it
_NAMED = 0.95
#: length of its part in what no other name has said yet from which it is worth saying
_NEW = 0.2
#: components of a direction that are worth a word
_WORTH = 0.2


def observability_report(found: Observability) -> list[str]:
    """Report as lines of text: all constants and named combinations, then the unobservable directions."""
    lines = [f'{"constant":44s} {"before":>9s} {"after":>9s}']
    std = found.std
    for name, unit, before, after in zip(found.names, found.units, found.prior, std, strict=True):
        lines.append(f'{name:44s} {before:9.2g} {after:9.2g} {unit:4s} {_verdict(after / before)}')
    for name, direction in named_combinations(found).items():
        before, after = float(np.linalg.norm(direction * found.prior)), _std_along(found, direction)
        lines.append(f'{name:44s} {before:9.2g} {after:9.2g} {found.units[0]:4s} {_verdict(after / before)}')
    information = found.information()
    told = ' '.join(f'{value:.2g}' for value in information)
    lines.append(f'singular values of the information gained (in units of what was known before): {told}')
    q, r = found.noise_factors
    factors = '' if q == r == 1.0 else f' (variances times {q:.4g} for the IMU, {r:.4g} for the legs)'
    lines.append(f'(with noise as in the machine file{factors}; geometry and scale factors taken as exact)')
    unseen = unseen_directions(found)
    if not unseen:
        lines.append('every combination of these constants is seen')
    else:
        lines.append(f'not seen ({len(unseen)} of {len(found.names)} directions):')
        lines += [f'  {text}' for text in unseen]
    return lines


def named_combinations(found: Observability) -> dict[str, Array]:
    """Combinations (M,) of leg offsets with a meaning, unit vectors in the parameters' units."""
    rows = found.groups.get('leg_offsets')
    if rows is None:
        return {}
    count = rows.stop - rows.start
    patterns = {_COMMON: np.full(count, count**-0.5)}
    if found.pose_patterns is not None:
        named = zip(_POSES, found.pose_patterns, strict=True)
        patterns |= {f'offsets that look like {pose}': row for pose, row in named}
    combinations = {}
    for name, pattern in patterns.items():
        combinations[name] = np.zeros(len(found.names))
        combinations[name][rows] = pattern
    return combinations


def unseen_directions(found: Observability) -> list[str]:
    """One line for each direction that the motion does not show, as a named combination where one lies in it."""
    ratio, vectors = found.directions()
    space = vectors[ratio > UNSEEN]
    names = {name: _scaled(direction / found.prior) for name, direction in named_combinations(found).items()}
    names |= dict(zip(found.names, np.eye(len(found.names)), strict=True))
    texts, left = [], space
    for name, direction in names.items():
        if np.linalg.norm(space @ direction) < _NAMED:
            continue  # the motion shows a part of it
        rest = left @ direction
        if len(left) == 0 or np.linalg.norm(rest) < _NEW:
            continue  # said already, in other words
        texts.append(name + (_looks_like(found, direction * found.prior) if name == _COMMON else ''))
        # what is left, at right angles to it
        along = _scaled(rest)
        left = np.linalg.svd(left - np.outer(along, along @ left), full_matrices=False)[2][: len(left) - 1]
    # what has no name, by its components in physical units
    return texts + [_spelled(found, direction) for direction in left]


def _looks_like(found: Observability, direction: Array) -> str:
    """Which change of the pose a direction of leg offsets cannot be told from."""
    if found.pose_patterns is None:
        return ''
    likeness = np.abs(found.pose_patterns @ _scaled(direction[found.groups['leg_offsets']]))
    best = int(np.argmax(likeness))
    return f' (~ {_POSES[best]})' if likeness[best] > _NAMED else ''


def _spelled(found: Observability, direction: Array) -> str:
    largest = np.abs(direction).max()
    order = np.argsort(-np.abs(direction))
    sign = np.sign(direction[order[0]])
    physical = sign * direction * found.prior
    words = [
        f'{physical[row]:+.2g} {found.units[row]} {found.names[row]}'
        for row in order
        if abs(direction[row]) > _WORTH * largest
    ]
    return ' with '.join(words)


def _verdict(ratio: float) -> str:
    return 'seen' if ratio < SEEN else 'NOT SEEN' if ratio > UNSEEN else 'weakly seen'


def _std_along(found: Observability, direction: Array) -> float:
    return float(np.sqrt(direction @ found.covariance @ direction))


def _scaled(vector: Array) -> Array:
    scaled: Array = vector / np.linalg.norm(vector)
    return scaled
