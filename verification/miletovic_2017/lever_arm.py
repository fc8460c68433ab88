"""S3-38 to S3-40: other points, a wrong lever arm, a turned IMU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_log

from verification.check import Check, at_most, holds, within
from verification.miletovic_2017.accuracy import FILTERS
from verification.miletovic_2017.filter_run import in_band, make_filter, pooled_rms, signals_of, start
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.scenario import DEFAULT, INTERVAL, PRINTED, Scenario, profile_named

#: points of the platform, m: its origin, the pilot's head of a cabin, far aside
POINTS = (('origin', (0.0, 0.0, 0.0)), ("pilot's head", (0.5, 0.4, 1.2)), ('far point', (1.2, -0.7, 0.9)))


def other_points(lab: Laboratory) -> Iterator[Check]:
    """S3-38: errors over the standard deviations that the output itself gives."""
    duration = 16.0 if lab.quick else 40.0
    seeds = list(lab.seeds)[: 3 if lab.quick else 6]
    ratios: dict[str, list[Array]] = {name: [] for name, _ in POINTS}
    for seed in seeds:
        scenario = Scenario('srs', begin=5.0, duration=duration, config=DEFAULT, seed=seed)
        signals, filter_ = signals_of(scenario), make_filter(scenario)
        motion = profile_named('srs', 'mp1')(scenario.time)
        start(scenario, filter_, signals)
        for k in range(1, len(signals.inputs)):
            filter_.predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL)
            filter_.update(signals.positions[k])
            if k < 600 or k % 5:
                continue
            rotation, omega = motion.rotation_base_platform[k], motion.angular_velocity[k]
            for name, place in POINTS:
                point = np.array(place)
                estimate = filter_.point_motion(signals.inputs[k], point)
                arm = rotation @ point
                error = np.concatenate(
                    [
                        estimate.position - motion.position[k] - arm,
                        rotation_log((estimate.rotation_base_platform @ rotation.T)[None])[0],
                        estimate.velocity - rotation.T @ (motion.linear_velocity[k] + np.cross(omega, arm)),
                        estimate.angular_velocity - rotation.T @ omega,
                    ]
                )
                sigma = np.sqrt(
                    np.concatenate([estimate.pose_covariance.diagonal(), estimate.twist_covariance.diagonal()])
                )
                ratios[name].append(error / sigma)
    for name, _ in POINTS:
        share = float(np.mean(np.abs(ratios[name]) <= 2.0))
        rms = np.sqrt(np.mean(np.square(ratios[name]), axis=0))
        yield within('S3-38', f'{name}: errors of pose and twist within 2 sigma, share', 0.93, 0.98, share)
        # attitude and gyroscope bias vary slowly: few independent samples, so the limits are wide
        yield within('S3-38', f'{name}: rms error over sigma, smallest of 12', 0.7, 1.3, float(rms.min()))
        yield within('S3-38', f'{name}: rms error over sigma, largest of 12', 0.7, 1.3, float(rms.max()))


def wrong_arm(lab: Laboratory) -> Iterator[Check]:
    """S3-39: the filter assumes the IMU at the platform's origin, where it is not."""
    for name, config in FILTERS:
        scenario = Scenario('srs', duration=lab.duration, config=config, believed='centred')
        run = lab.filters([scenario])[0]
        share = float(np.mean(in_band([run], lab.settling)))
        yield at_most('S3-39', f'{name}: innovations within 2 sigma, mean of the legs', 0.05, share)
    whole = lab.pipelines([Scenario('srs', duration=lab.duration, config=DEFAULT, believed='centred')])[0]
    level, sentence = whole.verdict
    flagged = level in ('warn', 'error')
    yield holds('S3-39', 'diagnostics of the default filter', 'warn or error', f'{level}: {sentence}', flagged)


def mounting(lab: Laboratory) -> Iterator[Check]:
    """S3-40: an IMU turned by 2 degrees about each axis, known to the filter."""
    aligned, turned = (
        pooled_rms(lab.monte_carlo(Scenario(machine, config=PRINTED)), lab.settling) for machine in ('srs', 'turned')
    )
    for quantity, rows in (('position', slice(0, 3)), ('velocity', slice(3, 6)), ('quaternion', slice(6, 9))):
        ratio = turned[rows] / aligned[rows] - 1.0
        yield at_most('S3-40', f'turned by 2 deg: {quantity} rms over that of an aligned IMU, minus 1', 0.05, ratio)
    unknown = lab.monte_carlo(replace(Scenario('turned'), believed='srs'))
    share = float(np.mean(in_band(unknown, lab.settling)))
    yield at_most('S3-40', 'not known to the filter: innovations within 2 sigma', 0.5, share)
