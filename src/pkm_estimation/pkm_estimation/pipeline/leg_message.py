"""Leg lengths from named joint positions, in whatever order, with whatever else the message holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.mechanism import Mechanism

from pkm_estimation.models.drives import measured_at_zero

Array = NDArray[np.float64]


#: part of the stroke by which a position may lie beyond its end before it is taken for an error (of unit, of sensor)
STROKE_MARGIN = 0.1


@dataclass(frozen=True)
class LegSample:
    """Lengths (L,) m and efforts (L,) N of one message, NaN where it has none; ``used`` are the legs with a length."""

    lengths: Array
    efforts: Array
    used: NDArray[np.intp]


class LegMessageReader:
    """Sorts joint positions into the machine's leg order.

    Parameters
    ----------
    mechanism : names of the actuated joints, and lengths at zero where the drives are struts
    minimum_legs : below this a message is rejected
    """

    def __init__(self, mechanism: Mechanism, minimum_legs: int) -> None:
        machine = mechanism.machine
        self._lengths_at_zero = measured_at_zero(mechanism)
        self._names = tuple(joint.name for joint in machine.actuated_joints)
        lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]).T
        margin = STROKE_MARGIN * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        self._lowest, self._highest = lower - margin, upper + margin
        self._leg_of_joint = {name: index for index, name in enumerate(self._names)}
        # joints that a machine's complete joint states hold beside the actuated ones: no reason to complain
        self._known = set(machine.joint_names)
        self.minimum_legs = min(minimum_legs, len(self._names))
        self._all, self._no_efforts = np.arange(len(self._names)), np.full(len(self._names), np.nan)
        self._order_of_names: dict[tuple[str, ...], tuple[NDArray[np.intp], NDArray[np.intp]]] = {}

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
        entries, legs = order
        lengths = np.full(len(self._names), np.nan)
        lengths[legs] = np.asarray(positions, dtype=float)[entries]
        finite = np.isfinite(lengths)
        outside = (lengths < self._lowest) | (lengths > self._highest)
        if finite.all() and not outside.any():  # as nearly always
            return LegSample(lengths + self._lengths_at_zero, self._efforts(names, efforts, order), self._all)
        if outside.any():
            told = ', '.join(f'{self._names[leg]} = {lengths[leg]:g} m' for leg in np.flatnonzero(outside))
            metres = 1e-3 * lengths[outside]
            fits = ((metres >= self._lowest[outside]) & (metres <= self._highest[outside])).all()
            hint = 'it would be inside in millimetres' if fits else 'check unit and zero'
            complain('position_out_of_stroke', f'{told}: far outside of the stroke, left out; {hint}')
            lengths[outside] = np.nan
        lengths += self._lengths_at_zero
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
        return LegSample(lengths, self._efforts(names, efforts, order), used)

    def _efforts(
        self,
        names: Sequence[str],
        efforts: Sequence[float] | Array | None,
        order: tuple[NDArray[np.intp], NDArray[np.intp]],
    ) -> Array:
        effort = self._no_efforts.copy()
        if efforts is not None and len(efforts) == len(names):
            effort[order[1]] = np.asarray(efforts, dtype=float)[order[0]]
        return effort

    def _sort(
        self, names: Sequence[str], complain: Callable[[str, str], None]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        unknown = [name for name in names if name not in self._known]
        if unknown:
            complain('unknown_joint', f'{", ".join(map(repr, unknown[:6]))} is no joint of this machine; ignored')
        pairs = [(entry, self._leg_of_joint[name]) for entry, name in enumerate(names) if name in self._leg_of_joint]
        legs = [leg for _, leg in pairs]
        if len(set(legs)) != len(legs):
            complain('duplicate_joint', f'a joint is named twice in {list(names)}')
            return None
        order = np.array([entry for entry, _ in pairs], dtype=np.intp), np.array(legs, dtype=np.intp)
        if not unknown and len(self._order_of_names) < 16:
            self._order_of_names[tuple(names)] = order
        return order
