"""Noise, biases and Allan deviation from standstill: numbers that were put in come out again.

Small problems with a second way to the answer first, whole recordings behind them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from estimated import write_bag
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.profiles import mp1
from pkm_estimation.bags import BagWriter
from pkm_estimation.nodes.tune import main
from pkm_estimation.sensors import measure
from pkm_estimation.tuning.allan import (
    FLICKER,
    AllanCoefficients,
    AllanDeviation,
    allan_coefficients,
    overlapping_allan_deviation,
    walk_settings,
)
from pkm_estimation.tuning.static_calibration import calibrate_static, channel_noise, write_sensor_overlay
from pkm_estimation.tuning.streams import SensorStreams, TuningError
from scipy.stats import t

SRS = load_machine('srs')
MECHANISM = SRS
BIAS = np.concatenate([SRS.imu.accelerometer_bias, SRS.imu.gyroscope_bias])
NOISE = np.concatenate([SRS.imu.accelerometer_noise, SRS.imu.gyroscope_noise])


def at_rest(seconds):
    """A platform that stands still, tilted and turned."""
    count = round(100 * seconds)
    still = np.zeros((count, 3))
    turn = rotation_exp(np.array([0.08, -0.05, 0.1]))
    position = SRS.home.position + np.array([0.05, -0.1, 0.02])
    return PlatformMotion(
        np.arange(count) / 100, np.tile(position, (count, 1)), np.tile(turn, (count, 1, 1)), still, still, still, still
    )


def streams_of(data, positions=None):
    time = (data.stamps - data.stamps[0]) * 1e-9
    positions = data.drive_positions if positions is None else positions
    return SensorStreams(time, positions, time, np.hstack([data.specific_force, data.angular_rate]))


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


# -- whole recordings ---------------------------------------------------------------------------------------------


def test_tables_4_and_5_are_recovered():
    """S3-54: noise within 5 %, biases within two of their standard deviations, on a platform that is not level."""
    found = calibrate_static(MECHANISM, streams_of(measure(MECHANISM, at_rest(60.0), seed=1)))
    np.testing.assert_allclose(found.imu.noise, NOISE, rtol=0.05)
    np.testing.assert_allclose(found.legs.noise, SRS.leg_sensors.position_noise, rtol=0.05)
    assert (np.abs(found.bias - BIAS) < 2.0 * found.bias_std).all()
    assert (found.bias_std < NOISE / np.sqrt(6000) * 2.0).all()
    for noise, truth in ((found.imu, NOISE), (found.legs, SRS.leg_sensors.position_noise)):
        assert ((noise.noise_interval[:, 0] < truth) & (truth < noise.noise_interval[:, 1])).all()


def test_attitude_error_of_leg_offsets_is_in_the_systematic_deviation():
    """Offsets drawn with the deviation that was declared: their effect on the bias agrees with what was foretold."""
    random, std, ratios = np.random.default_rng(0), 3e-4, []
    data = measure(MECHANISM, at_rest(12.0), seed=2)
    for _ in range(12):
        shifted = streams_of(data, data.drive_positions + std * random.normal(size=6))
        found = calibrate_static(MECHANISM, shifted, std)
        ratios.append((found.bias - BIAS)[:2] / found.bias_systematic[:2])
    assert 0.6 < np.sqrt(np.mean(np.square(ratios))) < 1.4  # chi-square with 24 degrees of freedom


def test_heavy_tails_and_drift_widen_the_intervals():
    random = np.random.default_rng(3)
    white, heavy = random.normal(size=(6000, 1)), random.standard_t(4.5, size=(6000, 1))
    drifting = white + np.linspace(0.0, 3.0, 6000)[:, None]
    plain, tailed, drift = (channel_noise(values, 0.01) for values in (white, heavy, drifting))
    assert tailed.noise_std / tailed.noise > 1.3 * plain.noise_std / plain.noise
    assert drift.mean_std > 5.0 * plain.mean_std
    assert drift.noise == pytest.approx(plain.noise, rel=1e-3)


def test_recording_that_moves_is_refused_with_time_and_distance():
    motion = mp1(SRS, duration=30.0)
    with pytest.raises(TuningError, match=r'leg\d_prismatic is 0\.3\d* m .*first exceeded at 1\.\d+ s'):
        calibrate_static(MECHANISM, streams_of(measure(MECHANISM, motion, seed=0)))
    # a platform at rest with one leg that creeps by a tenth of a millimetre, unnoticed by the eye
    data = measure(MECHANISM, at_rest(20.0), seed=0)
    creeping = data.drive_positions.copy()
    creeping[1500:, 2] += 1e-4
    with pytest.raises(TuningError, match=r'leg3_prismatic is 0\.0001\d* m .*first exceeded at 15\.00 s'):
        calibrate_static(MECHANISM, streams_of(data, creeping))
    # legs that stand still on a base that rocks
    rocking = streams_of(data)
    rocking.imu[:, 4] += 0.01 * np.sin(rocking.imu_time)
    with pytest.raises(TuningError, match='gyroscope y'):
        calibrate_static(MECHANISM, rocking)


def test_lossy_recordings_get_a_reason_or_what_they_hold(tmp_path, capsys):
    """Stamps of zero are no time; too few samples are refused in words; a lossy IMU has noise, but no Allan curve."""
    data = measure(MECHANISM, at_rest(30.0), seed=1)
    time = (data.stamps - data.stamps[0]) * 1e-9

    def run(name, legs, imu, stamps=data.stamps):
        with BagWriter(tmp_path / name, 'mcap', '') as writer:
            writer.write_joint_states(
                stamps[legs], MECHANISM.actuated_joint_names, data.drive_positions[legs]
            )
            writer.write_imu(stamps[imu], data.specific_force[imu], data.angular_rate[imu])
        code = main([str(tmp_path / name)])
        return code, capsys.readouterr()

    gap = (time < 1.5) | ((time > 9.5) & (time < 11.2))
    code, said = run('gap', gap, gap)
    assert code == 1
    assert 'samples of the legs in 11.2 s' in said.err
    code, said = run('few', time < 20.0, time < 0.02)
    assert code == 1
    assert 'too short' in said.err
    code, said = run('lossy', time < 20.0, np.random.default_rng(0).random(len(time)) > 0.8)
    assert code == 0
    assert 'no Allan deviation' in said.out
    stamps = data.stamps + 1_700_000_000_000_000_000
    stamps[0] = 0
    code, said = run('zero', time < 20.0, time < 20.0, stamps)
    assert code == 0
    assert 'standstill of 20.0 s' in said.out
    assert '2 samples left out' in said.err


def test_slow_white_noise_is_called_white():
    """Blocks of two samples are as white as long ones, and the intervals are not widened."""
    values = np.random.default_rng(2).normal(size=(4000, 3))
    found = channel_noise(values, 0.5)
    np.testing.assert_allclose(found.autocorrelation, 0.0, atol=0.06)
    np.testing.assert_allclose(found.noise_std, np.sqrt(0.5 / 2000), rtol=0.15)


def test_coarse_sensors_keep_honest_deviations(tmp_path):
    """Means of rounded readings err by parts of a step; what reads one number keeps the file's noise, exactly."""
    random = np.random.default_rng(5)
    truth = random.uniform(-0.5, 0.5, size=400)
    rounded = np.rint((truth + 0.1 * random.normal(size=(1200, 400))) / 0.37) * 0.37
    found = channel_noise(rounded, 0.01)
    normalised = (found.mean - truth) / found.mean_std
    several = found.noise > 0.0
    assert several.sum() > 200
    assert np.sqrt(np.mean(normalised[several] ** 2)) < 1.2
    assert np.sqrt(np.mean((rounded - truth)[:, several] ** 2)) < 1.2 * np.sqrt(np.mean(found.noise[several] ** 2))
    data = measure(MECHANISM, at_rest(12.0), seed=1)
    coarse = calibrate_static(MECHANISM, streams_of(data, 0.001 * np.rint(data.drive_positions / 0.001)))
    machine = load_machine('srs', write_sensor_overlay(tmp_path / 'o.yaml', MECHANISM, coarse, '', ''))
    np.testing.assert_array_equal(machine.leg_sensors.position_noise, SRS.leg_sensors.position_noise)


