"""Picture of all machine files, each at home."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine import Leg, Machine

from pkm_bringup.pictures.studio import Body, Studio
from pkm_bringup.pictures.style import STYLE, save

_COLUMNS = 5


def gallery(path: Path) -> list[str]:
    """Render every machine of the suite; returns the caption."""
    machines = [load_machine(name) for name in machine_names()]
    rows = -(-len(machines) // _COLUMNS)
    with matplotlib.rc_context(STYLE | {'axes.grid': False}):
        figure = Figure(figsize=(2.4 * _COLUMNS, 2.5 * rows), layout='constrained')
        axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for axis in axes:
            axis.set_axis_off()
        for axis, machine in zip(axes, machines, strict=False):
            axis.imshow(portrait(machine))
            axis.set_title(machine.name, loc='center', pad=-4)
            axis.text(0.5, 0.0, kind_of(machine), transform=axis.transAxes, ha='center', va='top', fontsize=9)
        save(figure, path)
    return [f'{len(machines)} machine files, each at home, drawn from its own geometry']


def portrait(machine: Machine, size: tuple[int, int] = (480, 420)) -> object:
    """Picture of one machine at home; planar ones are seen from above."""
    planar = machine.has_platform and machine.freedom == 'planar'
    with Studio(machine, size, (90.0, -60.0) if planar else (40.0, -16.0)) as studio:
        return studio.take([Body(studio.shapes.shapes, studio.shapes.home())])


def kind_of(machine: Machine) -> str:
    """Number of legs and letters of their joints, as in robot literature: 6-UPS."""
    if not machine.has_platform:
        return f'open chain, {len(machine.joints)} joints'
    kinds = [leg_letters(machine, leg) for leg in machine.legs]
    counted = [f'{kinds.count(kind)}-{kind}' for kind in dict.fromkeys(kinds)]
    return ('planar ' if machine.planar else '') + ', '.join(counted)


def leg_letters(machine: Machine, leg: Leg) -> str:
    """Letters of a leg's joints and its end; of a leg with loops of its own how many joints and closures it has."""
    if len(leg.closures) > 1:
        return f'leg of {len(leg.joints)} joints, {len(leg.closures)} closures'
    letters = ''.join('P' if joint.kind == 'prismatic' else 'R' for joint in leg.joints)
    if machine.planar:
        return letters + ('R' if leg.end.kind == 'pin' else '')
    ends = {'ball': 'S', 'universal': 'U', 'pin': 'R', 'fixed': ''}
    return letters.replace('RR', 'U') + ends[leg.end.kind]
