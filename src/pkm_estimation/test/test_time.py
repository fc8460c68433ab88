"""Only stamps drive the filter: late and shuffled samples, delays, clocks, stale streams."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from estimated import squares
from hypothesis import given, settings
from hypothesis import strategies as st
from pkm_description.motion.profiles import mp1, mp1_profile
from pkm_estimation.offline.result import collect
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.conditions import SensorConditions
from pkm_estimation.sensors.simulated import simulate_sensors
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import WELL, summarise
from test_pipeline import (
    DATA,
    MOTION,
    NAMES,
    SRS,
    as_bytes,
    feed,
    half_second,
    imu_message,
    leg_message,
    pairs,
)

WINDOW = EstimatorConfig(history=0.2)


def by_stamp(outputs):
    """Bytes of the last output of each stamp."""
    return {o.stamp: data for o, data in zip(outputs, as_bytes(outputs), strict=True)}


# -- late samples ----------------------------------------------------------------------------------------------------


def shuffled(messages, lateness, random):
    """Messages in the order of arrival when each is up to ``lateness`` s late; the first and last ones are on time."""
    end = messages[-20][1]
    arrival = [min(end, m[1] + random.uniform(0.0, lateness * 1e9)) if m[1] < end else m[1] for m in messages]
    arrival[:2] = [0, 0]
    return [messages[k] for k in np.argsort(arrival, kind='stable')]


@pytest.mark.parametrize('config', [WINDOW, replace(WINDOW, filter='ekf'), replace(WINDOW, estimate=('imu_delay',))])
def test_late_legs_and_late_imu_samples_end_bit_by_bit_as_in_order(config):
    messages = pairs(range(120))
    in_order = feed(EstimatorPipeline(SRS, config), messages)
    pipeline = EstimatorPipeline(SRS, config)
    late = feed(pipeline, shuffled(messages, 0.1, np.random.default_rng(1)))
    assert pipeline.health.counters['imu_late'] > 20 and pipeline.health.counters['legs_late'] > 20
    # every measurement is answered once, at last as in order
    assert sorted(o.stamp for o in late) == [o.stamp for o in in_order]
    ends = [m[1] for m in messages[-20:]]
    expected, found = by_stamp(in_order), by_stamp(late)
    assert all(found[stamp] == expected[stamp] for stamp in ends)
    without_lateness = {k: v for k, v in pipeline.health.counters.items() if not k.endswith('_late')}
    assert without_lateness == dict.fromkeys(WELL, 120) | {'started': 1}
    np.testing.assert_array_equal(pipeline.filter.covariance, feed_filter(messages, config).covariance)


def feed_filter(messages, config):
    pipeline = EstimatorPipeline(SRS, config)
    feed(pipeline, messages)
    return pipeline.filter


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.05, 0.19]))
def test_any_lateness_within_the_window(seed, lateness):
    messages = pairs(range(60))
    in_order = feed(EstimatorPipeline(SRS, WINDOW), messages)
    late = feed(EstimatorPipeline(SRS, WINDOW), shuffled(messages, lateness, np.random.default_rng(seed)))
    assert as_bytes(late)[-1] == as_bytes(in_order)[-1]


def test_history_alone_changes_nothing():
    """But for constants of the IMU that may be off, which are tested and claimed without a history only."""
    messages, by_noise = pairs(range(60)), EstimatorConfig(claim='repeatability')
    expected = as_bytes(feed(EstimatorPipeline(SRS, by_noise), messages))
    assert as_bytes(feed(EstimatorPipeline(SRS, replace(by_noise, history=WINDOW.history)), messages)) == expected


@pytest.mark.parametrize('topic', ['legs', 'imu'])
def test_later_than_the_window_is_dropped_by_name(topic):
    missing = leg_message(30) if topic == 'legs' else imu_message(30)
    messages = [m for m in pairs(range(80)) if not (m[0] == missing[0] and m[1] == missing[1])]
    expected = as_bytes(feed(EstimatorPipeline(SRS, WINDOW), messages))
    pipeline = EstimatorPipeline(SRS, WINDOW)
    assert as_bytes(feed(pipeline, [*messages[:-20], missing, *messages[-20:]])) == expected
    assert pipeline.health.counters[f'{topic}_too_late'] == 1


def test_imu_sample_that_is_as_late_as_the_window_allows():
    """It changes the legs since the IMU sample before it, which are older than the window."""
    imu, legs = half_second(50, 100)
    config = EstimatorConfig(history=0.06, baseline=False)
    in_order = sorted(imu + legs, key=lambda m: (m[1], m[0]))
    place = in_order.index(imu[10])
    until = next(k for k, m in enumerate(in_order) if m[1] > imu[10][1] + 60_000_000)
    late = [*in_order[:place], *in_order[place + 1 : until], imu[10], *in_order[until:]]
    pipeline = EstimatorPipeline(SRS, config)
    assert as_bytes(feed(pipeline, late))[-1] == as_bytes(feed(EstimatorPipeline(SRS, config), in_order))[-1]
    assert pipeline.health.counters['imu_late'] == 1


def test_late_duplicate_is_a_duplicate():
    pipeline = EstimatorPipeline(SRS, WINDOW)
    feed(pipeline, [*pairs(range(50)), leg_message(45), imu_message(44)])
    assert pipeline.health.counters['legs_duplicate_stamp'] == pipeline.health.counters['imu_duplicate_stamp'] == 1


def test_late_imu_sample_answers_what_had_to_be_rejected():
    """Legs in an IMU gap have no estimate, until the gap is filled within the window."""
    pipeline = EstimatorPipeline(SRS, replace(WINDOW, maximum_imu_gap=0.03))
    gap = range(50, 55)
    outputs = feed(pipeline, [m for m in pairs(range(60)) if m[0] == 'legs' or m[1] not in DATA.stamps[gap]])
    assert not set(DATA.stamps[gap]) & {o.stamp for o in outputs}
    outputs = feed(pipeline, [imu_message(k) for k in gap])
    assert set(DATA.stamps[gap]) <= {o.stamp for o in outputs}
    assert pipeline.health.counters['legs_rejected'] == pipeline.health.counters['legs_answered_late'] == len(gap)


# -- delays ----------------------------------------------------------------------------------------------------------

EVALUATE = mp1_profile(SRS, 40.0).evaluate


@cache
def delayed_run(delay, config, duration=20.0, begin=8.0, seed=3):
    """Errors (N, 3) of the position, outputs, pipeline; IMU samples are ``delay`` old at their stamps."""
    time = begin + np.arange(round(100 * duration)) / 100.0
    data = simulate_sensors(SRS, EVALUATE, time, SensorConditions(imu_delay=delay), seed)
    pipeline = EstimatorPipeline(SRS, config)
    outputs = feed(pipeline, pairs(range(len(time)), data))
    truth = dict(zip(data.stamps.tolist(), EVALUATE(time).position, strict=True))
    return np.array([o.motion.position - truth[o.stamp] for o in outputs]), outputs, pipeline


def rms(errors):
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))


def test_declared_delay_is_as_good_as_none():
    """S3-48: IMU 30 ms late and declared; the outputs keep the legs' stamps."""
    undelayed = rms(delayed_run(0.0, EstimatorConfig(baseline=False))[0][500:])
    errors, outputs, _ = delayed_run(0.03, EstimatorConfig(baseline=False, imu_delay=0.03), 12.0)
    assert rms(errors[500:]) < 1.3 * undelayed
    ratio = np.array([o.innovation.residual / o.innovation.std for o in outputs[500:]])
    assert np.mean(np.abs(ratio) <= 2.0) > 0.92
    assert len(outputs) > 1190  # the last ones wait for the IMU


