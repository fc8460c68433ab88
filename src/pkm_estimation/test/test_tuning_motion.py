"""Delay, noise factors and observability from recordings of a motion."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from pkm_description.loading import load_machine
from pkm_description.machine import Pose
from pkm_description.motion.profiles import fourier_profile, mp1_profile, mp2_profile, profile
from pkm_estimation.bags import BagWriter, Imu, JointStates, RecordedData
from pkm_estimation.bags.recorded_data import JointMessage
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.nodes.tune import main
from pkm_estimation.sensors import SensorConditions, measure, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, PlatformFilter
from pkm_estimation.tuning.delay import estimate_delay
from pkm_estimation.tuning.model_choice import choose_model
from pkm_estimation.tuning.noise_scales import run_estimator, suggest_noise_scales
from pkm_estimation.tuning.observability import UNSEEN, observability, observability_report, unseen_directions
from pkm_estimation.tuning.streams import SensorStreams, TuningError, motion_of_legs

SRS = load_machine('srs')
MECHANISM = SRS
MP1, MP2 = mp1_profile(SRS, 40.0), mp2_profile(SRS, 40.0)


def record(profile, conditions=None, seconds=20.0, begin=8.0, seed=0):
    time = begin + np.arange(round(100 * seconds)) / 100
    return simulate_sensors(MECHANISM, profile.evaluate, time, conditions or SensorConditions(), seed)


def streams_of(data):
    time = (data.stamps - data.stamps[0]) * 1e-9
    samples = np.hstack([data.specific_force, data.angular_rate])
    return SensorStreams(
        time[data.legs_received], data.drive_positions[data.legs_received], time[data.imu_received],
        samples[data.imu_received],
    )  # fmt: skip


def test_motion_of_legs_is_the_motion():
    """Velocities against those of the profile: the polynomials neither lag nor flatten much."""
    data = record(MP1, SensorConditions(noise=False))
    found = motion_of_legs(MECHANISM, streams_of(data))
    truth = MP1.evaluate(8.0 + found.time)
    np.testing.assert_allclose(found.angular_velocity, truth.angular_velocity, atol=2e-4)
    np.testing.assert_allclose(found.linear_velocity, truth.linear_velocity, atol=1e-4)
    np.testing.assert_allclose(found.linear_acceleration, truth.linear_acceleration, atol=2e-3)
    np.testing.assert_allclose(found.angular_acceleration, truth.angular_acceleration, atol=5e-3)


@pytest.mark.parametrize('profile', [MP1, MP2], ids=['mp1', 'mp2'])
@pytest.mark.parametrize('delay', [0.0, 0.03, -0.0137])
def test_delay_is_found_between_samples(profile, delay):
    """S3-49 asks for 2 ms at 30 ms; the stated deviation is honest, too."""
    found = estimate_delay(MECHANISM, streams_of(record(profile, SensorConditions(imu_delay=delay))))
    assert found.delay == pytest.approx(delay, abs=5e-4)
    assert abs(found.delay - delay) < 4.0 * found.std
    assert found.std < 5e-4


@pytest.mark.parametrize('misalignment', [(0.0, 0.0, 0.0), (0.03, -0.02, 0.05)])
@pytest.mark.parametrize('make', [mp1_profile, mp2_profile, fourier_profile])
def test_delay_is_true_on_noisy_legs_and_a_wrong_mounting(make, misalignment):
    """Other axes' signals are no delay, and the legs' noise (here as large as some channels) is no steepness."""
    machine = load_machine('palida')
    conditions = SensorConditions(imu_delay=0.03, imu_misalignment=misalignment)
    time = 12.0 + np.arange(2000) / 100
    data = simulate_sensors(machine, make(machine, 40.0).evaluate, time, conditions, 0)
    found = estimate_delay(machine, streams_of(data))
    shown = np.isfinite(found.channel_delay)
    assert (np.abs(found.channel_delay - 0.03) < 4.0 * found.channel_std)[shown].all()
    assert found.agree
    assert found.delay == pytest.approx(0.03, abs=3e-4)


def test_delays_of_single_axes_and_lost_samples():
    delays = (0.01, 0.02, 0.03, 0.03, 0.04, 0.05)
    conditions = SensorConditions(imu_delay=delays, imu_loss=0.05, leg_loss=0.05)
    found = estimate_delay(MECHANISM, streams_of(record(MP2, conditions, seconds=30.0)))
    shown = np.isfinite(found.channel_delay)
    assert shown[[0, 1, 3, 4]].all()
    np.testing.assert_allclose(found.channel_delay[shown], np.array(delays)[shown], atol=2e-3)
    assert not found.agree
    assert found.std > 4e-3  # one number for all cannot be more certain than that


def test_fluctuating_delay_widens_the_deviation():
    steady = estimate_delay(MECHANISM, streams_of(record(MP1, SensorConditions(imu_delay=0.03))))
    conditions = SensorConditions(imu_delay=0.03, imu_delay_fluctuation=5e-3)
    wandering = estimate_delay(MECHANISM, streams_of(record(MP1, conditions)))
    assert wandering.scatter > 1e-3
    assert wandering.std > 5.0 * steady.std
    assert abs(wandering.delay - 0.03) < 4.0 * wandering.std


def test_no_delay_from_a_standstill():
    data = measure(MECHANISM, profile('hold', SRS, 20.0), seed=1)
    still = SensorStreams(
        (data.stamps - data.stamps[0]) * 1e-9, data.drive_positions, (data.stamps - data.stamps[0]) * 1e-9,
        np.hstack([data.specific_force, data.angular_rate]),
    )  # fmt: skip
    with pytest.raises(TuningError, match='no IMU channel correlates with the motion'):
        estimate_delay(MECHANISM, still)


def test_noise_factors_are_found_from_a_wrong_q():
    """S3-55: 90-98 % in band from a Q that is 100 times wrong; and the factors are those of the simulated noise."""
    streams = streams_of(record(MP1, seconds=11.0))
    found = suggest_noise_scales(SRS, streams, EstimatorConfig(q_scale=100.0))
    assert found.before.in_band > 0.995
    assert 0.90 < found.after.in_band < 0.98
    assert 0.5 < found.q_scale < 2.0
    assert 0.9 < found.r_scale < 1.1
    assert abs(found.after.autocorrelation) < 0.1


def test_observability_agrees_with_the_covariance_of_the_filter():
    """The unscented filter on noisy data claims no more than can be known, and little less.

    What it learns of the delay in the first seconds counts for a hundredth only, the analysis counts it in full.
    """
    motion = profile('mp1', SRS, 30.0)[slice(800, 2300)]
    foretold = observability(MECHANISM, motion, ('imu_delay',))
    data = measure(MECHANISM, motion, seed=3)
    config = EstimatorConfig(estimate=('imu_delay',), start_position_std=1.0, start_attitude_std=0.1)
    frame = ImuFrame(SRS.imu)
    filter_ = PlatformFilter(
        EstimatorGeometry.from_machine(SRS), frame.noise_covariance, np.diag(SRS.leg_sensors.position_noise**2), config
    )
    filter_.start_at(Pose(motion.position[0], motion.rotation_base_platform[0]))
    inputs = [frame.to_platform(sample) for sample in np.hstack([data.specific_force, data.angular_rate])]
    filter_.update(data.drive_positions[0])
    for k in range(1, len(motion)):
        filter_.predict(inputs[k - 1], inputs[k], 0.01)
        filter_.update(data.drive_positions[k])
    std = np.sqrt(filter_.covariance[15, 15])
    assert 0.98 * foretold.std[0] < std < 1.4 * foretold.std[0]


def test_what_is_not_seen_is_named():
    """At rest nothing is seen; MP1 turns about one axis, and the IMU's place along it makes no difference."""
    still = observability(MECHANISM, profile('hold', SRS, 5.0))
    ratio, _ = still.directions()
    assert (ratio > UNSEEN).all()
    told = unseen_directions(still)
    assert len(told) == len(still.names) == 13
    assert 'common offset of all drives (~ another height)' in told
    assert {'imu_delay', 'imu_position x', 'imu_rotation z'} < set(told)

    moving = observability(MECHANISM, profile('mp1', SRS, 30.0)[slice(800, 2300)])
    ratio, vectors = moving.directions()
    assert np.count_nonzero(ratio > UNSEEN) == 1
    along = vectors[-1][moving.groups['imu_position']]
    np.testing.assert_allclose(np.abs(along), [0.5**0.5, 0.5**0.5, 0.0], atol=0.02)  # the axis of rotation
    assert along[0] * along[1] < 0.0
    text = '\n'.join(observability_report(moving))
    assert 'not seen (1 of 13 directions)' in text


