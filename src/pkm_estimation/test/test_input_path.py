"""The IMU's input between samples: a cubic where samples allow it, and what their noise does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from moving_platform import Motion, Sensors, assert_consistent
from pkm_description.loading import load_machine
from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.kernels.input_path import take_samples
from pkm_estimation.kernels.steps import propagate_all
from pkm_estimation.models import EstimatorGeometry, InertialProcess
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.stream import EstimatorConfig, PlatformFilter
from scipy.stats import chi2

SRS, PLANAR = load_machine('srs'), load_machine('khalifa_3prr')
IN_PLANE = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
SEEDS = 15


# -- the path itself -------------------------------------------------------------------------------------------------


def taken(stamps: list[int], function, **options) -> InertialProcess:
    process = InertialProcess(np.zeros(3), INTEGRATORS['rk3'], **options)
    process.take(stamps, [np.full(6, function(1e-9 * stamp)) for stamp in stamps])
    return process


@pytest.mark.parametrize(('count', 'degree'), [(2, 1), (3, 2), (4, 3)])
def test_path_goes_through_irregular_samples(count, degree):
    stamps = [13_000_000, 0, -9_000_000, -21_000_000][:count]
    samples = np.random.default_rng(3).normal(size=(count, 6))
    process = InertialProcess(np.zeros(3), INTEGRATORS['rk3'])
    process.take(stamps, list(samples))
    expected = np.polynomial.Polynomial.fit(1e-9 * np.array(stamps), samples[:, 0], degree)
    for time in (0.0, 0.004, 0.0101):
        assert process.input_at(time)[0] == pytest.approx(expected(time), rel=1e-9)
    np.testing.assert_array_equal(process.input_at(0.0), samples[1])
    np.testing.assert_array_equal(process.input_at(1e-9 * stamps[0]), samples[0])


@pytest.mark.parametrize(
    ('intervals', 'samples'),
    [((10, 10, 10), 4), ((20, 10, 10), 4), ((10, 50, 10), 4), ((50, 10, 10), 4), ((70, 10, 10), 3), ((10, 70, 10), 2),
     ((50, 1, 1), 3), ((70, 1, 1), 2), ((10, 10, 101), 3), ((90, 101, 10), 2)],
)  # fmt: skip
def test_path_does_without_samples_that_are_too_far_apart(intervals, samples):
    stamps = [1_000_000 * (intervals[0]), 0, -1_000_000 * intervals[1], -1_000_000 * (intervals[1] + intervals[2])]
    process = taken(stamps, lambda t: t, longest_gap=0.1)
    assert process.data.used[0] == samples


@pytest.mark.parametrize(('last', 'used'), [(0, 2), (1, 3), (2, 4), (5, 4)])
def test_path_takes_as_many_earlier_samples_as_there_are(last, used):
    """And has no gap where the samples are regular."""
    stamps, samples = 10_000_000 * np.arange(20), np.random.default_rng(2).normal(size=(20, 6))
    process = InertialProcess(np.zeros(3), INTEGRATORS['rk3'], longest_gap=0.1)
    take_samples(process.struct, stamps, samples, last, 0)
    assert process.data.used[0] == used and not process.data.has_gap[0]
    np.testing.assert_array_equal(process.data.samples[:used], samples[last + 1 :: -1][:used])


def test_doubt_covers_the_error_over_a_gap():
    """Sines of 0.5 to 2 Hz, at any phase, with a gap of 20 to 60 ms."""
    for interval in (0.001, 0.004, 0.01):
        for gap in (0.02, 0.04, 0.06):
            for frequency in (0.5, 1.0, 2.0):
                errors, claims = [], []
                for phase in np.linspace(0.0, 2.0 * np.pi, 20):
                    def sine(t, w=2.0 * np.pi * frequency, phase=phase):
                        return np.sin(w * t + phase)

                    if not 1.5 * interval < gap:
                        continue
                    process = taken([round(1e9 * t) for t in (gap, 0.0, -interval, -2.0 * interval)], sine)
                    times = np.linspace(0.0, gap, 21)
                    errors.append(np.mean([process.input_at(t)[0] - sine(t) for t in times]))
                    claims.append(process.data.gap_variance[0])
                assert np.mean(np.square(errors)) <= np.mean(claims)


@pytest.mark.parametrize('machine', [SRS, PLANAR], ids=['srs', 'khalifa_3prr'])
def test_noise_of_samples_grows_as_claimed(machine):
    """At rest without corrections: the spread of the filter's own path over noisy samples is what it claims."""
    config, steps, draws, interval = EstimatorConfig(), 5, 1500, 0.01
    imu, noise = ImuFrame(machine.imu), np.diag(machine.leg_sensors.position_noise**2)
    filter_ = PlatformFilter(EstimatorGeometry.from_machine(machine), imu.noise_covariance, noise, config, machine)
    random, states = np.random.default_rng(2), []
    root = np.linalg.cholesky(imu.noise_covariance)
    at_rest = np.concatenate([-filter_.geometry.gravity @ machine.home.rotation_base_platform, np.zeros(3)])
    for draw in range(draws + 1):
        filter_.start_at(machine.home)
        samples = at_rest + (random.normal(size=(steps + 4, 6)) @ root.T if draw else np.zeros((steps + 4, 6)))
        filter_.ukf.covariance[:] = 1e-18 * np.eye(len(filter_.ukf.state))
        # earlier samples exist but have not acted: their part before the start is not in the state
        for before, after in pairwise(samples[2:]):
            filter_.predict(before, after, interval)
        states.append(filter_.ukf.state[:9].copy())
        if not draw:
            claimed = filter_.ukf.covariance[:9, :9].copy()
    errors = np.array(states[1:]) - states[0]
    squares = np.einsum('ni,ij,nj->n', errors, np.linalg.inv(claimed), errors)
    lower, upper = chi2.ppf([0.001, 0.999], 9 * draws) / draws
    assert lower <= squares.mean() <= upper


