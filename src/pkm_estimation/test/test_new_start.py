"""A new start as a hypothesis: where no leg fits, it lives for some measurements, however improbable it is at first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from estimated import pose_errors, swinging, with_backlash
from pkm_description.loading import load_machine
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tracking.hypotheses import Hypothesis, are_young, normalised

SRS = load_machine('srs')
RATE, BACKLASH = 100.0, 5e-4


@pytest.mark.parametrize('seed', [4, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in (0, 5))])
def test_legs_that_all_have_backlash_are_not_left_out_for_long(seed: int) -> None:
    """Legs that turn together look as if all had failed; by the IMU alone the pose would be lost after seconds."""
    phases, time = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 6), np.arange(1000) / RATE
    data = simulate_sensors(SRS, lambda at: swinging(SRS, 1.0, phases, at), time, SensorConditions(), seed)
    data = replace(data, drive_positions=with_backlash(data.drive_positions, BACKLASH))
    result = estimate(SRS, data, EstimatorConfig(baseline=False))
    at = (result.motion.stamps - data.stamps[0]) * 1e-9
    errors = np.linalg.norm(pose_errors(result.motion, swinging(SRS, 1.0, phases, at))[:, :3], axis=1)
    assert float(np.sqrt((errors[at > 2.0] ** 2).mean())) < 20.0 * BACKLASH
    assert 'pose_lost' not in result.health.counters


def hypothesis(logarithm: float, scans: int = 0) -> Hypothesis:
    return Hypothesis((), logarithm, scans=scans)


def test_a_young_hypothesis_stays_and_an_old_one_goes() -> None:
    kept = normalised([hypothesis(-40.0), hypothesis(0.0), hypothesis(-60.0, 3), hypothesis(-85.0, 3)], 1e-8)
    assert [one.scans for one in kept] == [0, 3] and kept[1].logarithm == pytest.approx(-60.0)


def test_young_hypotheses_compete_with_each_other() -> None:
    logarithms = np.array([0.0, -50.0, -60.0, -70.0])
    assert are_young(logarithms, [0, 2, 1, 1], 1e-8).tolist() == [False, True, True, False]
    assert not are_young(logarithms, [0, 0, 0, 0], 1e-8).any()


def test_of_equally_likely_ones_the_first_stays_the_first() -> None:
    equal = [hypothesis(-1.0 - 1e-14, 5), hypothesis(-1.0, 7)]
    assert [one.scans for one in normalised(equal, 1e-8)] == [5, 7]
