"""Runs of the estimator under random faults, and the checks afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from pkm_description.loading import load_machine

from verification.check import Check, at_least, at_most, equal, holds
from verification.soak.fault_soak import SoakResult, soak
from verification.soak.faulty_stream import ALL_FAULTS
from verification.suite import Part, Plan, Request, Workers

if TYPE_CHECKING:
    from verification.soak.live_soak import LiveResult

#: MB that the node may grow by in the last third, and have while messages of a megabyte come
GROWTH, LARGEST = 30.0, 1000.0
#: characters a second that it may log
LOG_RATE = 2000.0
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
    live : s for which the running node is put under faults at 1 kHz, too; 0: not at all
    """

    steps: int = 100_000
    seed: int = 0
    runs: int = 2
    live: float = 0.0

    def __post_init__(self) -> None:
        for name in ('steps', 'runs'):
            if getattr(self, name) < 1:
                raise ValueError(f'{name} = {getattr(self, name)}: must be at least 1')


FULL = Extent()
QUICK = Extent(steps=10_000)


def plan(request: Request, workers: Workers) -> Plan:
    """Make a part of every run."""
    extent: Extent = request.settings
    sources = request.machines or (MACHINE,)
    parts = [
        Part(f'{source}: {extent.steps} steps, seed {seed}', partial(checks, source, extent.steps, seed))
        for source in sources
        for seed in range(extent.seed, extent.seed + extent.runs)
    ]
    if extent.live > 0.0:
        parts += [
            Part(f'{source}: node for {extent.live:g} s', partial(live_checks, source, extent.live, extent.seed))
            for source in sources
        ]
    return Plan(tuple(parts))


def checks(source: str, steps: int, seed: int) -> Iterator[Check]:
    """Checks of one run; an exception of the estimator fails it."""
    yield from judge(soak(load_machine(source), steps, seed))


def live_checks(source: str, seconds: float, seed: int) -> Iterator[Check]:
    """Checks of the running node."""
    from verification.soak.live_soak import live_soak  # the only one that needs ROS

    yield from judge_live(live_soak(load_machine(source), seconds, seed))


def judge_live(result: LiveResult) -> Iterator[Check]:
    """The node is alive, its books balance, its memory does not grow any more, its log is short."""
    yield equal('live end', 'exit code of the node', 0, result.returncode)
    yield equal('live finite', f'estimates not finite, of {result.estimates}', 0, result.not_finite)
    yield at_least('live estimates', 'estimates that were heard', 1, result.estimates)
    for place, count in result.unbalanced.items():
        yield equal('live books', f'messages without use or reason: {place}', 0, count)
    yield at_most('live memory', 'growth in the last third of the run [MB]', GROWTH, result.growth)
    yield at_most('live memory', 'the largest [MB]', LARGEST, result.largest)
    yield at_most('live log', 'characters per second', LOG_RATE, result.log / result.seconds)
    began = ', '.join(f'{name} {times}' for name, times in sorted(result.faults.items()))
    sent = ', '.join(f'{topic} {count}' for topic, count in result.sent.items())
    holds_text = f'{result.seconds:.0f} s, sent {sent}, largest lag {result.lag:.3g} s'
    yield holds('live faults', holds_text, '>= 1', began, bool(result.faults))


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
    yield equal('books', 'samples of IMU and legs without a use or a reason', 0, sum(map(abs, result.unbalanced)))
    yield holds('events', 'what the estimator counted', 'something', counters or 'nothing', bool(result.counters))
