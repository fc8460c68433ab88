"""Joint states that wait for a running node: all in order while it keeps up, said and left out where it does not."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from pkm_identification.online.stream import OnlineBacklog


class One(NamedTuple):
    """A sample at 1 kHz."""

    stamp: int


def test_what_waits_is_taken_in_order() -> None:
    backlog, taken = OnlineBacklog[One](0.5), []
    assert backlog.turn() == []
    for start in range(0, 300, 100):
        for number in range(start, start + 100):
            backlog.add(One(number * 10**6))
        while len(backlog):
            taken += [one.stamp // 10**6 for one in backlog.turn()]
    assert taken == list(range(300))
    level, sentence, values = backlog.report()
    assert (level, sentence, values['joint states left out']) == ('ok', 'in time', 0)


@pytest.mark.parametrize(('lag', 'least'), [(0.5, 1000), (0.0, 0)])
def test_a_node_that_is_too_slow_leaves_out_and_says_so(lag: float, least: int) -> None:
    """Half as fast as samples come: without a limit it falls behind without end."""
    backlog, taken = OnlineBacklog[One](lag), []
    for number in range(8000):
        backlog.add(One(number * 10**6))
        if number % 40 == 39:
            taken += [one.stamp for one in backlog.turn()]
    assert taken == sorted(taken)
    _, _, values = backlog.report()
    level, sentence, _ = OnlineBacklog[One](lag).report()
    assert (level, sentence) == ('ok', 'in time')
    assert values['joint states left out'] == 8000 - len(taken) - len(backlog)
    assert (backlog.left_out >= least) if least else backlog.left_out == 0
    assert (len(backlog) < 1500) == (lag > 0.0)


def test_how_far_behind_is_said() -> None:
    backlog = OnlineBacklog[One](0.5)
    for number in range(1500):
        backlog.add(One(number * 10**6))
    backlog.turn()
    level, sentence, values = backlog.report()
    assert level == 'warn' and '1.5 s behind by stamps, 1500 samples waited' in sentence
    assert 'view_rate' not in sentence and values['joint states left out'] == 750
    backlog.clear()
    assert len(backlog) == 0
