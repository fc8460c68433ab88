"""Small parts of the stream: jumps of the IMU's samples, sentences of a report, rows of innovations, convergence."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from pkm_description.driver import STANDARD_IMU
from pkm_description.loading import load_machine
from pkm_estimation.exchange.health import Event
from pkm_estimation.exchange.imu_jumps import ImuJumps
from pkm_estimation.exchange.messages import LegMessageReader
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import (
    innovation_names,
    innovation_row,
    innovation_rows,
    summarise,
    summarise_baseline,
    values,
)
from test_pipeline import feed, imu_message, leg_message

SRS = load_machine('srs')
MS = 10**6


def jumped(size=5.0, sensor=0, count=60, place=40, epoch=0):
    """Samples every 10 ms of which one jumps, and all after it stay there."""
    noise = np.concatenate([SRS.imu.accelerometer_noise, SRS.imu.gyroscope_noise])
    samples = np.tile([0.1, 0.2, 9.8, 0.01, 0.02, 0.03], (count, 1))
    samples += noise * np.random.default_rng(0).normal(size=samples.shape)
    samples[place:, sensor] += size
    jumps = ImuJumps(SRS.imu, STANDARD_IMU, kept=200 * MS)
    jumps.take(epoch, 10 * MS * np.arange(1, count + 1), samples)
    return jumps


def at(time, epoch=0):
    return Instant(epoch, int(time * MS))


def test_a_jump_makes_the_input_uncertain_from_the_sample_before_until_the_legs_have_told():
    """It began at 400 ms, was there at 410 ms, and is settled two samples and 20 ms later."""
    jumps = jumped()
    assert jumps.at(at(400)) is None
    force, rate = jumps.at(at(400.001))
    assert force == pytest.approx(5.0, abs=0.2) and rate < 0.01
    assert jumps.at(at(450)) == (force, rate) and jumps.at(at(450.001)) is None
    assert jumps.at(at(405, epoch=1)) is None
    turned, spin = jumped(0.5, sensor=4).at(at(405))
    assert spin == pytest.approx(0.5, abs=0.05) and turned < 0.5
    assert jumped(0.0).at(at(405)) is None


@pytest.mark.parametrize('sensor', range(6))
def test_a_jump_of_any_axis_is_seen(sensor):
    """Specific force and angular rate each by their largest axis."""
    found = jumped(5.0, sensor=sensor).at(at(405))
    assert found[sensor // 3] == pytest.approx(5.0, abs=0.2) and found[1 - sensor // 3] < 0.1


@pytest.mark.parametrize(
    ('begin', 'end', 'common'),
    [(400, 410, 10), (350, 500, 10), (402, 405, 3), (390, 403, 3), (407, 430, 3), (410, 430, 0), (380, 400, 0)],
)
def test_what_a_jump_adds_is_its_size_times_the_time_in_common(begin, end, common):
    jumps = jumped()
    force, rate = jumps.at(at(405))
    found = jumps.between(at(begin), at(end))
    assert (found is None) if not common else (found == pytest.approx((common * 1e-3 * force, common * 1e-3 * rate)))


def test_quiet_times_are_those_before_and_after():
    jumps = jumped()
    for begin, end, quiet in ((300, 400, True), (300, 401, False), (449, 470, False), (450, 470, True)):
        assert jumps.are_quiet(at(begin), at(end)) == quiet
    assert jumps.next_begin(at(100)) == jumps.next_begin(at(449)) == 400 * MS
    assert jumps.next_begin(at(450)) == jumps.next_begin(at(100, epoch=1)) == inf
    jumps.between(at(650), at(660))  # what was settled 200 ms before is forgotten
    assert jumps.are_quiet(at(300), at(500))
    kept = jumped()
    kept.between(at(649), at(660))
    assert not kept.are_quiet(at(300), at(500))


# -- messages ----------------------------------------------------------------------------------------------------------

NAMES = SRS.actuated_joint_names
LIMITS = SRS.actuated_joints[1].limits
MARGIN = 0.1 * (LIMITS.upper - LIMITS.lower)


@pytest.mark.parametrize('stroke', [LIMITS.lower - 0.999 * MARGIN, LIMITS.upper + 0.999 * MARGIN])
def test_positions_up_to_a_tenth_of_the_stroke_beyond_its_end_are_used(stroke):
    reader, said, positions = LegMessageReader(SRS, 5), [], np.full(6, 0.5 * (LIMITS.lower + LIMITS.upper))
    positions[1] = stroke
    sample = reader.read(NAMES, positions, None, lambda *words: said.append(words))
    assert sample.used.tolist() == list(range(6)) and not said and sample.positions[1] == stroke
    many = reader.read_all(NAMES, np.stack([positions] * 2), np.zeros((2, 6)))
    assert many is not None and many[0].shape == (2, 6)


@pytest.mark.parametrize('stroke', [LIMITS.lower - 1.001 * MARGIN, LIMITS.upper + 1.001 * MARGIN, np.nan])
def test_positions_beyond_that_are_left_out_by_name(stroke):
    said, positions = [], np.full(6, 0.5 * (LIMITS.lower + LIMITS.upper))
    positions[1] = stroke
    reader = LegMessageReader(SRS, 5)
    sample = reader.read(NAMES, positions.copy(), None, lambda *words: said.append(words))
    assert sample.used.tolist() == [0, 2, 3, 4, 5] and np.isnan(sample.positions[1])
    ((reason, text),) = said
    assert reason == ('position_not_finite' if np.isnan(stroke) else 'position_out_of_stroke') and NAMES[1] in text
    assert reader.read_all(NAMES, positions[None], np.zeros((1, 6))) is None
    assert LegMessageReader(SRS, 6).read(NAMES, positions, None, lambda *words: said.append(words)) is None
    assert said[-1][0] == 'too_few_legs'


def test_millimetres_are_named_as_the_likely_mistake():
    said, middle = [], 0.5 * (LIMITS.lower + LIMITS.upper)
    LegMessageReader(SRS, 1).read(NAMES, np.full(6, 1e3 * middle), None, lambda *words: said.append(words))
    assert 'millimetres' in said[0][1]
    LegMessageReader(SRS, 1).read(NAMES, np.full(6, 1e6 * middle), None, lambda *words: said.append(words))
    assert 'millimetres' not in said[2][1]


# -- report ------------------------------------------------------------------------------------------------------------


def report(**changes):
    plain = SimpleNamespace(
        samples=10, event_counts={}, events=(), mode_doubt='', lasting='', left_out={}, imu_because='', nis_mean=6.0,
        found={'delay of the IMU': 'imu_delay: 0.005 (+- 1e-06)'},
        in_band=np.full(6, 0.95), unconverged=(), imu_rate=100.0, leg_rate=100.0, counters={'b': 2, 'a': 1},
        normalised_innovation=np.ones(6), convergence_time={'position': 1.5}, estimated={}, noise_factors=(1.0, 1.0),
        user_measurements={},
    )  # fmt: skip
    return SimpleNamespace(**(vars(plain) | changes))


LOST = {
    'event_counts': {'legs_lost': 3, 'started': 1},
    'events': (Event(1, 'legs_lost', 'why'), Event(2, 'started', 'x')),
}


@pytest.mark.parametrize(
    ('changes', 'level', 'message'),
    [
        ({}, 'ok', 'estimating'),
        ({'event_counts': {'started': 1, 'reset': 2}}, 'ok', 'estimating'),
        ({'samples': 0, 'imu_rate': 0.0, 'leg_rate': 0.0}, 'error', 'no usable IMU and leg samples'),
        ({'samples': 0, 'imu_rate': 0.0}, 'error', 'no estimate: no usable IMU samples'),
        ({'samples': 0, 'leg_rate': 0.0}, 'error', 'no estimate: no usable leg samples'),
        ({'samples': 0}, 'error', 'do not overlap'),
        ({'samples': 0} | LOST, 'error', 'do not overlap; last: legs_lost: why'),
        ({'event_counts': {'unknown_joint': 1}}, 'error', '1 problems (unknown_joint)'),
        ({'mode_doubt': 'two'} | LOST, 'warn', 'assembly mode unknown: two'),
        ({'lasting': 'late'} | LOST, 'warn', 'over-confident: late'),
        ({'left_out': {'leg1': 'stuck', 'leg2': 'off'}}, 'warn', 'left out: leg1: stuck; leg2: off'),
        ({'left_out': {'leg1': 'stuck'}, 'imu_because': 'frozen'}, 'warn', 'left out: leg1: stuck; frozen'),
        ({'imu_because': 'frozen'}, 'warn', 'the IMU was left out: frozen'),
        (LOST, 'warn', '3 problems (legs_lost); last: legs_lost: why'),
        ({'nis_mean': 12.0}, 'ok', 'estimating'),
        ({'nis_mean': 12.1}, 'warn', 'mean NIS 12.1, expected about 6'),
        ({'in_band': np.array([0.9, 0.8, 0.9, np.nan, 0.9, 0.9])}, 'ok', 'estimating'),
        ({'in_band': np.array([0.9, 0.79, 0.9, np.nan, 0.9, 0.9])}, 'warn', 'innovations are larger'),
        ({'unconverged': ('velocity', 'attitude')}, 'warn', 'converging: velocity, attitude'),
        ({'unconverged': ('velocity', 'gyroscope_bias')}, 'warn', 'converging: velocity, gyroscope bias'),
        ({'unconverged': ('accelerometer_bias',)}, 'ok', 'estimating; not known yet: accelerometer bias'),
    ],
)
def test_a_report_is_summarised_by_its_worst(changes, level, message):
    found = summarise(report(**changes), 6)
    assert found[0] == level and message in found[1]


@pytest.mark.parametrize(
    ('changes', 'level', 'message'),
    [({}, 'ok', 'estimating'), (LOST, 'warn', '3 problems'), ({'samples': 0}, 'error', 'no pose fits'),
     ({'samples': 0, 'leg_rate': 0.0}, 'error', 'no usable leg samples')],
)  # fmt: skip
def test_a_baseline_is_summarised(changes, level, message):
    found = summarise_baseline(report(**changes))
    assert found[0] == level and message in found[1]


def test_values_of_a_report():
    found = values(report(unconverged=('velocity',), mode_doubt='two', noise_factors=(2.0, 1.0),
                          left_out={'leg3': 'stuck'}, user_measurements={'tracker': (5, 2.5, 3)},
                          estimated={'imu_delay': ([0.01], [0.001])}), [f'leg{k}' for k in range(1, 7)])  # fmt: skip
    assert found['position'] == 'converged 1.5 s after the start' and found['velocity'] == 'not converged'
    assert found['estimated imu_delay [s]'] == '0.01 +- 0.001' and found['assembly mode'] == 'unknown: two'
    assert found['adapted factor on the IMU noise'] == 2.0 and found['leg3 left out'] == 'stuck'
    assert found['tracker mean NIS'] == '2.5 of 5, expected 3' and found['mean NIS'] == 6.0
    assert (found['count a'], found['count b'], found['leg2 innovations within 2 sigma']) == (1, 2, 0.95)
    assert found['delay of the IMU, found'] == 'imu_delay: 0.005 (+- 1e-06)'
    assert 'adapted factor on the IMU noise' not in values(report(), ['leg1'] * 6)


def test_rows_of_innovations():
    names = innovation_names(['leg1', 'leg2'])
    assert names == ['leg1/innovation', 'leg1/sigma', 'leg1/nis', 'leg2/innovation', 'leg2/sigma', 'leg2/nis', 'nis']
    rows = innovation_rows(np.array([[3.0, -1.0]]), np.array([[2.0, 4.0]]), np.array([7.0]))
    assert rows.tolist() == [[3.0, 2.0, 2.25, -1.0, 4.0, 0.0625, 7.0]]
    nothing = innovation_row(SimpleNamespace(innovation=None, drive_positions=np.zeros(2)))
    assert len(nothing) == len(names) and np.isnan(nothing).all()


def test_convergence_is_told_from_the_start_on():
    """The standard deviations of the outputs say when; the report says how long after the start that was."""
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, imu_delay=0.0123456789))
    assert pipeline.imu_delay == pytest.approx(0.012345679, abs=1e-12)
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False))
    outputs = feed(pipeline, [message(k) for k in range(150) for message in (imu_message, leg_message)])
    stds = np.array([output.state_std for output in outputs])
    found = pipeline.health.report()
    limits = {}
    assert {'position', 'velocity', 'attitude'} <= set(found.convergence_time)
    for name, rows in (('position', slice(0, 3)), ('velocity', slice(3, 6)), ('attitude', slice(6, 9))):
        place = round(found.convergence_time[name] * 1e9 / (outputs[1].stamp - outputs[0].stamp))
        limits[name] = stds[place, rows].max()
        assert (stds[:place, rows].max(axis=1) > limits[name]).all(), name
    assert not set(found.unconverged) & set(found.convergence_time)
    pipeline.reset()
    again = feed(pipeline, [later(message(k)) for k in range(1) for message in (imu_message, leg_message)])
    assert again[0].started and 'velocity' in pipeline.health.report().unconverged


def later(message):
    """The same message an hour later."""
    return (message[0], message[1] + 3600 * 10**9, *message[2:])
