"""Smoothed recordings against the truth: errors, their covariances, stretches, legs left out, constants."""

from dataclasses import replace

import numpy as np
import pytest
from estimated import squares
from moving_platform import BIAS_STD, Motion, measured
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import drives_profile
from pkm_estimation.offline import smoothing
from pkm_estimation.sensors import SensorConditions, SensorData, simulate_sensors
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from pkm_estimation import EstimatorConfig, estimate
from verification.consistency.state_error import free_directions

SRS = load_machine('srs')
CONFIG = EstimatorConfig(baseline=False, claim='repeatability')  # the IMU is as the file says
PLANAR = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
POSITION, VELOCITY = slice(0, 3), slice(3, 6)


class Run:
    """Sensors along a motion, biases drawn from a fifth of the filter's prior; ``offsets`` (A,) m of the drives."""

    def __init__(self, motion, seed, duration, rate=100.0, offsets=0.0):
        self.machine = machine = motion.machine
        self.time = time = np.arange(round(duration * rate)) / rate
        self.imu_point, self.velocity, self.rotation_base_platform, inputs = motion.state(time)
        self.position = motion.pose(time)[0]
        random = np.random.default_rng(seed)
        self.bias = BIAS_STD * random.normal(size=6)
        noise = np.concatenate([machine.imu.accelerometer_noise, machine.imu.gyroscope_noise])
        imu = (inputs + self.bias) @ np.kron(np.eye(2), machine.imu.rotation_platform_imu)
        imu += noise * random.normal(size=imu.shape)
        legs = measured(machine, self.position, self.rotation_base_platform) + offsets
        legs += machine.leg_sensors.position_noise * random.normal(size=legs.shape)
        self.data = SensorData(np.rint(1e9 * (5.0 + time)).astype(np.int64), legs, imu[:, :3], imu[:, 3:])

    def places(self, stamps):
        return np.searchsorted(self.data.stamps, stamps)

    def errors(self, result):
        """Of position and velocity of the IMU's point, attitude, biases: (N, 15)."""
        at = self.places(result.motion.stamps)
        back = Rotation.from_matrix(np.swapaxes(self.rotation_base_platform[at], 1, 2))
        turned = back * Rotation.from_quat(result.motion.orientation)
        to_platform = self.machine.imu.rotation_platform_imu.T
        biases = [result.accelerometer_bias @ to_platform, result.gyroscope_bias @ to_platform]
        return np.hstack([
            result.state[:, POSITION] - self.imu_point[at], result.state[:, VELOCITY] - self.velocity[at],
            0.5 * turned.as_rotvec(), np.hstack(biases) - self.bias,
        ])  # fmt: skip

    def squares(self, stamps, estimates):
        """NEES of the first 15 states in the directions that the machine leaves free, and how many these are."""
        found, freedoms = [], 0
        for stamp, (entry, smooth) in list(zip(stamps, estimates, strict=True))[::25]:
            k, chart = self.places(stamp), entry.known[2]
            quaternion = Rotation.from_matrix(chart.T @ self.rotation_base_platform[k]).as_quat()
            truth = np.concatenate([
                chart.T @ self.imu_point[k], self.velocity[k], quaternion[:3] * np.sign(quaternion[3]), self.bias
            ])  # fmt: skip
            directions = free_directions(self.machine, self, k, chart)
            seen, covariance = directions.T @ (smooth.mean[:15] - truth), smooth.covariance[:15, :15]
            found.append(seen @ np.linalg.solve(directions.T @ covariance @ directions, seen))
            freedoms = directions.shape[1]
        return found, freedoms


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def groups(error):
    """Rms of position, velocity, attitude, biases of accelerometer and gyroscope."""
    return np.array([rms(error[:, first : first + 3]) for first in range(0, 15, 3)])


@pytest.fixture
def collected(monkeypatch):
    """All estimates that runs have smoothed, with their covariances."""
    estimates = []
    original = smoothing._put

    def put(result, begin, block, model):
        estimates[:0] = block
        original(result, begin, block, model)

    monkeypatch.setattr(smoothing, '_put', put)
    return estimates


