"""Interface of the demo to the running system; implemented by the node ``demo``."""

from __future__ import annotations

from typing import Protocol

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import PlatformMotion


class DemoError(PkmError):
    """The demo cannot go on; the message says who failed and what to look at."""


class DemoSystem(Protocol):
    """The nodes around the demo, as seen from it."""

    def missing(self) -> list[str]:
        """Say who is not there yet or does not listen yet, one phrase each."""

    def conflicts(self) -> list[str]:
        """Say who else publishes what only this run's nodes may publish, one phrase each."""

    def wait(self, seconds: float) -> None:
        """Let messages come in for some wall-clock time."""

    def simulated_time(self) -> float:
        """Time on ``/clock``, s."""

    def estimated_time(self) -> float:
        """Stamp of the last estimate, s."""

    def send_reference(self, motion: PlatformMotion, start: float) -> None:
        """Hand a motion to the simulator, to begin at ``start`` s of simulated time."""

    def call(self, service: str, patience: float) -> str:
        """Call a Trigger service; return its message; raises :class:`DemoError` if it fails or is silent."""

    def put_payload(self, mass: float, center: Array) -> None:
        """Drop a mass [kg] on the simulated platform, at ``center`` (3,) m."""

    def payload_named(self) -> str:
        """What the identification while it runs says of the payload; empty: nothing yet."""

    def live_line(self, time: float, motion: str) -> str:
        """One line of errors since the last one."""
