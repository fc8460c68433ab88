"""Positions of the drives from named joint positions, in any order; other joints are ignored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import JointStateError
from pkm_description.joint_states import JointOrder, JointStateReader, not_finite_text
from pkm_description.machine import Machine

#: fraction of the stroke by which a position may exceed its limit before it counts as wrong (unit or sensor error)
STROKE_MARGIN = 0.1


class LegSample(NamedTuple):
    """Positions (L,) m or rad and efforts (L,) N or N m of one message, NaN if missing; ``used``: legs to use."""

    positions: Array
    efforts: Array
    used: NDArray[np.intp]


class LegMessageReader:
    """Sorts joint positions into the machine's leg order.

    Parameters
    ----------
    machine : names and strokes of the actuated joints
    minimum_legs : below this a message is rejected
    """

    def __init__(self, machine: Machine, minimum_legs: int) -> None:
        self._names = tuple(joint.name for joint in machine.actuated_joints)
        lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]).T
        margin = STROKE_MARGIN * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        self._lowest, self._highest = lower - margin, upper + margin
        self._ranges = list(zip(self._lowest.tolist(), self._highest.tolist(), strict=True))
        self._reader = JointStateReader.of_drives(machine)
        self.minimum_legs = min(minimum_legs, len(self._names))
        self._all = np.arange(len(self._names))

    def read(
        self,
        names: Sequence[str],
        positions: Sequence[float] | Array,
        efforts: Sequence[float] | Array | None,
        complain: Callable[[str, str], None],
    ) -> LegSample | None:
        """Return the sample, ``None`` if too few legs are usable; ``complain(reason, detail)`` says what is wrong."""
        try:
            order = self._reader.order(names)
            drives = order.by_joint(positions)
        except JointStateError as error:
            complain(error.reason, str(error))
            return None
        if order.unknown:
            complain('unknown_joint', order.unknown_text())
        # plain floats are faster than numpy for six numbers
        inside = [low <= value <= high for value, (low, high) in zip(drives.tolist(), self._ranges, strict=True)]
        if all(inside):
            return LegSample(drives, order.by_joint_or_nan(efforts), self._all)
        return self._doubtful(drives, order, order.by_joint_or_nan(efforts), complain)

    def _doubtful(
        self, positions: Array, order: JointOrder, efforts: Array, complain: Callable[[str, str], None]
    ) -> LegSample | None:
        """Return the sample without its missing or wrong positions; ``None`` if too few are left."""
        finite = np.isfinite(positions)
        outside = (positions < self._lowest) | (positions > self._highest)
        if outside.any():
            told = ', '.join(f'{self._names[leg]} = {positions[leg]:g} m' for leg in np.flatnonzero(outside))
            metres = 1e-3 * positions[outside]
            fits = ((metres >= self._lowest[outside]) & (metres <= self._highest[outside])).all()
            hint = 'inside in millimetres: expected metres' if fits else 'check unit and zero'
            complain('position_out_of_stroke', f'{told}: far outside of the stroke, left out; {hint}')
            positions[outside] = np.nan
        if order.missing:
            complain('missing_joint', order.missing_text())
        bad = [self._names[leg] for leg in order.joints if not finite[leg]]
        if bad:
            complain('position_not_finite', not_finite_text(bad))
        used = np.flatnonzero(finite & ~outside)
        if len(used) < self.minimum_legs:
            complain('too_few_legs', f'{len(used)} usable leg positions, at least {self.minimum_legs} are needed')
            return None
        return LegSample(positions, efforts, used)
