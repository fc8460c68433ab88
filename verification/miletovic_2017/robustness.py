"""S3-47, S3-50, S3-52, S3-53: one factor on Q, offsets, dropouts, drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.models import GYROSCOPE_BIAS, STATE_SIZE
from pkm_estimation.sensors import SensorConditions

from verification.check import Check, at_least, at_most, equal, holds
from verification.miletovic_2017.accuracy import FILTERS
from verification.miletovic_2017.conditions import ALTERNATING_OFFSETS
from verification.miletovic_2017.filter_run import in_band, make_filter, signals_of, start
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.scenario import DEFAULT, EXPERIMENT, INTERVAL, RATE, Scenario

#: share of a Gaussian within three standard deviations
GAUSSIAN = 0.9973


def experiment_tuning(lab: Laboratory) -> Iterator[Check]:
    """S3-47."""
    runs = lab.filters([Scenario('srs', motion, lab.duration, config=EXPERIMENT) for motion in ('mp1', 'mp2')])
    for motion, run in zip(('mp1', 'mp2'), runs, strict=True):
        band = 2e3 * run.residual_std[run.time >= lab.settling]
        text = f'{band.min():.3f} to {band.max():.3f} mm'
        good = bool(round(band.min(), 2) >= 0.14 and round(band.max(), 2) <= 0.22)
        what = f'{motion}, Q x 1000: twice sigma of the innovations, two digits'
        yield holds('S3-47', what, '0.14 .. 0.22 mm', text, good)


def offsets(lab: Laboratory) -> Iterator[Check]:
    """S3-50: the figures are of MP1 with the simulation's tuning."""
    for name, values in (('alternating', ALTERNATING_OFFSETS), ('equal', (3e-4,) * 6)):
        conditions = _offset(values)
        for filter_name, config in FILTERS:
            run = lab.pipelines([Scenario('srs', 'mp1', lab.duration, conditions=conditions, config=config)])[0]
            rms = run.errors().rms(round(lab.settling * RATE))
            what = f'{name} offsets of 0.3 mm, {filter_name}'
            yield at_most('S3-50', f'{what}: velocity, rms', 0.3e-3, rms.velocity, 'm/s')
            yield at_most('S3-50', f'{what}: position, rms', 0.4e-3, rms.position, 'm')
            yield at_most('S3-50', f'{what}: yaw, rms', 0.5e-3, rms.attitude[2], 'rad')
    alone = lab.filters([Scenario('srs', duration=lab.duration, conditions=_offset(ALTERNATING_OFFSETS))])
    share = float(in_band(alone, lab.settling).min())
    what = 'alternating offsets, printed filter: innovations still within 2 sigma, least of the legs'
    yield at_least('S3-50', what, 0.80, share)
    rest, moving = (_known_offsets(motion) for motion in ('hold', 'mp1'))
    what = 'offsets as states at rest for 20 s: sigma of each combination over that at the start'
    yield at_least('S3-50', f'{what}: not observable', 0.98, rest)
    text = f'from {moving[0]:.2g} to {moving[-1]:.2g}'
    what = 'the same after 20 s of MP1 from rest: they become observable slowly'
    yield holds('S3-50', what, 'below 1', text, bool(moving[-1] < 1.0))


def _offset(values: tuple[float, ...]) -> SensorConditions:
    return SensorConditions(leg_offsets=values)


def _known_offsets(motion: str) -> Array:
    """Standard deviations (6,) of combinations of six estimated offsets over those at the start, rising."""
    config = replace(DEFAULT, estimate=('leg_offsets',))
    scenario = Scenario('srs', motion, 20.0, conditions=_offset(ALTERNATING_OFFSETS), config=config, seed=2)
    signals, filter_ = signals_of(scenario), make_filter(scenario)
    start(scenario, filter_, signals)
    for k in range(1, len(signals.inputs)):
        filter_.predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL)
        filter_.update(signals.positions[k])
    rows = filter_.layout.leg_offsets
    assert rows is not None
    sigma: Array = np.sqrt(np.linalg.eigvalsh(filter_.ukf.covariance[rows, rows])) / config.leg_offset_std
    return sigma


