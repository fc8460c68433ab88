"""Which errors of the sensors a recording shows: models of them, compared by their innovations, and by held-out ones.

Forward selection: of the models with one more error the one with the likeliest innovations is taken, as long as the
likelihood grows by more than the Bayesian information criterion asks for (Schwarz 1978), over the first two thirds of
the recording. Whether the result is worth anything the last third says, which had no part in the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import Any

import numpy as np
from pkm_description.errors import PkmError
from pkm_description.machine import Machine
from pkm_description.machine.sensors import MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK

from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tuning.noise_scales import (
    SETTLING,
    InnovationStatistics,
    gate_off,
    run_estimator,
    suggest_noise_scales,
)
from pkm_estimation.tuning.streams import SensorStreams, TuningError

#: part of the recording that models are chosen on
CHOSEN_ON = 2.0 / 3.0
#: a mean of squared innovations within this factor of its expectation is consistent, or it must be nearer than before
_CONSISTENT = 1.3
#: rad, standard deviation of a mounting that may be wrong by degrees
_ROTATION_STD = 0.1
#: random walks of the biases of a usual MEMS IMU, m/s^2 and rad/s per root of a second, and factors that are tried
_WALKS = {'accelerometer': MEMS_ACCELEROMETER_WALK, 'gyroscope': MEMS_GYROSCOPE_WALK}
_WALK_FACTORS = 0.3, 1.0, 3.0, 10.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Term:
    """An error of the sensors.

    Attributes
    ----------
    words : what it is
    numbers : how many it adds to the model
    change : settings with it by those without
    kind : one of a kind is enough; empty: there is one only
    """

    words: str
    numbers: int
    change: Callable[[EstimatorConfig], EstimatorConfig]
    kind: str = ''


@dataclass(frozen=True)
class ModelChoice:
    """Settings, and what speaks for them.

    Attributes
    ----------
    config : the settings that were found
    found : words of each error of the sensors that they model
    before, after : innovations of the last third of the recording with the settings at the beginning and with these
    left_out : (2,) part of the leg positions of the last third that the gate leaves out, before and after
    runs : how many times the estimator ran
    reason : why the settings are not to be used, empty if they are
    """

    config: EstimatorConfig
    found: tuple[str, ...]
    before: InnovationStatistics
    after: InnovationStatistics
    left_out: tuple[float, float]
    runs: int
    reason: str

    @property
    def is_better(self) -> bool:
        """Whether the settings explain what had no part in their choice."""
        return not self.reason


def choose_model(
    machine: Machine,
    streams: SensorStreams,
    config: EstimatorConfig | None = None,
    delay: float = 0.0,
    keep_r: bool = False,
    say: Say | None = None,
) -> ModelChoice:
    """Choose models of the sensors' errors and noise factors for a recording of a motion.

    Parameters
    ----------
    config : settings to begin with
    delay : s, of the IMU's stamps, as :func:`~pkm_estimation.tuning.delay.estimate_delay` found it
    keep_r : leave the noise of the legs as it is
    say : called with a line for each step

    Raises
    ------
    TuningError
        The recording is too short.
    """
    start = config or EstimatorConfig()
    say = say or (lambda line: None)
    begin, end = float(streams.leg_time[0]), float(streams.leg_time[-1])
    if end - begin < 2.0 * SETTLING:
        raise TuningError(f'{end - begin:.1f} s are too short to compare models, {2.0 * SETTLING:g} s are needed')
    split = begin + CHOSEN_ON * (end - begin)
    first = streams.between(float('-inf'), split)
    search = _Forward(machine, first, say)
    chosen, found = search.select(start, _constant_terms(machine, start, delay))
    chosen, walks = search.select(chosen, _walk_terms())
    found = (*found, *walks)
    try:
        scales = suggest_noise_scales(machine, first, chosen, keep_r, say)
    except TuningError as error:
        say(f'no noise factors: {error}')
    else:
        search.runs += scales.runs
        scaled = replace(chosen, q_scale=float(f'{scales.q_scale:.4g}'), r_scale=float(f'{scales.r_scale:.4g}'))
        if search.gain(search.cost(chosen), scaled, 2) > 0.0:
            chosen = scaled
            found = (*found, f'noise: variances of the IMU times {scaled.q_scale:g}, of the legs {scaled.r_scale:g}')
    before, out_before = _held_out(machine, streams, start, split)
    after, out_after = _held_out(machine, streams, chosen, split)
    reason = _reason(found, before, after, out_before, out_after)
    return ModelChoice(chosen, found, before, after, (out_before, out_after), search.runs, reason)


def _constant_terms(machine: Machine, start: EstimatorConfig, delay: float) -> list[_Term]:
    """Constants that settings can model on this machine."""
    terms = []
    if round(delay, 5) != start.imu_delay:
        terms.append(_Term(f'the IMU is {1e3 * delay:.2f} ms late', 1, partial(_with, {'imu_delay': round(delay, 5)})))
    for name, words, numbers in (
        ('imu_rotation', 'the mounting of the IMU is another one than in the machine file', 3),
        ('leg_offsets', 'constant errors of the drive positions', machine.actuated_count),
        ('imu_position', 'the place of the IMU is another one than in the machine file', 3),
    ):
        if name not in start.estimate:
            terms.append(_Term(words, numbers, partial(_estimating, name)))
    return terms


def _walk_terms() -> list[_Term]:
    """Random walks of the biases."""
    terms = []
    for name, usual in _WALKS.items():
        for factor in _WALK_FACTORS:
            value = float(f'{factor * usual:.3g}')
            words = f'the bias of the {name} walks by {value:g} per root of a second'
            terms.append(_Term(words, 1, partial(_with, {f'{name}_bias_walk': value}), name))
    return terms


def _with(changes: dict[str, Any], config: EstimatorConfig) -> EstimatorConfig:
    return replace(config, **changes)


def _estimating(name: str, config: EstimatorConfig) -> EstimatorConfig:
    if name == 'imu_rotation':
        config = replace(config, imu_rotation_std=max(config.imu_rotation_std, _ROTATION_STD))
    return replace(config, estimate=(*config.estimate, name))


class _Forward:
    """Forward selection on a part of a recording."""

    def __init__(self, machine: Machine, streams: SensorStreams, say: Say) -> None:
        self._machine, self._streams, self._say = machine, streams, say
        self._count = len(streams.leg_time) * len(machine.drive_labels)
        self.runs = 0

    def cost(self, config: EstimatorConfig) -> float:
        """Mean objective of the innovations; infinite where the filter does not hold."""
        self.runs += 1
        try:
            return InnovationStatistics.of(run_estimator(self._machine, self._streams, gate_off(config))).objective
        except PkmError:
            return np.inf

    def gain(self, cost: float, config: EstimatorConfig, numbers: int) -> float:
        """By how much the criterion of other settings, of so many more numbers, is better; per innovation."""
        other = self.cost(config)
        return -np.inf if other == np.inf else cost - other - numbers * log(self._count) / self._count

    def select(self, start: EstimatorConfig, terms: list[_Term]) -> tuple[EstimatorConfig, tuple[str, ...]]:
        """Settings with all terms that pay, and their words."""
        chosen, left = start, list(terms)
        found: list[str] = []
        cost = self.cost(chosen)
        while left:
            gains = [self.gain(cost, term.change(chosen), term.numbers) for term in left]
            best = int(np.argmax(gains))
            if not gains[best] > 0.0:
                break
            term = left.pop(best)
            left = [other for other in left if not term.kind or other.kind != term.kind]
            chosen = term.change(chosen)
            cost = self.cost(chosen)
            found.append(term.words)
            self._say(f'{term.words}: -2 log-likelihood smaller by {gains[best]:.3g} per innovation')
        return chosen, tuple(found)


def _held_out(
    machine: Machine, streams: SensorStreams, config: EstimatorConfig, split: float
) -> tuple[InnovationStatistics, float]:
    """Innovations after ``split`` s of a whole run, and the part of the legs that the gate leaves out there."""
    try:
        statistics = InnovationStatistics.of(run_estimator(machine, streams, gate_off(config)), split)
    except PkmError:
        statistics = InnovationStatistics(0.0, np.inf, np.nan, np.inf)
    try:
        result = run_estimator(machine, streams, replace(config, baseline=False, history=0.0))
    except PkmError:
        return statistics, 1.0
    late = 1e-9 * (result.motion.stamps - result.motion.stamps[0]) >= split - float(streams.leg_time[0])
    missing = np.isnan(result.innovation[late]) & np.isfinite(result.drive_positions[late])
    return statistics, float(missing.mean()) if late.any() else 1.0


def _reason(
    found: tuple[str, ...],
    before: InnovationStatistics,
    after: InnovationStatistics,
    out_before: float,
    out_after: float,
) -> str:
    """Why settings are not to be used; empty if they are."""
    if not found:
        return 'no model of an error of the sensors explains the recording better than the settings as they are'
    if not after.objective < before.objective:
        return (
            'the last third of the recording, which had no part in the choice, is less likely with these settings '
            f'(-2 log-likelihood per innovation {after.objective:.4g}, before {before.objective:.4g})'
        )
    off = abs(log(after.ratio))
    if off > log(_CONSISTENT) and not off < abs(log(before.ratio)):
        return (
            f'innovations of the last third are {after.ratio:.3g} times as large (squares) as these settings expect, '
            f'before {before.ratio:.3g} times'
        )
    if out_after > out_before + 0.01:
        return (
            f'with these settings the gate would leave out {100.0 * out_after:.1f} % of the leg positions of the last '
            f'third, before {100.0 * out_before:.1f} %: an error of the sensors is left that no setting models'
        )
    return ''


def choice_verdict(choice: ModelChoice) -> str:
    """What was found, in a sentence without its full stop."""
    if not choice.is_better:
        return f'no settings are written: {choice.reason}'
    return (
        f'settings found that explain the last third of the recording better: {"; ".join(choice.found)}. '
        f'Innovations there are {choice.after.ratio:.3g} times as claimed (squares), '
        f'{choice.before.ratio:.3g} times before'
    )


def choice_report(choice: ModelChoice) -> list[str]:
    """Report as lines of text."""
    lines = [f'models of the sensors, by the innovations of the first two thirds ({choice.runs} runs of the estimator)']
    lines += [f'  found: {words}' for words in choice.found] or ['  found: nothing']
    lines.append('innovations of the last third, which had no part in the choice')
    for name, statistics, out in zip(
        ('before', 'after'), (choice.before, choice.after), choice.left_out, strict=True
    ):
        lines.append(
            f'{name:7s} {100.0 * statistics.in_band:5.1f} % within two standard deviations (95.4 % if consistent), '
            f'squares {statistics.ratio:.3g} times their expectation, -2 log-likelihood {statistics.objective:.4g}; '
            f'the gate leaves out {100.0 * out:.1f} %'
        )
    if choice.reason:
        lines.append(f'no settings are written: {choice.reason}')
    return lines
