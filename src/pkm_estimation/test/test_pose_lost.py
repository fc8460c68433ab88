"""The IMU left out and a leg missing: a pose that nothing tells any more is not published, and found again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from estimated import squares
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1_profile
from pkm_estimation.filtering.legs_alone import is_lost
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline

RATE, CONFIG = 100.0, EstimatorConfig(baseline=False)


class Run:
    """Sensors of MP1; the IMU reads zeros from 2 s on.

    Parameters
    ----------
    duration, imu_returns : s
    legs_at : which legs are in the message of a time [s]; none: there is no message
    """

    def __init__(self, duration: float, imu_returns: float, legs_at: Callable[[float], slice | None]) -> None:
        machine = load_machine('srs')
        time = np.arange(0.0, duration, 1.0 / RATE)
        self.motion = mp1_profile(machine, 60.0).evaluate(20.0 + time)
        data = measure(machine, self.motion, seed=0)
        pipeline, names = EstimatorPipeline(machine, CONFIG), list(machine.actuated_joint_names)
        self.outputs: list[EstimatorOutput] = []
        for k, stamp in enumerate(data.stamps.tolist()):
            works = not 2.0 <= time[k] < imu_returns
            pipeline.add_imu(stamp, data.specific_force[k] * works, data.angular_rate[k] * works)
            legs = legs_at(time[k])
            if legs is not None:
                self.outputs += pipeline.add_joint_positions(stamp, names[legs], data.drive_positions[k, legs])
        self.counters = pipeline.health.counters
        self.places = np.rint(RATE * 1e-9 * np.array([one.stamp - data.stamps[0] for one in self.outputs])).astype(int)
        self.away = np.array([one.motion.position for one in self.outputs]) - self.motion.position[self.places]


@pytest.mark.parametrize('missing', [0.1, 1.7])
def test_what_three_legs_do_not_tell_is_not_published(missing: float) -> None:
    run = Run(6.0, 5.0, lambda time: slice(3, None) if 3.0 <= time < 3.0 + missing else slice(None))
    outputs, places, away = run.outputs, run.places, run.away
    assert run.counters['pose_lost'] == (missing > 1.0)
    spread = np.array([output.motion.pose_covariance[:3, :3] for output in outputs])
    assert squares(away, spread).max() < 36.0
    there = (places >= 300) & (places < 300 + round(RATE * missing))
    assert 10 <= there.sum() < 40
    assert np.linalg.norm(away[there], axis=1).max() < 0.5
    after = places >= 300 + round(RATE * missing)
    assert after.sum() == 300 - round(RATE * missing)
    assert np.linalg.norm(away[after], axis=1).max() < 2e-4
    assert not outputs[-1].by_legs_alone and not outputs[-1].mode_unknown


def test_after_a_gap_of_imu_and_legs_the_pose_is_that_of_the_legs() -> None:
    """Not that of a correction over metres, which may lead to another assembly mode."""
    run = Run(4.0, 3.0, lambda time: None if 2.05 <= time < 2.7 else slice(None))
    assert run.counters['pose_lost'] <= 1
    assert np.linalg.norm(run.away[run.places > 100], axis=1).max() < 2e-4
    assert (run.places >= 270).sum() == 130


def test_by_the_imu_alone_what_constants_make_of_the_pose_counts():
    """Where no leg fits, the pose is lost once it is claimed to be anywhere; for legs alone only noise counts."""
    filter_ = EstimatorPipeline(load_machine('srs')).filter
    filter_.covariance[:] = 1e-8 * np.eye(len(filter_.covariance))
    filter_.ukf.sensitivity[0, 0], claim = 1.0, np.zeros_like(filter_.prior)
    claim[0, 0] = 0.3 * filter_.geometry.radius
    filter_.weigh_constants(claim, claim)
    assert is_lost(filter_.ukf.claimed, filter_.geometry.radius)
    assert not is_lost(filter_.covariance, filter_.geometry.radius)
