"""Numbers of the tuning against what they stand for: confidence intervals, degrees of freedom.

Small problems with a second way to the answer, in milliseconds; whole recordings are in the other files of the tuning.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_estimation.calibration.motion import motion_of_legs
from pkm_estimation.sensors import measure
from pkm_estimation.tuning.allan import (
    AllanCoefficients,
    AllanDeviation,
    allan_coefficients,
    overlapping_allan_deviation,
    walk_settings,
)
from pkm_estimation.tuning.static_calibration import calibrate_static, channel_noise
from pkm_estimation.tuning.streams import SensorStreams, TuningError
from scipy.stats import t

SRS = load_machine('srs')


def outside(truth, lower, upper):
    """Parts of the intervals above and below the truth."""
    return np.array([np.mean(lower > truth), np.mean(upper < truth)])


# -- Allan deviation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('part', [0.8, 0.95])
def test_intervals_of_an_allan_deviation_hold_the_truth_as_often_as_they_say(part):
    """Squares of estimates are chi-square distributed about the truth, so as many are missed on either side."""
    freedom = np.array([4.0, 30.0])
    drawn = np.random.default_rng(0).chisquare(freedom[:, None], size=(2, 20000)) / freedom[:, None]
    found = AllanDeviation(np.array([1.0, 2.0]), 3.0 * np.sqrt(drawn), freedom)
    lower, upper = found.interval(part)
    for row in range(2):
        assert outside(3.0, lower[row], upper[row]) == pytest.approx(0.5 * (1.0 - part), abs=0.006)


@pytest.mark.parametrize('count', [16, 17, 100])
def test_degrees_of_freedom_are_those_of_white_noise(count):
    """By the moments of the quadratic form, which is what chi-square is fitted to; and the fractions of the formula."""
    found = overlapping_allan_deviation(np.random.default_rng(0).normal(size=(count, 1)), 0.1)
    sums = np.tri(count + 1, count, -1)  # white noise to its running sum
    for tau, freedom in zip(found.tau, found.degrees_of_freedom, strict=True):
        m = round(tau / 0.1)
        second = sums[2 * m :] - 2.0 * sums[m:-m] + sums[: -2 * m]
        both = second @ second.T
        assert freedom == pytest.approx(np.trace(both) ** 2 / np.sum(both**2), rel=0.08), m
    if count == 16:  # 17 points: (3/2 16/m - 2 15/17) 4 m^2 / (4 m^2 + 5), which is below 3 for m = 8
        assert found.degrees_of_freedom == pytest.approx([378 / 17 * 4 / 9, 174 / 17 * 16 / 21, 72 / 17 * 64 / 69])


def test_allan_deviation_of_each_channel_by_its_definition():
    """Half the mean square of the differences of neighbouring averages, which begin at every sample."""
    values = np.random.default_rng(1).normal(size=(60, 2)) * [1.0, 5.0] + [100.0, -3.0]
    found = overlapping_allan_deviation(values, 0.5)
    assert found.tau == pytest.approx([0.5, 1.0, 2.0, 4.0, 8.0][: len(found.tau)]) and len(found.tau) >= 4
    for row, m in enumerate((1, 2, 4, 8)):
        averages = np.array([values[k : k + m].mean(axis=0) for k in range(61 - m)])
        expected = np.sqrt(0.5 * np.mean((averages[m:] - averages[:-m]) ** 2, axis=0))
        assert found.deviation[row] == pytest.approx(expected)


def test_coefficients_of_an_exact_curve_are_those_that_made_it():
    """White noise, flicker and random walk at once; and each alone has no others."""
    tau, white, flicker, walk = 0.01 * 2.0 ** np.arange(18), 0.02, 0.003, 4e-4
    squares = np.stack([white**2 / tau + flicker**2 + walk**2 * tau / 3.0, white**2 / tau, walk**2 * tau / 3.0], axis=1)
    found = allan_coefficients(AllanDeviation(tau, np.sqrt(squares), 1e7 / tau))
    assert found.white == pytest.approx([white, white, 0.0], abs=1e-9)
    assert found.random_walk == pytest.approx([walk, 0.0, walk], abs=1e-9)
    assert found.random_walk_seen.tolist() == [True, False, True]
    assert found.at_the_end.tolist() == [False, True, False] and found.instability_time[2] == tau[0]
    assert found.bias_instability[1] == pytest.approx(white / tau[-1] ** 0.5 / 0.66428, rel=1e-4)  # IEEE 952, C.1.3
    assert found.variance(tau, 0) == pytest.approx(squares[:, 0] - flicker**2)


# -- channels at rest --------------------------------------------------------------------------------------------------


def test_intervals_of_noise_and_mean_hold_the_truth_as_often_as_they_say():
    values = 7.0 + 0.3 * np.random.default_rng(2).normal(size=(600, 1200))
    found = channel_noise(values, 0.05)
    assert outside(0.3, *found.noise_interval.T) == pytest.approx([0.025, 0.025], abs=0.014)
    # the larger one of two deviations is a little too large
    reach = t.ppf(0.975, 29) * found.mean_std
    missed = outside(7.0, found.mean - reach, found.mean + reach)
    assert (missed < 0.026).all() and missed.sum() > 0.01
    assert np.mean((found.noise - 0.3) ** 2) ** 0.5 == pytest.approx(found.noise_std.mean(), rel=0.05)


def at_rest(seconds):
    count = round(100 * seconds)
    still, turn = np.zeros((count, 3)), rotation_exp(np.array([0.08, -0.05, 0.1]))
    position = SRS.home.position + np.array([0.05, -0.1, 0.02])
    return PlatformMotion(
        np.arange(count) / 100, np.tile(position, (count, 1)), np.tile(turn, (count, 1, 1)), still, still, still, still
    )


def streams_of(data):
    time = (data.stamps - data.stamps[0]) * 1e-9
    return SensorStreams(time, data.drive_positions, time, np.hstack([data.specific_force, data.angular_rate]))


def test_noise_of_the_legs_counts_to_the_bias_of_the_accelerometer():
    """Through the attitude, which takes gravity for bias; here the legs are so noisy that nothing else counts."""
    noisy, ratios = replace(SRS.leg_sensors, position_noise=np.full(6, 1e-4)), []
    quiet = replace(SRS.imu, accelerometer_noise=np.full(3, 1e-5), gyroscope_noise=np.full(3, 1e-7))
    machine = replace(SRS, leg_sensors=noisy, imu=quiet)
    for seed in range(25):
        found = calibrate_static(machine, streams_of(measure(machine, at_rest(10.2), seed=seed)))
        bias = np.concatenate([machine.imu.accelerometer_bias, machine.imu.gyroscope_bias])
        ratios.append((found.bias - bias)[:2] / found.bias_std[:2])
        assert found.bias_std[3:] == pytest.approx(found.imu.mean_std[3:])
    assert 0.65 < np.sqrt(np.mean(np.square(ratios))) < 1.35  # 50 draws


@pytest.mark.parametrize(
    ('column', 'size', 'name'),
    [(0, 0.1, 'accelerometer x'), (2, 0.1, 'accelerometer z'), (3, 0.01, 'gyroscope x'), (5, 0.01, 'gyroscope z')],
)
def test_what_moves_is_named(column, size, name):
    streams = streams_of(measure(SRS, at_rest(11.0), seed=0))
    streams.imu[500:, column] += size
    with pytest.raises(TuningError, match=f'not stand still: {name} is .* at .* first exceeded'):
        calibrate_static(SRS, streams)


# -- streams -----------------------------------------------------------------------------------------------------------


def test_a_part_of_a_recording_keeps_its_times_and_an_empty_one_is_refused_with_its_length():
    time = np.arange(50) / 10
    streams = SensorStreams(time, np.arange(300.0).reshape(50, 6), time[:40], np.zeros((40, 6)))
    part = streams.between(1.0, 2.0)
    assert part.leg_time == pytest.approx(time[10:21])
    assert np.array_equal(part.drive_positions, streams.drive_positions[10:21])
    for one, longest in ((streams, '4.90'), (replace(streams, leg_time=time - 2.0), '3.90')):
        with pytest.raises(TuningError, match=f'between 7 and 8 s; the recording has {longest} s'):
            one.between(7.0, 8.0)


def coefficients(seen):
    """Of six channels, with random walks of 1 to 6, of which some are significant."""
    values, seen = np.ones(6), np.array(seen)
    return AllanCoefficients(values, values, values, np.zeros(6, dtype=bool), 1.0 + np.arange(6), 9.0 * values, seen)


@pytest.mark.parametrize(
    ('seen', 'settings'),
    [
        ([1, 1, 0, 0, 0, 0], {'accelerometer_bias_walk': 2.0}),
        ([0, 0, 0, 1, 0, 0], {'gyroscope_bias_walk': 4.0}),
        ([1, 0, 1, 0, 1, 0], {'accelerometer_bias_walk': 3.0, 'gyroscope_bias_walk': 5.0}),
        ([0] * 6, {}),
    ],
)
def test_settings_of_walks_are_the_largest_significant_ones_of_each_sensor(seen, settings):
    assert walk_settings(coefficients(np.array(seen, dtype=bool))) == settings


def test_a_motion_needs_four_times_the_seven_samples_of_a_polynomial():
    """However short the window is."""
    time, positions = 0.01 * np.arange(27), np.zeros((27, 6))
    streams = SensorStreams(time, positions, time, np.zeros((27, 6)))
    with pytest.raises(TuningError, match='only 27 leg samples without a gap; at least 28 are needed'):
        motion_of_legs(SRS, streams, window=0.001)
