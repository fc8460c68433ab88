"""Streams of messages in any order, with losses, repetitions, delays: the clean stream's bits, or a counted reason."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pkm_estimation.bags import decoding
from pkm_estimation.bags.decoding import TYPESTORE, as_table
from pkm_estimation.bags.messages import open_bag
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.backlog import Backlog
from pkm_estimation.stream.stretch import LivePipeline
from pkm_estimation.stream.verdict import NORMAL
from test_bags import write
from test_pipeline import DATA, NAMES, SRS, as_bytes, pairs

from verification.soak.balance import IMU_REASONS, LEG_REASONS, imu_balance, leg_balance, node_balance

#: samples of each topic
COUNT = 40
TOPICS = ('imu', 'legs')
EXAMPLES = int(os.environ.get('PKM_EXAMPLES', 0))
#: the same ones every time, but for a search on purpose
stream_settings = settings(
    max_examples=EXAMPLES or 20, derandomize=not EXAMPLES, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip

topics, places = st.sampled_from(TOPICS), st.integers(0, COUNT - 1)
#: a sample that is lost, comes again, or is late by so many samples; and such samples in a row
disturbances = st.lists(
    st.tuples(topics, places, st.sampled_from(['lost', 'repeated', 'late']), st.integers(1, 12), st.integers(1, 6)),
    max_size=8,
)
#: samples by which each topic is later than the other
offsets = st.tuples(st.integers(0, 15), st.integers(0, 15))
#: numbers that cannot be used, and stamps
spoilt = st.lists(
    st.tuples(topics, places, st.sampled_from(['nan', 'zero', 'far', 'back', 'names', 'count', 'few', 'stroke'])),
    max_size=6,
)


def arrivals(disturbed, offset):
    """Topic and place of the samples in the order of their arrival."""
    due = {(topic, k): [k + late] for topic, late in zip(TOPICS, offset, strict=True) for k in range(COUNT)}
    for topic, begin, kind, late, length in disturbed:
        for k in range(begin, min(begin + length, COUNT)):
            times = due[topic, k]
            if kind == 'lost':
                times.clear()
            elif kind == 'repeated':
                times.append(k + late)
            else:
                times[:] = [time + late for time in times]
    return [key for _, key in sorted((time, key[::-1]) for key, times in due.items() for time in times)]


def message(k, topic, how=''):
    """Sample of a topic as arguments of the pipeline, spoilt or not."""
    stamp = {'zero': 0, 'far': 4 * 10**18, 'back': 10**6 + k}.get(how, int(DATA.stamps[k]))
    if topic == 'imu':
        force = DATA.specific_force[k].copy()
        force[0] = np.nan if how == 'nan' else force[0]
        return 'imu', stamp, force, DATA.angular_rate[k]
    names, values = NAMES, DATA.drive_positions[k].copy()
    if how == 'nan':
        values[2] = np.nan
    elif how == 'stroke':
        values[1] *= 1e3
    elif how == 'count':
        values = values[:-1]
    elif how == 'few':
        names, values = names[:2], values[:2]
    elif how == 'names':
        names = ('elbow', *names[1:])
    return 'legs', stamp, names, values


def give(pipeline, one):
    topic, *arguments = one
    return pipeline.add_imu(*arguments) if topic == 'imu' else pipeline.add_joint_positions(*arguments)


def run(pipeline, messages):
    return [output for one in messages for output in give(pipeline, one)]


def assert_balanced(pipeline, outputs, messages):
    counters, sent = pipeline.health.counters, Counter(one[0] for one in messages)
    assert (counters['imu_received'], counters['legs_received']) == (sent['imu'], sent['legs'])
    assert counters['estimates'] == len(outputs) + counters['estimates_not_published']
    assert imu_balance(counters) == 0
    assert leg_balance(counters, len(pipeline.waiting)) == 0
    assert min(counters.values(), default=0) >= 0


def ordered(messages):
    """Those whose stamps go on within their topic, the earlier stamp first, the IMU before the legs."""
    last, kept = dict.fromkeys(TOPICS, 0), []
    for one in messages:
        if one[1] > last[one[0]]:
            last[one[0]] = one[1]
            kept.append(one)
    return sorted(kept, key=lambda one: (one[1], one[0]))


@stream_settings
@given(disturbances, offsets)
def test_a_disturbed_stream_gives_the_bits_of_what_could_be_used(disturbed, offset):
    messages = [message(*key) for key in arrivals(disturbed, offset)]
    pipeline, clean = EstimatorPipeline(SRS), EstimatorPipeline(SRS)
    outputs, usable = run(pipeline, messages), ordered(messages)
    assert_balanced(pipeline, outputs, messages)
    assert as_bytes(outputs) == as_bytes(run(clean, usable))
    left_out = sum(one[0] == 'legs' for one in messages) - sum(one[0] == 'legs' for one in usable)
    reasons = Counter(pipeline.health.counters)
    assert reasons['legs_duplicate_stamp'] + reasons['legs_out_of_order_stamp'] == left_out


@stream_settings
@given(disturbances, offsets)
def test_with_a_history_late_samples_end_as_if_they_had_come_in_time(disturbed, offset):
    messages = [message(*key) for key in arrivals(disturbed, offset)]
    config = EstimatorConfig(history=0.5)
    pipeline, clean = EstimatorPipeline(SRS, config), EstimatorPipeline(SRS, config)
    outputs = run(pipeline, messages)
    unique = {(one[0], one[1]): one for one in messages}.values()
    expected = run(clean, sorted(unique, key=lambda one: (one[1], one[0])))
    assert_balanced(pipeline, outputs, messages)
    assert len({output.stamp for output in outputs}) == len(outputs)
    again = [message(COUNT + k, topic) for k in range(2) for topic in TOPICS]
    # what comes next shows the state that both have
    after, expected_after = run(pipeline, again), run(clean, again)
    if clean.tracker.since == pipeline.tracker.since:
        assert as_bytes(after) == as_bytes(expected_after)
    assert {output.stamp for output in outputs + after} >= {output.stamp for output in expected}


@stream_settings
@given(disturbances, offsets, spoilt)
def test_whatever_comes_is_used_or_counted_under_one_reason(disturbed, offset, bad):
    how = {(topic, k): kind for topic, k, kind in bad}
    messages = [message(k, topic, how.get((topic, k), '')) for k, topic in arrivals(disturbed, offset)]
    for config in (EstimatorConfig(), EstimatorConfig(history=0.1, queue_length=10)):
        pipeline = EstimatorPipeline(SRS, config)
        outputs = []
        for place, one in enumerate(messages):
            before, waiting = Counter(pipeline.health.counters), len(pipeline.waiting)
            new = give(pipeline, one)
            outputs += new
            counted = Counter(pipeline.health.counters)
            counted.subtract(before)
            if one[0] == 'imu':
                assert counted['imu_accepted'] + sum(counted[name] for name in IMU_REASONS) == 1
            else:
                done = sum(counted[name] for name in LEG_REASONS) - counted['legs_answered_late'] + len(new)
                assert done + len(pipeline.waiting) - waiting == 1
            if place == len(messages) // 2:
                pipeline.reset(1)
        assert_balanced(pipeline, outputs, messages)


class Sample:
    """A message as the node's readers give it."""

    def __init__(self, one):
        if one[0] == 'imu':
            _, self.stamp, self.specific_force, self.angular_rate = one
            self.covariances = ()
        else:
            _, self.stamp, self.names, self.positions = one
            self.efforts = np.empty(0)


