"""What poses would tell before anything is measured, which tell most, and data of a machine with a hidden geometry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics import ForwardKinematicsResult, drive_positions, forward_kinematics
from pkm_description.kinematics.geometry_constants import with_geometry
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine

from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.instruments import Points
from pkm_estimation.calibration.problem import Solution
from pkm_estimation.calibration.static_poses import LegRows, StaticPoses

#: poses that the design chooses from, times those wanted; random sets that it is compared with; rounds of exchange
_CANDIDATES, RANDOM_SETS, _ROUNDS = 8, 50, 4
#: poses at which errors are looked at, of those chosen from, and of the machine
_LOOKED_AT, _POSES = 30, 40


class PoseErrors:
    """Pose errors by constants of the geometry, less what other frames of base and platform explain.

    Where the base frame is, and the platform's, no measurement of an instrument with frames of its own can tell.

    Parameters
    ----------
    machine : with tolerances, the units of the constants
    position, rotation : (N, 3), (N, 3, 3) poses at which errors are looked at
    """

    def __init__(self, machine: Machine, position: Array, rotation: Array) -> None:
        _, by_twist, by_constants = LegRows(machine).at(position, rotation)
        twists = -np.linalg.pinv(by_twist) @ by_constants
        self._rows = without_frames(twists, position, rotation, machine.platform_radius)

    def deviation(self, covariance: Array) -> tuple[float, float]:
        """Root mean square of the error, m and rad, of constants with covariance (p, p), in their units."""
        return _rms(np.einsum('nip,pq,niq->ni', self._rows, covariance, self._rows))

    def size(self, deviations: Array) -> tuple[float, float]:
        """The same of constants that are off by (p,), to first order."""
        return _rms((self._rows @ deviations) ** 2)


def without_frames(errors: Array, position: Array, rotation: Array, radius: float) -> Array:
    """Errors (N, 6, p) of N poses, m and rad, less what other frames of base and platform explain.

    Parameters
    ----------
    position, rotation : (N, 3), (N, 3, 3) of the poses
    radius : m, at which an error of the attitude counts as one of the position
    """
    count, scale = len(position), np.repeat([1.0, radius], 3)[:, None]
    frames = np.zeros((count, 6, 12))
    frames[:, :3, :3] = frames[:, 3:, 3:6] = np.eye(3)
    frames[:, 0, 4], frames[:, 0, 5] = position[:, 2], -position[:, 1]
    frames[:, 1, 3], frames[:, 1, 5] = -position[:, 2], position[:, 0]
    frames[:, 2, 3], frames[:, 2, 4] = position[:, 1], -position[:, 0]
    frames[:, :3, 6:9] = frames[:, 3:, 9:] = rotation
    basis, sizes, _ = np.linalg.svd((frames * scale).reshape(6 * count, 12), full_matrices=False)
    basis, rows = basis[:, sizes > 1e-9 * sizes[0]], (errors * scale).reshape(6 * count, -1)
    return np.asarray((rows - basis @ (basis.T @ rows)).reshape(errors.shape) / scale)


def _rms(squares: Array) -> tuple[float, float]:
    """Roots of mean squares, m and rad, by squares (N, 6) of position and attitude."""
    position, turn = (float(part.sum(axis=1).mean()) ** 0.5 for part in (squares[:, :3], squares[:, 3:]))
    return position, turn


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
    points = Points.of(seen, noise, names, reach, places)
    leg_noise = np.broadcast_to(np.asarray(machine.leg_sensors.position_noise, dtype=float), drives.shape[1:])
    found = _configurations(machine, drives)
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


def built_machine(machine: Machine, random: np.random.Generator) -> Machine:
    """Machine with constants of the geometry drawn from the tolerances of its file."""
    root = np.linalg.cholesky(Constants(machine).prior)
    return with_geometry(machine, root @ random.normal(size=len(root)))


def drives_in_reach(machine: Machine, count: int, random: np.random.Generator, part: float = 0.8) -> Array:
    """Positions of the drives (N, A) that the machine gets to, within a part of the limits of its joints."""
    limits = [joint.limits for joint in machine.actuated_joints]
    home = machine.model.home_joints[machine.model.drive_joint]
    low, high = (np.array([getattr(one, side) for one in limits]) for side in ('lower', 'upper'))
    found: list[Array] = []
    reach = part
    for _ in range(200):
        tried = home + reach * random.uniform(low - home, high - home, size=(4 * count, len(home)))
        result = _configurations(machine, tried)
        good = result.trusted
        drives = drive_positions(machine, result.position[good], result.rotation_base_platform[good])
        inside = np.all((drives > low) & (drives < high), axis=1)
        found += list(drives[inside])
        if len(found) >= count:
            return np.array(found[:count])
        if len(found) < count // 20:
            reach *= 0.8
    raise ValueError(f'{machine.name}: no {count} poses in reach were found')


def targets_around(machine: Machine, count: int) -> Array:
    """Targets (K, 3) m on the platform, around its origin and above each other."""
    angles = 2.0 * np.pi * np.arange(count) / count
    unit = np.stack([0.8 * np.cos(angles), 0.8 * np.sin(angles), 0.1 * (1.0 + np.arange(count) % 2)], axis=-1)
    return np.asarray(machine.platform_radius * unit)


def measured_targets(
    machine: Machine, drives: Array, targets: Array, noise: float, random: np.random.Generator,
    outliers: float = 0.0,
) -> tuple[Array, Points]:  # fmt: skip
    """Drives (N, A) as measured and targets (K, 3), platform axes, as an instrument somewhere sees them.

    Parameters
    ----------
    machine : as it was built
    noise : m, of each component
    outliers : part of the points that are off by a hundred times as much
    """
    found = forward_kinematics(machine, drives, tolerance=1e-9).require()
    frame = rotation_exp(random.normal(size=3))
    place = machine.platform_radius * random.normal(size=3) * 2.0
    names = tuple(f'target{number + 1}' for number in range(len(targets)))
    known = Points.of(np.zeros((len(drives), len(targets), 3)), noise, names, 1.0, targets)
    true = replace(known, frame_position=place, frame_rotation=frame)
    seen = true.expected(found.position, found.rotation_base_platform)
    size = np.where(random.random(seen.shape[:2]) < outliers, 100.0, 1.0)[..., None]
    seen = seen + noise * size * random.normal(size=seen.shape)
    told = drives + np.asarray(machine.leg_sensors.position_noise) * random.normal(size=drives.shape)
    return told, Points.of(seen, noise, names, 3.0 * machine.platform_radius)


def poses_in_reach(machine: Machine) -> tuple[Array, Array]:
    """Poses (N, 3), (N, 3, 3) at which errors are looked at."""
    drives = drives_in_reach(machine, _POSES, np.random.default_rng(0), 0.6)
    found = _configurations(machine, drives)
    return found.position, found.rotation_base_platform


def _configurations(machine: Machine, drives: Array) -> ForwardKinematicsResult:
    """Configurations at positions (N, A) of the drives; redundant ones may contradict each other."""
    return forward_kinematics(machine, drives, tolerance=1e-9 if not machine.is_redundant else np.inf)
