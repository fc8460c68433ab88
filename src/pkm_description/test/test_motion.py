"""Motions: their derivatives, their ends, and the limits of the machine."""

from __future__ import annotations

import numpy as np
import pytest
from changed_machines import with_drive_limits
from hand_built_machines import heimann_check_robot
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion, Pose
from pkm_description.motion.circles import CircleAndRock
from pkm_description.motion.coordinates import Envelope, left_jacobian, pose_coordinates
from pkm_description.motion.fourier import FourierSeries, random_fourier_series
from pkm_description.motion.limits import limit_use
from pkm_description.motion.profiles import (
    PROFILE_NAMES,
    drives_profile,
    fast_and_slow_profile,
    mp1,
    mp1_profile,
    profile,
)
from pkm_description.motion.recorded_poses import QuinticInterpolator

TILTED_HOME = Pose(np.array([0.1, -0.2, 2.0]), rotation_exp(np.array([0.1, -0.2, 0.6])))


def limited_machine() -> Machine:
    """Check robot with stroke, speed and force limits."""
    return with_drive_limits(heimann_check_robot(), lower=0.0, upper=0.3, velocity=1.0, effort=2000.0)


def check_derivatives(evaluate: object, times: np.ndarray, tolerance: float) -> None:
    """Velocities and accelerations against central differences of pose and velocity."""
    assert callable(evaluate)
    step = 1e-4
    before, now, after = (evaluate(times + shift) for shift in (-step, 0.0, step))
    turn = rotation_log(after.rotation_base_platform @ np.swapaxes(before.rotation_base_platform, 1, 2))
    for difference, analytic in (
        (after.position - before.position, now.linear_velocity),
        (turn, now.angular_velocity),
        (after.linear_velocity - before.linear_velocity, now.linear_acceleration),
        (after.angular_velocity - before.angular_velocity, now.angular_acceleration),
    ):
        np.testing.assert_allclose(difference / (2 * step), analytic, atol=tolerance)


def check_home_at_rest(motion: PlatformMotion, home: Pose) -> None:
    np.testing.assert_allclose(
        motion.position, np.broadcast_to(home.position, motion.position.shape), atol=1e-12
    )
    rotation = motion.rotation_base_platform
    np.testing.assert_allclose(
        rotation, np.broadcast_to(home.rotation_base_platform, rotation.shape), atol=1e-12
    )
    np.testing.assert_allclose(motion.twist, 0.0, atol=1e-12)
    np.testing.assert_allclose(motion.acceleration, 0.0, atol=1e-9)


def some_series(home: Pose = TILTED_HOME) -> FourierSeries:
    random = np.random.default_rng(5)
    sine, cosine = 0.2 * random.normal(size=(2, 6, 4))
    return FourierSeries(sine, cosine, 0.25, 2, 1.0, 1.5, np.full(6, 0.1), home=home)


def test_envelope_is_smooth_and_flat_at_its_ends() -> None:
    envelope = Envelope(10.0, 2.0, 3.0)
    times = np.linspace(-0.5, 10.5, 400)
    value, rate, second = envelope.evaluate(times)
    step = 1e-5
    ahead, behind = envelope.evaluate(times + step), envelope.evaluate(times - step)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * step), rate, atol=1e-8)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * step), second, atol=1e-8)
    np.testing.assert_array_equal(value[(times > 2.0) & (times < 7.0)], 1.0)
    np.testing.assert_array_equal(value[(times < 0.0) | (times > 10.0)], 0.0)
    with pytest.raises(ValueError, match='do not fit into 4'):
        Envelope(4.0, 2.0, 3.0)


def test_mp1_derivatives_through_both_fades() -> None:
    profile = CircleAndRock(TILTED_HOME, duration=40.0, fade_out=8.0)
    check_derivatives(profile.evaluate, np.linspace(-0.5, 40.5, 500), 2e-7)
    check_home_at_rest(profile.evaluate(np.array([-3.0, 0.0, 40.0, 55.0])), TILTED_HOME)


