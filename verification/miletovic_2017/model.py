"""S3-13 to S3-18: the model and the transform as printed, their settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.filters import INTEGRATORS, ScaledUnscentedTransform, UnscentedKalmanFilter
from pkm_estimation.models import EstimatorGeometry, InertialProcess, LegLengthModel
from pkm_estimation.stream import EstimatorConfig

from verification.check import Check, at_least, at_most, equal, near, near_each, within
from verification.consistency.monte_carlo import make_filter
from verification.miletovic_2017 import data as paper
from verification.miletovic_2017.filter_run import mean_nis
from verification.miletovic_2017.pipeline_run import Laboratory
from verification.miletovic_2017.scenario import DEFAULT, PRINTED, RATE, Scenario, machine_named

#: gravity, section 4, z down
GRAVITY = np.array([0.0, 0.0, 9.80665])
#: section 3.2: dimension, spread of the points, weight of each; the centre's weights are the same for all
WEIGHTS = ((15, 0.387298, 3.333333), (21, 0.458258, 2.380952), (27, 0.519615, 1.851852))

#: check state (worked out independently; z down): velocity, biases, input, and f there; the rest is in data.py
VELOCITY = np.array([0.3, -0.2, 0.1])
BIASES = np.array([0.4898, -0.009023, -0.1894, -0.01822, -0.005067, -0.02159])
INPUT = np.array([0.5, 0.2, -9.9, 0.1, -0.05, 0.02])
STATE_RATE = np.array(
    [0.310289962, -0.175820075, 0.113169962, 0.818363462, 0.756067559, 0.057180850]
    + [0.059253565, -0.020078613, 0.022433352]
    + [0.0] * 6
)
#: rows of V and of q, last three columns
G_VELOCITY = np.array([[0.0, -0.1, -0.2], [0.1, 0.0, -0.3], [0.2, 0.3, 0.0]])
G_ATTITUDE = np.array([[0.498748434, -0.025, -0.02], [0.025, 0.498748434, -0.015], [0.02, 0.015, 0.498748434]])


def vectors(lab: Laboratory) -> Iterator[Check]:
    """S3-13 and S3-37: the check state, in the paper's frame."""
    state = np.concatenate([paper.POSITION, VELOCITY, paper.QUATERNION_VECTOR, BIASES])
    process = InertialProcess(GRAVITY, INTEGRATORS['heun'])
    yield equal('S3-13', 'states', 15, len(state))
    rates = process.rate(state, INPUT)
    yield at_most('S3-13', 'f(x*, u*), largest difference', 1e-9, rates - STATE_RATE)
    matrix = process.input_matrix(state)
    printed = np.zeros((6, 6))
    printed[:3, :3], printed[:3, 3:], printed[3:, 3:] = np.eye(3), G_VELOCITY, G_ATTITUDE
    yield at_most('S3-13', 'G(x*), rows of V and q, largest difference', 1e-9, matrix - printed)
    for id, what, expected, points in (
        ('S3-13', 'h(x*), IMU at the platform origin', paper.LENGTHS, paper.PLATFORM_POINTS),
        ('S3-37', 'h(x*), state at the IMU', paper.LENGTHS_FROM_IMU, paper.PLATFORM_POINTS - paper.IMU_POSITION),
    ):
        lengths = LegLengthModel(paper.BASE_POINTS, points).observe(state[None])[0]
        yield near_each(id, f'{what}, m', expected, lengths, 1e-9)
    machine = machine_named('srs')
    shifted = EstimatorGeometry.from_machine(machine).platform_points_from_imu
    expected_points = (paper.PLATFORM_POINTS - paper.IMU_POSITION) @ paper.D
    yield at_most('S3-37', "the machine file's joints seen from its IMU", 1e-9, shifted - expected_points, 'm')


def inputs(lab: Laboratory) -> Iterator[Check]:
    """S3-14: IMU and lengths are the only inputs."""
    run = lab.pipelines([Scenario('srs', duration=lab.duration, config=replace(DEFAULT, baseline=True))])[0]
    counters = run.result.health.counters
    yield equal('S3-14', 'topics accepted', ['imu', 'legs'], [n[:-9] for n in sorted(counters) if '_accepted' in n])
    yield equal('S3-14', 'estimates, one per IMU sample and leg lengths', len(run.data.stamps), len(run.result))


