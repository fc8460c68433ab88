"""When a replay waits for its subscribers."""

from __future__ import annotations

from pkm_bringup.nodes.player import Congestion


class Reader:
    """A subscriber that says what it has."""

    def __init__(self) -> None:
        self.has_all = False

    def wait_for_all_acked(self, timeout: object) -> bool:
        """Whether everything has arrived."""
        return self.has_all


def test_at_recorded_speed_nothing_waits_for_the_middleware() -> None:
    """Fast DDS says what has arrived every 3 s: a stream of 1 kHz goes on meanwhile, and none is pushed out."""
    congestion, reader = Congestion({'imu': 1000.0, 'rare': 1.0}), Reader()
    assert not any(congestion.holds('imu', reader, 1e-3 * step) for step in range(3000))
    assert congestion.depth('imu') >= 4000
    reader.has_all = True
    assert not any(congestion.holds('imu', reader, 3.0 + 1e-3 * step) for step in range(5000))


def test_subscribers_that_have_not_taken_it_hold_the_replay_for_a_while() -> None:
    congestion, reader = Congestion({'imu': 10.0}), Reader()
    held = [congestion.holds('imu', reader, 1.0) for _ in range(450)]
    assert held.index(True) == 399 and all(held[399:])
    assert congestion.holds('imu', reader, 5.9)
    assert not congestion.holds('imu', reader, 6.1)
    reader.has_all = True
    assert not congestion.holds('imu', reader, 6.2)
    assert not congestion.holds('imu', reader, 6.3)
