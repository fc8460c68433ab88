"""Heimann & Abdellatif, R4-13: the exported C code, compiled and run against the library."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.nodes.export_machine import c_text

from verification.check import Check, at_most, not_reachable, relative_error
from verification.heimann_abdellatif.dynamics import with_friction_everywhere

#: calls the exported function for many samples; a call from Python would take longer than the function
_DRIVER = """
int NAME_inverse_dynamics(const double *, const double *, const double *, const double *, const double *,
                          const double *, int, double *);

int run(int samples, const double *in, int friction, double *out) {
    int code = 0;
    for (int k = 0; k < samples; k++, in += 24, out += 6)
        code |= NAME_inverse_dynamics(in, in + 3, in + 12, in + 15, in + 18, in + 21, friction, out);
    return code;
}
"""


def compiler() -> str | None:
    """Name of the C compiler: the one that CC names, or cc."""
    return shutil.which(os.environ.get('CC', 'cc'))


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Compile, compare, measure."""
    found = compiler()
    if found is None:
        reason = 'no C compiler on this machine (install gcc, or name one by CC)'
        yield not_reachable('R4-13', 'exported C code = inverse dynamics, relative', '<= 1e-09', reason)
        return
    rubbing = with_friction_everywhere(machine, seed=91)
    motion = random_states(rubbing, 200 if quick else 20_000, seed=92)
    with tempfile.TemporaryDirectory() as folder:
        library = build(rubbing, found, Path(folder))
        for friction in (False, True):
            forces, cycle = run(library, motion, friction)
            error = relative_error(forces, inverse_dynamics(rubbing, motion, friction=friction))
            what = f'exported C code {"with friction " if friction else ""}= inverse dynamics, relative'
            yield at_most('R4-13', what, 1e-9, error)
        # no figure in the paper: the fastest controllers of such machines run at some kHz
        yield at_most('R4-13', 'cycle time of the C code', 1e-4, cycle, 's')


def build(machine: Machine, compiler: str, folder: Path) -> ctypes.CDLL:
    """Compile the exported code to a shared library in a folder and load it."""
    sources = [folder / 'machine.c', folder / 'driver.c']
    sources[0].write_text(c_text(machine), encoding='utf-8')
    sources[1].write_text(_DRIVER.replace('NAME', machine.name), encoding='utf-8')
    target = folder / 'machine.so'
    options = ['-std=c99', '-O2', '-Wall', '-Wextra', '-shared', '-fPIC']
    command = [compiler, *options, *map(str, sources), '-o', str(target), '-lm']
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f'{compiler} refuses the exported code: {result.stderr.strip()}')
    return ctypes.CDLL(str(target))


def run(library: ctypes.CDLL, motion: PlatformMotion, friction: bool) -> tuple[Array, float]:
    """Drive forces (N, 6) of a motion, and seconds of processor time per sample."""
    inputs = np.ascontiguousarray(
        np.concatenate(
            [
                motion.position,
                motion.rotation_base_platform.reshape(-1, 9),
                motion.linear_velocity,
                motion.angular_velocity,
                motion.linear_acceleration,
                motion.angular_acceleration,
            ],
            axis=1,
        )
    )
    forces = np.empty((len(motion), 6))
    pointer = ctypes.POINTER(ctypes.c_double)
    cycles = []
    # processor time, and the shortest of a few runs: other programs do not count
    for _ in range(5):
        begin = time.process_time()
        code = library.run(len(motion), inputs.ctypes.data_as(pointer), int(friction), forces.ctypes.data_as(pointer))
        cycles.append((time.process_time() - begin) / len(motion))
    if code != 0:
        raise RuntimeError(f'the exported code returns {code} on an admissible motion')
    return forces, min(cycles)