def through_backlog(pipeline, messages, cuts, maximum_lag, turn=400):
    """Estimates of a node that works off what waits now and then: after so many messages, for so many turns."""
    with patch('pkm_estimation.stream.backlog._MOST', turn):
        return worked_off(Backlog(pipeline, maximum_lag), messages, cuts)


def worked_off(backlog, messages, cuts):
    outputs, cut = [], iter([*cuts, (len(messages), 10**6)])
    after, turns = next(cut)
    for place, one in enumerate(messages):
        (backlog.add_imu if one[0] == 'imu' else backlog.add_legs)(Sample(one))
        after -= 1
        if after > 0 and place < len(messages) - 1:
            continue
        while turns and len(backlog):
            outputs += backlog.work()
            turns -= 1
        after, turns = next(cut, (len(messages), 10**6))
    while len(backlog):
        outputs += backlog.work()
    return outputs


cuts = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3)), max_size=8)


@stream_settings
@given(disturbances, offsets, spoilt, cuts)
def test_a_backlog_gives_the_bits_of_single_samples(disturbed, offset, bad, cuts):
    how = {(topic, k): kind for topic, k, kind in bad if kind not in ('far', 'back')}  # jumps join the topics' clocks
    messages = [message(k, topic, how.get((topic, k), '')) for k, topic in arrivals(disturbed, offset)]
    single, live = EstimatorPipeline(SRS), LivePipeline(SRS)
    expected, outputs = run(single, messages), through_backlog(live, messages, cuts, 0.0)
    assert_balanced(live, outputs, messages)
    assert as_bytes(outputs) == as_bytes(expected)
    for output, other in zip(outputs, expected, strict=True):
        assert output.baseline is None if other.baseline is None else (
            output.baseline.velocity.tobytes() == other.baseline.velocity.tobytes()
        )
    assert live.health.counters == single.health.counters


