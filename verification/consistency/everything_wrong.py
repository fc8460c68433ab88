"""Everything wrong at once: do ``tune`` and ``estimate`` come near what ideal sensors give, without hand work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.bags import RecordedData
from pkm_estimation.calibration.sensors import sensors_of_motion
from pkm_estimation.offline.estimate import estimate_recording, recorded
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.sensors.simulated import Evaluate
from pkm_estimation.stream import EstimatorConfig
from scipy.special import chdtri

from verification.check import Check, at_least, at_most
from verification.consistency.scenarios import RATE, Scenario, titled

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
