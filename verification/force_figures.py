"""Figures of measured and predicted forces, drive by drive, and checks that they show what they should."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from pkm_description.arrays import Array
from pkm_description.loading.load import machine_file
from pkm_description.report.page import new_figure

from verification.check import Check, holds
from verification.suite import Figure


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


@dataclass(frozen=True)
class Drawn:
    """A figure like one of a paper: its number, title, how it is drawn of a machine file, and curves of each strip."""

    number: int
    title: str
    make: Callable[[str], Drawing]
    strips: tuple[int, ...]


def figures_of(machine: str, drawings: Iterable[Drawn]) -> tuple[Figure, ...]:
    """Of the report, for a machine file of the package."""
    path = str(machine_file(machine))
    return tuple(
        Figure(f'figure_{one.number:02d}', f'Figure {one.number}: {one.title}', partial(one.make, path))
        for one in drawings
    )


def drawing_checks(id: str, drawings: Iterable[Drawn], path: str) -> Iterator[Check]:
    """Each figure has a curve for what the paper's shows, with something on it."""
    for one in drawings:
        yield from shown(id, f'figure like {one.number}, {one.title}', one.make(path), one.strips)


def _varies(line: Line2D) -> bool:
    return bool(np.ptp(np.asarray(line.get_ydata(), dtype=float)) > 0.0)