def test_unknown_delay_is_found_and_declared():
    """30 ms: found within 2 ms, innovations in band, position within two times of the undelayed one."""
    undelayed = rms(delayed_run(0.0, EstimatorConfig(baseline=False))[0][1000:])
    errors, outputs, pipeline = delayed_run(0.03, EstimatorConfig(baseline=False, estimate=('imu_delay',)))
    found = pipeline.imu_delay + pipeline.filter.state[pipeline.filter.layout.imu_delay][0]
    assert found == pytest.approx(0.03, abs=2e-3)
    assert pipeline.imu_delay == pytest.approx(0.03, abs=2e-3)
    assert pipeline.health.counters['imu_delay_declared'] >= 1
    assert rms(errors[1000:]) < 2.0 * undelayed
    # what users are told is the whole delay, not what is left of it
    assert outputs[-1].state[pipeline.filter.layout.imu_delay][0] == pytest.approx(found)
    report = pipeline.health.report()
    assert report.estimated['imu_delay'][0][0] == pytest.approx(found)
    collected = collect(outputs, report)
    assert collected.state[-1, pipeline.filter.layout.imu_delay][0] == pytest.approx(found)
    ratio = np.array([o.innovation.residual / o.innovation.std for o in outputs[1000:]])
    assert np.mean(np.abs(ratio) <= 2.0) > 0.9
    covariances = np.array([o.motion.pose_covariance[:3, :3] for o in outputs[1000:]])
    assert squares(errors[1000:], covariances).mean() < 9.0


