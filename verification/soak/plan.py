"""Runs of the estimator under random faults, and the checks afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from pkm_description.loading import load_machine

from verification.check import Check, at_least, at_most, equal, holds
from verification.soak.fault_soak import ALL_FAULTS, SoakResult, soak
from verification.suite import Part, Plan, Request, Workers

#: a hexapod; ``--machine-file`` names another one
MACHINE = 'srs'


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    steps : leg measurements of each run
    seed : of the faults of the first run
    runs : with one seed after the other
    """

    steps: int = 100_000
    seed: int = 0
    runs: int = 2

    def __post_init__(self) -> None:
        for name in ('steps', 'runs'):
            if getattr(self, name) < 1:
                raise ValueError(f'{name} = {getattr(self, name)}: must be at least 1')


FULL = Extent()
QUICK = Extent(steps=10_000)


def plan(request: Request, workers: Workers) -> Plan:
    """Make a part of every run."""
    extent: Extent = request.settings
    return Plan(
        tuple(
            Part(f'{source}: {extent.steps} steps, seed {seed}', partial(checks, source, extent.steps, seed))
            for source in request.machines or (MACHINE,)
            for seed in range(extent.seed, extent.seed + extent.runs)
        )
    )


def checks(source: str, steps: int, seed: int) -> Iterator[Check]:
    """Checks of one run; an exception of the estimator fails it."""
    yield from judge(soak(load_machine(source), steps, seed))


def judge(result: SoakResult) -> Iterator[Check]:
    """Estimates given, finite, covariances positive definite, after any number of faults."""
    began = ', '.join(f'{name} {times}' for name, times in sorted(result.faults.items()))
    counters = ', '.join(f'{name} {times}' for name, times in sorted(result.counters.items()))
    yield equal('finite', f'estimates with a number that is not finite, of {result.outputs}', 0, result.not_finite)
    yield equal('covariance', 'covariances that are not positive definite', 0, result.not_positive)
    yield at_least('estimates', 'estimates per leg measurement', 0.5, result.outputs / result.steps)
    yield holds('recovery', 'position error 2 s after a fault', 'finite',
                f'rms {1e6 * result.typical_error:.3g} um, largest {1e6 * result.largest_error:.3g} um',
                bool(np.isfinite(result.largest_error)))  # fmt: skip
    yield at_most('claim', 'the same in the standard deviations that are claimed', 6.0, result.largest_normalised)
    kinds = f'{len(result.faults)} of {len(ALL_FAULTS)} kinds: {began}'
    yield holds('faults', f'faults in {result.steps} steps', '>= 1', kinds, bool(result.faults))
    yield holds('events', 'what the estimator counted', 'something', counters or 'nothing', bool(result.counters))