@pytest.mark.parametrize(
    ('machine', 'freedom', 'freedoms'),
    [
        pytest.param('srs', np.ones(6), 15, marks=pytest.mark.campaign),
        ('khalifa_3prr', PLANAR, 11),
        pytest.param('hexaglide_6pus', np.ones(6), 15, marks=pytest.mark.campaign),
    ],
)
def test_errors_are_smaller_and_as_claimed(machine, freedom, freedoms, collected):
    """At 2 Hz and 100 Hz, from the start on: mean NEES over seeds within its 95 % bounds, each group better."""
    seeds, motion = 3, Motion(load_machine(machine), freedom=freedom)
    nees, ours, filters = [], [], []
    for seed in range(seeds):
        run = Run(motion, seed, 3.0)
        collected.clear()
        smooth, plain = (estimate(motion.machine, run.data, CONFIG, smooth=way) for way in (True, False))
        assert smooth.is_smoothed
        assert not plain.is_smoothed
        np.testing.assert_array_equal(smooth.nis, plain.nis)
        values, count = run.squares(smooth.motion.stamps, collected)
        assert count == freedoms
        nees.append(np.mean(values))
        late = smooth.motion.stamps > smooth.motion.stamps[0] + 10**9
        ours.append(groups(run.errors(smooth)[late]))
        filters.append(groups(run.errors(plain)[late]))
    lower, upper = chi2.ppf([0.025, 0.975], freedoms * seeds) / seeds
    assert lower < np.mean(nees) < upper
    ratios = np.sqrt(np.mean(np.square(ours), axis=0) / np.mean(np.square(filters), axis=0))
    assert ratios[1] < 0.6
    assert (ratios < 1.0).all()


@pytest.mark.parametrize(
    'config',
    [
        {'filter': 'ekf'}, pytest.param({'filter': 'iekf'}, marks=pytest.mark.campaign),
        {'filter': 'paper', 'integrator': 'heun'},
    ],
    ids=str,
)
def test_all_kinds_of_filters(config):
    """On a slow motion, where the paper's straight line between samples is good enough, too."""
    run = Run(Motion(SRS, 0.2), 3, 4.5)
    config = EstimatorConfig(baseline=False, **config)
    smooth, plain = (estimate(SRS, run.data, config, smooth=way) for way in (True, False))
    late = slice(200, None)
    ratios = groups(run.errors(smooth)[late]) / groups(run.errors(plain)[late])
    assert (ratios[:3] < [0.7, 0.65, 0.9]).all()
    pose = pose_errors(run, smooth)
    assert 4.5 < squares(pose, smooth.motion.pose_covariance).mean() < 7.5


def pose_errors(run, result):
    at = run.places(result.motion.stamps)
    turned = Rotation.from_quat(result.motion.orientation) * Rotation.from_matrix(run.rotation_base_platform[at]).inv()
    return np.hstack([result.motion.position - run.position[at], turned.as_rotvec()])


@pytest.fixture(scope='module')
def usual():
    """A run at 2 Hz, and what the smoother makes of it."""
    run = Run(Motion(SRS), 1, 4.0)
    return run, estimate(SRS, run.data, CONFIG, smooth=True)


def test_pose_and_twist_of_the_platform_are_as_claimed(usual):
    """The errors of the samples that the smoother finds are in the angular velocity, and so in the velocity."""
    run, smooth = usual
    plain = estimate(SRS, run.data, CONFIG)
    assert 5.3 < squares(pose_errors(run, smooth), smooth.motion.pose_covariance).mean() < 6.7
    at = run.places(smooth.motion.stamps)
    rate = Motion(SRS).state(run.time)[3][at, 3:]
    twists = [
        np.hstack([
            result.motion.linear_velocity - (run.velocity[at] - np.cross(rate, SRS.imu.position)),
            result.motion.angular_velocity - rate,
        ])
        for result in (smooth, plain)
    ]  # fmt: skip
    assert 5.3 < squares(twists[0], smooth.motion.twist_covariance).mean() < 6.7
    late = slice(200, None)
    assert rms(twists[0][late, 3:]) < 0.95 * rms(twists[1][late, 3:])
    assert rms(twists[0][late, :3]) < 0.9 * rms(twists[1][late, :3])


def test_each_stretch_between_starts_is_smoothed_by_itself():
    run, config = Run(Motion(SRS), 2, 3.0), replace(CONFIG, maximum_leg_gap=0.5)

    def part(inside, data=run.data):
        return SensorData(*(values[inside] for values in vars(data).values()))

    first, there = run.time < 1.5, (run.time < 1.5) | (run.time > 2.1)
    both, alone = (estimate(SRS, part(inside), config, smooth=True) for inside in (there, first))
    assert both.started.sum() == 2
    early = both.motion.stamps <= alone.motion.stamps[-1]
    np.testing.assert_allclose(both.state[early], alone.state, atol=1e-12)
    np.testing.assert_allclose(both.motion.pose_covariance[early], alone.motion.pose_covariance, atol=1e-18)
    # and the other way round: the second stretch does not know what was measured in the first
    noise = np.random.default_rng(5).normal(size=run.data.drive_positions.shape)
    legs = run.data.drive_positions + 3e-6 * first[:, None] * noise
    other = estimate(SRS, part(there, replace(run.data, drive_positions=legs)), config, smooth=True)
    np.testing.assert_array_equal(other.state[~early], both.state[~early])
    assert (other.state[early] != both.state[early]).any()


