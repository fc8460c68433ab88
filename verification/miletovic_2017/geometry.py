"""S3-01 to S3-11: geometry, lengths, attitudes, and the conventional baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.kinematics import length_jacobian
from pkm_estimation.baseline import ButterworthDifferentiator, KinematicEstimator
from pkm_estimation.sensors import SensorConditions
from scipy.signal import lfilter

from verification.check import Check, at_most, near, near_each
from verification.miletovic_2017 import checks as miletovic
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.pipeline_run import simulated
from verification.miletovic_2017.scenario import (
    DEFAULT,
    INTERVAL,
    RATE,
    Scenario,
    machine_named,
    profile_named,
)

#: S3-10: damping, time constant s, b0, a1, a2 at 100 Hz
COEFFICIENTS = (
    (2.0**0.5, 0.04, 2.62076112, -1.65107950, 0.70349473),
    (2.0, 0.04, 2.46913580, -1.55555556, 0.60493827),
    (2.0**0.5, 1.0 / (50.0 * np.pi), 45.23073994, -0.28094574, 0.18556054),
)


def geometry(lab: Laboratory) -> Iterator[Check]:
    """S3-01 to S3-09."""
    yield from miletovic.checks(machine_named('srs'), lab.quick)


def differentiator(lab: Laboratory) -> Iterator[Check]:
    """S3-10."""
    del lab
    for damping, time_constant, b0, a1, a2 in COEFFICIENTS:
        numerator, denominator = ButterworthDifferentiator(time_constant, damping).coefficients(RATE)
        found = np.concatenate([numerator, denominator[1:]])
        what = f'B2 coefficients, damping {damping:.3g}, tau_d {1e3 * time_constant:.4g} ms, 100 Hz'
        yield near_each('S3-10', what, (b0, 0.0, -b0, a1, a2), found, 1e-6)
    # fine steps: the filter of Eq. 28 itself, not its 100 Hz version
    for omega, what in ((25.0, 'gain of the low-pass at 1/tau_d'), (0.5, 'lag at low frequency')):
        differentiate, step = ButterworthDifferentiator(), 1e-3
        times = np.arange(0.0, 4.0 * np.pi / omega + 1.0, step)
        rates = np.array([differentiate(np.array(np.sin(omega * t)), step) for t in times]) / omega
        settled = times > times[-1] - 2.0 * np.pi / omega
        basis = np.stack([np.cos(omega * times), np.sin(omega * times)], axis=1)[settled]
        cosine, sine = np.linalg.lstsq(basis, rates[settled], rcond=None)[0]
        if omega == 25.0:
            yield near('S3-10', what, 2.0**-0.5, float(np.hypot(cosine, sine)), 1e-3)
        else:
            lag = float(np.arctan2(sine, cosine)) / omega
            yield near('S3-10', what, 2.0**0.5 * 0.04, lag, 1e-4, 's')


def jacobian_velocity(lab: Laboratory) -> Iterator[Check]:
    """S3-11: both baselines differentiate with the same filter, one the position, one the leg lengths.

    What they differ by is what the filter does to axes and legs that turn, and nothing else: it is computed here from
    the true motion by SciPy.
    """
    motion = profile_named('srs', 'mp1')(np.arange(12.0, 14.0 if lab.quick else 22.0, INTERVAL))
    machine = machine_named('srs')
    scenario = Scenario('srs', begin=12.0, duration=float(motion.time[-1] - 12.0), conditions=SensorConditions(False))
    positions = simulated(scenario).drive_positions
    rotation = motion.rotation_base_platform
    jacobian = length_jacobian(machine, motion.position, rotation)
    for time_constant, what in ((0.04, 'tau_d 40 ms'), (0.005, 'tau_d 5 ms')):
        estimator = KinematicEstimator(machine, np.eye(6), time_constant)
        estimates = [estimator.estimate(sample, INTERVAL) for sample in positions]
        section = ButterworthDifferentiator(time_constant).coefficients(RATE)
        # both filters begin at rest
        by_position, by_lengths = (
            lfilter(*section, values - values[0], axis=0) for values in (motion.position, positions)
        )
        twist = np.linalg.solve(jacobian, by_lengths[:, :, None])[:, :3, 0]
        to_platform = rotation.transpose(0, 2, 1)
        expected = np.squeeze(to_platform @ (twist - by_position)[:, :, None], axis=2)
        rows = slice(60, None)
        velocity, through = (
            np.array([getattr(one, name) for one in estimates])[rows] for name in ('velocity', 'jacobian_velocity')
        )
        rms = 1e3 * np.sqrt(np.mean(np.square(through - velocity)))
        unexplained = through - velocity - expected[rows]
        name = f'Jacobian less B2 velocity on MP1, {what}, {rms:.3g} mm/s rms: less the difference of the filters'
        yield at_most('S3-11', name, 1e-9, unexplained, 'm/s')


def never_above(lab: Laboratory) -> Iterator[Check]:
    """S3-08 again, along whole runs of the estimator."""
    for motion in ('mp1', 'mp2'):
        run = lab.pipelines([Scenario('srs', motion, lab.duration, config=replace(DEFAULT, baseline=True))])[0]
        for name, positions in (('filter', run.result.motion.position), ('baseline', run.result.baseline.position)):
            count = np.count_nonzero(positions[:, 2] <= 0.0)
            yield at_most('S3-08', f'{motion}, {name}: estimates on the mirrored branch of {len(positions)}', 0, count)
