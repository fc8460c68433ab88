"""Everything wrong at once, or the geometry: do ``tune`` and ``estimate`` come near ideal sensors, as claimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.geometry_constants import geometry_constants, with_geometry
from pkm_description.loading import load_machine
from pkm_description.machine import Tolerances
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import RecordedData
from pkm_estimation.calibration.sensors import sensors_of_motion
from pkm_estimation.offline.estimate import estimate, estimate_recording, recorded
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.sensors import SensorConditions, measure, simulate_sensors
from pkm_estimation.sensors.simulated import Evaluate
from pkm_estimation.stream import EstimatorConfig
from scipy.special import chdtri

from verification.check import Check, at_least, at_most, equal, holds
from verification.consistency.scenarios import RATE, Scenario, titled
from verification.consistency.state_error import normalised_squares, pose_errors

#: position error by that of ideal sensors
LARGEST_RATIO = 2.0
#: s, of a recording, and where on the motion it begins
_DURATION, _BEGIN = 24.0, 8.0
#: what is wrong with the IMU, beside biases that walk and stamps that jitter [s]: late, turned, samples lost, 16 bit
_TURN = tuple(np.deg2rad(2.0) * np.array([0.6, -0.5, 0.62]))
_WRONG = SensorConditions(
    imu_delay=0.012, imu_misalignment=_TURN, imu_loss=0.02, leg_loss=0.02, accelerometer_step=8.0 * 9.81 / 2**16,
    gyroscope_step=8.7 / 2**16,
)  # fmt: skip
_WALKS, _JITTER = (3e-4, 2e-5), 2e-4
#: m or rad, of the zeros of the drives
_ZERO_STD = 3e-4

SCENARIOS = 'srs, MP1', 'palida, MP1', 'hexaglide_6pus, sines', 'valencia_3rps, sines', 'octopod_8ups, sines'


def everything_wrong_checks(title: str, seeds: int, duration: float = _DURATION) -> Iterator[Check]:
    """Tune over a recording, estimate it again with what was found, and with ideal sensors, ``seeds`` times."""
    scenario = titled(title, _BEGIN, duration, _BEGIN + duration + 20.0)
    machine, evaluate = scenario.machine, scenario.evaluate
    ratios, nis, count = [], [], 0
    for seed in range(seeds):
        wrong, ideal = _recordings(scenario, seed)
        found = sensors_of_motion(machine, wrong, EstimatorConfig(), _ZERO_STD)
        tuned = estimate_recording(found.machine, wrong, found.config)
        best = estimate_recording(machine, ideal)
        ratios.append(_error(tuned, evaluate) / _error(best, evaluate))
        nis.append(np.nanmean(tuned.nis[_late(tuned)]) / np.nanmean(best.nis[_late(best)]))
        count = int(_late(tuned).sum()) * machine.actuated_count
    # both means scatter
    title = f'{title}, {seeds} seeds'
    spread = 2.0**0.5 * (float(chdtri(count, 5e-4)) / count - 1.0)
    yield at_most('wrong', f'{title}: position error by that of ideal sensors', LARGEST_RATIO, max(ratios))
    yield at_most('wrong', f'{title}: mean NIS by that of ideal sensors, largest', 1.0 + spread, max(nis))
    yield at_least('wrong', f'{title}: the same, least', 1.0 - spread, nis)


def _recordings(scenario: Scenario, seed: int) -> tuple[RecordedData, RecordedData]:
    """With everything wrong, and with ideal sensors."""
    machine, evaluate, time = scenario.machine, scenario.evaluate, scenario.time
    data, random = simulate_sensors(machine, evaluate, time, _WRONG, seed), np.random.default_rng([seed, 5])
    walk = np.cumsum(random.normal(size=(len(data.stamps), 6)) * np.repeat(_WALKS, 3) / RATE**0.5, axis=0)
    wrong, rows = recorded(machine, data), data.imu_received
    imu, walk = wrong.imu_data_raw, walk[rows]
    assert imu is not None
    stamps = imu.stamps + np.rint(1e9 * _JITTER * random.normal(size=len(data.stamps))[rows]).astype(np.int64)
    order = np.argsort(stamps)
    imu = replace(
        imu, stamps=stamps[order], recorded_at=stamps[order], specific_force=(imu.specific_force + walk[:, :3])[order],
        angular_rate=(imu.angular_rate + walk[:, 3:])[order],
    )  # fmt: skip
    ideal = simulate_sensors(machine, evaluate, time, SensorConditions(), seed)
    return replace(wrong, imu_data_raw=imu), recorded(machine, ideal)


def _late(result: EstimationResult) -> Array:
    """The last third, where all that is estimated has settled."""
    elapsed = result.motion.stamps - result.motion.stamps[0]
    return np.asarray(elapsed > 2 * elapsed[-1] // 3)


def _error(result: EstimationResult, evaluate: Evaluate) -> float:
    late = _late(result)
    time = _BEGIN + 1e-9 * (result.motion.stamps[late] - 1_000_000_000)
    return float(np.sqrt(np.mean(np.square(result.motion.position[late] - evaluate(time).position))))


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
        'nees': normalised_squares(error, covariance),
        'error': np.sqrt(np.square(error[:, :3]).sum(axis=1).mean()),
        'claimed': np.sqrt(np.trace(covariance[:, :3, :3], axis1=1, axis2=2).mean()),
        'events': np.array([event.name for event in result.health.events]),
    }
