"""The IMU left out and a leg missing: a pose that nothing tells any more is not published, and found again."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1_profile
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline

RATE = 100.0


@pytest.mark.parametrize('missing', [0.1, 1.7])
def test_what_three_legs_do_not_tell_is_not_published(missing: float) -> None:
    machine = load_machine('srs')
    time = np.arange(0.0, 6.0, 1.0 / RATE)
    motion = mp1_profile(machine, 60.0).evaluate(20.0 + time)
    data = measure(machine, motion, seed=0)
    names, pipeline = list(machine.actuated_joint_names), EstimatorPipeline(machine, EstimatorConfig(baseline=False))
    outputs: list[tuple[int, EstimatorOutput]] = []
    for k, stamp in enumerate(data.stamps.tolist()):
        fails = 2.0 <= time[k] < 5.0
        pipeline.add_imu(stamp, np.zeros(3) if fails else data.specific_force[k], data.angular_rate[k] * (not fails))
        without = 3.0 <= time[k] < 3.0 + missing
        legs = slice(3, None) if without else slice(None)
        given = pipeline.add_joint_positions(stamp, names[legs], data.drive_positions[k, legs])
        outputs += [(round(RATE * 1e-9 * (output.stamp - data.stamps[0])), output) for output in given]
    counters = pipeline.health.counters
    assert counters['pose_lost'] == (missing > 1.0)
    away = np.array([output.motion.position - motion.position[k] for k, output in outputs])
    spread = np.array([output.motion.pose_covariance[:3, :3] for _, output in outputs])
    normalised = np.einsum('ni,nij,nj->n', away, np.linalg.inv(spread), away)
    assert normalised.max() < 36.0
    places = np.array([k for k, _ in outputs])
    there = (places >= 300) & (places < 300 + round(RATE * missing))
    assert 10 <= there.sum() < 40
    assert np.linalg.norm(away[there], axis=1).max() < 0.5
    after = places >= 300 + round(RATE * missing)
    assert after.sum() == 300 - round(RATE * missing)
    assert np.linalg.norm(away[after], axis=1).max() < 2e-4
    assert not outputs[-1][1].by_legs_alone and not outputs[-1][1].mode_unknown


def test_after_a_gap_of_imu_and_legs_the_pose_is_that_of_the_legs() -> None:
    """Not that of a correction over metres, which may lead to another assembly mode."""
    machine = load_machine('srs')
    time = np.arange(0.0, 4.0, 1.0 / RATE)
    motion = mp1_profile(machine, 60.0).evaluate(20.0 + time)
    data = measure(machine, motion, seed=0)
    names, pipeline = list(machine.actuated_joint_names), EstimatorPipeline(machine, EstimatorConfig(baseline=False))
    errors: list[tuple[float, float]] = []
    for k, stamp in enumerate(data.stamps.tolist()):
        fails = 2.0 <= time[k] < 3.0
        pipeline.add_imu(stamp, np.zeros(3) if fails else data.specific_force[k], data.angular_rate[k] * (not fails))
        if not 2.05 <= time[k] < 2.7:
            for output in pipeline.add_joint_positions(stamp, names, data.drive_positions[k]):
                place = round(RATE * 1e-9 * (output.stamp - data.stamps[0]))
                errors.append((time[place], float(np.linalg.norm(output.motion.position - motion.position[place]))))
    assert pipeline.health.counters['pose_lost'] == 1
    assert pipeline.health.counters['started'] == 1
    assert max(error for when, error in errors if when > 1.0) < 2e-4
    assert sum(when >= 2.7 for when, _ in errors) == 130