def test_mp1_angle_is_the_integral_of_the_rate_within_the_fade() -> None:
    profile = CircleAndRock(TILTED_HOME)
    times = np.linspace(0.0, 15.0, 30_001)
    motion = profile.evaluate(times)
    rate = np.linalg.norm(motion.angular_velocity, axis=1) * np.sign(motion.angular_velocity[:, 0])
    integral = np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(times))
    turn = rotation_log(motion.rotation_base_platform @ TILTED_HOME.rotation_base_platform.T)
    angle = np.linalg.norm(turn, axis=1) * np.sign(turn[:, 0])
    np.testing.assert_allclose(angle[1:], integral, atol=1e-8)


def test_fourier_series_derivatives_and_periodicity() -> None:
    series = some_series()
    check_derivatives(series.evaluate, np.linspace(-0.2, series.duration + 0.2, 400), 1e-6)
    check_home_at_rest(
        series.evaluate(np.array([-1.0, 0.0, series.duration, series.duration + 1.0])), TILTED_HOME
    )
    assert series.periodic_end - series.periodic_start == pytest.approx(8.0)
    times = series.periodic_start + np.linspace(0.0, series.period, 50)
    first, second = series.evaluate(times), series.evaluate(times + series.period)
    np.testing.assert_allclose(first.position, second.position, atol=1e-12)
    np.testing.assert_allclose(first.angular_acceleration, second.angular_acceleration, atol=1e-9)
    coordinates = pose_coordinates(first.position, first.rotation_base_platform, TILTED_HOME)
    np.testing.assert_allclose(coordinates, series.coordinates(times)[0], atol=1e-12)


def test_left_jacobian_against_its_closed_form_up_to_half_a_turn() -> None:
    vectors = np.random.default_rng(2).normal(size=(50, 3))
    vectors *= (np.linspace(0.1, np.pi, 50) / np.linalg.norm(vectors, axis=1))[:, None]
    step = 1e-6
    for axis in np.eye(3):
        ahead, behind = rotation_exp(vectors + step * axis), rotation_exp(vectors - step * axis)
        turn = rotation_log(ahead @ np.swapaxes(behind, 1, 2)) / (2 * step)
        np.testing.assert_allclose(left_jacobian(vectors) @ axis, turn, atol=1e-8)


def test_random_series_keeps_the_limits_and_its_seed() -> None:
    machine = limited_machine()
    series = random_fourier_series(machine, 12.0, seed=3, margin=0.2)
    motion = series.evaluate(np.arange(0.0, 12.0, 0.005))
    use = limit_use(machine, motion)
    assert 0.7 < use.largest < 0.805  # scaled up to the margin, checked on a finer grid than the scaling's
    again = random_fourier_series(machine, 12.0, seed=3, margin=0.2)
    np.testing.assert_array_equal(series.sine, again.sine)
    assert not np.allclose(series.sine, random_fourier_series(machine, 12.0, seed=4, margin=0.2).sine)
    with pytest.raises(ValueError, match='no stroke limits'):
        random_fourier_series(heimann_check_robot(), 12.0, seed=3)


@pytest.mark.parametrize('name', PROFILE_NAMES)
@pytest.mark.parametrize('machine_name', ['limited', 'srs', 'palida'])
def test_named_profiles_stay_inside_the_machine(name: str, machine_name: str) -> None:
    machine = limited_machine() if machine_name == 'limited' else load_machine(machine_name)
    motion = profile(name, machine, duration=24.0, rate=100.0, seed=1)
    assert len(motion) == 2401
    check_home_at_rest(motion[np.array([0, -1])], machine.home)
    use = limit_use(machine, motion)
    assert use.largest < 0.91
    if name != 'hold':
        assert np.ptp(motion.position, axis=0).max() > 0.02


