"""Motions through singular poses: the assembly mode is known afterwards, or the output says that it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from changed_machines import with_drive_limits
from estimated import pose_errors
from pkm_description.arrays import Array
from pkm_description.kinematics import length_jacobian
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_estimation.filtering.singular_reach import SingularReach
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.sensors import SensorConditions, SimulatedData, simulate_sensors
from pkm_estimation.sensors.conditions import ImuFault
from pkm_estimation.sensors.simulated import feed
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import summarise, values
from scipy.interpolate import BPoly

#: from home through a singular pose, position over platform radius and rotation vector, and where on this line it is
#: singular. Drives beyond their strokes are allowed for
LINES = {
    'srs': (np.array([0.342, 0.866, -0.107, 0.71, -0.346, 0.183]), 1.0529),
    'khalifa_3prr': (np.array([0.026, -0.094, 0.0, 0.0, 0.0, 0.852]), 0.6704),
    'hexaglide_6pus': (np.array([0.1, 0.084, 0.04, -0.698, 0.016, 0.216]), 0.8746),
}
CONFIG = EstimatorConfig(baseline=False)
RATE = 100.0
THROUGH = ((0.0, 0.0), (2.0, 0.0), (5.0, 0.9), (6.0, 1.1), (8.0, 1.1))


class Run:
    """A motion along a machine's line: places at times [s], 1 is the singular pose."""

    def __init__(self, name: str, knots: tuple[tuple[float, float], ...], loud: float = 1.0, **errors: object) -> None:
        machine = with_drive_limits(load_machine(name), lower=-np.inf, upper=np.inf)
        imu = machine.imu
        noise = {name: loud * getattr(imu, name) for name in ('accelerometer_noise', 'gyroscope_noise')}
        self.machine = replace(machine, imu=replace(imu, **noise))
        self._line, self._singular = LINES[name]
        times, places = zip(*knots, strict=True)
        self._place = BPoly.from_derivatives(times, [[place, 0.0, 0.0] for place in places])
        self._end = times[-1]
        self.time = np.arange(0.0, self._end, 1.0 / RATE)
        self.data: SimulatedData = simulate_sensors(self.machine, self.motion, self.time, SensorConditions(**errors), 0)  # type: ignore[arg-type]

    def motion(self, time: Array) -> PlatformMotion:
        """Along the line; in the first two seconds also sines, which show the biases."""
        time, line = np.asarray(time, dtype=float), self._singular * self._line
        inside = np.clip(time, 0.0, self._end)
        place, speed, push = (
            self._place.derivative(k)(inside)[:, None] if k else self._place(inside)[:, None] for k in range(3)
        )
        fade = BPoly.from_derivatives([0.0, 1.5, 2.5, self._end], [[1.0, 0, 0], [1.0, 0, 0], [0.0, 0, 0], [0.0, 0, 0]])
        size, falls, bends = (fade.derivative(k)(inside)[:, None] if k else fade(inside)[:, None] for k in range(3))
        rates = np.pi * np.array([1.0, 0.93, 0.87, 0.97, 0.9, 0.83])
        amplitudes = 0.02 * np.array([self.machine.model.radius[0]] * 3 + [1.0] * 3)
        if self.machine.planar:
            amplitudes[2:5] = 0.0
        sine, cosine = np.sin(np.outer(time, rates)), np.cos(np.outer(time, rates))
        coordinates = place * line + size * amplitudes * sine
        first = speed * line + amplitudes * (falls * sine + size * rates * cosine)
        second = push * line + amplitudes * (bends * sine + 2.0 * falls * rates * cosine - size * rates**2 * sine)
        return motion_from_coordinates(time, coordinates, first, second, self.machine.home)

    def errors(self, result: EstimationResult) -> tuple[Array, Array, Array]:
        """Times (N,) s, position errors (N,) m and normalised squares (N,) of the pose's errors."""
        time = (result.motion.stamps - self.data.stamps[0]) * 1e-9
        truth = self.motion(time)
        error = pose_errors(result.motion, truth)
        variances, axes = np.linalg.eigh(result.motion.pose_covariance)
        along = np.einsum('nij,ni->nj', axes, error) ** 2
        # a planar machine's constraints are known to a micrometre
        return time, np.linalg.norm(error[:, :3], axis=1), np.sum(along / np.maximum(variances, 1e-18), axis=1)