def transform(lab: Laboratory) -> Iterator[Check]:
    """S3-15: weights and settings."""
    for size, spread, weight in WEIGHTS:
        own = ScaledUnscentedTransform(size)
        found = (own.spread**0.5, own.centre_mean_weight, own.centre_covariance_weight, own.weight)
        what = f'n = {size}: spread, W0m, W0c, Wi'
        yield near_each('S3-15', what, (spread, -99.0, -96.01, weight), found, 1e-6)
    config = EstimatorConfig()
    scaling = (config.alpha, config.beta, config.kappa)
    yield near_each('S3-15', 'default alpha, beta, kappa', (0.1, 2.0, 0.0), scaling, 0)
    chosen = make_filter(machine_named('srs'), EstimatorConfig(filter='paper', alpha=0.5, beta=1.0, kappa=3.0)).ukf
    assert isinstance(chosen, UnscentedKalmanFilter)
    chosen_scaling = [getattr(chosen.transform, name) for name in ('alpha', 'beta', 'kappa')]
    yield near_each('S3-15', 'alpha, beta, kappa set to 0.5, 1, 3, in the filter', (0.5, 1.0, 3.0), chosen_scaling, 0)


def noise(lab: Laboratory) -> Iterator[Check]:
    """S3-16 and S3-17."""
    runs = lab.monte_carlo(Scenario())
    expected = 13.0e-6
    std = float(np.mean([run.residual_std[-1, 0] for run in runs]))
    yield near('S3-16', 'standard deviation of the innovation of leg 1, MP1', expected, std, 0.03 * expected, 'm')
    machine = machine_named('srs')
    imu = machine.imu
    sigma = np.concatenate([imu.accelerometer_noise, imu.gyroscope_noise])
    printed, own = make_filter(machine, PRINTED), make_filter(machine, DEFAULT)
    legs = machine.leg_sensors.position_noise
    for what, found, wanted in (
        ('Q, printed filter, over 1.1 diag(sigma^2)', printed.imu_covariance, 1.1 * np.diag(sigma**2)),
        ('R, printed filter, over 1.1 diag(sigma^2)', printed.length_covariance, 1.1 * np.diag(legs**2)),
        ('Q, default filter, over diag(sigma^2)', own.imu_covariance, np.diag(sigma**2)),
        ('R, default filter, over diag(sigma^2)', own.length_covariance, np.diag(legs**2)),
    ):
        yield at_most('S3-17', f'{what}, largest difference', 1e-12, (found - wanted) / np.abs(wanted).max())
    noisy_legs, noisy_axes = legs * np.arange(1.0, 7.0), imu.gyroscope_noise * np.array([1.0, 2.0, 3.0])
    changed = replace(
        machine,
        leg_sensors=replace(machine.leg_sensors, position_noise=noisy_legs),
        imu=replace(imu, gyroscope_noise=noisy_axes),
    )
    free = make_filter(changed, replace(PRINTED, q_scale=5.0, r_scale=0.5))
    found = np.concatenate([free.imu_covariance.diagonal()[3:], free.length_covariance.diagonal()])
    wanted = np.concatenate([5.5 * noisy_axes**2, 0.55 * noisy_legs**2])
    yield at_most('S3-17', 'noise of each sensor set, q_scale 5, r_scale 0.5: relative', 1e-12, found / wanted - 1.0)


def integrators(lab: Laboratory) -> Iterator[Check]:
    """S3-18: analytic truth; the ideal mean NIS is 6 / 1.1."""
    yield equal('S3-18', 'integrators', ['euler', 'heun', 'rk3', 'rk4'], sorted(INTEGRATORS))
    yield equal('S3-18', 'default', 'rk3', EstimatorConfig().integrator)
    for name in ('heun', 'rk3', 'rk4'):
        runs = lab.monte_carlo(Scenario(config=replace(PRINTED, integrator=name)))
        yield within('S3-18', f'mean NIS on exact MP1, {name}', 5.2, 5.7, mean_nis(runs, lab.settling))
    euler = lab.monte_carlo(Scenario(config=replace(PRINTED, integrator='euler')))
    nis = mean_nis(euler, lab.settling)
    yield at_least('S3-18', 'mean NIS on exact MP1, Euler: it needs a truth of its own (S3-45)', 100.0, nis)
    slope = [_order(name) for name in ('euler', 'heun', 'rk3', 'rk4')]
    excess = np.array(slope) - [1.0, 2.0, 3.0, 4.0]
    yield at_least('S3-18', 'observed orders minus 1, 2, 3, 4', -0.1, excess)


def _order(name: str) -> float:
    """Observed order of an integrator: halving the step divides the error by 2 to the order."""
    machine = machine_named('srs')
    state = np.concatenate([paper.POSITION, VELOCITY, paper.QUATERNION_VECTOR, BIASES])

    def after(integrator: str, steps: int, duration: float = 0.4) -> Array:
        process, moved = InertialProcess(machine.gravity, INTEGRATORS[integrator]), state[None].copy()
        for _ in range(steps):
            moved = process.propagate(moved, INPUT, INPUT, duration / steps)
        return moved[0]

    exact = after('rk4', round(20 * RATE))
    coarse, fine = (float(np.linalg.norm(after(name, steps) - exact)) for steps in (10, 20))
    return float(np.log2(coarse / fine))