@pytest.mark.parametrize('name', ['srs', 'khalifa_3prr'])
def test_fast_and_slow_is_one_motion_of_two_sizes(name: str) -> None:
    machine = load_machine(name)
    motion = fast_and_slow_profile(machine, 24.0, seed=2)
    assert motion.duration == pytest.approx(24.0)
    check_derivatives(motion.evaluate, np.linspace(0.5, 23.5, 47), 1e-5)
    check_home_at_rest(motion.evaluate(np.array([12.0 - 1e-9, 12.0])), machine.home)
    samples = motion.evaluate(np.arange(0.0, 24.0, 0.01))
    speeds = np.abs(samples.twist)
    fast, slow = speeds[:1200].max(axis=0), speeds[1200:].max(axis=0)
    moves = fast > 1e-6
    assert (slow[moves] < 0.35 * fast[moves]).all() and (slow[moves] > 0.05 * fast[moves]).all()
    for part in (samples.time[:100], samples.time[-100:], samples.time[:0]):
        assert len(motion.evaluate(part)) == len(part)


def test_validation_motion_is_another_one() -> None:
    machine = limited_machine()
    one, other = (profile(name, machine, 24.0) for name in ('fourier', 'fourier_validation'))
    assert np.abs(one.position - other.position).max() > 0.02
    with pytest.raises(ValueError, match="unknown motion profile 'waltz'; there are mp1"):
        profile('waltz', machine, 10.0)


def test_mp1_is_full_size_on_simona_and_scaled_on_a_small_machine() -> None:
    assert mp1_profile(load_machine('srs'), duration=30.0).radius == 0.5
    machine = limited_machine()
    profile = mp1_profile(machine, duration=30.0)
    assert 0.1 < profile.radius < 0.3
    assert profile.rate_amplitude / np.radians(10.0) == pytest.approx(profile.radius / 0.5)
    motion = mp1(machine, duration=30.0, rate=50.0)
    np.testing.assert_allclose(motion.position, profile.evaluate(motion.time).position, atol=0)


@pytest.mark.parametrize('name', ['octopod_8ups', 'four_rrr'])
def test_drives_of_redundant_machines_swing_within_their_limits(name: str) -> None:
    machine = load_machine(name)
    motion = profile('drives', machine, 12.0)
    assert limit_use(machine, motion).largest <= 0.9 + 1e-9
    swings = np.ptp(drive_positions(machine, motion), axis=0)
    assert swings.max() > 0.1 and (swings > 0.2 * swings.max()).all()
    check_derivatives(drives_profile(machine, 12.0).evaluate, np.linspace(0.5, 11.5, 23), 1e-5)


def test_motion_that_a_machine_cannot_do_is_refused() -> None:
    with pytest.raises(KinematicsError, match="four_rrr can do no part of this motion, 'drives' suits any machine"):
        profile('mp1', load_machine('four_rrr'), 12.0)


def test_quintic_interpolation() -> None:
    series = some_series()
    coarse = series.evaluate(np.arange(0.0, series.duration + 1e-9, 0.02))
    interpolator = QuinticInterpolator(coarse)
    at_samples = interpolator.evaluate(coarse.time)
    for name in ('position', 'rotation_base_platform', 'linear_velocity', 'angular_velocity'):
        np.testing.assert_allclose(getattr(at_samples, name), getattr(coarse, name), atol=1e-11)
    for name in ('linear_acceleration', 'angular_acceleration'):
        np.testing.assert_allclose(getattr(at_samples, name), getattr(coarse, name), atol=1e-9)
    times = np.linspace(0.001, series.duration - 0.001, 777)
    check_derivatives(interpolator.evaluate, times, 5e-6)
    exact, found = series.evaluate(times), interpolator.evaluate(times)
    np.testing.assert_allclose(found.position, exact.position, atol=1e-8)
    np.testing.assert_allclose(found.rotation_base_platform, exact.rotation_base_platform, atol=1e-8)
    held = interpolator.evaluate(np.array([-1.0, series.duration + 1.0]))
    np.testing.assert_allclose(held.position, coarse.position[[0, -1]], atol=1e-12)
    np.testing.assert_array_equal(held.twist, 0.0)
    with pytest.raises(ValueError, match='strictly increasing'):
        QuinticInterpolator(coarse[np.array([0, 0, 1])])