def test_delay_that_was_declared_too_long_is_corrected():
    _, _, pipeline = delayed_run(0.0, EstimatorConfig(baseline=False, estimate=('imu_delay',), imu_delay=0.02), 12.0)
    assert pipeline.imu_delay == pytest.approx(0.0, abs=2e-3)


def test_disturbed_filter_does_not_make_up_a_delay():
    """All legs jump at once, as between two recordings: no delay of seconds is made of that, but a new start."""
    motion = mp1(SRS, 30.0, 100.0)[slice(1200, 1500)]
    data = measure(SRS, motion, 4)
    later = replace(data, stamps=data.stamps + 3 * 10**9)
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, estimate=('imu_delay',)))
    outputs = feed(pipeline, pairs(range(300), data) + pairs(range(300), later))
    assert abs(pipeline.imu_delay) < 0.01
    assert len(outputs) == 600
    # whether it is the legs or the platform, one measurement does not say
    errors = [output.motion.position - motion.position[k + 1] for k, output in enumerate(outputs[301:])]
    claimed = [output.motion.pose_covariance[:3, :3].diagonal() ** 0.5 for output in outputs[301:]]
    assert (np.abs(errors) / claimed).max() < 5.0
    assert np.abs(outputs[-1].motion.position - motion.position[-1]).max() < 1e-4


def test_output_between_stamps_of_an_undeclared_delay():
    """While the delay is a state, the pose given is that of the stamp, not that of the IMU's sample."""
    filter_ = EstimatorPipeline(SRS, EstimatorConfig(estimate=('imu_delay',))).filter
    filter_.start_at(SRS.home)
    state = filter_.ukf.state
    state[3:6] = [0.5, 0.2, -0.1]
    imu = np.concatenate([-SRS.gravity, [0.0, 0.0, 0.3]])
    early = filter_.point_motion(imu)
    state[filter_.layout.imu_delay] = 0.01
    late = filter_.point_motion(imu)
    state[filter_.layout.imu_delay] = 0.0
    filter_.predict(imu, imu, 0.01)
    predicted = filter_.point_motion(imu)
    assert np.abs(predicted.position - early.position).max() > 1e-3
    np.testing.assert_allclose(late.position, predicted.position, atol=1e-6)
    np.testing.assert_allclose(late.velocity, predicted.velocity, atol=1e-5)
    np.testing.assert_allclose(late.rotation_base_platform, predicted.rotation_base_platform, atol=1e-6)


# -- clocks and stale streams ----------------------------------------------------------------------------------------


def test_clock_set_to_the_present_date():
    """A clock that ran from zero is set to the date: a gap of years; the filter starts anew and goes on."""
    pipeline = EstimatorPipeline(SRS)
    feed(pipeline, pairs(range(100)))
    dated = replace(DATA, stamps=DATA.stamps + 1_790_000_000 * 10**9)
    outputs = feed(pipeline, pairs(range(100, 200), dated))
    assert outputs[0].started and sum(o.started for o in outputs) == 1
    assert pipeline.health.counters['leg_gap'] == 1
    assert len(outputs) == 99  # one sample of each topic confirms the jump
    assert np.abs(outputs[-1].motion.position - MOTION.position[199]).max() < 1e-4


def test_clock_set_back_while_samples_wait():
    """Legs are ahead of the IMU when the clock restarts: the waiting ones are of the old time."""
    pipeline = EstimatorPipeline(SRS)
    feed(pipeline, pairs(range(160)) + [leg_message(k) for k in range(160, 170)])
    outputs = feed(pipeline, pairs(range(50)))
    assert outputs[-1].stamp == DATA.stamps[49]
    assert np.abs(outputs[-1].motion.position - MOTION.position[49]).max() < 1e-4


