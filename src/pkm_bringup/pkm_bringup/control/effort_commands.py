"""Commanded leg forces: zero-order hold with a timeout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError


class CommandError(PkmError):
    """A command that cannot be used; the last good one stays in force."""


class EffortCommands:
    """Zero-order hold of commanded leg forces with a time-out.

    Parameters
    ----------
    joint_names : of the actuated joints, in the order of a command
    timeout_ns : a command older than this no longer counts

    """

    def __init__(self, joint_names: Sequence[str], timeout_ns: int) -> None:
        self._names = tuple(joint_names)
        self._timeout_ns = timeout_ns
        self._forces: Array | None = None
        self._received_ns = 0

    def receive(self, forces: Sequence[float], now_ns: int) -> None:
        """Take a command (A,) N that arrived now.

        Raises
        ------
        CommandError
            Wrong number of forces, or one that is not finite.

        """
        values = np.array(forces, dtype=float)
        if values.shape != (len(self._names),):
            raise CommandError(
                f'command has {values.size} forces, expected {len(self._names)}: {", ".join(self._names)}'
            )
        bad = ~np.isfinite(values)
        if bad.any():
            place = int(np.argmax(bad))
            raise CommandError(f'command for {self._names[place]} is {values[place]}, expected a finite force in N')
        self._forces, self._received_ns = values, now_ns

    def forces(self, now_ns: int) -> Array | None:
        """Forces (A,) N that count now, None before the first command and after a time-out."""
        if self._forces is not None and now_ns - self._received_ns > self._timeout_ns:
            self._forces = None
        return self._forces