@pytest.mark.parametrize('name', list(LINES))
def test_a_singular_pose_is_passed(name: str) -> None:
    """Nothing is started anew: how fast the platform goes through says which mode it comes to."""
    run = Run(name, THROUGH)
    result = estimate(run.machine, run.data, CONFIG)
    time, error, squares = run.errors(result)
    assert result.health.counters['started'] == 1
    assert error[time > 3.0].max() < 5e-5
    assert 2.0 < squares[time > 3.0].mean() < 7.5  # of 6; of 3 and three constraints where it is planar
    assert not result.mode_unknown.any()
    passed = [event.detail for event in result.health.events if event.name == 'assembly_mode_changed']
    assert len(passed) == run.machine.is_strut_hexapod
    if name == 'srs':
        there = run.motion(np.array([8.0]))
        sign = np.linalg.det(length_jacobian(run.machine, there.position[0], there.rotation_base_platform[0]))
        home = run.machine.home
        assert sign * np.linalg.det(length_jacobian(run.machine, home.position, home.rotation_base_platform)) < 0.0


@pytest.mark.parametrize('place', [pytest.param(0.9, marks=pytest.mark.campaign), 1.1])
def test_doubt_after_a_rest_in_a_singular_pose_ends_with_the_right_mode(place: float) -> None:
    """IMU noise is 1000 times that of the file: while the platform rests, it may go either way."""
    run = Run('srs', ((0.0, 0.0), (2.0, 0.0), (4.0, 1.0), (5.0, 1.0), (6.0, place), (7.0, place)), 1000.0)
    result = estimate(run.machine, run.data, CONFIG)
    time, error, squares = run.errors(result)
    doubt = result.mode_unknown
    assert 0.05 < doubt.mean() < 0.6
    assert error[doubt].max() > 5e-4
    assert squares[doubt].mean() < 9.0
    assert squares[~doubt & (time > 3.0)].mean() < 9.0
    assert not doubt[-1]
    assert error[-50:].max() < 5e-4  # the mode on the other side is 150 mm away
    assert result.health.counters['started'] == 1
    if place > 1.0:
        pipeline = EstimatorPipeline(run.machine, CONFIG)
        outputs = feed(pipeline, run.data)
        np.testing.assert_array_equal([output.motion.position for output in outputs], result.motion.position)
        np.testing.assert_array_equal([o.motion.pose_covariance for o in outputs], result.motion.pose_covariance)
        np.testing.assert_array_equal([output.mode_unknown for output in outputs], doubt)


def test_a_singular_pose_that_was_passed_unseen_leaves_two_modes() -> None:
    """No legs for 1.4 s while the platform goes through, and rest afterwards: nothing says which mode it is."""
    run = Run('srs', THROUGH, leg_gaps=((5.2, 6.6),))
    pipeline = EstimatorPipeline(run.machine, CONFIG)
    outputs = feed(pipeline, run.data)
    last, truth = outputs[-1], run.motion(run.time[-1:])
    assert last.mode_unknown
    error = last.motion.position - truth.position[0]
    std = np.sqrt(last.motion.pose_covariance.diagonal()[:3])
    assert np.abs(error / std).max() < 3.0
    assert std.max() > 0.02
    report = pipeline.health.report()
    level, sentence = summarise(report, 6)
    assert level == 'warn'
    assert sentence.startswith('assembly mode unknown: 2 poses are possible')
    assert values(report, run.machine.drive_labels)['assembly mode'].startswith('unknown: ')


def test_a_singular_pose_passed_by_the_legs_alone() -> None:
    run = Run('srs', THROUGH, imu_faults=(ImuFault('zeros', 5.0, 6.2),))
    result = estimate(run.machine, run.data, CONFIG)
    time, error, squares = run.errors(result)
    assert result.by_legs_alone[(time > 5.1) & (time < 6.2)].all()
    assert error[time > 7.5].max() < 5e-5
    assert squares[time > 3.0].mean() < 9.0


def test_an_imu_that_fails_behind_a_singular_pose() -> None:
    """The filter without it begins in the mode in which the platform is, not in that of home."""
    run = Run('srs', (*THROUGH, (11.0, 1.1)), imu_faults=(ImuFault('in_g', 9.5, 10.0),))
    result = estimate(run.machine, run.data, CONFIG)
    time, error, _ = run.errors(result)
    assert result.by_legs_alone[(time > 9.6) & (time < 10.0)].all()
    assert error[(time > 3.0) & ((time < 9.5) | (time > 9.6))].max() < 2e-4
    assert error[time > 3.0].max() < 2e-3  # the other mode is 150 mm away
    assert not result.mode_unknown.any()


def test_no_singular_pose_is_within_what_an_ordinary_estimate_knows() -> None:
    for name in LINES:
        pipeline = EstimatorPipeline(load_machine(name), CONFIG)
        filter_, reach = pipeline.filter, pipeline.tracker.reach
        filter_.start_at(pipeline.machine.home)
        filter_.ukf.covariance *= 1e4  # 10 mm
        assert isinstance(reach, SingularReach)
        assert reach.is_possible(filter_)
        assert reach.fold(filter_) is None