def test_what_a_machine_of_less_freedom_cannot_show_is_named():
    """A Delta never turns: nothing tells where the IMU is. A plane shows nothing along its normal."""
    delta, planar = load_machine('delta'), load_machine('khalifa_3prr')
    moving = observability(delta, profile('drives', delta, 30.0)[slice(500, 2500)])
    assert unseen_directions(moving) == ['imu_position x', 'imu_position y', 'imu_position z']
    assert moving.units[:4] == ('rad', 'rad', 'rad', 's')  # its drives turn
    moving = observability(planar, profile('drives', planar, 20.0, 50.0)[slice(150, 500)])
    assert unseen_directions(moving) == ['common offset of all drives', 'imu_position z']
    assert 'offsets that look like' not in '\n'.join(observability_report(moving))


def test_command_writes_settings_that_the_estimator_takes(tmp_path, capsys):
    data = record(MP1, SensorConditions(imu_delay=0.03), seconds=12.0)
    with BagWriter(tmp_path / 'bag', 'mcap', '') as writer:
        writer.write_joint_states(data.stamps, MECHANISM.actuated_joint_names, data.drive_positions)
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
    assert main([str(tmp_path / 'bag'), '--keep-r', '-o', str(tmp_path / 'out')]) == 0
    printed = capsys.readouterr().out
    assert 'imu_delay: 0.0300' in printed
    assert 'not seen (1 of 13 directions)' in printed
    content = yaml.safe_load((tmp_path / 'out' / 'estimator.yaml').read_text())
    config = EstimatorConfig.from_mapping(content['/**']['ros__parameters'])
    assert config.imu_delay == pytest.approx(0.03, abs=5e-4)
    assert config.r_scale == 1.0
    assert 0.5 < config.q_scale < 2.0  # with the delay declared nothing is left for Q to cover: without, it is 2000


