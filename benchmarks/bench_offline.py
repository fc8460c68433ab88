"""Speed of offline estimation relative to real time, with IMU and legs at 1 kHz.

A minute of MP1 is recorded as a bag; the bag is read and estimated by the code of the program ``estimate``, with the
baseline beside the filter (the default) and without. Processor time is printed, too: on a busy computer it says what an
idle one would take.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.bags import BagWriter, read_bag
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig

TARGET = 30.0
Result = TypeVar('Result')


def timed(work: Callable[[], Result]) -> tuple[Result, float, float]:
    """Result, wall time [s] and processor time [s] of some work."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def record(path: Path, seconds: float, rate: float) -> None:
    """Write a bag of MP1 at full speed, IMU and legs at ``rate`` [Hz]."""
    machine = load_machine('srs')
    motion = mp1(machine, duration=seconds + 20.0, rate=rate)
    start = round(10.0 * rate)
    data = measure(machine, motion[slice(start, start + round(seconds * rate))], seed=1)
    positions = data.drive_positions
    zeros = np.zeros_like(positions)
    with BagWriter(path, 'mcap', '') as writer:
        writer.write_joint_states(data.stamps, machine.actuated_joint_names, positions, zeros, zeros)
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the speeds; 0 if the filter alone, reading included, reaches the target in processor time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=60.0, help='length of the recording (default: 60)')
    parser.add_argument('--rate', type=float, default=1000.0, help='of IMU and legs [Hz] (default: 1000)')
    options = parser.parse_args(arguments)
    samples = options.seconds * options.rate
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder) / 'run', options.seconds, options.rate)
        data, wall, reading = timed(partial(read_bag, Path(folder) / 'run'))
    print(f'reading the bag: {options.seconds / wall:.1f} times real time, {1e6 * reading / samples:.0f} us per pair')
    speeds = []
    machine = load_machine('srs')
    for name, config in (('filter and baseline', EstimatorConfig()), ('filter alone', EstimatorConfig(baseline=False))):
        result, wall, processor = timed(partial(estimate_recording, machine, data, config))
        assert np.isfinite(result.motion.position).all()
        speeds.append(options.seconds / (reading + processor))
        print(
            f'{name}: {len(result)} estimates of {options.seconds:g} s, {options.seconds / wall:.1f} times real time, '
            f'{options.seconds / processor:.1f} by processor time ({1e6 * processor / samples:.0f} us per IMU and leg '
            f'sample); with reading {speeds[-1]:.1f} (target {TARGET:g})'
        )
    return 0 if speeds[-1] >= TARGET else 1


if __name__ == '__main__':
    raise SystemExit(main())
