"""S3-63: two sensors that the estimator does not know, added from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.filtering.point_motion import PlatformPoints
from pkm_estimation.stream import EstimatorPipeline

from verification.check import Check, equal, holds, within
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.pipeline_run import simulated
from verification.miletovic_2017.scenario import DEFAULT, INTERVAL, RATE, Scenario, machine_named, profile_named

Send = Callable[[EstimatorPipeline, int, int], object]

#: m, of a camera that sees the platform's origin
CAMERA_NOISE = 5e-6

#: samples left out at the beginning
_SETTLING = round(3.0 * RATE)


def own_measurements(lab: Laboratory) -> Iterator[Check]:
    """S3-63: functions of the platform's motion, given to the pipeline together with their values."""
    scenario = Scenario('srs', begin=5.0, duration=15.0 if lab.quick else 30.0, config=DEFAULT, seed=7)
    motion = profile_named('srs', 'mp1')(scenario.time)
    random = np.random.default_rng(7)
    camera = motion.position + CAMERA_NOISE * random.normal(size=motion.position.shape)
    std = float(np.max(machine_named('srs').leg_sensors.velocity_noise))
    quiet = replace(scenario, conditions=replace(scenario.conditions, noise=False))
    true_rates = np.gradient(simulated(quiet).drive_positions, INTERVAL, axis=0, edge_order=2)
    rates = true_rates + std * random.normal(size=true_rates.shape)
    # the gyroscope's noise, too, moves the joints, in proportion to their distance
    reach = float(np.linalg.norm(machine_named('srs').platform_points, axis=1).max())
    variance = std**2 + (reach * float(np.max(machine_named('srs').imu.gyroscope_noise))) ** 2

    def nothing(pipeline: EstimatorPipeline, stamp: int, k: int) -> None:
        del pipeline, stamp, k

    def send_position(pipeline: EstimatorPipeline, stamp: int, k: int) -> object:
        noise = CAMERA_NOISE**2 * np.eye(3)
        return pipeline.add_measurement(stamp, lambda points: points.position().T, camera[k], noise, 'camera')

    def send_rates(pipeline: EstimatorPipeline, stamp: int, k: int) -> object:
        return pipeline.add_measurement(stamp, leg_rates, rates[k], variance * np.eye(6), 'leg_rates')

    plain, _ = _run(scenario, nothing)
    for name, send, size in (('camera', send_position, 3), ('leg_rates', send_rates, 6)):
        error, (count, nis, expected) = _run(scenario, send, name)
        yield equal('S3-63', f'{name}: numbers per measurement', size, expected)
        yield within('S3-63', f'{name}: mean NIS of {count}', 0.9 * size, 1.1 * size, nis)
        text = f'{1e6 * error:.2f} um with it, {1e6 * plain:.2f} without'
        limit = plain if name == 'camera' else 1.05 * plain
        required = 'smaller' if name == 'camera' else 'not worse (5 %)'
        yield holds('S3-63', f'{name}: position error, rms', required, text, error < limit)


def leg_rates(points: PlatformPoints) -> Array:
    """Rates (6, N) m/s of SIMONA's legs: velocities of the platform's joints along the legs."""
    machine = machine_named('srs')
    rates = []
    for leg in machine.legs:
        along = points.position(leg.platform_point) - leg.base_point
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        rates.append(np.sum(along * points.velocity(leg.platform_point), axis=1))
    return np.array(rates)


def _run(scenario: Scenario, send: Send, name: str = '') -> tuple[float, tuple[int, float, int]]:
    """Position error (rms, m), and how many measurements of a name were taken, their mean NIS and size."""
    data = simulated(scenario)
    pipeline = EstimatorPipeline(machine_named('srs'), scenario.config)
    names = pipeline.machine.actuated_joint_names
    positions = data.drive_positions
    truth = profile_named('srs', 'mp1')(scenario.time).position
    errors = []
    for k, stamp in enumerate(data.stamps.tolist()):
        outputs = pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        outputs += pipeline.add_joint_positions(stamp, names, positions[k])
        errors += [output.motion.position - truth[k] for output in outputs]
        send(pipeline, stamp, k)
    taken = pipeline.health.report().user_measurements
    return float(np.sqrt(np.mean(np.square(errors[_SETTLING:])))), taken.get(name, (0, float('nan'), 0))