@pytest.mark.campaign
def test_command_keeps_the_settings_it_began_with_and_finds_a_wrong_mounting(tmp_path, capsys):
    """Before models were compared, a Q of thousands covered the mounting, and the gate accused a leg."""
    rich = fourier_profile(SRS, 40.0)
    data = record(rich, SensorConditions(imu_misalignment=(0.03, -0.02, 0.04)), seconds=12.0, begin=0.0)
    with BagWriter(tmp_path / 'bag', 'mcap', '') as writer:
        writer.write_joint_states(data.stamps, MECHANISM.actuated_joint_names, data.drive_positions)
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
    (tmp_path / 'mine.yaml').write_text('{imu_delay: 0.05, history: 1}')
    arguments = [str(tmp_path / 'bag'), '--config', str(tmp_path / 'mine.yaml'), '-o', str(tmp_path / 'out')]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert 'the mounting of the IMU is another one' in printed
    settings = yaml.safe_load((tmp_path / 'out' / 'estimator.yaml').read_text())['/**']['ros__parameters']
    assert settings['estimate'] == ['imu_rotation']
    assert settings['history'] == 1.0
    assert isinstance(settings['history'], float)  # or the node would refuse it
    assert settings.get('imu_delay', 0.0) == pytest.approx(0.0, abs=1e-4)
    assert settings.get('q_scale', 1.0) < 3.0


def everything_wrong(seed, seconds):
    """12 ms late, 2 degrees turned, 0.2 ms jitter, 2 % lost, biases that walk, 16 bit; and an ideal IMU."""
    turn = tuple(np.deg2rad(2.0) * np.array([0.6, -0.5, 0.62]))
    steps = {'accelerometer_step': 8.0 * 9.81 / 2**16, 'gyroscope_step': 8.7 / 2**16}
    conditions = SensorConditions(imu_delay=0.012, imu_misalignment=turn, imu_loss=0.02, leg_loss=0.02, **steps)
    data, random = record(MP1, conditions, seconds, seed=seed), np.random.default_rng([seed, 5])
    walk = np.cumsum(random.normal(size=(len(data.stamps), 6)), axis=0) * 0.1 * np.repeat([3e-4, 2e-5], 3)
    stamps = data.stamps + np.rint(2e5 * random.normal(size=len(data.stamps))).astype(np.int64)
    streams = streams_of(data)
    imu_time = (stamps - data.stamps[0])[data.imu_received] * 1e-9
    order = np.argsort(imu_time)
    imu = (np.hstack([data.specific_force, data.angular_rate]) + walk)[data.imu_received]
    return replace(streams, imu_time=imu_time[order], imu=imu[order]), streams_of(record(MP1, None, seconds, seed=seed))


def position_error(result, begin=8.0):
    """Rms of the last third."""
    time = begin + (result.motion.stamps - 1_000_000_000) * 1e-9
    late = time > time[0] + 2.0 / 3.0 * np.ptp(time)
    error = result.motion.position[late] - MP1.evaluate(time[late]).position
    return np.sqrt(np.mean(error**2)), np.nanmean(result.nis[late])


