"""The baseline over a whole recording against the stream that gets the same samples one by one; and its pauses."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions, forward_kinematics
from pkm_description.kinematics.pose_solver import PoseSolver
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import mp1, profile
from pkm_estimation.baseline import ButterworthDifferentiator, KinematicEstimator
from pkm_estimation.exchange.baseline import BaselineStream, baseline_series
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.messages import LegSample
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.sensors import measure
from pkm_estimation.stream import BaselinePipeline, EstimatorPipeline
from scipy.signal import lfilter
from test_pipeline import feed, leg_message, pairs

from pkm_estimation.config import EstimatorConfig

SRS = load_machine('srs')
KINDS = ('position', 'rotation_base_platform', 'orientation', 'velocity', 'jacobian_velocity', 'angular_velocity')


def recording(machine: Machine, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Epochs, stamps and positions at about 100 Hz with all that can be wrong with them."""
    motion = profile('mp1' if machine.has_closed_form else 'drives', machine, 15.0, 100.0)
    data = measure(machine, motion[slice(400, 400 + count)], seed=1)
    positions, random = data.drive_positions.copy(), np.random.default_rng(2)
    stamps = data.stamps + random.integers(-2_000_000, 2_000_000, count)
    epochs = np.zeros(count, dtype=np.int64)
    positions[count // 8, 2] = np.nan
    positions[count // 6 : count // 6 + 4] = np.nan
    stamps[count // 4 :] += 700_000_000  # shorter than the longest gap, ...
    stamps[count // 3 :] += 1_700_000_000  # ... longer
    positions[count // 2, 0] += 9.0  # fits no pose
    positions[count * 2 // 3, :2] += 0.05  # fits one far off
    positions[count * 3 // 4, 1] = np.nan  # the first one of a new clock is not complete
    epochs[count * 3 // 4 :] = 1
    stamps[count * 3 // 4 :] -= stamps[count * 3 // 4] - 5_000_000_000
    return epochs, stamps, positions


def streamed(stream: BaselineStream, epochs, stamps, positions):
    """What the stream says of each sample."""
    return [
        stream.estimate(Instant(int(epoch), int(stamp)), LegSample(sample, sample, np.flatnonzero(np.isfinite(sample))))
        for epoch, stamp, sample in zip(epochs, stamps, positions, strict=True)
    ]


@pytest.mark.parametrize(('name', 'count'), [('srs', 800), ('palida', 400), ('khalifa_3prr', 120)])
@pytest.mark.parametrize('point', [(0.0, 0.0, 0.0), (0.3, -0.1, 0.8)])
def test_series_is_the_stream(name, count, point):
    machine, config = load_machine(name), EstimatorConfig(reference_point=point)
    samples = recording(machine, count)
    told, health = HealthMonitor(machine.leg_count), HealthMonitor(machine.leg_count)
    expected = streamed(BaselineStream(machine, config, told), *samples)
    stamps, estimates = baseline_series(machine, config, *samples, health)
    places = [place for place, estimate in enumerate(expected) if estimate is not None]
    assert count - 12 < len(places) < count - 5
    assert stamps.tolist() == samples[1][places].tolist()
    for kind in KINDS:
        values = np.array([getattr(expected[place], kind) for place in places])
        np.testing.assert_allclose(getattr(estimates, kind), values, rtol=0.0, atol=1e-9, err_msg=kind)
    covariances = np.array([expected[place].pose_covariance for place in places])
    assert np.abs(estimates.velocity).max() > 0.02
    # of Jacobians at poses 1e-9 m (the solver's tolerance) of leg length apart at most
    size = np.abs(covariances).max()
    np.testing.assert_allclose(estimates.pose_covariance, covariances, rtol=0.0, atol=1e-7 * size)
    events = health.report().events
    assert events == told.report().events
    assert {event.name for event in events} == {'baseline_without_pose'}


@pytest.mark.parametrize('count', [0, 1])
def test_series_of_nearly_nothing(count):
    epochs, stamps, positions = (values[:count] for values in recording(SRS, 50))
    _, estimates = baseline_series(SRS, EstimatorConfig(), epochs, stamps, positions, HealthMonitor(6))
    assert estimates.velocity.shape == (count, 3)
    assert estimates.pose_covariance.shape == (count, 6, 6)
    assert not estimates.velocity.any()


@pytest.mark.parametrize(('name', 'axis'), [('srs', 2), ('palida', 1)])
def test_poses_through_a_singular_one_are_those_of_sample_by_sample(name, axis):
    """A turn by 100 degrees leaves the home mode: lengths alone have other poses than those the last pose leads to."""
    machine = load_machine(name)
    home, turns = machine.home, np.zeros((100, 3))
    turns[:, axis] = np.radians(np.arange(100.0))
    rotation = rotation_exp(turns) @ home.rotation_base_platform
    positions = drive_positions(machine, np.tile(home.position, (100, 1)), rotation)
    solver, last = PoseSolver(machine, 1e-9, 10), None
    expected = {}
    for place, sample in enumerate(positions):
        try:
            last = expected[place] = solver.solve(sample, last)
        except KinematicsError:
            last = None
    series = solver.series(positions, np.zeros(100, dtype=bool))
    assert set(expected) == set(range(100)) - set(series.errors)
    for place, pose in expected.items():
        found = series.found.at(place)
        assert found.position == pytest.approx(pose.position, abs=1e-9)
        assert found.rotation == pytest.approx(pose.rotation, abs=1e-9)
    # and the path is one on which that is not a matter of course
    alone = forward_kinematics(machine, positions)
    rotations = alone.rotation_base_platform
    other = [np.abs(rotations[place] - pose.rotation).max() > 1e-3 for place, pose in expected.items()]
    assert any(other) or not alone.trusted.all()


def test_differentiated_series_is_the_recursion_and_the_transfer_function():
    random = np.random.default_rng(0)
    signal, intervals = random.normal(size=(400, 3)), random.uniform(0.0005, 0.02, 400)
    begins = random.random(400) < 0.02
    differentiate = ButterworthDifferentiator(0.02, 1.1)
    expected = []
    for value, interval, begin in zip(signal, intervals, begins, strict=True):
        if begin:
            differentiate.reset()
        expected.append(differentiate(value, interval))
    assert differentiate.series(signal, intervals, begins) == pytest.approx(np.array(expected), abs=1e-10)
    signal[0] = 0.0
    found = differentiate.series(signal, np.full(400, 0.01), np.zeros(400, dtype=bool))
    assert found == pytest.approx(lfilter(*differentiate.coefficients(100.0), signal, axis=0), abs=1e-10)


# -- pauses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('pause', [20, 150])
def test_stream_that_was_switched_off_starts_anew(pause):
    """Shorter and longer than the longest gap; nothing is differentiated across."""
    count = 300 + pause
    data = measure(SRS, mp1(SRS, 30.0)[slice(1200, 1200 + count)], seed=1)
    epochs, stamps, positions = np.zeros(count, dtype=np.int64), data.stamps, data.drive_positions
    stream = BaselineStream(SRS, EstimatorConfig(), HealthMonitor(6))
    before = streamed(stream, epochs[:150], stamps[:150], positions[:150])
    assert np.linalg.norm(before[-1].velocity) > 0.1
    for _ in range(pause):
        stream.reset()
    after = slice(150 + pause, None)
    found = streamed(stream, epochs[after], stamps[after], positions[after])
    fresh = BaselineStream(SRS, EstimatorConfig(), HealthMonitor(6))
    expected = streamed(fresh, epochs[after], stamps[after], positions[after])
    assert not found[0].velocity.any()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.velocity, other.velocity)
        np.testing.assert_array_equal(one.angular_velocity, other.angular_velocity)


def test_baseline_of_a_running_estimator_can_be_switched():
    """The filter does not notice; the baseline is that of a stream that sees what comes after the pause only."""
    unswitched = feed(EstimatorPipeline(SRS), pairs(range(200)))
    pipeline = EstimatorPipeline(SRS)
    outputs = feed(pipeline, pairs(range(80)))
    pipeline.baseline_wanted = False
    outputs += feed(pipeline, pairs(range(80, 110)))
    pipeline.baseline_wanted = True
    outputs += feed(pipeline, pairs(range(110, 200)))
    assert [o.baseline is None for o in outputs] == [80 <= k < 110 for k in range(200)]
    for switched, other in zip(outputs, unswitched, strict=True):
        np.testing.assert_array_equal(switched.state, other.state)
    alone = BaselinePipeline(SRS)
    expected = [alone.add_joint_positions(*leg_message(k)[1:]).estimate for k in range(110, 200)]
    for output, estimate in zip(outputs[110:], expected, strict=True):
        np.testing.assert_array_equal(output.baseline.velocity, estimate.velocity)


def test_pose_for_a_start_does_not_depend_on_what_the_baseline_saw():
    """The filter starts with it: whether somebody listens to the baseline must not change the filter's bits."""
    data = measure(SRS, mp1(SRS, 30.0)[slice(1200, 1230)], seed=1)
    estimator = KinematicEstimator(SRS, np.eye(6))
    for sample in data.drive_positions:
        estimator.estimate(sample, 0.01)
    here, fresh = (one.pose(data.drive_positions[5])[0] for one in (estimator, KinematicEstimator(SRS, np.eye(6))))
    np.testing.assert_array_equal(here.position, fresh.position)
    np.testing.assert_array_equal(here.rotation_base_platform, fresh.rotation_base_platform)
