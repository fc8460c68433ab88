"""Which cause explains the innovations of a window best: each by a test of its own.

A small change of a cause's parameters changes the whitened innovations w along its signature S (a replay for each
parameter; one for all that are errors of the legs' positions, :mod:`~pkm_estimation.stream.blocks`). Least
squares ``w + S p = 0`` gives the parameters and the gain that a test of Lagrange multipliers gives (Rao 1948), without
running the filter with each. The best are then tried: the window is replayed with their parameters, and what they save
of ``sum w^T w + log det`` (twice the likelihood), less ``p log N`` for p parameters (Schwarz 1978), is their score.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.models.leg_model import measures_lengths
from pkm_estimation.stream.blocks import LegResponse
from pkm_estimation.stream.causes import Cause, Model, causes, spreads
from pkm_estimation.stream.health import LikelyCause
from pkm_estimation.stream.replay import Replayed, replaying

#: causes that are tried after the tests, and Newton steps of each; a cause that is worth fewer units is none
_TRIED, _NEWTON_STEPS, LEAST_SCORE = 5, 2, 30.0


class Ranking(NamedTuple):
    """Result of a ranking.

    Attributes
    ----------
    nis : mean NIS of the window's replay without any cause
    findings : the likeliest first; empty: none of the causes explains anything
    """

    nis: float
    findings: tuple[LikelyCause, ...]


def rank(model: Model) -> Generator[int, None, Ranking]:
    """Rank all causes, in portions; gives what each has cost, in units of a sample of the IMU."""
    base = yield from replaying(*model)
    if base is None or base.is_there.sum() < 100:
        return Ranking(float('nan'), ())
    price, found = float(np.log(base.is_there.sum())), []
    tests: list[tuple[float, Cause, Array]] = []
    everything = list(causes(model.machine))
    at_once = yield from leg_signatures(model, everything)
    for cause in everything:
        columns = at_once.get(cause.name)
        if columns is None:
            columns = yield from signature(model, cause, base, np.zeros(len(cause.steps)))
        parameters, gain = solved(columns, base.white, cause.usual)
        tests.append((gain - price * len(columns), cause, parameters))
    tests.sort(key=lambda test: -test[0])
    for score, cause, parameters in tests[:_TRIED]:
        if score < LEAST_SCORE:
            break
        best: tuple[float, Array, float] | None = None
        for step in range(_NEWTON_STEPS):
            tried = yield from replaying(*cause.apply(model, parameters))
            if tried is None:
                break
            saved, nis = _saved(base, tried)
            if best is not None and saved <= best[0]:
                break
            best = saved, parameters, nis
            if step + 1 < _NEWTON_STEPS and len(parameters) <= 3:
                columns = yield from signature(model, cause, tried, parameters)
                parameters = parameters + solved(columns, tried.white, cause.usual, parameters)[0]
        if best is not None:
            saved, parameters, nis = best
            mend = cause.mend(model, parameters)
            score = saved - price * len(parameters) - float(np.square(parameters / cause.usual).sum())
            found.append(LikelyCause(cause.name, cause.describe(parameters), mend, nis, score))
    for spread in spreads(model.machine):
        at_best: tuple[float, float, float] | None = None
        for level in spread.levels:
            wider = spread.apply(model, level)
            tried = None if wider is model else (yield from replaying(*wider))
            if tried is None:
                break
            saved, nis = _saved(base, tried)
            if at_best is not None and saved <= at_best[0]:
                break
            at_best = saved, level, nis
        if at_best is not None:
            saved, level, nis = at_best
            remedy = spread.mend(model, level)
            found.append(LikelyCause(spread.name, spread.describe(level), remedy, nis, saved - price))
    there = base.is_there
    nis = float(np.square(base.white[there]).sum(axis=1).mean())
    ranked = sorted((finding for finding in found if finding.score > LEAST_SCORE), key=lambda finding: -finding.score)
    return Ranking(nis, tuple(ranked))


def leg_signatures(model: Model, everything: Sequence[Cause]) -> Generator[int, None, dict[str, list[Array]]]:
    """Signatures, as of :func:`signature`, of all causes that are errors of the legs' positions, in one replay."""
    of_legs = [(cause, cause.of_legs(model)) for cause in everything if cause.of_legs is not None]
    # constraints are used after the drives: what the correction by these has left says nothing of both
    if not of_legs or not measures_lengths(model.machine):
        return {}
    response = LegResponse([errors for _, errors in of_legs], *model.window.positions.shape)
    yield from replaying(*model, response)
    if not response.white.size:
        return {}
    ends = np.cumsum([len(cause.steps) for cause, _ in of_legs])
    return {
        cause.name: [response.white[:, :, column] for column in range(end - len(cause.steps), end)]
        for (cause, _), end in zip(of_legs, ends.tolist(), strict=True)
    }


def signature(model: Model, cause: Cause, base: Replayed, parameters: Array) -> Generator[int, None, list[Array]]:
    """Slopes (N, A) of the whitened innovations by each parameter, NaN where unknown."""
    slopes = []
    for index, step in enumerate(cause.steps):
        changed = parameters.copy()
        changed[index] += step
        moved = yield from replaying(*cause.apply(model, changed))
        slopes.append(np.full(base.white.shape, np.nan) if moved is None else (moved.white - base.white) / step)
    return slopes


def solved(
    columns: list[Array], white: Array, usual: float, before: Array | None = None
) -> tuple[Array, float]:
    """Parameters (p,) that the innovations (N, A) ask for, and what they save of the sum of squares.

    Squares of the parameters divided by what is ``usual`` belong to the sum. With innovations at parameters ``before``
    (p,) it is what these change by.
    """
    there = np.isfinite(white).all(axis=1)
    for column in columns:
        there = there & np.isfinite(column).all(axis=1)
    slopes = np.column_stack([column[there].ravel() for column in columns])
    sizes = np.linalg.norm(slopes, axis=0)
    if not len(slopes) or not (sizes > 0.0).all():
        return np.zeros(len(columns)), 0.0
    before = np.zeros(len(columns)) if before is None else before
    wanted = np.concatenate([-white[there].ravel(), -before / usual])
    slopes = np.vstack([slopes, np.eye(len(columns)) / usual])
    parameters = np.linalg.lstsq(slopes / sizes, wanted, rcond=1e-6)[0] / sizes
    left = wanted - slopes @ parameters
    return parameters, float(wanted @ wanted - left @ left)


def _saved(base: Replayed, tried: Replayed) -> tuple[float, float]:
    """How much smaller the cost is, and the mean NIS."""
    there = base.is_there & tried.is_there
    if there.sum() < 0.9 * base.is_there.sum():
        return -np.inf, float('nan')
    before, after = (np.square(one.white[there]).sum() + one.logarithms[there].sum() for one in (base, tried))
    return float(before - after), float(np.square(tried.white[there]).sum(axis=1).mean())