@pytest.mark.campaign
def test_everything_wrong_at_once_is_found():
    """The first result is within twice the position error of ideal sensors, and consistent."""
    wrong, ideal = everything_wrong(0, 24.0)
    delay = estimate_delay(MECHANISM, wrong).delay
    choice = choose_model(SRS, wrong, delay=delay)
    assert choice.is_better, choice.reason
    assert choice.config.imu_delay == pytest.approx(0.012, abs=2e-4)
    assert choice.config.estimate == ('imu_rotation',)
    usual = position_error(run_estimator(SRS, wrong, EstimatorConfig()))
    tuned = position_error(run_estimator(SRS, wrong, choice.config))
    best = position_error(run_estimator(SRS, ideal, EstimatorConfig()))
    assert usual[0] > 2.0 * best[0]  # the IMU is left out: legs alone
    assert tuned[0] < 2.0 * best[0]
    assert 4.8 < tuned[1] < 7.2
    assert choice.after.objective < choice.before.objective - 100.0


@pytest.mark.xfail(strict=True, reason='the filter corrects a wrong delay by itself: it spoils nothing')
def test_what_does_not_hold_in_the_last_third_is_not_written():
    """The IMU is late in the first two thirds only: the delay that explains these would spoil what follows."""
    late, right = (record(MP1, SensorConditions(imu_delay=delay), 12.0) for delay in (0.012, 0.0))
    early = (np.arange(len(late.stamps)) < 800)[:, None]
    force, rate = (np.where(early, getattr(late, k), getattr(right, k)) for k in ('specific_force', 'angular_rate'))
    streams = streams_of(replace(late, specific_force=force, angular_rate=rate))
    choice = choose_model(SRS, streams, delay=0.012, keep_r=True)
    assert 'the IMU is 12.00 ms late' in choice.found
    assert not choice.is_better
    assert 'last third' in choice.reason


def test_settings_that_are_right_stay(tmp_path, capsys):
    data = record(MP1, seconds=12.0)
    with BagWriter(tmp_path / 'bag', 'mcap', '') as writer:
        writer.write_joint_states(data.stamps, MECHANISM.actuated_joint_names, data.drive_positions)
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
    assert main([str(tmp_path / 'bag'), '-o', str(tmp_path / 'out')]) == 0
    assert 'no settings are written' in capsys.readouterr().out
    assert not (tmp_path / 'out' / 'estimator.yaml').exists()
    assert 'no settings are written' in (tmp_path / 'out' / 'report.txt').read_text()
    page = (tmp_path / 'out' / 'report.html').read_text()
    assert re.search(r'<h1>.*</h1>\s*<p class="box warning"><strong>No settings are written: ', page)
    assert '://' not in page and 'of simulated time' in page and '<h2>Models of the sensors' in page


def test_joints_of_a_gripper_and_another_order_of_the_drives():
    """Messages of a gripper alone, drives in another order, and both together, as the estimator takes them."""
    data, names = record(MP1, seconds=2.0), SRS.actuated_joint_names
    imu = Imu(
        data.stamps, data.stamps, SRS.imu.frame, data.specific_force, data.angular_rate, np.full((200, 4), np.nan)
    )
    positions, none = data.drive_positions.copy(), np.full((200, 6), np.nan)
    unlike = {}
    for row in range(3, 200, 3):
        unlike[row] = JointMessage((*names[::-1], 'finger'), np.append(positions[row, ::-1], 0.3), np.zeros(7))
    for row in range(4, 200, 3):
        unlike[row] = JointMessage(('finger',), np.array([0.3]), np.zeros(1))
    for row in unlike:
        positions[row] = np.nan
    legs = JointStates(data.stamps, data.stamps, names, positions, none, none, unlike)
    streams = SensorStreams.from_recording(SRS, RecordedData('bag', {}, joint_states=legs, imu_data_raw=imu))
    rows = np.array([row for row in range(200) if row < 4 or row % 3 != 1])
    np.testing.assert_array_equal(streams.drive_positions, data.drive_positions[rows])
    np.testing.assert_allclose(streams.leg_time, 0.01 * rows, atol=1e-12)
    assert streams.dropped == 0


def test_a_standstill_shows_no_constant(tmp_path, capsys):
    data = measure(MECHANISM, profile('hold', SRS, 6.0), seed=1)
    with BagWriter(tmp_path / 'bag', 'mcap', '') as writer:
        writer.write_joint_states(data.stamps, MECHANISM.actuated_joint_names, data.drive_positions)
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
    assert main([str(tmp_path / 'bag'), '--motion', '--keep-r']) == 0
    printed = capsys.readouterr().out
    assert 'no delay' in printed
    assert 'shows none of the constants' in printed


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        ([], 'either a recording or --profile'),
        (['--profile', 'waltz'], 'waltz'),
        (['--profile', 'mp1', '--duration', '0'], 'at least 2 s'),
    ],
)
def test_command_says_what_is_wrong(arguments, reason, capsys):
    assert main(arguments) == 1
    assert reason in capsys.readouterr().err
