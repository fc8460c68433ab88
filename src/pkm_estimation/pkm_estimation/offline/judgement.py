"""Verdict on a whole estimate in words: are its claims right, from when on not, and what goes with that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.stats import chi2

from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import matching, pose_error_squared
from pkm_estimation.offline.result import EstimationResult

#: s of a window, fewest estimates in one, and what is left out after each start
WINDOW, LEAST_ESTIMATES, AFTER_START = 1.0, 20, 1.0
#: probability that a right filter has a window above the bound anywhere, and the least ratio that matters
FALSE_ALARM, MATTERS = 1e-3, 1.3
#: of the windows after the first bad one, the part from which on it is "from ... on"
LASTING = 0.8
#: ratio of how much the input changes in bad windows and in others from which on that is named
FASTER = 2.0


@dataclass(frozen=True)
class Windows:
    """Innovations of W windows.

    Attributes
    ----------
    begin : (W,) s after the first estimate
    ratio : (W,) sum of NIS by what is expected
    upper, lower : (W,) bounds of the ratio for a filter that is right
    quickness : (W, 6) rms change of the corrected samples from one to the next
    rows : of the estimates in each window
    """

    begin: Array
    ratio: Array
    upper: Array
    lower: Array
    quickness: Array
    rows: tuple[NDArray[np.intp], ...]

    @property
    def too_large(self) -> NDArray[np.bool_]:
        """Windows whose innovations are larger than claimed, in earnest."""
        return (self.ratio > self.upper) & (self.ratio > MATTERS)


@dataclass(frozen=True)
class Judgement:
    """Verdict.

    Attributes
    ----------
    sentence : in words
    is_good : whether claims hold
    """

    sentence: str
    is_good: bool


def judge(result: EstimationResult, truth: MotionEstimate | None = None) -> Judgement:
    """Verdict by the innovations, and by the errors where the true motion is known."""
    windows = windows_of(result)
    known, by_truth = (True, '') if truth is None else _by_truth(result, truth)
    alone = float(result.by_legs_alone.mean())
    if not len(windows.begin):
        if not alone:
            text = f'{len(result)} estimates are too few to say whether they are consistent'
            return Judgement(f'Not judged: {text}.', False)
        parts = [f'Without the IMU nearly all the time{_why_alone(result)}: legs alone, whose noise adapts', by_truth]
        return Judgement(f'{"; ".join(filter(None, parts))}.', False)
    bad = windows.too_large
    nis = f'innovations {_mean(windows.ratio[~bad] if (~bad).any() else windows.ratio):.3g} times as claimed (squares)'
    parts = []
    if bad.any():
        reason = _reason(result, windows, bad)
        parts.append(f'Over-confident {_when(windows, bad)}: {reason}')
        if (~bad).any():
            parts.append(f'otherwise {nis}')
    elif _mean(windows.ratio) < 1.0 / MATTERS and np.mean(windows.ratio < windows.lower) > 0.5:
        parts.append(f'Too cautious: {nis}; noise is set larger than it is')
    else:
        parts.append(f'Consistent: {nis}, in none of {len(bad)} windows of {WINDOW:g} s too large')
    is_good = not bad.any() and not parts[0].startswith('Too') and known
    if not known and parts[0].startswith('Consistent'):
        parts[0] = f'Over-confident by the recorded truth, though innovations are consistent ({nis})'
    if alone:
        parts.append(f'the IMU was left out in {100.0 * alone:.3g} % of the estimates{_why_alone(result)}')
    parts.append(by_truth)
    return Judgement(f'{"; ".join(filter(None, parts))}.', is_good)


def windows_of(result: EstimationResult) -> Windows:
    """Windows of all estimates that are settled and have innovations."""
    time = (result.motion.stamps - result.motion.stamps[0]) * 1e-9
    begins = time[result.started]
    since = time - begins[np.clip(np.searchsorted(begins, time, side='right') - 1, 0, None)]
    degrees = np.isfinite(result.innovation).sum(axis=1)
    usable = np.isfinite(result.nis) & (since >= AFTER_START) & (degrees > 0) & ~result.by_legs_alone
    samples = np.hstack([result.specific_force, result.angular_rate])
    change = np.zeros_like(samples)
    change[1:] = np.diff(samples, axis=0)
    number = np.floor(time / WINDOW).astype(np.intp)
    rows = [np.flatnonzero(usable & (number == window)) for window in np.unique(number[usable])]
    rows = [chosen for chosen in rows if len(chosen) >= LEAST_ESTIMATES]
    freedom = np.array([degrees[chosen].sum() for chosen in rows], dtype=float)
    tail = FALSE_ALARM / max(len(rows), 1)
    return Windows(
        np.array([time[chosen[0]] for chosen in rows]),
        np.array([result.nis[chosen].sum() for chosen in rows]) / freedom,
        chi2.isf(tail, freedom) / freedom,
        chi2.ppf(tail, freedom) / freedom,
        np.array([np.sqrt(np.mean(change[chosen] ** 2, axis=0)) for chosen in rows]).reshape(-1, samples.shape[1]),
        tuple(rows),
    )


def _why_alone(result: EstimationResult) -> str:
    """Why the IMU was left out, in brackets."""
    told = [event for event in result.health.events if event.name.startswith('imu_') and event.name != 'imu_returned']
    return f' ({told[0].detail})' if told else ''


def _when(windows: Windows, bad: NDArray[np.bool_]) -> str:
    """From when on, or from when to when, in words."""
    first, last = int(np.flatnonzero(bad)[0]), int(np.flatnonzero(bad)[-1])
    begin, end = windows.begin[first], windows.begin[last] + WINDOW
    if bad.all():
        return 'all the time'
    if last == len(bad) - 1 and bad[first:].mean() >= LASTING:
        return f'from {begin:.0f} s on'
    if bad[first : last + 1].mean() >= LASTING:
        return f'from {begin:.0f} to {end:.0f} s'
    return f'in {bad.sum()} of {len(bad)} windows of {WINDOW:g} s, the first at {begin:.0f} s, the last at {end:.0f} s'


def _reason(result: EstimationResult, windows: Windows, bad: NDArray[np.bool_]) -> str:
    """What is wrong, as far as it can be told: a ranked cause, or what goes together with it."""
    size = f'innovations {_mean(windows.ratio[bad]):.3g} times as claimed (squares)'
    findings = result.health.findings
    if findings:
        return f'{size}; likeliest {findings[0].name} ({findings[0].size}): {findings[0].mend}'
    told = {event.name: event.detail for event in result.health.events if event.name == 'over_confident_because'}
    if told:
        return f'{size}; likeliest {told["over_confident_because"]}'
    squares = _leg_squares(result, np.concatenate([windows.rows[k] for k in np.flatnonzero(bad)]))
    worst = int(np.nanargmax(squares))
    others = np.delete(squares, worst)
    if squares[worst] > 3.0 * np.nanmax(others, initial=0.0):
        return f'{size}; drive {worst + 1} alone is {squares[worst]:.3g} times'
    if (~bad).any():
        usual = windows.quickness[~bad].mean(axis=0)
        times = float(np.max(windows.quickness[bad].mean(axis=0) / np.where(usual > 0.0, usual, np.inf)))
        if times > FASTER:
            return f'fast motion, samples of the IMU change {times:.2g} times as much as otherwise; {size}'
    return f'{size}; nothing recorded goes together with it'


def _leg_squares(result: EstimationResult, rows: NDArray[np.intp]) -> Array:
    ratios = (result.innovation / result.innovation_std)[rows]
    seen = np.isfinite(ratios)
    count = np.where(seen.any(axis=0), seen.sum(axis=0), np.nan)
    squares: Array = np.square(np.where(seen, ratios, 0.0)).sum(axis=0) / count
    return squares


def _by_truth(result: EstimationResult, truth: MotionEstimate) -> tuple[bool, str]:
    """Whether the pose's errors are as claimed, and by how much not; empty without a common stamp."""
    begin, end = int(result.motion.stamps[0]) + round(1e9 * AFTER_START), int(result.motion.stamps[-1])
    ours, true = matching(result.motion.stamps, truth.stamps, begin, end)
    if len(ours) < LEAST_ESTIMATES:
        return True, ''
    times = float(np.sqrt(np.mean(pose_error_squared(result.motion, ours, truth, true)) / 6.0))
    return times < MATTERS, f'errors of the pose against the recorded truth {times:.3g} times as claimed'


def _mean(values: Array) -> float:
    return float(np.mean(values))
