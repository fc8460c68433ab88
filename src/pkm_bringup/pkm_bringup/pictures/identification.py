"""Picture: identified parameters beside the true ones, and the forces that they predict."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from ament_index_python.packages import get_package_share_directory
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_identification.result import IdentificationResult

from pkm_bringup.pictures.runs import recording_of
from pkm_bringup.pictures.style import BLACK, BLUE, GREEN, GREY, ORANGE, STYLE, save
from pkm_bringup.simulation import simulate
from pkm_description import load_machine, profile
from pkm_identification import identify

_DURATION, _SEED, _LEG = 25.0, 0, 0


def identification(path: Path) -> list[str]:
    """Simulate srs, identify it from a belief that is wrong on purpose, and draw; returns the caption."""
    truth = load_machine('srs')
    belief_file = Path(get_package_share_directory('pkm_identification'), 'config', 'nominal_srs.yaml')
    belief = load_machine('srs', belief_file)
    motions = [profile(name, truth, _DURATION, 100.0, _SEED) for name in ('fourier', 'fourier_validation')]
    recordings = [
        recording_of(simulate(truth, motion, _SEED + number, pause=0.0), name)
        for number, (motion, name) in enumerate(zip(motions, ('excitation', 'held out'), strict=True))
    ]
    result = identify(belief, recordings[0], recordings[1])
    true_base = result.base.combination @ _full_parameters(result, truth)
    assert result.validation is not None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 6.8), layout='constrained')
        grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 2.0))
        _parameters(figure.add_subplot(grid[:, 0]), result, true_base)
        force, friction = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
        _forces(force, result)
        _friction(friction, result, truth)
        save(figure, path)
    identified = result.classification.count('identified')
    deviations = np.abs(result.estimate.parameters - true_base) / result.estimate.std
    error = result.validation.error.relative
    before = result.validation.nominal_error.relative
    return [
        f'srs in MuJoCo, Fourier excitation of {_DURATION:g} s, seeds {_SEED} and {_SEED + 1}, started from a platform '
        '10 % too heavy and half of the friction',
        f'{len(result.base)} base parameters ({identified} identified, the others weakly excited), the farthest '
        f'{deviations.max():.1f} of its own standard deviations from the truth',
        f'force error on the held-out motion {100 * error:.2f} % rms ({100 * before:.1f} % before)',
    ]


def _full_parameters(result: IdentificationResult, machine: Machine) -> Array:
    """Parameters (P,) of a machine in the order of ``result.base.full_names``."""
    return result.model.all_parameters(machine)[result.model.free]


def _parameters(axis: Axes, result: IdentificationResult, truth: Array) -> None:
    """Base parameters: deviation from the truth in standard deviations."""
    estimate = result.estimate
    place = np.arange(len(truth))
    axis.axvspan(-2.0, 2.0, color=BLUE, alpha=0.12, lw=0)
    deviation = (estimate.parameters - truth) / estimate.std
    well = np.array([status == 'identified' for status in result.classification])
    for chosen, color, label in ((well, BLUE, 'identified'), (~well, ORANGE, 'weakly excited')):
        axis.errorbar(
            deviation[chosen], place[chosen], xerr=1.0, fmt='o', ms=4, lw=1, color=color,
            label=f'{label}: {chosen.sum()}',
        )  # fmt: skip
    axis.axvline(0.0, color=BLACK, lw=1.0)
    axis.set_yticks(place, [_short(name) for name in result.base.names], fontsize=7.5)
    axis.set_ylim(len(place) - 0.4, -2.4)  # room for the legend
    axis.set_xlim(-4.0, 4.0)
    axis.grid(axis='y', visible=False)
    axis.set_xlabel('identified less true, in its own standard deviations')
    axis.set_title(f'{len(place)} base parameters')
    axis.legend(loc='upper center', ncols=2, fontsize=9)


def _forces(axis: Axes, result: IdentificationResult) -> None:
    """Measured and modelled force of one leg on the motion that was held out."""
    held_out = result.validation
    assert held_out is not None
    time = held_out.time - held_out.time[0]
    shown = (time > 8.0) & (time < 16.0)
    for values, color, width, label in (
        (held_out.nominal, GREY, 1.5, 'model before'),
        (held_out.measured, BLACK, 2.4, 'measured'),
        (held_out.predicted, ORANGE, 1.0, 'model identified'),
    ):
        axis.plot(time[shown], 1e-3 * values[shown, _LEG], color=color, lw=width, label=label)
    axis.set(xlabel='time [s]', ylabel='[kN]', ylim=(-10.0, 31.0))
    axis.set_title('Force of leg 1 on the held-out motion')
    axis.legend(ncols=3, loc='upper center')


def _friction(axis: Axes, result: IdentificationResult, truth: Machine) -> None:
    """Coulomb and viscous friction of the legs: true, believed before, identified."""
    physical = result.physical
    index = {name: number for number, name in enumerate(physical.names)}
    kinds = ('viscous', 'coulomb')
    names = [name for kind in kinds for name in physical.names if name.endswith(f'.{kind}')]
    laws = {joint.name: joint.friction for joint in truth.actuated_joints}
    for number, name in enumerate(names):
        joint, _, parameter = name.rpartition('.')
        true = getattr(laws[joint], parameter)
        at = index[name]
        first = number == 0
        value, deviation = physical.values[at] / true, 2.0 * physical.std[at] / true
        axis.plot(number, physical.nominal[at] / true, 's', color=GREY, ms=6, label='before' if first else None)
        axis.errorbar(
            number, value, deviation, fmt='o', ms=5, color=BLUE, capsize=3,
            label='identified, two standard deviations' if first else None,
        )  # fmt: skip
    axis.axhline(1.0, color=GREEN, lw=1.5, zorder=0, label='true')
    axis.set_xticks(range(len(names)), [name.partition('_')[0] for name in names])
    axis.axvline(0.5 * len(names) - 0.5, color=GREY, lw=1.0)
    for number, kind in enumerate(kinds):
        axis.text(0.25 + 0.5 * number, 0.93, kind, transform=axis.transAxes, ha='center', fontstyle='italic')
    axis.set(ylim=(0.4, 1.2), ylabel='part of the true value')
    axis.grid(axis='x', visible=False)
    axis.set_title('Friction of the legs')
    axis.legend(loc='center', ncols=3, bbox_to_anchor=(0.5, 0.5), columnspacing=1.0)


def _short(name: str, length: int = 34) -> str:
    return name if len(name) <= length else name[: length - 1] + '…'
