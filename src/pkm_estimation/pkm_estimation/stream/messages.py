"""Positions of the drives from named joint positions, in whatever order, with whatever else the message holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine

#: part of the stroke by which a position may lie beyond its end before it is taken for an error (of unit, of sensor)
STROKE_MARGIN = 0.1


class LegSample(NamedTuple):
    """Positions (L,) m or rad, efforts (L,) N or N m of one message, NaN where it has none; ``used``: legs with one."""

    positions: Array
    efforts: Array
    used: NDArray[np.intp]


class _Order(NamedTuple):
    """Which entries of a message belong to which legs."""

    entries: NDArray[np.intp]
    legs: NDArray[np.intp]
    is_plain: bool

    @classmethod
    def of(cls, pairs: list[tuple[int, int]], entry_count: int, leg_count: int) -> _Order:
        """Order of pairs (entry, leg) in a message of so many entries."""
        entries, legs = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return cls(entries, legs, entry_count == leg_count and pairs == [(leg, leg) for leg in range(leg_count)])

    def by_leg(self, values: Sequence[float] | Array, blank: Array) -> Array:
        """Values (L,) in the order of legs; as in ``blank`` for legs that the message does not have."""
        numbers = np.array(values, dtype=float)
        if self.is_plain:
            return numbers
        result = blank.copy()
        result[self.legs] = numbers[self.entries]
        return result


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
        self._leg_of_joint = {name: index for index, name in enumerate(self._names)}
        # joints that a machine's complete joint states hold beside the actuated ones: no reason to complain
        self._known = set(machine.joint_names)
        self.minimum_legs = min(minimum_legs, len(self._names))
        self._all, self._no_efforts = np.arange(len(self._names)), np.full(len(self._names), np.nan)
        self._order_of_names: dict[tuple[str, ...], _Order] = {}

    def read(
        self,
        names: Sequence[str],
        positions: Sequence[float] | Array,
        efforts: Sequence[float] | Array | None,
        complain: Callable[[str, str], None],
    ) -> LegSample | None:
        """Return the sample, ``None`` if too few legs are usable; ``complain(reason, detail)`` says what is wrong."""
        if len(names) != len(positions):
            complain('wrong_number_of_positions', f'{len(names)} joint names but {len(positions)} positions')
            return None
        order = self._order_of_names.get(tuple(names))
        if order is None:
            order = self._sort(names, complain)
            if order is None:
                return None
        drives = order.by_leg(positions, self._no_efforts)
        # in plain numbers: six of them take numpy longer
        inside = [low <= value <= high for value, (low, high) in zip(drives.tolist(), self._ranges, strict=True)]
        if all(inside):
            return LegSample(drives, self._efforts(names, efforts, order), self._all)
        return self._doubtful(drives, order.legs, self._efforts(names, efforts, order), complain)

    def _doubtful(
        self, positions: Array, legs: NDArray[np.intp], efforts: Array, complain: Callable[[str, str], None]
    ) -> LegSample | None:
        """Return a sample (L,) of which something is missing or wrong, without that."""
        finite = np.isfinite(positions)
        outside = (positions < self._lowest) | (positions > self._highest)
        if outside.any():
            told = ', '.join(f'{self._names[leg]} = {positions[leg]:g} m' for leg in np.flatnonzero(outside))
            metres = 1e-3 * positions[outside]
            fits = ((metres >= self._lowest[outside]) & (metres <= self._highest[outside])).all()
            hint = 'it would be inside in millimetres' if fits else 'check unit and zero'
            complain('position_out_of_stroke', f'{told}: far outside of the stroke, left out; {hint}')
            positions[outside] = np.nan
        if len(legs) < len(self._names):
            missing = [name for index, name in enumerate(self._names) if index not in legs]
            complain('missing_joint', f'no position of {", ".join(missing)}')
        if not finite[legs].all():
            bad = [self._names[leg] for leg in legs if not finite[leg]]
            complain('position_not_finite', f'position of {", ".join(bad)} is not a finite number')
        used = np.flatnonzero(finite & ~outside)
        if len(used) < self.minimum_legs:
            complain('too_few_legs', f'{len(used)} usable leg positions, at least {self.minimum_legs} are needed')
            return None
        return LegSample(positions, efforts, used)

    def _efforts(self, names: Sequence[str], efforts: Sequence[float] | Array | None, order: _Order) -> Array:
        if efforts is None or len(efforts) != len(names):
            return self._no_efforts
        return order.by_leg(efforts, self._no_efforts)

    def _sort(self, names: Sequence[str], complain: Callable[[str, str], None]) -> _Order | None:
        unknown = [name for name in names if name not in self._known]
        if unknown:
            complain('unknown_joint', f'{", ".join(map(repr, unknown[:6]))} is no joint of this machine; ignored')
        pairs = [(entry, self._leg_of_joint[name]) for entry, name in enumerate(names) if name in self._leg_of_joint]
        legs = [leg for _, leg in pairs]
        if len(set(legs)) != len(legs):
            complain('duplicate_joint', f'a joint is named twice in {list(names)}')
            return None
        order = _Order.of(pairs, len(names), len(self._names))
        if not unknown and len(self._order_of_names) < 16:
            self._order_of_names[tuple(names)] = order
        return order
