"""Figures of measured and predicted forces, drive by drive, and checks that they show what they should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from pkm_description.arrays import Array
from pkm_description.report.page import new_figure

from verification.check import Check, holds


def curves(
    time: Array, values: Mapping[str, Array], labels: Sequence[str], unit: str, points: Sequence[str] = ()
) -> Drawing:
    """One strip per column of the values (N, C), with all of them in it.

    Parameters
    ----------
    time : (N,) s
    values : by their names in the legend
    labels, unit : of the columns
    points : names drawn as points: what was measured
    """
    drawing, axes = new_figure(9, 1.8 * len(labels), len(labels), 1)
    for column, (axis, label) in enumerate(zip(axes, labels, strict=True)):
        for name, every in values.items():
            axis.plot(time, every[:, column], '.' if name in points else '-', ms=3, lw=0.9, label=name)
        axis.set(ylabel=f'{label} [{unit}]')
        axis.grid(alpha=0.3)
    axes[0].legend(ncols=len(values), fontsize=8)
    axes[-1].set(xlabel='time [s]')
    return drawing


def shown(id: str, what: str, drawing: Drawing, expected: Sequence[int]) -> Iterator[Check]:
    """Each strip has so many curves, and none of them is flat; lines of two points, which mark limits, are none."""
    found = [[_varies(line) for line in axis.lines if np.size(line.get_xdata()) > 2] for axis in drawing.axes]
    counts = [len(lines) for lines in found]
    good = counts == list(expected) and all(map(all, found))
    required = ', '.join(map(str, expected))
    yield holds(id, f'{what}: curves that are not flat, by strip', required, ', '.join(map(str, counts)), good)


def _varies(line: Line2D) -> bool:
    return bool(np.ptp(np.asarray(line.get_ydata(), dtype=float)) > 0.0)
