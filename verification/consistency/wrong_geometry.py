"""Machines that are built otherwise than their files say, within stated tolerances: claims against the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.geometry_constants import geometry_constants, with_geometry
from pkm_description.loading import load_machine
from pkm_description.machine import Tolerances
from pkm_description.motion.profiles import profile
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig

from verification.check import Check, equal, holds
from verification.consistency.state_error import pose_errors

#: names, and standard deviations of joint centres and zeros [m, rad]
MACHINES = ('srs', 'palida', 'hexaglide_6pus', 'delta', 'valencia_3rps')
TOLERANCES = (5e-5, 1e-4, 3e-4, 1e-3)
#: Hz, of both sensors
_RATE = 100.0
#: of the normalised squared error of the pose, per freedom
_LEAST, _MOST = 0.5, 1.5
_CONFIG = EstimatorConfig(baseline=False)


def geometry_checks(name: str, tolerance: float, seeds: int, duration: float) -> Iterator[Check]:
    """Pose errors of ``seeds`` machines drawn from a tolerance, in the first and in the last second."""
    runs = [_run(name, tolerance, seed, duration) for seed in range(seeds)]
    errors, claimed = (np.sqrt(np.mean([np.square(run[part]) for run in runs])) for part in ('error', 'claimed'))
    bounds = f'{_LEAST:g} .. {_MOST:g}'
    second = round(_RATE)
    for part, rows in (('first', slice(second)), ('last', slice(-second, None))):
        each = [float(run['nees'][rows].mean()) / 6.0 for run in runs]
        mean = float(np.mean(each))
        yield holds(
            'geometry',
            f'{seeds} seeds of {duration:g} s, {part} second: normalised squared error of the pose, per freedom',
            bounds,
            f'{mean:.3g} (one seed {min(each):.2g} .. {max(each):.2g}); error {1e3 * errors:.3g} mm, '
            f'claimed {1e3 * claimed:.3g} mm',
            _LEAST <= mean <= _MOST,
        )
    doubted = sum('over_confident' in run['events'] for run in runs)
    yield equal('geometry', 'runs that are called over-confident', 0, doubted)


def _run(name: str, tolerance: float, seed: int, duration: float) -> dict[str, Array]:
    """Errors of one machine: normalised squares (N,), rms of the position and what is claimed of it [m]; events."""
    machine = replace(load_machine(name), tolerances=Tolerances(tolerance, tolerance))
    count = len(geometry_constants(machine).kind)
    built = with_geometry(machine, np.random.default_rng([seed, 7]).normal(size=count))
    motion = profile('drives', built, duration=duration, rate=_RATE)
    result = estimate(machine, measure(built, motion, seed=seed), _CONFIG)
    found = result.motion
    rows = len(motion) - len(found) + np.arange(len(found))
    error = pose_errors(found, motion[rows])
    covariance = found.pose_covariance
    return {
        'nees': np.einsum('ni,ni->n', error, np.linalg.solve(covariance, error[..., None])[..., 0]),
        'error': np.sqrt(np.square(error[:, :3]).sum(axis=1).mean()),
        'claimed': np.sqrt(np.trace(covariance[:, :3, :3], axis1=1, axis2=2).mean()),
        'events': np.array([event.name for event in result.health.events]),
    }
