"""Time of the forward kinematics of a hexapod per pose: batched, and single poses with a warm start.

For comparison the same run uses a general solver on the same residual and Jacobian, SciPy's ``root`` (MINPACK's hybrid
method) on position and rotation vector, warm too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import assembly_modes, leg_lengths, length_jacobian
from pkm_description.kinematics.hexapod.forward import forward_from_lengths
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, Pose
from pkm_description.motion.profiles import mp1
from scipy.optimize import root

from verification.mechanics.forward_kinematics import random_workspace_poses

TARGET_BATCHED, TARGET_SINGLE = 20e-6, 0.3e-3
MACHINES = ('srs', 'palida')
#: poses of a batch, single solutions, and solutions of the peer
BATCH, SINGLE, PEER = 10_000, 400, 200
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


def warm_poses(machine: Machine, count: int) -> tuple[list[Pose], Array]:
    """Starts of a motion's samples, each the pose 10 ms before, and the lengths (N, 1, 6) to solve."""
    motion = mp1(machine, duration=40.0)[slice(1000, 1001 + count)]
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    starts = [Pose(motion.position[k], motion.rotation_base_platform[k]) for k in range(count)]
    return starts, lengths[1:, None]


def own_single(machine: Machine, starts: list[Pose], lengths: Array) -> tuple[float, Array]:
    """Median time [s] of one warm solution, and all positions (N, 3)."""
    times, positions = [], []
    for start, wanted in zip(starts, lengths, strict=True):
        began = time.perf_counter()
        result = forward_from_lengths(machine, wanted, start)
        times.append(time.perf_counter() - began)
        positions.append(result.require().position[0])
    return float(np.median(times)), np.array(positions)


def peer_single(machine: Machine, starts: list[Pose], lengths: Array) -> tuple[float, Array]:
    """Do the same with SciPy, with the same kinematics."""
    times, positions = [], []
    for start, wanted in zip(starts, lengths[:, 0], strict=True):
        turned = start.rotation_base_platform

        def residual(pose: Array, wanted: Array = wanted, turned: Array = turned) -> Array:
            return leg_lengths(machine, pose[:3], rotation_exp(pose[3:]) @ turned) - wanted

        def slope(pose: Array, turned: Array = turned) -> Array:
            return length_jacobian(machine, pose[:3], rotation_exp(pose[3:]) @ turned)

        began = time.perf_counter()
        found = root(residual, np.concatenate([start.position, np.zeros(3)]), jac=slope, tol=1e-12)
        times.append(time.perf_counter() - began)
        positions.append(found.x[:3])
    return float(np.median(times)), np.array(positions)


def main() -> int:
    """Print the figures; 0 if the targets are met and both solvers agree."""
    good = True
    for name in MACHINES:
        machine = load_machine(name)
        position, rotation = random_workspace_poses(machine, BATCH, seed=0)
        lengths = leg_lengths(machine, position, rotation)
        batched = best_time(partial(forward_from_lengths, machine, lengths)) / BATCH
        verified = best_time(partial(forward_from_lengths, machine, lengths, verify_branch=True), 2) / BATCH
        starts, wanted = warm_poses(machine, SINGLE)
        single, own = own_single(machine, starts, wanted)
        peer, theirs = peer_single(machine, starts[:PEER], wanted[:PEER])
        modes = best_time(partial(assembly_modes, machine, lengths[0]), 2)
        difference = float(np.abs(own[:PEER] - theirs).max())
        print(f'{name}: {BATCH} random poses of the workspace, from home')
        print(f'  batched:            {1e6 * batched:7.1f} us per pose (target {1e6 * TARGET_BATCHED:.0f})')
        print(f'  branch verified:    {1e6 * verified:7.1f} us per pose')
        print(f'  one warm pose:      {1e3 * single:7.3f} ms median (target {1e3 * TARGET_SINGLE:.1f})')
        print(f'  SciPy, same model:  {1e3 * peer:7.3f} ms median, {peer / single:.1f} times ours')
        print(f'  largest difference: {difference:.1e} m (tolerance {AGREEMENT:.0e})')
        print(f'  all assembly modes: {modes:7.2f} s')
        good &= batched <= TARGET_BATCHED and single <= TARGET_SINGLE and difference <= AGREEMENT
    return 0 if good else 1


if __name__ == '__main__':
    raise SystemExit(main())
