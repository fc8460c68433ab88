"""Runs each scenario once; the rows of the table share the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from verification.miletovic_2017.filter_run import FilterRun, run_filter
from verification.miletovic_2017.pipeline_run import PipelineRun, run_pipeline
from verification.miletovic_2017.scenario import Scenario
from verification.suite import Workers

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
