"""Units and quantities in which drives are published, and the strokes in which positions must lie."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Leg, Machine
from pkm_description.machine.model_data import leg_reach

#: part of a stroke by which positions may lie beyond its ends, and part of the samples that must lie within
_SLACK, _INSIDE = 0.03, 0.98


@dataclass(frozen=True)
class Unit:
    """A way to publish positions: ``position = factor * published - length``, the length of absolute lengths only."""

    words: str
    factor: float
    keys: dict[str, str]
    cost: float

    def offset(self, machine: Machine) -> Array:
        """(A,) m or rad that is added to all positions."""
        none = np.zeros(machine.actuated_count)
        return np.array([-leg.length_at_zero for leg in machine.legs]) if 'quantity' in self.keys else none


def units_of(machine: Machine) -> list[Unit]:
    """Ways to publish positions, the suite's own first."""
    if machine.actuated_joints[0].kind == 'revolute':
        sizes = [('rad', 1.0, 0.0), ('deg', np.pi / 180.0, 1.0), ('mrad', 1e-3, 2.0), ('turn', 2.0 * np.pi, 2.0)]
    else:
        sizes = [('m', 1.0, 0.0), ('mm', 1e-3, 1.0), ('cm', 1e-2, 2.0), ('in', 0.0254, 2.0), ('um', 1e-6, 3.0)]
    own = sizes[0][0]
    units = [Unit(f'in {name}', size, {} if name == own else {'unit': name}, cost) for name, size, cost in sizes]
    if own == 'm' and all(_drives_its_length(leg) for leg in machine.legs):
        units += [
            replace(one, words=f'as absolute lengths {one.words}', keys={'quantity': 'length', **one.keys}, cost=cost)
            for one, cost in zip(units, (1.0, 1.1, 1.2, 1.2), strict=False)
        ]
    return units


def _drives_its_length(leg: Leg) -> bool:
    """Whether the drive is the leg's last joint, and the only one."""
    driven = [joint.actuated for joint in leg.joints]
    return leg.ends_at_platform and len(driven) > 1 and driven[-1] and sum(driven) == 1 and leg.length_at_zero > 0.0


def strokes(machine: Machine) -> tuple[Array, Array]:
    """Ends (A,) of the drives' strokes; where the file has none, the machine's size about home."""
    home, lower, upper = (
        values[machine.drive_columns]
        for values in (machine.home_positions, machine.position_lower, machine.position_upper)
    )
    slides = np.array([joint.kind == 'prismatic' for joint in machine.actuated_joints])
    reach = np.where(slides, max(leg_reach(leg) for leg in machine.legs), 2.0 * np.pi)
    return np.where(np.isfinite(lower), lower, home - reach), np.where(np.isfinite(upper), upper, home + reach)


def inside(machine: Machine, positions: Array) -> NDArray[np.bool_]:
    """Which values (..., A) stay within the strokes of the drives over samples (N, ..., A)."""
    lower, upper = strokes(machine)
    slack = _SLACK * (upper - lower)
    within = (positions >= lower - slack) & (positions <= upper + slack)
    return np.asarray(within.mean(axis=0) >= _INSIDE)
