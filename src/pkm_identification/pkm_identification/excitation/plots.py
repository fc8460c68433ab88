"""One picture of an excitation: coordinates, drives against their limits, drive forces, objective before and after."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pkm_description.arrays import Array
from pkm_description.report.page import NOMINAL, PREDICTED, RESIDUAL, STYLE
from pkm_description.writing import replacing

from pkm_identification.excitation.design import ExcitationDesign

#: samples per period of the highest harmonic
_FINENESS = 30


def excitation_figure(design: ExcitationDesign) -> Figure:
    """The whole motion, run-in and run-out shaded."""
    series = design.series
    step = 1.0 / (_FINENESS * series.harmonics * series.base_frequency)
    motion = design.sampled(1.0 / step)
    time, positions, velocities, _, forces = design.drive_values(motion)
    values = series.coordinates(time)[0]
    joints = design.machine.actuated_joints
    middle, half = _ranges(design)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 11.0), layout='constrained')
        axes = figure.subplots(5, 1, gridspec_kw={'height_ratios': [3, 3, 3, 3, 2]})
        figure.suptitle(f'{design.machine.name}: {design.summary}', fontsize=9, wrap=True)
        for place, (name, unit) in enumerate(zip(design.coordinates.names, design.coordinates.units, strict=True)):
            axes[0].plot(time, values[:, place], lw=0.9, label=f'{name} [{unit}]')
        axes[0].set_ylabel('coordinates from home')
        _of_limits(axes[1], time, (positions - middle) / half, [joint.name for joint in joints], 'position')
        fastest = np.array([joint.limits.velocity for joint in joints])
        _of_limits(axes[2], time, velocities / fastest, [joint.name for joint in joints], 'speed')
        strongest = np.array([joint.limits.effort for joint in joints])
        _of_limits(axes[3], time, forces / strongest, [joint.name for joint in joints], 'force')
        axes[3].set_xlabel('time [s]')
        for axis in axes[:4]:
            axis.set_xlim(0.0, series.duration)
            for begin, end in ((0.0, series.periodic_start), (series.periodic_end, series.duration)):
                axis.axvspan(begin, end, color=NOMINAL, alpha=0.15, lw=0)
            axis.legend(loc='upper right', ncols=6, fontsize=6)
        _objectives(axes[4], design)
    return figure


def write_plot(design: ExcitationDesign, path: Path) -> Path:
    """Write the picture; the ending of the name says the format."""
    with replacing(path) as beside:
        excitation_figure(design).savefig(beside, dpi=120)
    return path


def _ranges(design: ExcitationDesign) -> tuple[Array, Array]:
    """Middle and half of the drives' strokes (A,), one where they have none."""
    columns = design.machine.drive_columns
    lower, upper = design.machine.position_lower[columns], design.machine.position_upper[columns]
    bounded = np.isfinite(lower) & np.isfinite(upper)
    lower, upper = np.where(bounded, lower, -1.0), np.where(bounded, upper, 1.0)
    return 0.5 * (lower + upper), 0.5 * (upper - lower)


def _of_limits(axis: Axes, time: Array, parts: Array, names: list[str], what: str) -> None:
    for place, name in enumerate(names):
        axis.plot(time, parts[:, place], lw=0.8, label=name)
    for limit in (-1.0, 1.0):
        axis.axhline(limit, color=RESIDUAL, lw=1, ls='--')
    axis.set_ylim(-1.15, 1.15)
    axis.set_ylabel(f'{what} / limit')


def _objectives(axis: Axes, design: ExcitationDesign) -> None:
    """Objective of the best random series, of the start, and of the design."""
    bars = (
        (f'best of {design.random_count} random series', design.random_objective, NOMINAL),
        ('start', design.start_objective, RESIDUAL),
        ('designed', design.objective, PREDICTED),
    )
    for place, (label, value, colour) in enumerate(bars):
        axis.barh(place, value, color=colour, alpha=0.6)
        axis.annotate(f'{label}: {value:.4g}', (0.0, place), xytext=(4, 0), textcoords='offset points', va='center')
    axis.set_yticks([])
    axis.invert_yaxis()
    axis.set_xlabel(design.settings.objective)
