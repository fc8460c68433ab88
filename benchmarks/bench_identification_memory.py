"""Peak memory of the program ``identify`` for a long recording of six drives at 1 kHz, bag reading and report included.

The recording is inverse dynamics along the machine's own excitation with the noise of its file, made and written as a
bag by one process; another one identifies it, and the operating system says what it held at most. What the program
holds before it reads anything, and the processor time, are printed, too.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

MACHINE = 'srs'
#: GB, and the length in seconds for which it holds
TARGET, LENGTH = 2.0, 600.0


def write_recording(path: str, seconds: float, rate: float) -> None:
    """Write a bag of joint states."""
    import numpy as np
    from pkm_description.dynamics import inverse_dynamics
    from pkm_description.kinematics import drive_positions
    from pkm_description.loading import load_machine
    from pkm_description.motion.profiles import profile
    from pkm_estimation.bags import BagWriter

    machine, random = load_machine(MACHINE), np.random.default_rng(0)
    motion, sensors = profile('fourier', machine, duration=seconds, rate=rate), machine.leg_sensors
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    forces = inverse_dynamics(machine, motion)
    positions = positions + sensors.position_noise * random.normal(size=positions.shape)
    forces = forces + sensors.effort_noise * random.normal(size=forces.shape)
    stamps = 10**9 + np.round(motion.time * 1e9).astype(np.int64)
    with BagWriter(path, 'mcap') as writer:
        writer.write_joint_states(stamps, machine.actuated_joint_names, positions, np.zeros_like(positions), forces)


def peak(code: str) -> tuple[float, float]:
    """GB that a fresh Python process held at most, and its processor time [s]."""
    report = 'import resource; own = resource.getrusage(resource.RUSAGE_SELF); print(own.ru_maxrss)'
    # other libraries' threads hold buffers of their own
    environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, '-c', f'{code}\n{report}'], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1024.0 * int(done.stdout.split()[-1]) / 1e9, used  # Linux tells kB


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the peak; 0 if it is within the target, which is for recordings up to :data:`LENGTH`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=LENGTH, help=f'of the recording (default: {LENGTH:g})')
    parser.add_argument('--rate', type=float, default=1000.0, help='Hz (default: 1000)')
    options = parser.parse_args(arguments)
    command = 'from pkm_identification.nodes.identify import main'
    with tempfile.TemporaryDirectory() as folder:
        bag, output = Path(folder) / 'run', Path(folder) / 'out'
        here = f'import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})'
        making = f'from bench_identification_memory import write_recording; write_recording({str(bag)!r}'
        peak(f'{here}; {making}, {options.seconds!r}, {options.rate!r})')
        base, _ = peak(command)
        held, used = peak(f'{command}; main([{str(bag)!r}, "--machine", {MACHINE!r}, "-o", {str(output)!r}])')
        assert (output / 'report.html').is_file()
    good = held <= TARGET or options.seconds * options.rate > 1000.0 * LENGTH
    print(
        f'{MACHINE}, {options.seconds:g} s at {options.rate:g} Hz, identify from bag to report: peak {held:.2f} GB '
        f'(target {TARGET:g} for {LENGTH:g} s at 1 kHz), of it {base:.2f} GB before it reads; {used:.0f} s of '
        f'processor time{"" if good else "  MISSED"}'
    )
    return 0 if good else 1


if __name__ == '__main__':
    raise SystemExit(main())
