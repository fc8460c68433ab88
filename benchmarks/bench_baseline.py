"""Time of the baseline per sample: a recording at once, compared with the stream sample by sample.

MP1 at 1 kHz with stamps that jitter; processor time per sample, best of three.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.exchange.baseline import BaselineStream, baseline_series
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.messages import LegSample
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig

#: us per sample
TARGET = 15.0
SAMPLES, STREAMED = 20000, 2000


def speeds(name: str) -> tuple[float, float]:
    """Microseconds per sample, at once and one by one."""
    machine = load_machine(name)
    config = EstimatorConfig()
    data = measure(machine, mp1(machine, duration=40.0, rate=1000.0)[slice(10000, 10000 + SAMPLES)], seed=1)
    stamps = data.stamps + np.random.default_rng(0).integers(-200_000, 200_000, SAMPLES)
    epochs, legs = np.zeros(SAMPLES, dtype=np.int64), np.arange(machine.leg_count)
    health = HealthMonitor(machine.leg_count)

    def series() -> None:
        baseline_series(machine, config, epochs, stamps, data.drive_positions, health)

    def stream() -> None:
        one = BaselineStream(machine, config, health)
        for stamp, positions in zip(stamps[:STREAMED].tolist(), data.drive_positions, strict=False):
            one.estimate(Instant(0, stamp), LegSample(positions, positions, legs))

    return microseconds(series) / SAMPLES, microseconds(stream) / STREAMED


def microseconds(run: Callable[[], None]) -> float:
    """Processor time of a run, best of three."""
    best = np.inf
    for _ in range(3):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return 1e6 * best


def main() -> int:
    """Print the times; 0 if all hexapods reach the target."""
    slowest = 0.0
    for name in ('srs', 'palida'):
        at_once, one_by_one = speeds(name)
        slowest = max(slowest, at_once)
        print(
            f'{name}: {at_once:.1f} us per sample at once (target {TARGET:g}), {one_by_one:.0f} us one by one: '
            f'{one_by_one / at_once:.1f} times'
        )
    return 0 if slowest <= TARGET else 1


if __name__ == '__main__':
    raise SystemExit(main())
