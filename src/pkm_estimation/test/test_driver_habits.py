"""What drivers do and no message says: a publisher for each drive, values held for several messages, coarse steps."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.exchange.stale import EncoderResolution
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.simulated import SimulatedData
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from test_stale_encoders import EVERY, LEGS, MOTION, SRS
from test_stretches import assert_same, one_by_one


def error_and_std(outputs, motion):
    """Largest error in standard deviations, and root of the mean square [m], after the first second."""
    error = np.array([output.motion.position for output in outputs]) - motion.position
    spread = np.array([output.motion.pose_covariance for output in outputs])
    ratios = np.abs(error) / np.sqrt(np.diagonal(spread, axis1=1, axis2=2)[:, :3])
    late = motion.time - motion.time[0] > 1.0
    return ratios[late].max(), float(np.sqrt((error[late] ** 2).sum(axis=1).mean()))


@cache
def moved(name, begin):
    """Machine, motion, sensors, and the estimate where all drives share a publisher."""
    machine = load_machine(name)
    profiled = profile('fourier' if machine.degrees_of_freedom == 6 else 'drives', machine, 9.0, 1000.0)
    motion = profiled[begin : begin + 2500]
    data, pipeline, outputs = measure(machine, motion), EstimatorPipeline(machine), []
    for k, stamp in enumerate(data.stamps.tolist()):
        if k % 5 == 0:
            outputs += pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        if k % 10 == 0:
            outputs += pipeline.add_joint_positions(stamp, machine.actuated_joint_names, data.drive_positions[k])
    _, usual = error_and_std(outputs, motion[np.searchsorted(data.stamps, [output.stamp for output in outputs])])
    return machine, motion, data, usual


#: each way once, and all of them in the campaign
BY_DEFAULT = ('srs', True, 4000), ('srs', False, 4000), ('valencia_3rps', False, 0)


@pytest.mark.parametrize(
    ('name', 'together', 'begin'),
    [
        pytest.param(*way, marks=() if way in BY_DEFAULT else pytest.mark.campaign)
        for way in product(('srs', 'hexaglide_6pus', 'valencia_3rps'), (True, False), (0, 4000))
    ],
)
def test_each_drive_has_a_publisher_of_its_own(name, together, begin):
    """With one stamp for all, or each with its own; from rest, or in the middle of a motion."""
    machine, motion, data, usual = moved(name, begin)
    pipeline, outputs = EstimatorPipeline(machine), []
    names, count = machine.actuated_joint_names, machine.actuated_count
    for k, stamp in enumerate(data.stamps.tolist()):
        if k % 5 == 0:
            outputs += pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        for leg in range(count):
            if k % 10 == (0 if together else leg):
                outputs += pipeline.add_joint_positions(stamp, names[leg : leg + 1], data.drive_positions[k, [leg]])
    worst, size = error_and_std(outputs, motion[np.searchsorted(data.stamps, [output.stamp for output in outputs])])
    assert worst < 5.0 and size < 1.3 * usual
    counters = pipeline.health.counters
    assert counters['too_few_legs_to_start'] == count - 1 and counters['estimates'] > 0.99 * counters['legs_accepted']
    assert counters['missing_joint'] <= count  # until each was heard
    assert not {'legs_duplicate_stamp', 'legs_out_of_order_stamp', 'imu_off_prediction'} & set(counters)


def test_a_drive_that_never_comes_is_missing():
    pipeline, data = EstimatorPipeline(SRS), measure(SRS, MOTION)
    for k, stamp in enumerate(data.stamps[:400].tolist()):
        pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        pipeline.add_joint_positions(stamp, SRS.actuated_joint_names[:5], data.drive_positions[k, :5])
    assert pipeline.health.counters['missing_joint'] == 400 and pipeline.health.counters['estimates'] == 0


@pytest.mark.parametrize('times', [*(pytest.param(times, marks=pytest.mark.campaign) for times in (2, 3)), 7])
def test_an_imu_that_is_slower_than_its_driver(times):
    """Values held for several messages; those that repeat are left out, and the input is between those that do not."""
    data = measure(SRS, MOTION)
    held = np.arange(len(EVERY)) // times * times
    force, rate = data.specific_force[held], data.angular_rate[held]
    slow = SimulatedData(data.stamps, data.drive_positions, force, rate, EVERY, LEGS)
    result, usual = estimate(SRS, slow), estimate(SRS, replace(slow, imu_received=held == np.arange(len(held))))
    size = np.linalg.norm(result.motion.position - MOTION.position[LEGS], axis=1)[100:]
    rows = np.searchsorted(data.stamps, usual.motion.stamps)
    best = np.linalg.norm(usual.motion.position - MOTION.position[rows], axis=1)[100:]
    assert np.sqrt(np.mean(size**2)) < 1.1 * np.sqrt(np.mean(best**2))
    assert result.by_legs_alone.mean() < 0.06  # until it is known how often values repeat
    end, config = held[-1] + 1, EstimatorConfig(baseline=False)  # what repeats at the end waits for the next
    slow = SimulatedData(*(values[:end] for values in vars(slow).values()))
    assert_same(estimate(SRS, slow, config), one_by_one(slow, config), ('estimated', 'extra_states'))


@pytest.mark.parametrize('stated', [0.0, 1e-4])
def test_steps_of_encoders_are_measured_where_no_file_states_them(stated):
    data = measure(SRS, MOTION)
    coarse = np.round(data.drive_positions / 1e-4) * 1e-4
    machine = replace(SRS, leg_sensors=replace(SRS.leg_sensors, position_resolution=stated))
    result = estimate(machine, SimulatedData(data.stamps, coarse, data.specific_force, data.angular_rate, EVERY, LEGS))
    error = result.motion.position - MOTION.position[LEGS]
    std = np.sqrt(np.diagonal(result.motion.pose_covariance, axis1=1, axis2=2)[:, :3])
    assert (np.abs(error) / std)[100:].max() < 5.0 and np.linalg.norm(error, axis=1)[100:].max() < 60e-6
    told = [event.detail for event in result.health.events if event.name == 'encoder_resolution']
    assert len(told) == (stated == 0.0) and all('leg1 0.0001, leg2 0.0001' in text for text in told)


def test_noise_has_no_steps():
    random, found = np.random.default_rng(0), EncoderResolution(SRS)
    for _ in range(11):
        assert not found.is_known
        found.add(random.normal(size=6))
    assert found.is_known and not found.unstated.any()
    turning = EncoderResolution(SRS)
    for k in (0, 3, 3, 5, 4, 9, 11, 11, 20, 2, 0, 7, 6):
        turning.add(0.25 * k * np.ones(6))
    np.testing.assert_allclose(turning.unstated, 0.25, rtol=1e-12)
