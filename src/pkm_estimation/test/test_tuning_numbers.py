"""Numbers of the tuning against what they stand for: confidence intervals, degrees of freedom, information of a motion.

Small problems with a second way to the answer, in milliseconds; whole recordings are in the other files of the tuning.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.kinematics import drive_positions
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.profiles import fourier_profile
from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.models import EstimatorGeometry, InertialProcess, LegLengthModel
from pkm_estimation.models.extra_states import ImuFrame, StateLayout
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.conditions import imu_truth
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tuning.allan import (
    AllanCoefficients,
    AllanDeviation,
    allan_coefficients,
    overlapping_allan_deviation,
    walk_settings,
)
from pkm_estimation.tuning.delay import _combined, _with_variance_between
from pkm_estimation.tuning.observability import Observability, observability, observability_report, unseen_directions
from pkm_estimation.tuning.static_calibration import calibrate_static, channel_noise
from pkm_estimation.tuning.streams import SensorStreams, TuningError, motion_of_legs

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
    assert (outside(7.0, *found.mean_interval.T) < 0.026).all() and outside(7.0, *found.mean_interval.T).sum() > 0.01
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


# -- information of a motion -------------------------------------------------------------------------------------------

MOTION = fourier_profile(SRS, 40.0).evaluate(15.0 + np.arange(13) / 20)
NAMES = ('leg_offsets', 'imu_delay', 'imu_rotation', 'imu_position')


def test_covariance_is_that_of_all_measurements_at_once():
    """Not sample by sample, but as one problem of least squares for the first state and the noise of every sample.

    Slopes are those of whole trajectories. The IMU is a hundred times noisier than it is, so that its noise counts.
    """
    config = EstimatorConfig(q_scale=1e4)
    found = observability(SRS, MOTION, NAMES, config)
    layout, geometry = StateLayout.of(15, 6, NAMES), EstimatorGeometry.from_machine(SRS)
    chart = MOTION.rotation_base_platform[0]
    process = InertialProcess(chart.T @ SRS.gravity, INTEGRATORS[config.integrator], layout.imu_rotation)
    process.set_noise(config.noise_inflation * config.q_scale * ImuFrame(SRS.imu).noise_covariance)
    legs = LegLengthModel(
        geometry.base_points, geometry.platform_points_from_imu, geometry.lengths_at_zero, SRS.gravity, layout
    )
    legs.set_chart(chart)
    inputs = np.hstack(imu_truth(MOTION, SRS.gravity, SRS.imu.position, np.eye(3)))
    size, steps = layout.size, len(MOTION) - 1
    start = np.zeros(size)
    start[:3] = chart.T @ MOTION.position[0] + SRS.imu.position
    start[3:6] = chart.T @ MOTION.linear_velocity[0]
    start[3:6] += np.cross(chart.T @ MOTION.angular_velocity[0], SRS.imu.position)

    def lengths(unknown):
        """Of all samples (K, N, 6), by first states and noise (K, n + 6 N)."""
        states, result = start + unknown[:, :size], []
        for k in range(steps + 1):
            if k:
                root = process.noise_factor(states[0], 0.05)
                states = process.propagate(np.ascontiguousarray(states), inputs[k - 1], inputs[k], 0.05)
                states = states + unknown[:, size + 6 * (k - 1) : size + 6 * k] @ root.T
            legs.follow(inputs[k], inputs[k], 1.0)
            result.append(legs.observe(np.ascontiguousarray(states)))
        return np.stack(result, axis=1)

    count = size + 6 * steps
    prior = np.ones(count)
    prior[:size] = np.repeat(
        [1.0, config.start_velocity_std, 0.1, config.start_accelerometer_bias_std, config.start_gyroscope_bias_std,
         config.leg_offset_std, config.imu_delay_std, config.imu_rotation_std, config.imu_position_std],
        [3, 3, 3, 3, 3, 6, 1, 3, 3],
    )  # fmt: skip
    step = 1e-5
    ends = lengths(np.vstack([np.zeros((1, count)), step * np.eye(count), -step * np.eye(count)]))
    slope = ((ends[1 : count + 1] - ends[count + 1 :]) / (2.0 * step)).reshape(count, -1).T
    noise = np.tile(np.sqrt(config.noise_inflation) * SRS.leg_sensors.position_noise, steps + 1)
    # in units of the prior, so that the information is one and more
    scaled = slope * prior / noise[:, None]
    covariance = np.linalg.inv(np.eye(count) + scaled.T @ scaled)[15:size, 15:size]
    assert found.prior == pytest.approx(prior[15:size])
    # trajectories integrate in steps of 50 ms, so that they are not quite the true ones
    assert found.covariance / np.outer(found.prior, found.prior) == pytest.approx(covariance, abs=5e-3)
    told = found.std / found.prior
    assert told.min() < 0.5 < told.max()  # some are seen, some are not
    assert told == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.02)


def test_offsets_that_look_like_a_pose_are_changes_of_the_drives_by_it():
    """Difference quotients of inverse kinematics, in the motion's middle and platform axes; of length one."""
    found = observability(SRS, MOTION, ('leg_offsets',))
    position, rotation = MOTION.position[6], MOTION.rotation_base_platform[6]
    for axis in range(6):
        ends = []
        for step in (1e-6, -1e-6):
            move = step * np.eye(6)[axis]
            moved = position + rotation @ move[:3], rotation @ rotation_exp(move[3:])
            ends.append(drive_positions(SRS, *moved))
        change = ends[0] - ends[1]
        assert found.pose_patterns[axis] == pytest.approx(change / np.linalg.norm(change), abs=1e-6)


