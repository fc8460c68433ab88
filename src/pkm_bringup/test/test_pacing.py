"""The simulator's pace, with made-up clocks."""

from __future__ import annotations

import pytest
from pkm_bringup.nodes.simulator import LARGEST_LAG_OF_COMMANDS, ClockFollower, Pacer

MS = 10**6


def test_target_follows_the_wall_clock_from_the_first_call_on() -> None:
    pacer = Pacer(2.0)
    assert pacer.target(1000 * MS, 500 * MS) == 500 * MS
    assert pacer.target(1010 * MS, 500 * MS) == 520 * MS


def test_small_lag_is_caught_up_and_large_lag_given_up() -> None:
    pacer = Pacer(1.0)
    pacer.target(0, 0)
    assert pacer.target(400 * MS, 10 * MS) == 400 * MS
    assert pacer.target(2000 * MS, 400 * MS) == 900 * MS
    assert pacer.target(2010 * MS, 800 * MS) == 910 * MS


def test_catching_up_leaves_no_command_out_for_long() -> None:
    """However late it is called, it asks for no more than a few milliseconds at once."""
    pacer = Pacer(1.0, LARGEST_LAG_OF_COMMANDS)
    assert pacer.target(0, 0) == 0
    assert pacer.target(100 * MS, 0) == 8 * MS
    assert pacer.target(150 * MS, 8 * MS) == 16 * MS
    assert pacer.target(154 * MS, 16 * MS) == 20 * MS


def test_a_pause_is_not_made_up_for() -> None:
    pacer = Pacer(1.0)
    pacer.target(0, 0)
    pacer.pause()
    assert pacer.target(300 * MS, 10 * MS) == 10 * MS
    assert pacer.target(310 * MS, 10 * MS) == 20 * MS


def test_zero_is_no_limit_and_less_is_refused() -> None:
    assert Pacer(0.0).target(1, 2) is None
    with pytest.raises(ValueError, match='real_time_factor = -1'):
        Pacer(-1.0)


def test_achieved_factor_is_that_of_the_last_interval() -> None:
    pacer = Pacer(1.0)
    pacer.achieved(1000 * MS, 0)
    assert pacer.achieved(2000 * MS, 500 * MS) == pytest.approx(0.5)
    assert pacer.achieved(3000 * MS, 1500 * MS) == pytest.approx(1.0)


def test_a_followed_clock_begins_on_a_grid_and_again_where_it_jumps_to() -> None:
    follower = ClockFollower()
    assert follower.begin(0) is None  # not yet published
    assert follower.begin(12_345 * MS) == 12_400 * MS
    assert follower.begin(12_349 * MS) is None
    assert follower.begin(20_000 * MS) is None  # this computer was busy for some seconds: caught up
    assert follower.begin(300 * MS) == 300 * MS  # the clock was started again
    assert follower.begin(10**18) == 10**18  # a bag of another day
    assert follower.begin(10**18 + MS) is None