def test_random_walk_is_not_read_too_low():
    """Neither its bound (95 % are promised) nor, where it is seen, its value, over 150 channels."""
    random = np.random.default_rng(3)
    white, steps = random.normal(size=(2, 30000, 150))
    for walk, seen in ((1e-5, False), (1e-4, True)):
        allan = overlapping_allan_deviation(1e-3 * white + np.cumsum(walk * 0.1 * steps, axis=0), 0.01)
        found = allan_coefficients(allan)
        assert np.mean(found.random_walk_bound > walk) > 0.9
        assert np.mean(found.random_walk_seen) > 0.9 or not seen
        if seen:
            assert np.sqrt(np.mean(found.random_walk**2)) == pytest.approx(walk, rel=0.06)


def test_command_writes_an_overlay_that_loads(tmp_path, capsys):
    bag = write_bag(tmp_path / 'bag', MECHANISM, measure(MECHANISM, at_rest(30.0), seed=4))
    assert main([str(bag), '--machine', 'srs', '-o', str(tmp_path / 'out')]) == 0
    assert 'gyroscope x' in capsys.readouterr().out
    tuned = load_machine('srs', tmp_path / 'out' / 'sensors.yaml')
    np.testing.assert_allclose(tuned.imu.gyroscope_noise, SRS.imu.gyroscope_noise, rtol=0.06)
    np.testing.assert_allclose(tuned.imu.gyroscope_bias, SRS.imu.gyroscope_bias, atol=2e-5)
    assert not np.array_equal(tuned.leg_sensors.position_noise, SRS.leg_sensors.position_noise)
    overlay = yaml.safe_load((tmp_path / 'out' / 'sensors.yaml').read_text())
    assert set(overlay['overlay']) == {'machine', 'date', 'data', 'method'}
    assert overlay['standard_deviations']['sensors.imu.accelerometer.bias.x'] > 1e-4  # leg offsets
    assert (tmp_path / 'out' / 'allan.png').read_bytes().startswith(b'\x89PNG')
    page = (tmp_path / 'out' / 'report.html').read_text()
    assert '<p class="box"><strong>At rest: noise of the sensors' in page
    assert page.count('<img alt="Allan deviation" src="data:image/png;base64,') == 1
    assert main([str(bag), '-o', str(tmp_path / 'out')]) == 1  # nothing is overwritten
    assert 'is there already' in capsys.readouterr().err
    assert main([str(bag), '--overlay', str(tmp_path / 'out' / 'sensors.yaml'), '-o', str(tmp_path / 'again')]) == 0
    assert 'put both into one file' in capsys.readouterr().out
    moving = write_bag(tmp_path / 'moving', MECHANISM, measure(MECHANISM, mp1(SRS, duration=25.0), seed=0))
    capsys.readouterr()
    assert main([str(moving), '--static']) == 1
    assert 'does not stand still' in capsys.readouterr().err


