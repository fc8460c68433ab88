"""Q and R that are a hundred times wrong are found from the innovations (S3-55); biases that drift are followed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1, mp1_profile
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorConditions, measure, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import values
from test_pipeline import SRS, feed, pairs

MOTION = mp1(SRS, duration=55.0, rate=100.0)[slice(1000, 4500)]
DATA = measure(SRS, MOTION, seed=8)


def in_band(outputs):
    ratio = np.array([o.innovation.residual / o.innovation.std for o in outputs])
    return float(np.nanmean(np.abs(ratio) <= 2.0))


@pytest.mark.parametrize(
    ('mode', 'wrong', 'q', 'r'),
    [
        pytest.param('q', {'q_scale': 100.0}, 0.01, 1.0, marks=pytest.mark.campaign),
        ('q', {'q_scale': 0.01}, 100.0, 1.0),
        pytest.param('q_and_r', {'q_scale': 100.0}, 0.01, 1.0, marks=pytest.mark.campaign),
        ('q_and_r', {'r_scale': 100.0}, 1.0, 0.01),
    ],
)
def test_wrong_noise_is_found(mode, wrong, q, r):
    last = slice(2500, None)  # from a hundred times too much it takes 30 s
    without = feed(EstimatorPipeline(SRS, EstimatorConfig(baseline=False, **wrong)), pairs(range(600), DATA))
    nis = np.nanmean([output.innovation.nis for output in without[300:] if output.innovation is not None])
    # an IMU that is noisier than stated is no surprise: its noise is measured
    assert (0.8 < nis / 6.0 < 1.2) == (wrong.get('q_scale', 1.0) < 1.0)
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, adapt_noise=mode, **wrong))
    outputs = feed(pipeline, pairs(range(len(MOTION)), DATA))
    assert 0.9 < in_band(outputs[last]) < 0.98
    assert pipeline.tracker.noise.q_factor == pytest.approx(q, rel=0.7)
    assert pipeline.tracker.noise.r_factor == pytest.approx(r, rel=0.3)
    shown = values(pipeline.health.report(), SRS.drive_labels)
    assert shown['adapted factor on the IMU noise'] == pipeline.tracker.noise.q_factor


def test_lost_measurements_tell_nothing_about_noise():
    """All legs jump at once. As noise, it made Q a thousand times larger and good legs were left out."""
    machine = load_machine('palida')
    data = measure(machine, mp1(machine, duration=30.0, rate=100.0)[slice(600, 1200)], seed=4)
    later = replace(data, stamps=data.stamps + 3 * 10**9)
    pipeline = EstimatorPipeline(machine, EstimatorConfig(baseline=False, adapt_noise='q_and_r'))
    for k, source in [(k, data) for k in range(300)] + [(k, later) for k in range(500)]:
        stamp = int(source.stamps[k])
        pipeline.add_imu(stamp, source.specific_force[k], source.angular_rate[k])
        positions = source.drive_positions[k]
        pipeline.add_joint_positions(stamp, machine.actuated_joint_names, positions)
    assert 'legs_jumped' in pipeline.health.counters
    assert pipeline.tracker.noise.q_factor == pytest.approx(1.0, rel=0.6)


def test_a_late_imu_is_noise_and_no_fault_of_legs():
    """30 ms late, and nobody says so (before: legs were left out, R went to 1e-4, the pose was 70 mm off)."""
    late = simulate_sensors(SRS, mp1_profile(SRS, 55.0).evaluate, MOTION.time, SensorConditions(imu_delay=0.03), seed=8)
    result = estimate(SRS, late, EstimatorConfig(adapt_noise='q_and_r'))
    rows = np.searchsorted(late.stamps, result.motion.stamps)  # a delay that is found costs a few estimates
    error = np.linalg.norm(result.motion.position - MOTION.position[rows], axis=1)[1000:]
    assert error.max() < 1e-4
    assert not any(name.endswith('_left_out') for name in result.health.counters)
    assert 0.2 < result.health.noise_factors[1] < 2.0


def test_right_noise_stays():
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, adapt_noise='q_and_r'))
    feed(pipeline, pairs(range(2000), DATA))
    assert pipeline.tracker.noise.q_factor == pytest.approx(1.0, rel=0.5)
    assert pipeline.tracker.noise.r_factor == pytest.approx(1.0, rel=0.2)
