"""Factors on the noise of IMU (Q) and legs (R) from the likelihood of the innovations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import Machine
from scipy.optimize import minimize_scalar

from pkm_estimation.bags import Imu, JointStates, RecordedData
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tuning.streams import SensorStreams, TuningError

#: s after a start whose innovations are not looked at
SETTLING = 5.0
#: s of a recording that the search uses: more costs time and tells little
LONGEST = 30.0
#: decades of Q over R that are searched, and how exactly
_DECADES, _PRECISION = (-6.0, 8.0), 0.05
_GRID = 8
#: correlation of neighbouring innovations from which they say more about the model than about noise
COLOURED = 0.3


@dataclass(frozen=True)
class InnovationStatistics:
    """How a filter's innovations compare with what it expects of them.

    Attributes
    ----------
    in_band : part within two standard deviations; 0.95 if the filter is consistent
    ratio : mean of squared innovations over their variances; 1 if it is consistent
    autocorrelation : of neighbouring normalised innovations, mean of the legs; 0 if all is learned from them
    objective : mean of ``log S + r^2 / S``, -2/L times the log-likelihood of each leg's innovations
    """

    in_band: float
    ratio: float
    autocorrelation: float
    objective: float

    @classmethod
    def of(cls, result: EstimationResult, after: float = 0.0) -> InnovationStatistics:
        """Statistics of a run, ``after`` s and without the time after its starts; raises TuningError if few are left.

        Times are those of the streams of :func:`run_estimator`.
        """
        stamps, begin = result.motion.stamps, np.flatnonzero(result.started)
        since = stamps - stamps[begin[np.maximum(0, np.searchsorted(begin, np.arange(len(stamps)), side='right') - 1)]]
        wanted = (stamps - stamps[0] >= SETTLING * 1e9) & (stamps >= _stamps(np.array(after)))
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
        )


@dataclass(frozen=True)
class NoiseScales:
    """Suggested settings, and what the innovations were and are.

    Attributes
    ----------
    q_scale, r_scale : settings of the estimator
    before, after : innovations with the old settings and with these
    r_kept : True if R was left as it was
    runs : how many times the estimator ran
    left_out : how often the leg gate of the settings leaves a leg or the IMU out with these factors, by name
    """

    q_scale: float
    r_scale: float
    before: InnovationStatistics
    after: InnovationStatistics
    r_kept: bool
    runs: int
    left_out: dict[str, int]


def run_estimator(machine: Machine, streams: SensorStreams, config: EstimatorConfig) -> EstimationResult:
    """Run the estimator over both streams; raises PkmError if nothing comes out."""
    legs, imu = _stamps(streams.leg_time), _stamps(streams.imu_time)
    unknown = np.full(streams.drive_positions.shape, np.nan)
    recording = RecordedData(
        path='streams',
        topics={'joint_states': len(legs), 'imu/data_raw': len(imu)},
        joint_states=JointStates(
            legs, legs, machine.actuated_joint_names, streams.drive_positions, unknown, unknown
        ),
        imu_data_raw=Imu(
            imu, imu, machine.imu.frame, streams.imu[:, :3], streams.imu[:, 3:], np.full((len(imu), 4), np.nan)
        ),
    )
    # streams are in the suite's convention, whatever the driver publishes
    return estimate_recording(machine.as_converted, recording, config)


def _stamps(time: Array) -> NDArray[np.int64]:
    """Stamps [ns] of times [s] of streams; stamps are positive."""
    return 1_000_000_000 + np.rint(1e9 * time).astype(np.int64)


def gate_off(config: EstimatorConfig) -> EstimatorConfig:
    """Settings with which all innovations count: a gate would hide those that are worst explained.

    Assembly modes are not followed: with a model that is wrong all of them are, at a hundred times the cost.
    """
    return replace(
        config, leg_gate=0.0, divergence_nis=1e12, iteration_nis=1e12, baseline=False, history=0.0, follow_modes=False
    )


def suggest_noise_scales(
    machine: Machine,
    streams: SensorStreams,
    config: EstimatorConfig | None = None,
    keep_r: bool = False,
    progress: Callable[[str], None] | None = None,
) -> NoiseScales:
    """Suggest ``q_scale`` and ``r_scale`` by the innovations' likelihood, each leg by itself.

    If Q and R grow by one factor, the gain stays and the innovations' variances grow by it, too. So the best factor for
    given Q over R is the mean of ``r^2 / S``, and a search over one number is left: for the smallest, whitest
    innovations. Where they stay coloured, R cannot be told from them and is left as it is. The leg gate is off
    meanwhile, so that a wrong Q does not hide what is wrong.

    Parameters
    ----------
    config : settings to start from; all others stay
    keep_r : leave R as it is (Miletovic et al. 2017, section 5.3: lengths are the only source for the biases)
    progress : called with a line for each run

    Raises
    ------
    TuningError
        The recording is too short, or the filter does not hold whatever Q is.
    """
    start = config or EstimatorConfig()
    base = gate_off(start)
    streams = streams.between(float('-inf'), float(streams.leg_time[0]) + LONGEST)
    if np.ptp(streams.leg_time) < 2.0 * SETTLING:
        raise TuningError(f'{np.ptp(streams.leg_time):.1f} s are too short, {2.0 * SETTLING:g} s are needed')
    runs = 0

    def attempt(q_scale: float, r_scale: float) -> InnovationStatistics:
        nonlocal runs
        runs += 1
        settings = replace(base, q_scale=q_scale, r_scale=r_scale)
        statistics = InnovationStatistics.of(run_estimator(machine, streams, settings))
        if progress is not None:
            progress(f'q_scale {q_scale:.3g}, r_scale {r_scale:.3g}: {100.0 * statistics.in_band:.1f} % in band')
        return statistics

    search = _Search(lambda decade: attempt(base.r_scale * 10.0**decade, base.r_scale))
    try:
        before = attempt(start.q_scale, start.r_scale)
    except PkmError:  # so wrong that the filter does not hold
        before = InnovationStatistics(0.0, np.inf, np.nan, np.inf)
    decade = search.lowest(keep_r)
    if not keep_r and search.tried[decade].autocorrelation > COLOURED:
        keep_r, decade = True, search.lowest(True)
    factor = 1.0 if keep_r else search.tried[decade].ratio
    q_scale, r_scale = factor * base.r_scale * 10.0**decade, factor * base.r_scale
    after = attempt(q_scale, r_scale)
    gated = run_estimator(machine, streams, replace(start, baseline=False, q_scale=q_scale, r_scale=r_scale))
    counters = gated.health.counters
    left_out = {name: counters.get(f'{name}_left_out', 0) for name in machine.drive_labels}
    left_out['the IMU'] = counters.get('by_legs_alone', 0)
    left_out = {name: count for name, count in left_out.items() if count}
    return NoiseScales(q_scale, r_scale, before, after, keep_r, runs, left_out)


class _Search:
    """Search for the decade of Q over R whose innovations are likeliest; remembers what was tried."""

    def __init__(self, attempt: Callable[[float], InnovationStatistics]) -> None:
        self._attempt = attempt
        self.tried: dict[float, InnovationStatistics] = {}

    def lowest(self, keep_r: bool) -> float:
        """Decade of the least cost, with R as it is or with the best factor on both."""
        grid = np.linspace(*_DECADES, _GRID)
        costs = [self._cost(float(decade), keep_r) for decade in grid]
        best = int(np.argmin(costs))
        if not np.isfinite(costs[best]):
            raise TuningError('the filter diverges on this recording with any Q: check delay and mounting first')
        bounds = float(grid[max(0, best - 1)]), float(grid[min(len(grid) - 1, best + 1)])
        minimize_scalar(
            lambda decade: self._cost(decade, keep_r), bounds=bounds, method='bounded', options={'xatol': _PRECISION}
        )
        return min(self.tried, key=lambda decade: self._cost(decade, keep_r))

    def _cost(self, decade: float, keep_r: bool) -> float:
        """Objective, or its profile over the common factor; infinite where the filter fails."""
        if decade not in self.tried:
            try:
                self.tried[decade] = self._attempt(decade)
            except PkmError:
                self.tried[decade] = InnovationStatistics(0.0, np.inf, np.nan, np.inf)
        found = self.tried[decade]
        if keep_r or not np.isfinite(found.objective):
            return found.objective
        return found.objective - found.ratio + log(found.ratio) + 1.0
