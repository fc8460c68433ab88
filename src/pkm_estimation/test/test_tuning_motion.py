"""Delay, constants of the sensors, noise and observability from recordings of a motion."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from estimated import write_bag
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import fourier_profile, mp1_profile, mp2_profile, profile
from pkm_estimation.bags import Imu, JointStates, RecordedData
from pkm_estimation.bags.recorded_data import JointMessage
from pkm_estimation.calibration.sensors import foretold, observability_report, sensors_of_motion
from pkm_estimation.nodes import tune
from pkm_estimation.offline.estimate import estimate_recording, recorded
from pkm_estimation.sensors import SensorConditions, measure, simulate_sensors
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tuning.delay import estimate_delay, motion_of_legs
from pkm_estimation.tuning.noise import noise_figures
from pkm_estimation.tuning.streams import SensorStreams, TuningError

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
    found = motion_of_legs(MECHANISM, streams_of(data), 0.15)
    truth = MP1.evaluate(8.0 + found.time)
    np.testing.assert_allclose(found.angular_velocity, truth.angular_velocity, atol=2e-4)
    np.testing.assert_allclose(found.linear_velocity, truth.linear_velocity, atol=1e-4)
    np.testing.assert_allclose(found.linear_acceleration, truth.linear_acceleration, atol=2e-3)
    np.testing.assert_allclose(found.angular_acceleration, truth.angular_acceleration, atol=5e-3)


@pytest.mark.parametrize('profile', [MP1, MP2], ids=['mp1', 'mp2'])
@pytest.mark.parametrize('delay', [0.0, 0.03, -0.0137, 0.2])
def test_delay_is_found_between_samples(profile, delay):
    """S3-49 asks for 2 ms at 30 ms; the stated deviation is honest, too."""
    found, std = estimate_delay(MECHANISM, streams_of(record(profile, SensorConditions(imu_delay=delay))))
    assert found == pytest.approx(delay, abs=5e-4)
    assert abs(found - delay) < 4.0 * std < 1e-3


@pytest.mark.parametrize('misalignment', [(0.0, 0.0, 0.0), (0.03, -0.02, 0.05), (1.2, 0.3, -2.0)])
@pytest.mark.parametrize('make', [mp1_profile, mp2_profile, fourier_profile])
def test_delay_is_true_on_noisy_legs_and_a_wrong_mounting(make, misalignment):
    """Other axes' signals are no delay, and the legs' noise (here as large as some channels) is no steepness."""
    machine = load_machine('palida')
    conditions = SensorConditions(imu_delay=0.03, imu_misalignment=misalignment)
    time = 12.0 + np.arange(2000) / 100
    data = simulate_sensors(machine, make(machine, 40.0).evaluate, time, conditions, 0)
    found, std = estimate_delay(machine, streams_of(data))
    assert abs(found - 0.03) < 4.0 * std
    assert found == pytest.approx(0.03, abs=5e-4)


def test_fluctuating_delay_widens_the_deviation():
    steady = estimate_delay(MECHANISM, streams_of(record(MP1, SensorConditions(imu_delay=0.03))))
    conditions = SensorConditions(imu_delay=0.03, imu_delay_fluctuation=5e-3)
    delay, std = estimate_delay(MECHANISM, streams_of(record(MP1, conditions)))
    assert std > 5.0 * steady[1]
    assert abs(delay - 0.03) < 4.0 * std


def test_no_delay_from_a_standstill():
    data = measure(MECHANISM, profile('hold', SRS, 20.0), seed=1)
    still = SensorStreams(
        (data.stamps - data.stamps[0]) * 1e-9, data.drive_positions, (data.stamps - data.stamps[0]) * 1e-9,
        np.hstack([data.specific_force, data.angular_rate]),
    )  # fmt: skip
    with pytest.raises(TuningError, match='does not show the motion of the legs'):
        estimate_delay(MECHANISM, still)


def test_noise_factors_are_found_from_a_wrong_q():
    """S3-55: 90-98 % in band from a Q that is 100 times wrong; and the factors are those of the simulated noise."""
    data = recorded(SRS, record(MP1, seconds=11.0))
    found = noise_figures(SRS, data, EstimatorConfig(q_scale=100.0))
    assert found.before.in_band > 0.995
    assert 0.90 < found.after.in_band < 0.98
    assert 0.5 < found.config.q_scale < 2.0
    assert 0.9 < found.config.r_scale < 1.1
    assert abs(found.after.autocorrelation) < 0.1


def test_command_finds_the_constants_of_the_imu_within_their_deviations(tmp_path, capsys, monkeypatch):
    """Turned by 3.5 degrees, 30 ms late and 15 mm elsewhere, all at once; the estimator takes what is written."""
    place = np.array([0.01, -0.01, 0.005])
    machine = replace(SRS, imu=replace(SRS.imu, position=SRS.imu.position + place))
    conditions = SensorConditions(imu_delay=0.03, imu_misalignment=(0.03, -0.02, 0.05))
    rich, results = fourier_profile(SRS, 40.0), []
    data = simulate_sensors(machine, rich.evaluate, np.arange(1600) / 100, conditions, 0)
    write_bag(tmp_path / 'bag', MECHANISM, data)
    monkeypatch.setattr(tune, 'sensors_of_motion', lambda *a: results.append(sensors_of_motion(*a)) or results[0])
    assert tune.main([str(tmp_path / 'bag'), '--keep-r', '-o', str(tmp_path / 'out')]) == 0
    (found,) = results
    solution, constants = found.solution, found.solution.constants
    assert found.is_better, found.reason
    assert len(found.found) == 3 and 'late' in found.found[0]
    std = dict(zip(constants.names, solution.std, strict=True))
    assert abs(found.config.imu_delay - 0.03) < 4.0 * std['delay'] < 5e-4
    off = found.machine.imu.position - machine.imu.position
    assert (np.abs(off) < [4.0 * std[f'place {axis}'] for axis in 'xyz']).all() and np.abs(off).max() < 5e-4
    turned = found.machine.imu.rotation_platform_imu @ SRS.imu.rotation_platform_imu.T
    assert np.linalg.norm(turned - rotation_exp(np.array([0.03, -0.02, 0.05]))) < 5e-4
    assert 0.9 < found.after.ratio < 1.1
    printed = capsys.readouterr().out
    assert re.search(r'the IMU is (29\.9|30\.0)\d ms late', printed)
    assert 'directions)' in printed
    content = yaml.safe_load((tmp_path / 'out' / 'estimator.yaml').read_text())
    config = EstimatorConfig.from_mapping(content['/**']['ros__parameters'])
    assert config.imu_delay == pytest.approx(0.03, abs=1e-4)
    assert config.r_scale == 1.0
    assert 0.5 < config.q_scale < 2.0  # with the delay declared nothing is left for Q to cover: without, it is 2000


def test_what_is_not_seen_is_named():
    """At rest nothing is seen; MP1 turns about one axis, and gyroscopes' scale about others makes no difference."""
    still = foretold(MECHANISM, profile('hold', SRS, 16.0), EstimatorConfig(), 3e-4)
    assert len(still.not_determined()) == len(still.values)
    moving = foretold(MECHANISM, profile('mp1', SRS, 30.0), EstimatorConfig(), 3e-4)
    names, ratio = moving.constants.names, moving.std / moving.constants.std
    seen = {name for name, part in zip(names, ratio, strict=True) if part < 0.1}
    assert {'delay', 'place z', 'mounting x', 'mounting y', 'mounting z', 'skew'} <= seen
    text = '\n'.join(observability_report(moving))
    assert 'gyroscope zz                             0.003     0.003       NOT SEEN' in text
    assert f'of {len(names)} directions)' in text


