"""What takes note of the steps of a filter."""

from __future__ import annotations

from typing import Any, Protocol

from pkm_description.arrays import Array


class StepWatcher(Protocol):
    """Is told, in this order, what a :class:`~pkm_estimation.filtering.platform_filter.PlatformFilter` does."""

    def started(self, state: Array) -> None:
        """The filter starts anew, from a state (n,) that may be changed in place."""

    def pause(self) -> None:
        """What follows cannot be smoothed: its steps are not those of one estimate."""

    def go_on(self) -> None:
        """What follows can be smoothed."""

    def before_step(self, filter_: Any) -> None:
        """A step begins."""

    def after_step(self, filter_: Any, end: float, duration: float) -> None:
        """After a step of ``duration`` s that ended ``end`` s after the second sample; before the chart moves."""

    def moved(self, transport: Array) -> None:
        """The chart moved: ``transport`` (n, n) maps deviations of the state."""

    def settled(self, filter_: Any) -> None:
        """The step is complete."""

    def estimated(self, filter_: Any, known: tuple[Array, ...]) -> None:
        """An estimate is given out."""
