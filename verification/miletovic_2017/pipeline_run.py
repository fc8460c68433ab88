"""Run of the whole estimator on a scenario, samples in order of stamps; and a cache of runs that rows share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import PlatformMotion
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.result import EstimationResult, collect
from pkm_estimation.sensors import SimulatedData, simulate_sensors
from pkm_estimation.sensors.simulated import feed
from pkm_estimation.stream import EstimatorPipeline
from pkm_estimation.stream.verdict import summarise
from scipy.spatial.transform import Rotation

from verification.miletovic_2017.filter_run import FilterRun, run_filter
from verification.miletovic_2017.scenario import Scenario, machine_named, profile_named
from verification.suite import Workers


@dataclass(frozen=True)
class PoseErrors:
    """Estimate less truth, each (N, 3).

    Attributes
    ----------
    position : m, base axes
    attitude : rad, rotation vector, platform axes
    velocity : m/s, platform axes
    """

    position: Array
    attitude: Array
    velocity: Array

    def rms(self, begin: int) -> PoseErrors:
        """Root mean squares (3,) from a row on."""
        return PoseErrors(
            *(np.sqrt(np.mean(v[begin:] ** 2, axis=0)) for v in (self.position, self.attitude, self.velocity))
        )

    def std(self, begin: int) -> PoseErrors:
        """Standard deviations (3,) from a row on."""
        return PoseErrors(*(np.std(v[begin:], axis=0) for v in (self.position, self.attitude, self.velocity)))


@dataclass(frozen=True)
class PipelineRun:
    """Estimates, and the truth at the same stamps.

    Attributes
    ----------
    data : simulated samples
    result : estimates and baseline
    truth : motion of the platform's origin at the stamps of the estimates
    verdict : level and sentence of the diagnostics
    state, state_std : (N, n) of the filter
    """

    data: SimulatedData
    result: EstimationResult
    truth: MotionEstimate
    verdict: tuple[str, str]
    state: Array
    state_std: Array

    @property
    def time(self) -> Array:
        """Stamps (N,) in s after the first sample."""
        seconds: Array = (self.result.motion.stamps - self.data.stamps[0]) * 1e-9
        return seconds

    def errors(self) -> PoseErrors:
        """Errors of the filter."""
        return pose_errors(self.result.motion, self.truth)

    def baseline_errors(self) -> PoseErrors:
        """Errors of Gauss-Newton and differentiator, where they gave all samples."""
        return pose_errors(self.result.baseline, self.truth)


def pose_errors(estimate: MotionEstimate, truth: MotionEstimate) -> PoseErrors:
    """Errors of estimates against a truth with the same stamps."""
    if not np.array_equal(estimate.stamps, truth.stamps):
        raise ValueError('estimate and truth have different stamps')
    turn = Rotation.from_quat(truth.orientation).inv() * Rotation.from_quat(estimate.orientation)
    return PoseErrors(
        estimate.position - truth.position, turn.as_rotvec(), estimate.linear_velocity - truth.linear_velocity
    )


def truth_of(motion: PlatformMotion, stamps: NDArray[np.int64]) -> MotionEstimate:
    """Motion as an estimate without errors."""
    rotation = motion.rotation_base_platform
    zeros = np.zeros((len(motion), 6, 6))
    return MotionEstimate(
        stamps,
        motion.position,
        quaternion_from_matrix(rotation),
        np.squeeze(motion.linear_velocity[:, None] @ rotation, axis=1),
        np.squeeze(motion.angular_velocity[:, None] @ rotation, axis=1),
        zeros,
        zeros,
    )


def simulated(scenario: Scenario) -> SimulatedData:
    """Sensor data of a scenario."""
    name = scenario.machine
    evaluate = profile_named(name, scenario.motion)
    return simulate_sensors(machine_named(name), evaluate, scenario.time, scenario.conditions, scenario.seed)


def run_pipeline(scenario: Scenario, data: SimulatedData | None = None) -> PipelineRun:
    """Run a scenario; ``data`` in place of its own samples, e.g. with faults."""
    start = 'printed' if scenario.start == 'printed' else 'forward_kinematics'
    pipeline = EstimatorPipeline(scenario.believed_machine, replace(scenario.config, start=start))
    data = simulated(scenario) if data is None else data
    outputs = feed(pipeline, data)
    report = pipeline.health.report()
    stamps = np.array([output.stamp for output in outputs], dtype=np.int64)
    motion = profile_named(scenario.machine, scenario.motion)(scenario.time[0] + (stamps - data.stamps[0]) * 1e-9)
    return PipelineRun(
        data,
        collect(outputs, report),
        truth_of(motion, stamps),
        summarise(report, pipeline.machine.leg_count),
        np.array([output.state for output in outputs]),
        np.array([output.state_std for output in outputs]),
    )


def part(data: SimulatedData, rows: slice) -> SimulatedData:
    """Some of the samples."""
    return SimulatedData(**{name: getattr(data, name)[rows] for name in data.__dataclass_fields__})


_Result = TypeVar('_Result')


class Laboratory:
    """Cache of runs.

    Parameters
    ----------
    quick : fewer seeds and shorter runs
    workers : run scenarios; without them they run here

    Attributes
    ----------
    seeds : of the Monte-Carlo rows
    duration : s, of their runs
    settling : s, that statistics leave out at the beginning of a run
    starts : how many drawn starts
    """

    def __init__(self, quick: bool = False, workers: Workers | None = None) -> None:
        self.quick = quick
        self.seeds = range(1, 4) if quick else range(1, 21)
        self.duration, self.settling = (25.0, 10.0) if quick else (70.0, 20.0)
        self.starts = 6 if quick else 40
        self._workers = workers
        self._filters: dict[Scenario, FilterRun] = {}
        self._pipelines: dict[Scenario, PipelineRun] = {}

    def filters(self, scenarios: Sequence[Scenario]) -> list[FilterRun]:
        """Runs of the filter alone."""
        self._run(run_filter, scenarios, self._filters)
        return [self._filters[scenario] for scenario in scenarios]

    def pipelines(self, scenarios: Sequence[Scenario]) -> list[PipelineRun]:
        """Runs of the whole estimator."""
        self._run(run_pipeline, scenarios, self._pipelines)
        return [self._pipelines[scenario] for scenario in scenarios]

    def seeded(self, scenario: Scenario) -> list[Scenario]:
        """Return a scenario with every seed, as long as Monte-Carlo runs are; no two motions share their noise."""
        first = 10_000 * ('mp1', 'mp2', 'hold').index(scenario.motion)
        return [replace(scenario, duration=self.duration, seed=first + seed) for seed in self.seeds]

    def monte_carlo(self, scenario: Scenario) -> list[FilterRun]:
        """Runs of the filter with every seed."""
        return self.filters(self.seeded(scenario))

    @property
    def steps(self) -> int:
        """Filter steps of all runs so far that were not lost."""
        return sum(len(run.time) for run in self._filters.values() if not run.lost)

    def _run(
        self, run: Callable[[Scenario], _Result], scenarios: Sequence[Scenario], known: dict[Scenario, _Result]
    ) -> None:
        missing = [scenario for scenario in dict.fromkeys(scenarios) if scenario not in known]
        map_ = map if self._workers is None else self._workers.map
        known.update(zip(missing, map_(run, missing), strict=True))
