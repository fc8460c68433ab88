"""Noise of IMU and legs, and walks of the biases, that make the innovations of a recording likeliest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log

import numpy as np
from pkm_description.errors import PkmError
from pkm_description.machine import Machine
from pkm_description.machine.sensors import MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK
from scipy.optimize import minimize_scalar

from pkm_estimation.bags import RecordedData
from pkm_estimation.offline.estimate import AsToldPipeline, estimate_by
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tuning.streams import TuningError

#: s after a start whose innovations are not looked at
SETTLING = 5.0
#: decades of Q over R in which it is searched, how many a search goes on by, and how exactly it ends
_DECADES, _STEP, _PRECISION = (-6.0, 8.0), 2.0, 0.1
#: correlation of neighbouring innovations from which they say more about the model than about noise
COLOURED = 0.3
#: random walks of the biases of a usual MEMS IMU, m/s^2 and rad/s per root of a second, and factors that are tried
_WALKS = {'accelerometer': MEMS_ACCELEROMETER_WALK, 'gyroscope': MEMS_GYROSCOPE_WALK}
_WALK_FACTORS = 0.3, 1.0, 3.0, 10.0


@dataclass(frozen=True)
class InnovationStatistics:
    """How a filter's innovations compare with what it expects of them.

    Attributes
    ----------
    in_band : part within two standard deviations; 0.95 if the filter is consistent
    ratio : mean of squared innovations over their variances; 1 if it is consistent
    autocorrelation : of neighbouring normalised innovations, mean of the legs; 0 if all is learned from them
    objective : mean of ``log S + r^2 / S``, -2/L times the log-likelihood of each leg's innovations
    count : L, of innovations
    """

    in_band: float
    ratio: float
    autocorrelation: float
    objective: float
    count: int

    @classmethod
    def of(cls, result: EstimationResult, after: int = 0) -> InnovationStatistics:
        """Statistics of a run after a stamp [ns], without the time after starts; raises TuningError if few are left."""
        stamps, begin = result.motion.stamps, np.flatnonzero(result.started)
        since = stamps - stamps[begin[np.maximum(0, np.searchsorted(begin, np.arange(len(stamps)), side='right') - 1)]]
        wanted = (stamps - stamps[0] >= SETTLING * 1e9) & (stamps >= after)
        rows = wanted & (since >= SETTLING * 1e9) & np.isfinite(result.innovation).any(axis=1)
        if np.count_nonzero(rows) < 0.5 * np.count_nonzero(wanted) or rows.sum() < 100:
            raise TuningError(f'{np.count_nonzero(rows)} innovations in {len(stamps)} estimates: it restarts too often')
        normalised = result.innovation[rows] / result.innovation_std[rows]
        seen = np.isfinite(normalised)
        squares = normalised[seen] ** 2
        filled = np.where(seen, normalised, 0.0)
        neighbours = np.sum(filled[1:] * filled[:-1], axis=0) / np.sum(filled**2, axis=0)
        variances = result.innovation_std[rows][seen] ** 2
        return cls(
            float(np.mean(squares <= 4.0)),
            float(np.mean(squares)),
            float(np.mean(neighbours)),
            float(np.mean(np.log(variances) + squares)),
            len(squares),
        )


#: of a filter that does not hold
NOT_HELD = InnovationStatistics(0.0, np.inf, np.nan, np.inf, 0)


def innovations_of(
    machine: Machine, data: RecordedData, config: EstimatorConfig, after: int = 0
) -> InnovationStatistics:
    """Innovations of a filter that takes nothing into account but what it is told, and leaves nothing out.

    A gate would hide what is worst explained. Assembly modes are not followed: with a model that is wrong all of them
    are, at a hundred times the cost.
    """
    bare = replace(
        config, leg_gate=0.0, divergence_nis=1e12, iteration_nis=1e12, baseline=False, history=0.0, follow_modes=False
    )
    try:
        return InnovationStatistics.of(estimate_by(AsToldPipeline(machine, bare), data), after)
    except PkmError:
        return NOT_HELD


@dataclass(frozen=True)
class NoiseFigures:
    """Settings, and what the innovations were and are.

    Attributes
    ----------
    config : settings with the figures that pay
    found : in words
    before, after : innovations with the old settings and with these
    r_kept : whether the noise of the legs was left as it was
    runs : how many times the estimator ran
    """

    config: EstimatorConfig
    found: tuple[str, ...]
    before: InnovationStatistics
    after: InnovationStatistics
    r_kept: bool
    runs: int


def noise_figures(
    machine: Machine,
    data: RecordedData,
    config: EstimatorConfig,
    keep_r: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> NoiseFigures:
    """Noise of the sensors by the innovations' likelihood, each leg by itself.

    Of ``q_scale`` with ``r_scale``, and of the walk of each bias, the one that makes the innovations likeliest is
    taken, as long as that pays for its numbers (Schwarz 1978).

    If Q and R grow by one factor, the gain stays and the innovations' variances grow by it, too. So the best factor for
    given Q over R is the mean of ``r^2 / S``, and a search over one number is left. Where innovations stay coloured, R
    cannot be told from them and is left as it is.

    Parameters
    ----------
    config : settings to start from; all others stay
    keep_r : leave R as it is (Miletovic et al. 2017, section 5.3: lengths are the only source for the biases)
    progress : called with a line for what is found

    Raises
    ------
    TuningError
        The recording is too short, or the filter does not hold whatever the noise is.
    """
    stamps = data.require(data.joint_states, 'joint_states').stamps
    seconds = 1e-9 * float(stamps[-1] - stamps[0]) if len(stamps) else 0.0
    if seconds < 2.0 * SETTLING:
        raise TuningError(f'{seconds:.1f} s are too short to tell noise, {2.0 * SETTLING:g} s are needed')
    search = _NoiseSearch(machine, data, keep_r)
    chosen, found = config, []
    terms: dict[str, tuple[int, Callable[[EstimatorConfig], EstimatorConfig]]] = {
        'q_scale': (1 if keep_r else 2, search.scaled),
        'accelerometer_bias_walk': (1, lambda config: search.walking(config, 'accelerometer')),
        'gyroscope_bias_walk': (1, lambda config: search.walking(config, 'gyroscope')),
    }
    while terms:
        now, options = search.of(chosen), {name: best(chosen) for name, (_, best) in terms.items()}
        gains = {
            name: now.objective - search.of(option).objective - _price(terms[name][0], search.of(option))
            for name, option in options.items()
        }
        best = max(gains, key=lambda name: gains[name])
        if not gains[best] > 0.0:
            break
        chosen = options[best]
        del terms[best]
        found.append(_in_words(best, chosen))
        progress(f'{found[-1]}: -2 log-likelihood smaller by {gains[best]:.3g} per innovation')
    after = search.of(chosen)
    if not np.isfinite(after.objective):
        raise TuningError('the filter diverges on this recording whatever the noise is: check delay and mounting first')
    return NoiseFigures(chosen, tuple(found), search.of(config), after, search.keeps_r, len(search.tried))


def _price(numbers: int, statistics: InnovationStatistics) -> float:
    """What numbers must gain, per innovation."""
    return numbers * log(statistics.count) / statistics.count if statistics.count else np.inf


def _in_words(name: str, config: EstimatorConfig) -> str:
    if name == 'q_scale':
        return f'noise: variances of the IMU times {config.q_scale:g}, of the legs {config.r_scale:g}'
    return f'the bias of the {name.split("_")[0]} walks by {getattr(config, name):g} per root of a second'


class _NoiseSearch:
    """Settings with other noise, and their innovations; remembers what was tried."""

    def __init__(self, machine: Machine, data: RecordedData, keep_r: bool) -> None:
        self._machine, self._data, self.keeps_r = machine, data, keep_r
        self.tried: dict[EstimatorConfig, InnovationStatistics] = {}

    def of(self, config: EstimatorConfig) -> InnovationStatistics:
        """Innovations of a run."""
        if config not in self.tried:
            self.tried[config] = innovations_of(self._machine, self._data, config)
        return self.tried[config]

    def walking(self, config: EstimatorConfig, sensor: str) -> EstimatorConfig:
        """Settings with the likeliest walk of a bias."""
        walks = [float(f'{factor * _WALKS[sensor]:.3g}') for factor in _WALK_FACTORS]
        options = [replace(config, **{f'{sensor}_bias_walk': walk}) for walk in walks]  # type: ignore[arg-type]
        return min(options, key=lambda option: self.of(option).objective)

    def scaled(self, config: EstimatorConfig) -> EstimatorConfig:
        """Settings with the likeliest factors on Q and R."""
        decade = self._lowest(config)
        if not self.keeps_r and self.of(self._with(config, decade)).autocorrelation > COLOURED:
            self.keeps_r = True
            decade = self._lowest(config)
        factor = 1.0 if self.keeps_r else self.of(self._with(config, decade)).ratio
        return self._with(config, decade, factor)

    def _lowest(self, config: EstimatorConfig) -> float:
        """Decade of Q over R of the least cost."""
        tried: dict[float, float] = {}

        def cost(decade: float) -> float:
            """Objective, or its profile over the common factor; infinite where the filter fails."""
            found = self.of(self._with(config, decade))
            shared = 0.0 if self.keeps_r or not np.isfinite(found.ratio) else log(found.ratio) + 1.0 - found.ratio
            tried[decade] = found.objective + shared
            return tried[decade]

        lowest, best = 0.0, np.inf
        while lowest != best:
            best = lowest
            near = [best, min(best + _STEP, _DECADES[1]), max(best - _STEP, _DECADES[0])]
            lowest = near[int(np.argmin([cost(decade) for decade in near]))]
        bounds = near[2], near[1]
        minimize_scalar(cost, bounds=bounds, method='bounded', options={'xatol': _PRECISION})
        return min(tried, key=lambda decade: tried[decade])

    @staticmethod
    def _with(config: EstimatorConfig, decade: float, factor: float = 1.0) -> EstimatorConfig:
        q, r = factor * config.r_scale * 10.0**decade, factor * config.r_scale
        return replace(config, q_scale=float(f'{q:.4g}'), r_scale=float(f'{r:.4g}'))