def hopped(messages, topic, indices, jump):
    """Messages of a topic whose clock is off by ``jump`` ns for a while."""
    stamps = set(DATA.stamps[indices].tolist())
    return [(t, s + jump if t == topic and s in stamps else s, *values) for t, s, *values in messages]


FUTURE = 4 * 10**18


@pytest.mark.parametrize('history', [0.0, 0.2])
@pytest.mark.parametrize('topic', ['imu', 'legs'])
@pytest.mark.parametrize(
    ('indices', 'jump'), [(range(1), FUTURE), (range(50, 70), 5 * 10**9), (range(50, 70), -15 * 10**8)]
)
def test_clock_of_one_topic_that_jumps_there_and_back(topic, history, indices, jump):
    """Only one topic sees its clock restart: that must not keep the two apart until the queues are full."""
    messages = hopped(pairs(range(150)), topic, indices, jump)
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(history=history))
    answered = {o.stamp for o in feed(pipeline, messages)}
    assert answered >= set(DATA.stamps[indices[-1] + 4 : 150].tolist())
    assert pipeline.health.counters['clocks_disagree'] == 1


def test_clock_that_restarted_before_the_other_topic_began():
    pipeline = EstimatorPipeline(SRS)
    feed(pipeline, [imu_message(k) for k in (*range(150), *range(10))])
    assert len(feed(pipeline, pairs(range(10, 60)))) == 50


def test_window_longer_than_a_jump_of_the_clock():
    """Late by 1.2 s, twice: no restarted clock where the window is longer."""
    messages = pairs(range(200))
    late = [leg_message(50), leg_message(51)]
    rest = [m for m in messages if not (m[0] == 'legs' and m[1] in (late[0][1], late[1][1]))]
    config = EstimatorConfig(history=1.5, baseline=False)
    pipeline = EstimatorPipeline(SRS, config)
    outputs = feed(pipeline, [*rest[:-40], *late, *rest[-40:]])
    assert as_bytes(outputs)[-1] == as_bytes(feed(EstimatorPipeline(SRS, config), messages))[-1]
    assert pipeline.health.counters['legs_late'] == 2


def test_history_does_not_grow_while_legs_are_silent():
    pipeline = EstimatorPipeline(SRS, replace(WINDOW, queue_length=30))
    feed(pipeline, pairs(range(20)) + [imu_message(k) for k in range(20, 190)])
    assert len(pipeline._history.imu) < 75  # 0.7 s
    assert len(feed(pipeline, pairs(range(190, 200)))) == 9  # one confirms that the legs are back


@pytest.mark.parametrize(('silent', 'said'), [('imu', 'no usable IMU samples'), ('legs', 'no usable leg samples')])
def test_stale_stream_is_named_and_survived(silent, said):
    pipeline = EstimatorPipeline(SRS)
    feed(pipeline, pairs(range(60)))
    pipeline.health.report()
    assert feed(pipeline, [m for m in pairs(range(60, 150)) if m[0] != silent]) == []
    level, sentence = summarise(pipeline.health.report(), 6)
    assert level == 'error' and said in sentence
    outputs = feed(pipeline, pairs(range(150, 200)))
    assert outputs[-1].stamp == DATA.stamps[199]
    assert np.abs(outputs[-1].motion.position - MOTION.position[199]).max() < 1e-4


def test_stream_that_repeats_its_last_message():
    """A driver that hangs publishes the same message again and again."""
    pipeline = EstimatorPipeline(SRS)
    feed(pipeline, pairs(range(60)))
    assert feed(pipeline, [imu_message(59), leg_message(59)] * 50) == []
    assert pipeline.health.counters['imu_duplicate_stamp'] == pipeline.health.counters['legs_duplicate_stamp'] == 50


def test_stream_that_sends_old_values_with_new_stamps_is_stuck():
    """All legs stand still by what they say, while the IMU moves: the filter goes on by the IMU, and says so."""
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(divergence_samples=5))
    feed(pipeline, pairs(range(100)))
    frozen = leg_message(99)[3]
    outputs = feed(
        pipeline, [m for k in range(100, 130) for m in (imu_message(k), ('legs', int(DATA.stamps[k]), NAMES, frozen))]
    )
    assert [event.name for event in pipeline.health.report().events] == ['started', 'encoders_stale']
    assert len(outputs) == 30 and np.abs(outputs[-1].motion.position - MOTION.position[129]).max() < 1e-4