def test_allan_deviation_of_a_ramp_and_of_a_sine_is_exact():
    """Closed forms without chance: slope * tau / sqrt(2), and A sin^2(pi f tau) / (pi f tau)."""
    time = 0.01 * np.arange(20000)
    frequency = 0.5
    sampled = np.stack([3.0 * time, np.sin(2.0 * np.pi * frequency * time)], axis=1)
    allan = overlapping_allan_deviation(sampled, 0.01)
    np.testing.assert_allclose(allan.deviation[:, 0], 3.0 * allan.tau / np.sqrt(2.0), rtol=1e-9)
    phase = np.pi * frequency * allan.tau
    seen = allan.tau < 20.0
    expected = np.sin(phase) ** 2 / phase
    np.testing.assert_allclose(allan.deviation[seen, 1], expected[seen], atol=5e-3)


def test_white_noise_and_random_walk_are_read_off():
    """Densities that were put in: deviation * sqrt(interval), and step / sqrt(interval)."""
    random = np.random.default_rng(5)
    count, interval = 200_000, 0.01
    white, walk = 2e-3, 1e-4
    values = white * random.normal(size=(count, 2))
    values[:, 1] += np.cumsum(walk * np.sqrt(interval) * random.normal(size=count))
    allan = overlapping_allan_deviation(values, interval)
    lower, upper = allan.interval(0.999)
    expected = np.sqrt(white**2 * interval / allan.tau)
    assert ((lower[:, 0] < expected) & (expected < upper[:, 0])).all()
    found = allan_coefficients(allan)
    np.testing.assert_allclose(found.white, white * np.sqrt(interval), rtol=0.03)
    assert not found.random_walk_seen[0]
    assert found.random_walk_seen[1]
    assert found.random_walk[1] == pytest.approx(walk, rel=0.2)
    # where white noise and random walk are equal, at tau = sqrt(3) N / K, lies the lowest point
    crossing = np.sqrt(3.0) * white * np.sqrt(interval) / walk
    assert 0.4 * crossing < found.instability_time[1] < 2.5 * crossing
    lowest = np.sqrt(2.0 * white * np.sqrt(interval) * walk / np.sqrt(3.0))
    assert found.bias_instability[1] * FLICKER == pytest.approx(lowest, rel=0.2)
