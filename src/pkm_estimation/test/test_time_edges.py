"""Each rule about stamps at its edge: the last nanosecond that is allowed, and the first one that is not."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from pkm_estimation.exchange.history import History
from pkm_estimation.exchange.messages import LegMeasurement, LegSample, MeasurementQueue, UserMeasurement
from pkm_estimation.exchange.samples import (
    ImuSample,
    InputPath,
    Instant,
    Segment,
    StampGate,
    StampVerdict,
    samples_until,
    take_input,
)
from pkm_estimation.tracking.gaps import last_before_gap

from pkm_estimation.config import EstimatorConfig

SECOND = 10**9
GOOD, JUMP, LATE, TOO_LATE = StampVerdict.GOOD, StampVerdict.JUMP, StampVerdict.LATE, StampVerdict.TOO_LATE


def judged(*stamps, jump=1.0, history=0.0):
    gate = StampGate(jump, history)
    return [gate.judge(stamp) for stamp in stamps], gate


@pytest.mark.parametrize(
    ('stamps', 'verdict'),
    [
        ((1,), GOOD),
        ((0,), StampVerdict.ZERO),
        ((-1,), StampVerdict.ZERO),
        ((5, 5), StampVerdict.DUPLICATE),
        ((5, 5 + SECOND), GOOD),
        ((5, 6 + SECOND), JUMP),
        ((5 + SECOND, 5), StampVerdict.OUT_OF_ORDER),
        ((6 + SECOND, 5), JUMP),
    ],
)
def test_stamps_in_order(stamps, verdict):
    assert judged(*stamps)[0][-1] is verdict


@pytest.mark.parametrize(
    ('last', 'verdict', 'epoch'),
    [(1, GOOD, 0), (SECOND, GOOD, 0), (SECOND + 1, JUMP, 0), (0, JUMP, 0), (-1, JUMP, 0)],
)
def test_a_jump_forwards_is_confirmed_by_a_stamp_that_goes_on_from_there(last, verdict, epoch):
    verdicts, gate = judged(5, 5 * SECOND, 5 * SECOND + last)
    assert verdicts[1] is JUMP and verdicts[2] is verdict and gate.epoch == epoch


def test_a_jump_backwards_begins_an_epoch_and_a_single_wrong_stamp_none():
    verdicts, gate = judged(9 * SECOND, 1 * SECOND, 1 * SECOND + 1)
    assert (verdicts[1:], gate.epoch) == ([JUMP, GOOD], 1)
    verdicts, gate = judged(9 * SECOND, 1 * SECOND, 9 * SECOND + 1, 1 * SECOND + 1)
    assert (verdicts[1:], gate.epoch) == ([JUMP, GOOD, JUMP], 0)


@pytest.mark.parametrize(
    ('history', 'back', 'verdict'),
    [(0.5, SECOND // 2, LATE), (0.5, SECOND // 2 + 1, TOO_LATE), (0.5, SECOND + 1, JUMP), (2.0, 2 * SECOND, LATE),
     (2.0, 2 * SECOND + 1, JUMP)],
)  # fmt: skip
def test_stamps_that_are_late(history, back, verdict):
    verdicts, gate = judged(9 * SECOND, 9 * SECOND - back, history=history)
    assert verdicts[1] is verdict
    assert gate.judge(9 * SECOND - back) is (StampVerdict.DUPLICATE if verdict is LATE else verdict)


def test_stamps_are_remembered_for_as_long_as_they_may_come_again():
    gate = StampGate(1.0, 0.5)
    begin = 9 * SECOND
    for stamp in (begin, begin + SECOND // 2):
        assert gate.judge(stamp) is GOOD
    assert gate.judge(begin) is StampVerdict.DUPLICATE
    assert gate.judge(begin + SECOND // 2 + 1) is GOOD
    assert gate.judge(begin) is TOO_LATE


def test_many_stamps_that_continue_a_stream():
    gate = StampGate(1.0)
    assert not gate.is_continued_by(np.array([1, 2]))
    gate.judge(SECOND)
    assert gate.is_continued_by(np.array([SECOND + 1, 2 * SECOND + 1]))
    assert gate.is_continued_by(np.array([2 * SECOND]))
    for stamps in ([SECOND, SECOND + 1], [SECOND + 1, SECOND + 1], [2 * SECOND + 1], [SECOND + 2, SECOND + 1]):
        assert not gate.is_continued_by(np.array(stamps))


def test_streams_that_show_the_same_time_have_one_epoch():
    ahead, behind = StampGate(1.0), StampGate(1.0)
    for stamp in (9 * SECOND, SECOND, SECOND + 1):
        ahead.judge(stamp)
    behind.judge(2 * SECOND)
    assert ahead.epoch == 1
    assert not behind.join(ahead, 3 * SECOND + 1)  # far from both
    assert not behind.join(ahead, 2 * SECOND + 2)  # near the one, far from the other
    assert behind.join(ahead, 2 * SECOND + 1) and behind.epoch == 1
    assert not behind.join(ahead, 2 * SECOND + 1)  # once


def test_a_slow_stream_follows_the_epoch_of_another():
    leader, slow = StampGate(1.0), StampGate(1.0)
    for stamp in (9 * SECOND, SECOND, SECOND + 1):
        leader.judge(stamp)
    slow.judge(9 * SECOND)
    assert not slow.follow(leader, 2 * SECOND + 2)
    assert slow.last == 9 * SECOND
    assert slow.follow(leader, 2 * SECOND + 1)
    assert (slow.epoch, slow.last) == (1, None)
    slow.judge(2 * SECOND)
    assert slow.follow(leader, 2 * SECOND + 1) and slow.last == 2 * SECOND


def imu(stamp, epoch=0):
    return ImuSample(Instant(epoch, stamp), np.full(6, float(stamp)))


@pytest.mark.parametrize(
    ('begin', 'end', 'longest', 'expected'),
    [(0, 10, 10e-9, [(0.0, 10.0)]), (0, 10, 5e-9, [(0.0, 5.0), (5.0, 5.0)]), (2, 10, 3e-9, [(2.0, 8 / 3)] * 3)],
)
def test_steps_are_equal_and_no_longer_than_allowed(begin, end, longest, expected):
    steps = [(1e9 * b, 1e9 * d) for b, d in Segment(imu(begin), imu(end), [imu(20), imu(0)]).steps(longest)]
    durations = [duration for _, duration in expected]
    begins = begin + np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    assert np.ravel(steps) == pytest.approx(np.column_stack([begins, durations]).ravel())


def test_an_empty_segment_has_no_time():
    assert Segment(imu(5), imu(5), [imu(9), imu(0)]).is_empty
    assert not Segment(imu(5), imu(6), [imu(9), imu(0)]).is_empty


@pytest.mark.parametrize(
    ('leg_gap', 'imu_gap', 'epoch', 'reason'),
    [(10e-9, 4e-9, 0, None), (9.5e-9, 4e-9, 0, 'leg_gap'), (10e-9, 3.9e-9, 0, 'imu_gap'), (1.0, 1.0, 1, 'clock_reset')],
)
def test_gaps_at_which_a_filter_starts_anew(leg_gap, imu_gap, epoch, reason):
    parts = [Segment(imu(0), imu(4), [imu(4), imu(0)]), Segment(imu(4), imu(8), [imu(8), imu(4)])]
    assert InputPath(parts, imu(10, epoch)).gap_after(Instant(0, 0), leg_gap, imu_gap) == reason
    # the interval of the samples counts, not only the part of it
    inside = InputPath([Segment(imu(1), imu(2), [imu(5), imu(0)])], imu(2))
    assert inside.gap_after(Instant(0, 1), 1.0, 4.9e-9) == 'imu_gap'
    assert inside.gap_after(Instant(0, 1), 1.0, 5.1e-9) is None


def middle(around, instant):
    return np.full(6, 100.0 * len(around))


def test_input_up_to_an_instant():
    queue = deque(map(imu, (0, 10, 20, 30, 40, 50)))
    path = take_input(queue, imu(20), Instant(0, 0), Instant(0, 45), 10e-9, middle)
    assert [(s.start.instant.stamp, s.end.instant.stamp) for s in path.segments] == [(20, 30), (30, 40), (40, 45)]
    assert [[s.instant.stamp for s in part.samples] for part in path.segments] == [
        [30, 20, 10, 0], [40, 30, 20, 10], [50, 40, 30, 20],
    ]  # fmt: skip
    assert path.end.value[0] == 400.0
    assert [sample.instant.stamp for sample in queue] == [20, 30, 40, 50]  # two before the last one that was passed


def test_input_goes_through_no_sample_before_the_start():
    for since, expected in ((Instant(0, 20), [[40, 30, 20]]), (Instant(0, 21), [[40, 30]]), (None, [[40, 30]])):
        path = take_input(deque(map(imu, (0, 10, 20, 30, 40))), imu(30), since, Instant(0, 40), 10e-9, middle)
        assert [[s.instant.stamp for s in part.samples] for part in path.segments] == expected


@pytest.mark.parametrize(
    ('stamps', 'instant', 'gap', 'expected'),
    [((10, 20), 5, 10e-9, 'no_imu_before'), ((), 5, 10e-9, 'no_imu_before'), ((0, 10), 10, 1e-9, 10),
     ((0, 10), 11, 10e-9, 'in_imu_gap'), ((0, 10), 5, 9.9e-9, 'in_imu_gap'), ((0, 10), 5, 10.1e-9, 5)],
)  # fmt: skip
def test_instants_that_have_no_input(stamps, instant, gap, expected):
    found = take_input(deque(map(imu, stamps)), None, None, Instant(0, instant), gap, middle)
    assert (found if isinstance(found, str) else found.end.instant.stamp) == expected


def test_input_across_a_restart_of_the_clock():
    queue = deque([imu(0), imu(10), imu(0, 1), imu(10, 1)])
    assert take_input(deque(queue), None, None, Instant(0, 15), 1.0, middle) == 'in_imu_gap'
    assert take_input(deque(list(queue)[:2]), None, None, Instant(1, 5), 1.0, middle) == 'no_imu_before'
    assert samples_until(queue, Instant(1, 5)) is None
    stamps, values = samples_until(deque(map(imu, (0, 10, 20, 30))), Instant(0, 20))
    assert stamps.tolist() == [0, 10, 20] and values[:, 0].tolist() == [0.0, 10.0, 20.0]


@pytest.mark.parametrize(
    ('stamps', 'now', 'due', 'longest', 'expected'),
    [
        ((0, 10, 20, 30), 0, 30, 10e-9, None),
        ((0, 10, 21, 30), 0, 30, 10.5e-9, 10),
        ((0, 10, 21, 30), 0, 15, 10.5e-9, 10),
        ((0, 10, 21, 30), 0, 10, 10.5e-9, None),  # it begins where the time ends
        ((0, 10, 21, 30), 21, 30, 10.5e-9, None),  # it ends where the time begins
        ((0, 10, 21, 30), 20, 30, 10.5e-9, 10),
    ],
)
def test_gap_that_touches_a_time(stamps, now, due, longest, expected):
    found = last_before_gap(map(imu, stamps), Instant(0, now), Instant(0, due), longest)
    assert (None if found is None else found.instant.stamp) == expected


def test_a_restart_of_the_clock_is_no_gap():
    assert last_before_gap([imu(0), imu(10), imu(500, 1), imu(505, 1)], Instant(1, 0), Instant(1, 505), 10e-9) is None


def legs(stamp, epoch=0):
    return LegMeasurement(Instant(epoch, stamp), LegSample(np.zeros(6), np.zeros(6), np.arange(6)))


def user(stamp, name='a'):
    return UserMeasurement(Instant(0, stamp), name, lambda points: points, np.zeros(1), np.eye(1))


def test_measurements_wait_in_the_order_of_time_and_legs_come_first():
    queue = MeasurementQueue()
    for measurement in (user(20), legs(10), user(10, 'b'), user(10, 'a'), legs(20), legs(5, 1), legs(15)):
        queue.add(measurement)
    told = [(m.instant.epoch, m.instant.stamp, m.topic) for m in queue]
    assert told == [(0, 10, 'legs'), (0, 10, 'a'), (0, 10, 'b'), (0, 15, 'legs'), (0, 20, 'legs'), (0, 20, 'a'),
                    (1, 5, 'legs')]  # fmt: skip
    assert queue.oldest_of_too_many('legs', 5) is None
    assert queue.oldest_of_too_many('legs', 4).instant == Instant(0, 10)
    assert [m.topic for m in queue][:2] == ['a', 'b']


def test_window_and_margin_follow_from_the_settings():
    assert History.of(EstimatorConfig()) is None
    config = EstimatorConfig(history=0.3, maximum_imu_gap=0.05, imu_delay=-0.01)
    history = History.of(config)
    assert (history._window, history._margin) == (350_000_000, 210_000_000)
