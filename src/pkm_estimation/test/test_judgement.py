"""The verdict of the report in words: when claims hold, from when on not, and what goes with that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.report import judge
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorConfig

from pkm_estimation import estimate, measure

SRS = load_machine('srs')


@pytest.fixture(scope='module')
def good() -> EstimationResult:
    motion = mp1(SRS, 40.0, 100.0)[slice(1000, 2200)]
    return estimate(SRS, measure(SRS, motion, seed=2), EstimatorConfig(baseline=False))


def larger(result: EstimationResult, begin: int, end: int, factor: float = 3.0) -> EstimationResult:
    """The same with squares of innovations that are so many times larger in some rows."""
    nis, innovation = result.nis.copy(), result.innovation.copy()
    nis[begin:end] *= factor
    innovation[begin:end] *= factor**0.5
    return replace(result, nis=nis, innovation=innovation)


def shifted(result: EstimationResult, by: float) -> MotionEstimate:
    return replace(result.motion, position=result.motion.position + by)


def test_consistent_and_not(good):
    judgement = judge(good)
    assert judgement.is_good and judgement.sentence.startswith('Consistent: innovations ')
    for begin, end, words in (
        (0, 1200, 'all the time'), (600, 1200, 'from 6 s on'), (300, 500, 'from 3 to 5 s'),
    ):  # fmt: skip
        judgement = judge(larger(good, begin, end))
        assert not judgement.is_good and judgement.sentence.startswith(f'Over-confident {words}: '), judgement.sentence
    some = larger(larger(good, 200, 300), 1000, 1100)
    assert 'in 2 of 11 windows of 1 s, the first at 2 s, the last at 11 s' in judge(some).sentence
    assert judge(larger(good, 0, 1200, 0.3)).sentence.startswith('Too cautious')


def test_what_goes_with_it_is_named(good):
    force = good.specific_force.copy()
    force[600:] += 50.0 * np.sin(np.arange(600))[:, None]
    assert 'fast motion' in judge(replace(larger(good, 600, 1200), specific_force=force)).sentence
    assert 'nothing recorded goes together' in judge(larger(good, 600, 1200)).sentence
    one = good.innovation.copy()
    one[600:, 2] *= 5.0
    nis = np.nansum((one / good.innovation_std) ** 2, axis=1)
    assert 'drive 3 alone' in judge(replace(good, innovation=one, nis=nis)).sentence


def test_truth_counts_more_than_innovations(good):
    assert judge(good, shifted(good, 1e-6)).is_good
    judgement = judge(good, shifted(good, 1e-4))
    assert not judgement.is_good
    assert judgement.sentence.startswith('Over-confident by the recorded truth, though innovations are consistent')


def test_without_imu_and_with_too_little(good):
    alone = replace(good, by_legs_alone=np.ones(len(good), dtype=bool))
    assert judge(alone).sentence.startswith('Without the IMU nearly all the time')
    motion = mp1(SRS, 40.0, 100.0)[slice(1000, 1050)]
    few = estimate(SRS, measure(SRS, motion, seed=2), EstimatorConfig(baseline=False))
    assert judge(few).sentence == 'Not judged: 50 estimates are too few to say whether they are consistent.'
