"""Set-points of a plan at single times, evaluated for many control periods at once."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_bringup.control.leg_reference import LegSetpoint
from pkm_bringup.control.reference_plan import ReferencePlan

#: control periods of a window
_LENGTH = 256


class SetpointWindow:
    """Looks set-points up; forces are those of the middle of the control period that begins at a time.

    Parameters
    ----------
    plan : what is followed; after a change of it, :meth:`forget`
    period_ns : control period

    """

    def __init__(self, plan: ReferencePlan, period_ns: int) -> None:
        self._plan = plan
        self._period_ns = period_ns
        self._start_ns = 0
        self._setpoints: LegSetpoint | None = None

    def forget(self) -> None:
        """Evaluate the plan anew."""
        self._setpoints = None

    def at(self, time_ns: int) -> tuple[Array, Array, Array]:
        """Positions, rates and feed-forward forces (A,) at a time."""
        index, offset = divmod(time_ns - self._start_ns, self._period_ns)
        if self._setpoints is None or offset or not 0 <= index < _LENGTH:
            # windows lie on a fixed grid: values never depend on when a reference arrived
            self._start_ns = time_ns - time_ns // self._period_ns % _LENGTH * self._period_ns
            times = self._start_ns + self._period_ns * np.arange(_LENGTH, dtype=np.int64)
            self._setpoints = self._plan.evaluate(times, lead_ns=self._period_ns // 2)
            index = (time_ns - self._start_ns) // self._period_ns
        found = self._setpoints
        return found.positions[index], found.rates[index], found.forces[index]