def dropouts(lab: Laboratory) -> Iterator[Check]:
    """S3-52: no leg lengths for 0.9 s (filter alone, then the whole estimator), no IMU samples for 90 ms."""
    gap, settled = 90, 1500
    inside, growing = [], []
    for seed in range(1, 11):
        scenario = Scenario('srs', begin=5.0, duration=16.0, config=DEFAULT, seed=seed)
        signals, filter_ = signals_of(scenario), make_filter(scenario)
        start(scenario, filter_, signals)
        sigma = []
        for k in range(1, settled + gap):
            filter_.predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL)
            if k < settled:
                filter_.update(signals.positions[k])
                continue
            std = np.sqrt(filter_.ukf.covariance.diagonal()[:STATE_SIZE])
            inside.append(np.abs(filter_.state[:STATE_SIZE] - signals.states[k]) <= 3.0 * std)
            sigma.append(std[0:3])
        growing.append(bool((np.diff(sigma, axis=0) > 0.0).all()))
    what = 'no leg lengths for 0.9 s, 10 seeds: states within 3 sigma, share (of a Gaussian: 0.9973)'
    yield at_least('S3-52', what, GAUSSIAN, float(np.mean(inside)))
    yield equal('S3-52', 'sigma of the position grows with every step', True, all(growing))
    begin = lab.settling + 1.0
    for name, gaps in (
        ('no leg lengths for 0.9 s', {'leg_gaps': ((begin, begin + 0.9),)}),
        ('no IMU samples for 90 ms', {'imu_gaps': ((begin, begin + 0.085),)}),
        ('no IMU samples for 0.5 s', {'imu_gaps': ((begin, begin + 0.495),)}),
        ('5 % of all samples lost', {'imu_loss': 0.05, 'leg_loss': 0.05}),
    ):
        conditions = SensorConditions(**gaps)
        scenario = Scenario('srs', duration=lab.duration, conditions=conditions, config=DEFAULT)
        run = lab.pipelines([scenario])[0]
        error, late, motion = run.errors(), run.time >= begin, run.result.motion
        pose, twist = (
            np.sqrt(np.diagonal(values, axis1=1, axis2=2))
            for values in (motion.pose_covariance, motion.twist_covariance)
        )
        for quantity, errors, std in (
            ('positions', error.position, pose[:, :3]),
            ('attitudes', error.attitude, pose[:, 3:]),
            ('velocities', error.velocity, twist[:, :3]),
        ):
            share = float(np.mean(np.abs(errors)[late] <= 3.0 * std[late]))
            yield at_least('S3-52', f'{name}: {quantity} within 3 sigma from then on, share', GAUSSIAN, share)
        starts = int(run.result.started[1:].sum())
        yield at_most('S3-52', f'{name}: new starts', 0, starts)


def drift(lab: Laboratory) -> Iterator[Check]:
    """S3-53: 1e-5 rad/s per minute; the walk is set to this size (1e-5 rad/s over a minute)."""
    rate = 1e-5 / 60.0
    conditions = SensorConditions(gyroscope_drift=(rate, -rate, rate))
    walk = 1e-5 / 60.0**0.5
    found = []
    for config in (replace(DEFAULT, gyroscope_bias_walk=walk), DEFAULT):
        scenario = Scenario(duration=60.0 if lab.quick else 100.0, conditions=conditions, config=config)
        runs = lab.filters([replace(scenario, seed=seed) for seed in list(lab.seeds)[:6]])
        errors = np.concatenate([run.error[run.time >= 20.0, GYROSCOPE_BIAS] for run in runs])
        sigma = np.concatenate([run.std[run.time >= 20.0, GYROSCOPE_BIAS] for run in runs])
        found.append((float(np.mean(np.abs(errors) <= 3.0 * sigma)), float(np.sqrt(np.mean(errors**2, axis=0)).max())))
    (share, rms), (share_without, rms_without) = found
    text = f'{100 * share:.1f} % ({100 * share_without:.1f} % without the walk)'
    yield holds('S3-53', 'drift of 1e-5 rad/s in a minute: bias within 3 sigma, share', '>= 98 %', text, share >= 0.98)
    text = f'{rms:.3g} rad/s ({rms_without:.3g} without the walk)'
    yield holds('S3-53', 'the same: rms error of the bias, largest axis', '<= 1e-5 rad/s', text, rms <= 1e-5)