def known(covariance, prior):
    names = (*(f'leg_offsets leg{k}' for k in range(1, 7)), 'imu_position x', 'imu_position y', 'imu_position z')
    groups = {'leg_offsets': slice(0, 6), 'imu_position': slice(6, 9)}
    patterns = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    return Observability(names, ('m',) * 9, groups, prior, covariance, patterns, (1.0, 1.0))


def test_directions_are_principal_axes_in_units_of_the_prior():
    random, prior = np.random.default_rng(4), np.repeat([1e-3, 0.1], [6, 3])
    axes, ratio = np.linalg.qr(random.normal(size=(9, 9)))[0], np.linspace(0.01, 0.9, 9)
    found = known((axes * ratio**2) @ axes.T * np.outer(prior, prior), prior)
    told, vectors = found.directions()
    assert told == pytest.approx(ratio)
    assert np.abs(np.sum(vectors * axes.T, axis=1)) == pytest.approx(1.0)
    assert found.information() == pytest.approx(1.0 / ratio**2 - 1.0)
    assert found.std == pytest.approx(np.sqrt(np.diag(found.covariance)))


def test_directions_that_are_not_seen_are_told_by_name_or_by_their_parts():
    """One constant by itself has a name; a sum of two has not, and is told in units, the larger first."""
    prior = np.repeat([1e-3, 0.1], [6, 3])
    both = np.zeros(9)
    both[7], both[1] = 0.8, -0.6
    scaled = 1e-4 * np.eye(9) + np.diag(np.eye(9)[6]) + np.outer(both, both)
    found = known(scaled * np.outer(prior, prior), prior)
    assert unseen_directions(found) == ['imu_position x', '+0.08 m imu_position y with -0.0006 m leg_offsets leg2']
    lines = observability_report(found)
    verdicts = [line.rsplit(' ', 2)[-2:] for line in lines[1:10]]
    assert [' '.join(words).replace('m ', '').strip() for words in verdicts] == [
        'seen', 'NOT SEEN', 'seen', 'seen', 'seen', 'seen', 'NOT SEEN', 'NOT SEEN', 'seen',
    ]  # fmt: skip
    assert 'not seen (2 of 9 directions):' in lines and '  imu_position x' in lines
    assert 'every combination' in observability_report(known(1e-4 * np.diag(prior**2), prior))[-1]


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


def test_channels_that_disagree_are_weighed_so_that_their_scatter_is_what_is_expected():
    """Paule and Mandel: squares sum up to one less than there are values."""
    values, weights = np.array([1.0, 1.4, 0.7, 2.0]), 1.0 / np.array([0.1, 0.2, 0.15, 0.3]) ** 2
    found = _with_variance_between(values, weights)
    mean = found @ values / found.sum()
    assert found @ (values - mean) ** 2 == pytest.approx(3.0)
    between = 1.0 / found - 1.0 / weights
    assert between == pytest.approx(np.full(4, between[0])) and between[0] > 0.0


@pytest.mark.parametrize(('square', 'agree'), [(10.7, True), (11.0, False), (13.5, False)])
def test_two_channels_agree_within_one_chance_in_a_thousand(square, agree):
    """Of chi-square with one degree of freedom, 10.83."""
    delays = np.full(6, np.nan)
    delays[[1, 4]] = 0.01 + np.array([-1.0, 1.0]) * 1e-3 * (0.5 * square) ** 0.5
    found = _combined(delays, np.full(6, 1e-3), np.full(6, 0.9), np.full(6, 1.0))
    assert found.agree == agree and found.delay == pytest.approx(0.01)


def test_a_motion_needs_four_times_the_five_samples_of_a_polynomial():
    """However short the window is."""
    time, positions = 0.01 * np.arange(19), np.zeros((19, 6))
    streams = SensorStreams(time, positions, time, np.zeros((19, 6)))
    with pytest.raises(TuningError, match='only 19 leg samples without a gap; at least 20 are needed'):
        motion_of_legs(SRS, streams, window=0.001)