# -- consistent ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('frequency', [pytest.param(0.1, marks=pytest.mark.campaign), 2.0])
def test_fast_and_slow_motion_at_100_hz(frequency):
    errors = assert_consistent(Motion(SRS, frequency), Sensors(), SEEDS, 3.0)
    assert errors.max() < 6e-6


@pytest.mark.parametrize(('rate', 'seeds', 'duration'), [(250.0, 6, 2.5), (1000.0, 6, 1.6)])
@pytest.mark.campaign
def test_faster_sensors(rate, seeds, duration):
    assert_consistent(Motion(SRS), Sensors(rate, rate), seeds, duration)


@pytest.mark.parametrize('frequency', [0.1, pytest.param(2.0, marks=pytest.mark.campaign)])
def test_machine_whose_imu_is_noisy(frequency):
    """A gyroscope's sample moves the legs by four times their noise: what a sample does in four steps is seen."""
    assert_consistent(Motion(PLANAR, frequency, IN_PLANE), Sensors(), SEEDS, 2.0)


#: each once by default, on the one machine or the other; None: in the campaign only
AS_THEY_COME = {
    'drops': (Sensors(loss=0.02), PLANAR),
    'gap': (Sensors(gap=0.05), PLANAR),
    'delay': (Sensors(delay=0.0031), SRS),
    'fast IMU': (Sensors(imu_rate=1000.0), SRS),
    'fast legs': (Sensors(leg_rate=500.0), SRS),
    'gap at 250 Hz': (Sensors(250.0, 250.0, gap=0.05), None),
}


@pytest.mark.parametrize(
    ('machine', 'sensors'),
    [
        pytest.param(
            machine, sensors, id=f'{machine.name}-{name}', marks=() if machine is default else pytest.mark.campaign
        )
        for name, (sensors, default) in AS_THEY_COME.items()
        for machine in (SRS, PLANAR)
    ],
)
def test_samples_as_they_come(machine, sensors):
    freedom = np.ones(6) if machine is SRS else IN_PLANE
    assert_consistent(Motion(machine, 2.0, freedom), sensors, 5, 2.5)


def test_constant_accelerations():
    motion = Motion(SRS, accelerations=np.array([0.1, -0.08, 0.05, 0.05, -0.04, 0.06]))
    assert_consistent(motion, Sensors(), 6, 3.0)


def test_extended_filter_is_consistent_too():
    assert_consistent(Motion(SRS), Sensors(), 6, 2.5, EstimatorConfig(filter='ekf', baseline=False))


def test_printed_input_is_held():
    """``integrator: euler``: the sample at the beginning of a step alone, whose noise is that of this step."""
    process = InertialProcess(np.zeros(3), INTEGRATORS['euler'])
    process.take([10_000_000, 0, -10_000_000, -20_000_000], [np.full(6, value) for value in (3.0, 1.0, 4.0, 1.5)])
    state = np.zeros((1, 15))
    process.data.times[0], process.data.used[0] = 0.01, 4
    propagate_all(process.struct, state, 0.0, 0.01)
    np.testing.assert_allclose(state[0, 3:6], 0.01)
    np.testing.assert_array_equal(process.data.pulses, [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(process.data.moments, np.zeros(3))
