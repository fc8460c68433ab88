"""In which unit, direction and zero positions come: what brings them into the strokes of the drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Leg, Machine
from pkm_description.machine.model_data import leg_reach

#: part of a stroke by which positions may lie beyond its ends
_SLACK = 0.03
#: part of the samples that must lie in the stroke
_INSIDE = 0.98
#: part of a stroke below which values say nothing about their unit
SMALL = 0.02


@dataclass(frozen=True)
class PositionUnit:
    """A way to publish positions: ``position = scale * published + offset``.

    Attributes
    ----------
    words : for the report
    scale, offset : (A,) SI unit per published unit, m or rad
    keys : of a driver file's section ``position``
    """

    words: str
    scale: Array
    offset: Array
    keys: dict[str, str | int]

    def position(self, published: Array) -> Array:
        """Positions (..., A) in the suite's convention."""
        result: Array = published * self.scale + self.offset
        return result


def position_units(machine: Machine) -> list[PositionUnit]:
    """Ways to publish positions, the suite's own first, then from usual to unusual."""
    count = machine.actuated_count
    ones, none = np.ones(count), np.zeros(count)
    if machine.actuated_joints[0].kind == 'revolute':
        degree = np.pi / 180.0
        table: list[tuple[str, float, dict[str, str | int]]] = [
            ('in rad', 1.0, {}),
            ('in degrees', degree, {'unit': 'deg'}),
            ('with the opposite sign', -1.0, {'sign': -1}),
            ('in degrees with the opposite sign', -degree, {'unit': 'deg', 'sign': -1}),
            ('in mrad', 1e-3, {'unit': 'mrad'}),
            ('in turns', 2.0 * np.pi, {'unit': 'turn'}),
        ]
        return [PositionUnit(words, scale * ones, none, keys) for words, scale, keys in table]
    units = [
        PositionUnit('as extensions in m', ones, none, {}),
        PositionUnit('in mm', 1e-3 * ones, none, {'unit': 'mm'}),
    ]
    if all(_drives_its_length(leg) for leg in machine.legs):
        lengths = np.array([leg.length_at_zero for leg in machine.legs])
        if (lengths > 0.0).all():
            units += [
                PositionUnit('as absolute lengths in m', ones, -lengths, {'quantity': 'length'}),
                PositionUnit('as absolute lengths in mm', 1e-3 * ones, -lengths, {'quantity': 'length', 'unit': 'mm'}),
                PositionUnit('as absolute lengths in cm', 1e-2 * ones, -lengths, {'quantity': 'length', 'unit': 'cm'}),
            ]
    return [
        *units,
        PositionUnit('with the opposite sign', -ones, none, {'sign': -1}),
        PositionUnit('in mm with the opposite sign', -1e-3 * ones, none, {'unit': 'mm', 'sign': -1}),
        PositionUnit('in cm', 1e-2 * ones, none, {'unit': 'cm'}),
        PositionUnit('in inches', 0.0254 * ones, none, {'unit': 'in'}),
        PositionUnit('in um', 1e-6 * ones, none, {'unit': 'um'}),
    ]


def _drives_its_length(leg: Leg) -> bool:
    """Whether the drive is the leg's last joint, and the only one."""
    driven = [joint.actuated for joint in leg.joints]
    return leg.ends_at_platform and len(driven) > 1 and driven[-1] and sum(driven) == 1


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
    """Which drives (A,) stay within their strokes over samples (N, A)."""
    lower, upper = strokes(machine)
    slack = _SLACK * (upper - lower)
    within = (positions >= lower - slack) & (positions <= upper + slack)
    return np.asarray(within.mean(axis=0) >= _INSIDE)


def excess(machine: Machine, positions: Array) -> Array:
    """How far (A,) [m, rad] the samples (N, A) lie beyond the strokes at most; 0 inside."""
    lower, upper = strokes(machine)
    return np.maximum(0.0, np.maximum(lower - positions, positions - upper)).max(axis=0)


def fitting(machine: Machine, published: Array, drive: int | None = None) -> list[PositionUnit]:
    """Ways that bring all drives (or one) into their strokes, the usual ones first."""
    found = []
    for unit in position_units(machine):
        within = inside(machine, unit.position(published))
        if within.all() if drive is None else within[drive]:
            found.append(unit)
    return found


def is_small(machine: Machine, published: Array) -> bool:
    """Whether all values are so near to zero that any smaller unit would fit, too."""
    lower, upper = strokes(machine)
    return bool((np.abs(published) < SMALL * (upper - lower)).all())