def test_what_a_machine_of_less_freedom_cannot_show_is_named():
    """A Delta never turns: nothing tells where the IMU is."""
    delta = load_machine('delta')
    found = foretold(delta, profile('drives', delta, 15.0), EstimatorConfig(), 3e-4)
    ratio = dict(zip(found.constants.names, found.std / found.constants.std, strict=True))
    assert min(ratio[f'place {axis}'] for axis in 'xyz') > 0.99 and ratio['delay'] < 0.1
    assert found.constants.units[0] == 'rad'  # its drives turn


@pytest.mark.campaign
def test_command_keeps_the_settings_it_began_with_and_finds_a_wrong_mounting(tmp_path, capsys):
    """Of an IMU on time that is declared late: the delay goes, other settings stay, and the mounting is an overlay."""
    rich, turn = fourier_profile(SRS, 40.0), np.array([0.03, -0.02, 0.04])
    data = record(rich, SensorConditions(imu_misalignment=tuple(turn)), seconds=16.0, begin=0.0)
    write_bag(tmp_path / 'bag', MECHANISM, data)
    (tmp_path / 'mine.yaml').write_text('{imu_delay: 0.05, history: 1}')
    arguments = [str(tmp_path / 'bag'), '--config', str(tmp_path / 'mine.yaml'), '-o', str(tmp_path / 'out')]
    assert tune.main(arguments) == 0
    printed = capsys.readouterr().out
    assert 'the mounting of the IMU is not that of the machine file' in printed
    settings = yaml.safe_load((tmp_path / 'out' / 'estimator.yaml').read_text())['/**']['ros__parameters']
    assert settings['history'] == 1.0
    assert isinstance(settings['history'], float)  # or the node would refuse it
    assert settings.get('imu_delay', 0.0) == pytest.approx(0.0, abs=1e-4)
    assert settings.get('q_scale', 1.0) < 3.0
    found = load_machine('srs', tmp_path / 'out' / 'sensors.yaml')
    turned = found.imu.rotation_platform_imu @ SRS.imu.rotation_platform_imu.T
    assert np.linalg.norm(turned - rotation_exp(turn)) < 1e-3
    assert np.array_equal(found.lengths_at_zero, SRS.lengths_at_zero)  # the geometry stays


