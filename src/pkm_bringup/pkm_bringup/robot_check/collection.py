"""Collect messages, live or from a bag, into the arrays that the checks look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pkm_bringup.robot_check.recorded import ImuLog, JointLog

_QUANTITIES = ('position', 'velocity', 'effort')


@dataclass
class JointCollection:
    """Joint states as they come; messages of rclpy and of rosbags have the same fields.

    Parameters
    ----------
    wanted : names of the joints that are looked for: of several layouts on one topic, the one with most of them counts
    """

    wanted: Collection[str]
    _messages: list[tuple[int, int, tuple[str, ...], tuple[Any, Any, Any]]] = field(default_factory=list)

    def add(self, received: int, message: Any) -> None:
        """Add a message that came (or was recorded) at ``received`` [ns]."""
        names = tuple(message.name)
        values = message.position, message.velocity, message.effort
        self._messages.append((_nanoseconds(message), received, names, values))

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def span(self) -> float:
        """Time [s] that the messages cover: by their stamps, or by their arrival if those do not move."""
        return _span(self._messages[0][:2], self._messages[-1][:2]) if self._messages else 0.0

    def log(self) -> JointLog | None:
        """Arrays of the messages of the layout that has most of the wanted joints; None without messages."""
        if not self._messages:
            return None
        layouts = Counter(item[2] for item in self._messages)
        names = max(layouts, key=lambda one: (len(set(one) & set(self.wanted)), layouts[one]))
        chosen = [item for item in self._messages if item[2] == names]
        columns = [np.full((len(chosen), len(names)), np.nan) for _ in _QUANTITIES]
        absent = dict.fromkeys(_QUANTITIES, 0)
        for row, item in enumerate(chosen):
            for quantity, column, values in zip(_QUANTITIES, columns, item[3], strict=True):
                if len(values) == len(names):
                    column[row] = values
                else:
                    absent[quantity] += 1
        del layouts[names]
        stamps, received = (np.array([item[place] for item in chosen], dtype=np.int64) for place in (0, 1))
        return JointLog(stamps, received, names, columns[0], columns[1], columns[2], absent, layouts)


@dataclass
class ImuCollection:
    """IMU messages as they come."""

    _rows: list[tuple[float, ...]] = field(default_factory=list)
    _times: list[tuple[int, int]] = field(default_factory=list)
    _frames: Counter[str] = field(default_factory=Counter)
    _covariances: dict[str, Any] = field(default_factory=dict)

    def add(self, received: int, message: Any) -> None:
        """Add a message that came (or was recorded) at ``received`` [ns]."""
        force, rate = message.linear_acceleration, message.angular_velocity
        self._rows.append((force.x, force.y, force.z, rate.x, rate.y, rate.z))
        self._times.append((_nanoseconds(message), received))
        self._frames[message.header.frame_id] += 1
        if not self._covariances:
            self._covariances = {
                name: np.array(getattr(message, f'{name}_covariance'), dtype=float)
                for name in ('orientation', 'angular_velocity', 'linear_acceleration')
            }

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def span(self) -> float:
        """Time [s] that the messages cover, see :attr:`JointCollection.span`."""
        return _span(self._times[0], self._times[-1]) if self._times else 0.0

    def log(self) -> ImuLog | None:
        """Arrays of the messages; None without messages."""
        if not self._rows:
            return None
        times, rows = np.array(self._times, dtype=np.int64), np.array(self._rows, dtype=float)
        return ImuLog(times[:, 0], times[:, 1], rows[:, :3], rows[:, 3:], self._frames, self._covariances)


def _nanoseconds(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _span(first: tuple[int, int], last: tuple[int, int]) -> float:
    stamped = 1e-9 * (last[0] - first[0])
    return stamped if stamped > 0.0 else 1e-9 * (last[1] - first[1])
