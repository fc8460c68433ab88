"""One picture of what a motion shows: force terms over time and their sizes, parameters, locations."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pkm_description.report.figures import MEASURED, NOMINAL, PREDICTED, RESIDUAL, STYLE
from pkm_description.writing import replacing

from pkm_identification.identifiability.motion_value import MotionValue

#: bars of parameters and locations that are drawn, the most telling ones
BARS = 30


def motion_value_figure(value: MotionValue) -> Figure:
    """Terms over time, dominance and variation, relative deviations of parameters, locations."""
    terms = value.terms
    names = [field.name for field in fields(terms)]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 14.0), layout='constrained')
        axes = figure.subplots(4, 1, gridspec_kw={'height_ratios': [3, 2, 4, 4]})
        for name in names:
            axes[0].plot(value.motion.time, np.linalg.norm(getattr(terms, name), axis=1), lw=0.8, label=name)
        axes[0].plot(value.motion.time, np.linalg.norm(terms.total, axis=1), lw=1.0, color=MEASURED, label='total')
        axes[0].set_xlabel('time [s]')
        axes[0].set_ylabel('norm over the drives')
        axes[0].legend(loc='upper right', ncols=5, fontsize=6)
        dominance, variation = terms.dominance(), terms.variation()
        place = np.arange(len(names))
        axes[1].bar(place - 0.2, [dominance[name] for name in names], 0.4, color=NOMINAL, label='dominance')
        axes[1].bar(place + 0.2, [variation[name] for name in names], 0.4, color=PREDICTED, label='variation')
        axes[1].set_xticks(place, names)
        axes[1].set_ylabel('% of the mean force')
        axes[1].legend()
        known = [one for one in value.parameters if np.isfinite(one.std) and one.value != 0.0]
        known.sort(key=lambda one: abs(one.std / one.value))
        _bars(
            axes[2], [one.name for one in known], [100.0 * abs(one.std / one.value) for one in known],
            'standard deviation by noise of the efforts, % of the value', PREDICTED,
        )  # fmt: skip
        axes[2].set_xscale('log')
        places = [one for one in value.locations if one.per_millimetre > 0.0]
        places.sort(key=lambda one: -one.per_millimetre)
        _bars(
            axes[3], [f'{one.place}, {one.axis}' for one in places], [one.per_millimetre for one in places],
            'change of the forces for 1 mm, %', RESIDUAL,
        )  # fmt: skip
    return figure


def _bars(axis: Axes, names: list[str], sizes: list[float], what: str, colour: str) -> None:
    names, sizes = [name[:60] for name in names[:BARS]], sizes[:BARS]
    axis.barh(np.arange(len(names)), sizes, color=colour, alpha=0.7)
    axis.set_yticks(np.arange(len(names)), names, fontsize=5)
    axis.invert_yaxis()
    axis.set_xlabel(what)


def write_plot(value: MotionValue, path: Path) -> Path:
    """Write the picture; the ending of the name says the format."""
    with replacing(path) as beside:
        motion_value_figure(value).savefig(beside, dpi=120)
    return path
