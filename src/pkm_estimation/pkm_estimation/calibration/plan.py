"""What poses would tell before anything is measured, and which poses tell most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics import forward_kinematics
from pkm_description.machine import Machine

from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.instruments import Points
from pkm_estimation.calibration.pose_error import PoseErrors
from pkm_estimation.calibration.problem import Solution
from pkm_estimation.calibration.simulate import drives_in_reach, targets_around
from pkm_estimation.calibration.static_poses import StaticPoses

#: poses that the design chooses from, times those wanted; random sets that it is compared with; rounds of exchange
_CANDIDATES, RANDOM_SETS, _ROUNDS = 8, 50, 4
_LOOKED_AT = 30


def designed_poses(
    machine: Machine, count: int, targets: int, noise: float, random: np.random.Generator,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[Array, Solution, tuple[float, float]]:  # fmt: skip
    """Choose poses that leave the smallest error of the platform's pose (an exchange algorithm, Fedorov 1972).

    The information of a set is that of its rows with the poses eliminated; frame and targets are unknown, too.

    Parameters
    ----------
    count, targets : poses and targets
    noise : m, of each component of a target

    Returns
    -------
    drives (count, A), the covariance that they leave around the machine file, and the pose errors [m] that are left by
    these poses, and by random ones (median)
    """
    constants = Constants(machine)
    size = len(constants)
    drives = drives_in_reach(machine, _CANDIDATES * count, random)
    names = tuple(f'target{number + 1}' for number in range(targets))
    places, reach = targets_around(machine, targets), 3.0 * machine.platform_radius
    seen = np.zeros((len(drives), targets, 3))
    points = Points(seen, noise, names, np.zeros(3), np.eye(3), places, places, reach)
    leg_noise = np.broadcast_to(np.asarray(machine.leg_sensors.position_noise, dtype=float), drives.shape[1:])
    found = forward_kinematics(machine, drives, tolerance=1e-9 if not machine.is_redundant else np.inf)
    poses = found.position, found.rotation_base_platform
    static = StaticPoses(constants, drives, leg_noise, [points], False, poses)
    rows = static.rows_of_poses()
    blocks = np.einsum('nri,nrj->nij', rows, rows)
    start = np.diag(np.concatenate([points.prior**-2.0, np.ones(size)]))
    some = slice(0, _LOOKED_AT)
    errors = PoseErrors(machine, poses[0][some], poses[1][some])

    def left(chosen: Integers) -> tuple[float, Array]:
        covariance = np.linalg.inv(start + blocks[chosen].sum(axis=0))[-size:, -size:]
        return errors.deviation(covariance)[0], covariance

    sets = [random.choice(len(drives), count, replace=False) for _ in range(RANDOM_SETS)]
    randomly = float(np.median([left(one)[0] for one in sets]))
    chosen = min(sets, key=lambda one: left(one)[0]).copy()
    best = left(chosen)[0]
    for number in range(_ROUNDS):
        before = best
        for place in range(count):
            tried = chosen.copy()
            for candidate in random.choice(len(drives), 4 * _CANDIDATES, replace=False).tolist():
                if candidate in chosen:
                    continue
                tried[place] = candidate
                error = left(tried)[0]
                if error < best:
                    best, chosen = error, tried.copy()
        progress(f'round {number + 1}: {1e6 * best:.3g} um left, random poses {1e6 * randomly:.3g} um')
        if best > 0.99 * before:
            break
    solution = Solution(constants, np.zeros(size), left(chosen)[1], 0, True, 0.0, 0.0)
    return drives[chosen], solution, (best, randomly)
