"""Runs each scenario once; the rows of the table share the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import TypeVar

from verification.miletovic_2017.filter_run import FilterRun, run_filter
from verification.miletovic_2017.pipeline_run import PipelineRun, run_pipeline
from verification.miletovic_2017.scenario import Scenario

_Result = TypeVar('_Result')


class Laboratory:
    """Cache of runs.

    Parameters
    ----------
    quick : fewer seeds and shorter runs
    jobs : processes to run scenarios in

    Attributes
    ----------
    seeds : of the Monte-Carlo rows
    duration : s, of their runs
    settling : s, that statistics leave out at the beginning of a run
    starts : how many drawn starts
    """

    def __init__(self, quick: bool = False, jobs: int = 1) -> None:
        self.quick, self.jobs = quick, jobs
        self.seeds = range(1, 4) if quick else range(1, 21)
        self.duration, self.settling = (25.0, 10.0) if quick else (70.0, 20.0)
        self.starts = 6 if quick else 40
        self._pool: ProcessPoolExecutor | None = None
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
        """Return a scenario with every seed, as long as Monte-Carlo runs are."""
        return [replace(scenario, duration=self.duration, seed=seed) for seed in self.seeds]

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
        if self.jobs == 1 or len(missing) < 2:
            known.update((scenario, run(scenario)) for scenario in missing)
            return
        if self._pool is None:
            # 'spawn': threads of the libraries do not survive a fork
            self._pool = ProcessPoolExecutor(self.jobs, mp_context=get_context('spawn'))
        known.update(zip(missing, self._pool.map(run, missing), strict=True))

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
