"""How much faster than real time a recording is estimated: IMU and legs at 1 kHz, the whole pipeline.

A minute of MP1 is made in memory and run through the code of the program ``estimate``, with the baseline beside the
filter and without. Processor time is printed, too: on a busy computer it says what an idle one would take.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
from pkm_description.machine import load_machine
from pkm_description.mechanism import Mechanism
from pkm_description.motion.profiles import mp1
from pkm_estimation.pipeline import EstimatorConfig, EstimatorPipeline
from pkm_estimation.sensors import measure

TARGET = 10.0


def speed(seconds: float, rate: float, config: EstimatorConfig) -> tuple[float, float, int]:
    """Real time over wall time, over processor time, and the number of estimates."""
    machine = load_machine('srs')
    mechanism = Mechanism(machine)
    motion = mp1(machine, duration=seconds + 20.0, rate=rate)
    start = round(10.0 * rate)
    data = measure(mechanism, motion[slice(start, start + round(seconds * rate))], seed=1)
    names, positions = mechanism.actuated_joint_names, data.leg_lengths - machine.lengths_at_zero
    stamps = [int(stamp) for stamp in data.stamps]
    pipeline, estimates = EstimatorPipeline(machine, config), 0
    wall, processor = time.perf_counter(), time.process_time()
    for k, stamp in enumerate(stamps):
        estimates += len(pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k]))
        estimates += len(pipeline.add_joint_positions(stamp, names, positions[k]))
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    assert np.isfinite(pipeline.filter.state).all()
    return seconds / wall, seconds / processor, estimates


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the speed; 0 if the filter alone reaches the target in processor time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=60.0, help='length of the recording (default: 60)')
    parser.add_argument('--rate', type=float, default=1000.0, help='of IMU and legs [Hz] (default: 1000)')
    options = parser.parse_args(arguments)
    reached = []
    for name, config in (('filter and baseline', EstimatorConfig()), ('filter alone', EstimatorConfig(baseline=False))):
        wall, processor, estimates = speed(options.seconds, options.rate, config)
        reached.append(processor)
        print(
            f'{name}: {estimates} estimates of {options.seconds:g} s, {wall:.1f} times real time, '
            f'{processor:.1f} by processor time ({1e6 / (processor * options.rate):.0f} us per IMU and leg sample; '
            f'target {TARGET:g})'
        )
    return 0 if max(reached) >= TARGET else 1


if __name__ == '__main__':
    raise SystemExit(main())
