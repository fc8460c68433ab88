"""Noise, biases and faults of the simulator's sensors: their size, their independence, and each fault as it is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_bringup.simulation.faults import IMU_FAULTS, LEG_FAULTS, FaultError, SensorFaults, allowed_faults
from pkm_bringup.simulation.sensors import (
    Encoder,
    ImuModel,
    JointSample,
    JointSensorModel,
    NoiseStream,
    Sample,
    SimulatedImuSample,
)
from pkm_description.loading import load_machine

SRS = load_machine('srs')
NAMES = SRS.drive_labels
COUNT = 4000
STREAMS = (
    'accelerometer', 'gyroscope', 'joint_position', 'joint_velocity', 'joint_effort', 'encoder_position',
    'encoder_velocity',
)  # fmt: skip


def drawn(stream, seed=3, count=COUNT, std=(1.0, 2.0, 0.0)):
    noise = NoiseStream(seed, stream, np.array(std))
    return np.array([noise.next() for _ in range(count)])


def test_streams_are_independent_of_each_other_and_of_other_seeds():
    """Correlations of 4000 samples are below 5 / sqrt(4000), of all pairs of streams and at neighbouring samples."""
    columns = [drawn(name)[:, 0] for name in STREAMS] + [drawn(name, seed=4)[:, 0] for name in STREAMS]
    columns += [drawn(name)[:, 1] for name in STREAMS]
    correlation = np.corrcoef(columns)
    np.fill_diagonal(correlation, 0.0)
    assert np.abs(correlation).max() < 5.0 / np.sqrt(COUNT)
    late = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in columns]
    assert np.abs(late).max() < 5.0 / np.sqrt(COUNT)


def test_noise_has_the_stated_deviation_and_depends_on_seed_name_and_number_only():
    values = drawn('gyroscope')
    assert values.std(axis=0) == pytest.approx([1.0, 2.0, 0.0], rel=0.05)
    assert np.abs(values.mean(axis=0)).max() < 5.0 * 2.0 / np.sqrt(COUNT)
    assert np.array_equal(values[:5], drawn('gyroscope', count=5))


@pytest.mark.parametrize('noise', [True, False])
def test_imu_adds_its_biases_and_noise(noise):
    imu = replace(
        SRS.imu, accelerometer_bias=np.array([0.1, -0.2, 0.3]), gyroscope_bias=np.array([0.01, 0.02, -0.03]),
        accelerometer_noise=np.array([0.02, 0.01, 0.03]), gyroscope_noise=np.array([1e-3, 2e-3, 3e-3]),
    )  # fmt: skip
    model, force, rate = ImuModel(imu, 1, noise), np.array([1.0, 2.0, 9.0]), np.array([0.4, -0.5, 0.6])
    samples = [model.measure(force, rate) for _ in range(COUNT)]
    forces, rates = (np.array([getattr(s, name) for s in samples]) for name in ('specific_force', 'angular_rate'))
    scale = 1.0 if noise else 0.0
    assert forces.mean(axis=0) - force == pytest.approx(scale * imu.accelerometer_bias, abs=0.003)
    assert rates.mean(axis=0) - rate == pytest.approx(scale * imu.gyroscope_bias, abs=3e-4)
    assert forces.std(axis=0) == pytest.approx(scale * imu.accelerometer_noise, rel=0.05, abs=1e-12)
    assert rates.std(axis=0) == pytest.approx(scale * imu.gyroscope_noise, rel=0.05, abs=1e-12)


@pytest.mark.parametrize('noise', [True, False])
def test_joint_sensors_add_their_noise(noise):
    sensors = replace(
        SRS.leg_sensors, position_noise=np.arange(1.0, 7.0), velocity_noise=np.arange(2.0, 8.0),
        effort_noise=np.arange(3.0, 9.0),
    )  # fmt: skip
    model = JointSensorModel(sensors, 1, noise)
    samples = [model.measure(np.full(6, 10.0), np.full(6, 20.0), np.full(6, 30.0)) for _ in range(COUNT)]
    for name, mean, std in (('positions', 10.0, 1.0), ('velocities', 20.0, 2.0), ('efforts', 30.0, 3.0)):
        values = np.array([getattr(sample, name) for sample in samples])
        expected = np.arange(std, std + 6.0) if noise else np.zeros(6)
        assert values.mean(axis=0) == pytest.approx(np.full(6, mean), abs=1.0 if noise else 1e-12)
        assert values.std(axis=0) == pytest.approx(expected, rel=0.06)


def test_late_efforts():
    model = JointSensorModel(replace(SRS.leg_sensors, effort_delay=2.0 / SRS.leg_sensors.rate), 1, False)
    found = [model.measure(np.zeros(6), np.zeros(6), np.full(6, float(sample))).efforts[0] for sample in range(5)]
    assert found == [0.0, 0.0, 0.0, 1.0, 2.0]


def test_efforts_behind_a_filter():
    """A step of the forces arrives as by the differential equation, and later by whole samples."""
    rate = SRS.leg_sensors.rate
    sensors = replace(SRS.leg_sensors, effort_delay=2.0 / rate, effort_lag=10.0 / rate)
    model = JointSensorModel(sensors, 1, False)
    found = [model.measure(np.zeros(6), np.zeros(6), np.full(6, float(place > 0))).efforts[0] for place in range(40)]
    since = np.arange(40) - 2.5  # a step between two samples is a ramp
    assert found == pytest.approx(np.where(since > 0.0, -np.expm1(-since / 10.0), 0.0), abs=2e-3)


def test_encoder_has_noise_of_its_own_and_steps():
    sensors = replace(SRS.leg_sensors, position_noise=np.full(6, 1e-3), velocity_noise=np.full(6, 2e-3))
    fine, coarse = Encoder(sensors, 1), Encoder(sensors, 1, resolution=0.01)
    published = JointSensorModel(sensors, 1, True)
    values = [(fine.measure(np.full(6, 0.5), np.full(6, 0.1)), coarse.measure(np.full(6, 0.5), np.full(6, 0.1)),
               published.measure(np.full(6, 0.5), np.full(6, 0.1), np.zeros(6))) for _ in range(COUNT)]  # fmt: skip
    positions = np.array([one[0] for one, _, _ in values])
    assert positions.std() == pytest.approx(1e-3, rel=0.05) and positions.mean() == pytest.approx(0.5, abs=1e-4)
    assert np.array([one[1] for one, _, _ in values]).std() == pytest.approx(2e-3, rel=0.05)
    assert np.array([two[0] for _, two, _ in values]) == pytest.approx(0.01 * np.round(positions / 0.01))
    others = np.array([three.positions for _, _, three in values])
    assert abs(np.corrcoef(positions[:, 0], others[:, 0])[0, 1]) < 5.0 / np.sqrt(COUNT)


# -- faults ------------------------------------------------------------------------------------------------------------

POSITIONS, VELOCITIES, EFFORTS = np.arange(1.0, 7.0), np.arange(11.0, 17.0), np.arange(21.0, 27.0)
FORCE, RATE = np.array([1.0, 2.0, 9.80665]), np.array([0.1, -0.2, 0.3])


def sample(shift=0.0):
    joints = JointSample(POSITIONS + shift, VELOCITIES + shift, EFFORTS + shift)
    return Sample(**{**dict.fromkeys(Sample.__dataclass_fields__), 'joints': joints,
                     'imu': SimulatedImuSample(FORCE + shift, RATE + shift)})  # fmt: skip


def changed(*texts, seed=0):
    return SensorFaults(NAMES, texts, seed)


@pytest.mark.parametrize(
    ('text', 'position', 'velocity', 'effort'),
    [
        (f'{NAMES[2]} offset 0.25', 3.25, 13.0, 23.0), (f'{NAMES[2]} reversed', -3.0, -13.0, -23.0),
        (f'{NAMES[2]} no_force', 3.0, 13.0, np.nan), (f'{NAMES[2]} stuck', 3.0, 0.0, 23.0),
        (f'{NAMES[2]} missing', 3.0, 13.0, 23.0), (f'{NAMES[2]} spikes 0 0.5', 3.0, 13.0, 23.0),
    ],
)  # fmt: skip
def test_fault_of_one_leg(text, position, velocity, effort):
    faults, before = changed(text), sample()
    joints = faults.apply(before).joints
    expected = POSITIONS.copy(), VELOCITIES.copy(), EFFORTS.copy()
    for values, value in zip(expected, (position, velocity, effort), strict=True):
        values[2] = value
    for found, values in zip((joints.positions, joints.velocities, joints.efforts), expected, strict=True):
        np.testing.assert_allclose(found, values)
    assert np.array_equal(before.joints.positions, POSITIONS)  # the truth stays
    assert np.array_equal(faults.apply(before).imu.specific_force, FORCE)
    assert faults.missing_legs == ({2} if 'missing' in text else set()) and faults.texts == (text,)


def test_a_sensor_that_is_stuck_keeps_its_first_value():
    faults = changed(f'{NAMES[2]} stuck', f'{NAMES[4]} stuck')
    faults.apply(sample())
    joints = faults.apply(sample(0.5)).joints
    assert joints.positions == pytest.approx([1.5, 2.5, 3.0, 4.5, 5.0, 6.5])


@pytest.mark.parametrize(('part', 'size'), [('0.2', None), ('1', 0.3)])
def test_spikes_go_to_both_sides(part, size):
    faults = changed(f'{NAMES[0]} spikes {part}' + ('' if size is None else f' {size}'))
    off = np.array([faults.apply(sample()).joints.positions[0] - 1.0 for _ in range(COUNT)])
    size = size or 0.01
    share = float(part)
    assert np.mean(off > 0.5 * size) == pytest.approx(0.5 * share, abs=0.03)
    assert np.mean(off < -0.5 * size) == pytest.approx(0.5 * share, abs=0.03)
    assert np.unique(np.round(np.abs(off), 9)).tolist() == ([0.0, size] if share < 1.0 else [size])


def test_noise_of_a_leg_has_the_stated_deviation():
    faults = changed(f'{NAMES[0]} noisy 0.4')
    off = np.array([faults.apply(sample()).joints.positions - POSITIONS for _ in range(COUNT)])
    assert off[:, 0].std() == pytest.approx(0.4, rel=0.05) and abs(off[:, 0].mean()) < 0.04
    assert not off[:, 1:].any()
    again, other = changed(f'{NAMES[0]} noisy 0.4'), changed(f'{NAMES[0]} noisy 0.4', seed=1)
    assert again.apply(sample()).joints.positions[0] - 1.0 == off[0, 0]
    assert other.apply(sample()).joints.positions[0] - 1.0 != off[0, 0]


@pytest.mark.parametrize(
    ('kind', 'force', 'rate'),
    [
        ('upside_down', [1.0, -2.0, -9.80665], [0.1, 0.2, -0.3]), ('in_g', FORCE / 9.80665, RATE),
        ('in_degrees', FORCE, RATE * 180.0 / np.pi), ('negative', -FORCE, RATE),
    ],
)  # fmt: skip
def test_fault_of_the_imu(kind, force, rate):
    imu = changed(f'imu {kind}').apply(sample()).imu
    assert imu.specific_force == pytest.approx(force) and imu.angular_rate == pytest.approx(rate)


def test_an_imu_that_is_frozen_or_missing():
    frozen = changed('imu frozen')
    frozen.apply(sample())
    assert frozen.apply(sample(1.0)).imu.specific_force == pytest.approx(FORCE)
    assert changed('imu missing').apply(sample()).imu is None
    assert changed('imu missing', 'imu negative').apply(sample()).imu is None
    assert changed().apply(sample()).imu.specific_force is not None
    assert changed('imu negative').apply(replace(sample(), joints=None, imu=None)).imu is None


def test_several_faults_are_applied_in_their_order():
    joints = changed(f'{NAMES[1]} offset 1', f'{NAMES[1]} reversed').apply(sample()).joints
    assert joints.positions[1] == -3.0
    joints = changed(f'{NAMES[1]} reversed', f'{NAMES[1]} offset 1').apply(sample()).joints
    assert joints.positions[1] == -1.0
    assert changed('none').texts == ()


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('leg7 stuck', "no fault 'leg7 stuck'; there are leg1 to leg6: stuck, offset METRES"),
        ('leg0 stuck', 'no fault'),
        ('leg3', "no fault 'leg3'"),
        ('', "no fault ''"),
        ('leg3 stucked', 'imu: frozen, missing, upside_down'),
        ('imu stuck', 'no fault'),
        ('gyro frozen', 'no fault'),
        ('leg3 offset', "fault 'leg3 offset': write leg3 offset METRES"),
        ('leg3 stuck 1', 'write leg3 stuck ('),
        ('leg3 offset 1 2', 'write leg3 offset METRES'),
        ('leg3 offset far', "METRES = 'far' is not a finite number"),
        ('leg3 offset nan', 'not a finite number'),
        ('leg3 spikes 1.5', 'PART = 1.5 must be from 0 to 1'),
        ('leg3 spikes 0.1 wide', "METRES = 'wide'"),
        ('leg3 spikes', 'write leg3 spikes PART [METRES]'),
        ('leg3 spikes -0.1', 'must be from 0 to 1'),
        ('leg3 spikes 0.5 1 2', 'write leg3 spikes'),
        ('leg3 offset inf', 'not a finite number'),
    ],
)
def test_wrong_texts_are_refused_with_what_is_allowed(text, said):
    with pytest.raises(FaultError) as refused:
        SensorFaults(NAMES, [text])
    assert said in str(refused.value)


def test_none_stands_alone():
    with pytest.raises(FaultError, match='or none alone'):
        SensorFaults(NAMES, ['none', 'leg1 stuck'])


def test_all_faults_are_told():
    told = allowed_faults(NAMES)
    assert all(kind.usage in told for kinds in (LEG_FAULTS, IMU_FAULTS) for kind in kinds.values())
    assert f'{NAMES[0]} to {NAMES[-1]}' in told
    assert allowed_faults(['a', 'b']).startswith('a, b: ') and allowed_faults(['a', 'b', 'c']).startswith('a to c: ')