@stream_settings
@given(disturbances, offsets, cuts, st.sampled_from([0.03, 0.1, 0.2]))
def test_a_backlog_that_leaves_out_counts_it(disturbed, offset, cuts, maximum_lag):
    messages = [message(*key) for key in arrivals(disturbed, offset)]
    live, single = LivePipeline(SRS), EstimatorPipeline(SRS)
    outputs = through_backlog(live, messages, cuts, maximum_lag, turn=10)
    counters, sent = live.health.counters, Counter(one[0] for one in messages)
    for topic in TOPICS:
        assert node_balance(counters, topic, sent[topic]) == 0
    assert counters['imu_decimated'] == counters['imu_backlog_overflow'] == 0
    assert counters['estimates'] == len(outputs) + counters['estimates_not_published']
    assert imu_balance(counters) == 0 and leg_balance(counters, len(live.waiting)) == 0
    if not counters['legs_decimated']:  # the baseline starts anew after what it has not seen
        assert {row[:-1] for row in as_bytes(outputs)} <= {row[:-1] for row in as_bytes(run(single, messages))}


def test_a_clean_stream_needs_no_reason():
    pipeline, messages = EstimatorPipeline(SRS), pairs(range(COUNT))
    assert_balanced(pipeline, run(pipeline, messages), messages)
    assert pipeline.health.counters['estimates'] == COUNT
    assert set(pipeline.health.counters) <= set(NORMAL)  # `estimate` and its report tell the others


DECODERS = {
    '/joint_states': decoding.joint_states,
    '/imu/data_raw': decoding.imu,
    '/ground_truth/odometry': decoding.odometry,
}


def messages(path: Path) -> tuple[dict[str, list[bytes]], dict[str, str]]:
    write(path / 'run', 'mcap')
    with open_bag(path / 'run') as bag:
        found: dict[str, list[bytes]] = {}
        for topic, _, data in bag.read():
            found.setdefault(topic, []).append(data)
        return found, bag.types


def same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == np.asarray(other).dtype and np.array_equal(one, other, equal_nan=True)
    return one == other


def test_table_gives_every_bit_of_single_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, types = messages(tmp_path)
    for topic, decode in DECODERS.items():
        assert as_table(found[topic], types[topic]) is not None
        stamps = np.arange(len(found[topic]))
        at_once = decode(stamps, found[topic])
        with monkeypatch.context() as patch:
            patch.setattr(decoding, 'as_table', lambda *_: None)
            one_by_one = decode(stamps, found[topic])
        assert all(same(vars(at_once)[name], value) for name, value in vars(one_by_one).items())


def test_other_texts_or_lengths_are_no_table(tmp_path: Path) -> None:
    found, types = messages(tmp_path)
    imu, kind = found['/imu/data_raw'], types['/imu/data_raw']
    other = TYPESTORE.deserialize_cdr(imu[1], kind)
    name = other.header.frame_id
    for frame in (name[:-1] + '?', name + 'x'):
        other.header.frame_id = frame
        mixed = [imu[0], bytes(TYPESTORE.serialize_cdr(other, kind)), imu[2]]
        assert as_table(mixed, kind) is None
        np.testing.assert_array_equal(
            decoding.imu(np.arange(3), mixed).specific_force, decoding.imu(np.arange(3), imu[:3]).specific_force
        )
    assert as_table([imu[0][:40]] * 3, kind) is None
