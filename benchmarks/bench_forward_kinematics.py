"""Time of forward kinematics per pose: batched from home, and single poses from the last one, both judged.

For comparison the same run uses a general solver on the same residual and Jacobian, SciPy's ``root`` (MINPACK's hybrid
method) on position and rotation vector, from the same start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import assembly_modes, drive_positions, forward_kinematics, leg_lengths, length_jacobian
from pkm_description.kinematics.pose_solver import PoseSolver
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from scipy.optimize import root

from verification.mechanics.forward_kinematics import random_workspace_poses

#: s per pose: batched (of hexapods), and one judged pose from the last one; and how much slower the peer has to be
TARGET_BATCHED, TARGET_SINGLE, TARGET_RATIO = 4e-6, 10e-6, 15.0
HEXAPODS, OTHERS = ('srs', 'palida'), ('hexaglide_6pus', 'valencia_3rps', 'khalifa_3prr')
#: poses of a batch, single solutions, and solutions of the peer
BATCH, SINGLE, PEER = 10_000, 2000, 200
#: m, largest difference of a position between both solvers
AGREEMENT = 1e-8


def best_time(call: Callable[[], object], repeats: int = 5) -> float:
    """Shortest of a few runs, s: the one that other processes disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def own_single(machine: Machine, position: Array, drives: Array) -> tuple[float, float]:
    """Median time [s] of one pose from the one 10 ms before, and the largest error [m] of a position."""
    solver = PoseSolver(machine, 1e-12, 20)
    last = solver.solve(drives[0], None)
    times, errors = [], []
    for wanted, expected in zip(drives[1:], position[1:], strict=True):
        began = time.perf_counter()
        last = solver.solve(wanted, last)
        times.append(time.perf_counter() - began)
        errors.append(np.abs(last.position - expected).max())
    return float(np.median(times)), float(max(errors))


def peer_single(machine: Machine, position: Array, rotation: Array) -> tuple[float, float]:
    """Do the same with SciPy, with the lengths and the Jacobian of a hexapod."""
    times, errors = [], []
    lengths = leg_lengths(machine, position, rotation)
    for start, turned, wanted, expected in zip(position, rotation, lengths[1:], position[1:], strict=False):

        def residual(pose: Array, wanted: Array = wanted, turned: Array = turned) -> Array:
            return leg_lengths(machine, pose[:3], rotation_exp(pose[3:]) @ turned) - wanted

        def slope(pose: Array, turned: Array = turned) -> Array:
            return length_jacobian(machine, pose[:3], rotation_exp(pose[3:]) @ turned)

        began = time.perf_counter()
        found = root(residual, np.concatenate([start, np.zeros(3)]), jac=slope, tol=1e-12)
        times.append(time.perf_counter() - began)
        errors.append(np.abs(found.x[:3] - expected).max())
    return float(np.median(times)), float(max(errors))


def main() -> int:
    """Print the figures; 0 if the targets are met and both solvers agree."""
    good = True
    for name in (*HEXAPODS, *OTHERS):
        machine = load_machine(name)
        if name in HEXAPODS:
            poses = random_workspace_poses(machine, BATCH, seed=0)
        else:
            states = random_states(machine, BATCH, seed=0)
            poses = states.position, states.rotation_base_platform
        drives = drive_positions(machine, *poses)
        batched = best_time(partial(forward_kinematics, machine, drives)) / BATCH
        verified = best_time(partial(forward_kinematics, machine, drives, verify_branch=True), 2) / BATCH
        motion = profile('mp1' if name in HEXAPODS else 'drives', machine, 40.0, 100.0)[slice(1000, 1001 + SINGLE)]
        path = motion.position, motion.rotation_base_platform
        single, error = own_single(machine, motion.position, drive_positions(machine, *path))
        good &= single <= TARGET_SINGLE and error <= AGREEMENT
        print(f'{name}: {BATCH} random poses of the workspace, from home')
        print(f'  batched:            {1e6 * batched:7.1f} us per pose')
        print(f'  branch verified:    {1e6 * verified:7.1f} us per pose')
        print(f'  one warm pose:      {1e3 * single:7.4f} ms median (target {1e3 * TARGET_SINGLE:.3f})')
        print(f'  largest error:      {error:.1e} m (tolerance {AGREEMENT:.0e})')
        if name in HEXAPODS:
            peer, difference = peer_single(machine, *(values[: PEER + 1] for values in path))
            good &= batched <= TARGET_BATCHED and peer >= TARGET_RATIO * single and difference <= AGREEMENT
            print(f'  SciPy, same model:  {1e3 * peer:7.4f} ms median, {peer / single:.1f} times ours')
        modes = best_time(partial(assembly_modes, machine, drives[0]), 2)
        print(f'  all assembly modes: {modes:7.2f} s')
    return 0 if good else 1


if __name__ == '__main__':
    raise SystemExit(main())