def test_blocks_change_next_to_nothing(usual, monkeypatch):
    run, whole = usual
    monkeypatch.setattr(smoothing, '_BLOCK', 100)
    parts = estimate(SRS, run.data, CONFIG, smooth=True)
    differences = np.abs(parts.state - whole.state) / whole.state_std
    assert 0.0 < differences.max() < 0.05
    np.testing.assert_allclose(parts.state_std, whole.state_std, rtol=0.02)


def test_legs_that_are_left_out():
    """A leg that reads anything for a while and one that is missing: no worse than the filter, and as claimed."""
    run = Run(Motion(SRS, 0.5), 5, 6.0)
    legs = run.data.drive_positions.copy()
    legs[250:370, 0] += 0.02 * np.random.default_rng(0).normal(size=120)
    legs[420:480, 2] = np.nan
    data = replace(run.data, drive_positions=legs)
    smooth, plain = (estimate(SRS, data, CONFIG, smooth=way) for way in (True, False))
    assert np.isnan(plain.innovation[260:360, 0]).mean() > 0.9
    late = slice(200, None)
    ratios = groups(run.errors(smooth)[late]) / groups(run.errors(plain)[late])
    assert (ratios[:3] < [1.0, 0.8, 1.0]).all()
    assert 4.8 < squares(pose_errors(run, smooth), smooth.motion.pose_covariance).mean() < 7.2


def test_constants_are_known_from_the_first_sample_on():
    offsets = 1e-3 * np.array([0.8, -0.5, 0.3, -1.2, 0.4, 0.9])
    run = Run(Motion(SRS, 0.6), 6, 6.0, offsets=offsets)
    smooth = estimate(SRS, run.data, replace(CONFIG, estimate=('leg_offsets',)), smooth=True)
    rows = smooth.extra_states['leg_offsets']
    error = (smooth.state[:, rows] - offsets) / smooth.state_std[:, rows]
    np.testing.assert_allclose(smooth.state[:, rows], smooth.state[-1:, rows].repeat(len(smooth), 0), atol=1e-6)
    assert smooth.state_std[0, rows].max() < 2e-4
    assert np.abs(error).max() < 4.0


def test_a_mounting_beside_constraints_is_smoothed_from_where_it_is_corrected():
    """While constants are only considered a step is no correction by a measurement: covariances grew to 1e8 m^2."""
    machine = load_machine('valencia_3rps')
    source, time = drives_profile(machine, 20.0), 4.0 + np.arange(800) / 100.0
    turned = SensorConditions(imu_misalignment=(0.01, -0.008, 0.012))
    data = simulate_sensors(machine, source.evaluate, time, turned, 1)
    config = replace(CONFIG, estimate=('imu_rotation',))
    smooth, plain = (estimate(machine, data, config, smooth=way) for way in (True, False))
    for covariances in (smooth.motion.pose_covariance, smooth.motion.twist_covariance):
        assert np.linalg.eigvalsh(covariances)[:, 0].min() > 0.0
    late = slice(500, None)
    truth = source.evaluate(time).position[late]
    off, off_plain = (result.motion.position[late] - truth for result in (smooth, plain))
    assert np.sum(off**2) < 0.7 * np.sum(off_plain**2)
    deviations = np.sqrt(smooth.motion.pose_covariance[late].diagonal(axis1=1, axis2=2)[:, :3])
    assert np.mean((off / deviations) ** 2) < 1.5


def test_an_estimate_that_goes_back_for_late_samples_cannot_be_smoothed():
    with pytest.raises(ConfigurationError, match='history'):
        estimate(SRS, Run(Motion(SRS), 0, 1.0).data, replace(CONFIG, history=0.1), smooth=True)


def test_an_imu_that_is_left_out_leaves_the_rest_smoothed():
    """Estimates by the legs alone stay as they are; before and behind them velocities get better."""
    run = Run(Motion(SRS), 0, 5.5)
    data, out = run.data, slice(200, 300)
    data.specific_force[out], data.angular_rate[out] = 0.0, 0.0
    smooth, plain = (estimate(SRS, data, CONFIG, smooth=way) for way in (True, False))
    np.testing.assert_array_equal(smooth.by_legs_alone, plain.by_legs_alone)
    alone = plain.by_legs_alone
    assert 100 < alone.sum() < 250
    np.testing.assert_array_equal(smooth.state[alone], plain.state[alone])
    stamps = plain.motion.stamps
    again = stamps[alone][-1]  # the biases are unknown then
    settled = ~alone & (stamps > stamps[0] + 10**9) & ((stamps < again) | (stamps > again + 5 * 10**8))
    ratio = groups(run.errors(smooth)[settled]) / groups(run.errors(plain)[settled])
    assert ratio[1] < 0.7
    assert (ratio[:3] < 1.0).all()