def everything_wrong(seed, seconds):
    """12 ms late, 2 degrees turned, 0.2 ms jitter, 2 % lost, biases that walk, 16 bit; and an ideal IMU."""
    turn = tuple(np.deg2rad(2.0) * np.array([0.6, -0.5, 0.62]))
    steps = {'accelerometer_step': 8.0 * 9.81 / 2**16, 'gyroscope_step': 8.7 / 2**16}
    conditions = SensorConditions(imu_delay=0.012, imu_misalignment=turn, imu_loss=0.02, leg_loss=0.02, **steps)
    data, random = record(MP1, conditions, seconds, seed=seed), np.random.default_rng([seed, 5])
    walk = np.cumsum(random.normal(size=(len(data.stamps), 6)), axis=0) * 0.1 * np.repeat([3e-4, 2e-5], 3)
    walk, wrong = walk[data.imu_received], recorded(SRS, data)
    imu = wrong.imu_data_raw
    stamps = imu.stamps + np.rint(2e5 * random.normal(size=len(imu.stamps))).astype(np.int64)
    order = np.argsort(stamps)
    imu = replace(
        imu, stamps=stamps[order], recorded_at=stamps[order], specific_force=(imu.specific_force + walk[:, :3])[order],
        angular_rate=(imu.angular_rate + walk[:, 3:])[order],
    )  # fmt: skip
    return replace(wrong, imu_data_raw=imu), recorded(SRS, record(MP1, None, seconds, seed=seed))


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
    found = sensors_of_motion(SRS, wrong, EstimatorConfig(), 3e-4)
    assert found.is_better, found.reason
    assert found.config.imu_delay == pytest.approx(0.012, abs=2e-4)
    assert any('mounting' in words for words in found.found)
    tuned = position_error(estimate_recording(found.machine, wrong, found.config))
    best = position_error(estimate_recording(SRS, ideal))
    assert tuned[0] < 2.0 * best[0]
    assert 4.8 < tuned[1] < 7.2
    assert found.after.objective < found.before.objective - 100.0


def test_what_does_not_hold_in_the_last_third_is_not_written():
    """The IMU is late in the first two thirds only: the delay that explains these would spoil what follows."""
    late, right = (record(MP1, SensorConditions(imu_delay=delay), 18.0) for delay in (0.012, 0.0))
    early = (np.arange(len(late.stamps)) < 1200)[:, None]
    force, rate = (np.where(early, getattr(late, k), getattr(right, k)) for k in ('specific_force', 'angular_rate'))
    data = recorded(SRS, replace(late, specific_force=force, angular_rate=rate))
    found = sensors_of_motion(SRS, data, EstimatorConfig(), 3e-4, keep_r=True)
    assert any(re.match(r'the IMU is (11\.9|12\.0)', words) for words in found.found), found.found
    assert not found.is_better
    assert 'last third' in found.reason


def test_settings_that_are_right_stay(tmp_path, capsys):
    data = record(MP1, seconds=16.0)
    write_bag(tmp_path / 'bag', MECHANISM, data)
    assert tune.main([str(tmp_path / 'bag'), '-o', str(tmp_path / 'out')]) == 0
    assert 'no settings are written' in capsys.readouterr().out
    assert not (tmp_path / 'out' / 'estimator.yaml').exists()
    assert 'no settings are written' in (tmp_path / 'out' / 'report.txt').read_text()
    page = (tmp_path / 'out' / 'report.html').read_text()
    assert re.search(r'<h1>.*</h1>\s*<p class="box warning"><strong>No settings are written: ', page)
    assert '://' not in page and 'of simulated time' in page and '<h2>Sensors by the innovations' in page


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


@pytest.mark.campaign
def test_a_standstill_shows_no_constant(tmp_path, capsys):
    data = measure(MECHANISM, profile('hold', SRS, 16.0), seed=1)
    write_bag(tmp_path / 'bag', MECHANISM, data)
    assert tune.main([str(tmp_path / 'bag'), '--motion', '--keep-r']) == 0
    printed = capsys.readouterr().out
    assert 'no settings are written' in printed
    assert 'not seen (36 of 36 directions)' in printed


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        ([], 'either a recording or --profile'),
        (['--profile', 'waltz'], 'waltz'),
        (['--profile', 'mp1', '--duration', '0'], 'at least 2 s'),
    ],
)
def test_command_says_what_is_wrong(arguments, reason, capsys):
    assert tune.main(arguments) == 1
    assert reason in capsys.readouterr().err
