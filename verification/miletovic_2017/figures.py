"""Figures 7 to 17 of the paper, drawn from this suite's own runs; axes as in the paper (z down)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from scipy.stats import norm

from verification.miletovic_2017 import curves
from verification.miletovic_2017.curves import Panel
from verification.miletovic_2017.laboratory import Laboratory
from verification.suite import Figure

MOTIONS = ('mp1', 'mp2')
TITLES = {'mp1': 'MP1', 'mp2': 'MP2 (surrogate)'}

#: colours of filter, baseline, bounds
_COLOURS = {'': 'C0', 'filter': 'C0', 'Gauss-Newton + B2': 'C1', '2 sigma': '0.4'}


#: numbers of the paper's figures that show results
NUMBERS = range(7, 18)


def figures(lab: Laboratory, numbers: Sequence[int] = NUMBERS) -> tuple[Figure, ...]:
    """Figures of the paper with these numbers; what they need is run when they are drawn."""
    titles: dict[int, str] = {8: 'static record, simulated: Gaussian noise, and heavy tails of the same deviation'}
    drawn: dict[int, Callable[[str], Any]] = {8: _sensor_noise}
    panels: tuple[tuple[int, str, Callable[[Laboratory, str], list[Panel]]], ...] = (
        (7, 'IMU and leg lengths, simulated', curves.signals),
        (9, 'innovations, simulation tuning', curves.innovations),
        (10, 'errors of position, velocity, quaternion, simulation tuning, printed start', curves.state_errors),
        (11, 'errors of the biases, simulation tuning, printed start', curves.bias_errors),
        (12, 'innovations, experiment-like, Q x 1000', curves.experiment_innovations),
        (13, 'estimates at the IMU, experiment-like', curves.experiment_states),
        (14, 'estimated biases, experiment-like', curves.experiment_biases),
        (15, 'errors against set-points 34 ms ahead of the platform, experiment-like, 20 s', curves.excerpts),
    )
    for number, title, function in panels:
        titles[number], drawn[number] = title, partial(_grid, lab, function)
    for number, motion in ((16, 'mp1'), (17, 'mp2')):
        titles[number], drawn[number] = f'standard deviations, {TITLES[motion]}', partial(_bars, lab, motion)
    return tuple(
        Figure(f'figure_{number:02d}', title, partial(drawn[number], title))
        for number in sorted(numbers)
        for title in (f'Figure {number}: {titles[number]}',)
    )


def _grid(lab: Laboratory, function: Callable[[Laboratory, str], list[Panel]], title: str) -> Any:
    """One column of panels per motion."""
    columns = {motion: function(lab, motion) for motion in MOTIONS}
    rows = max(len(panels) for panels in columns.values())
    figure = _new_figure(1.9 * rows + 1)
    axes = figure.subplots(rows, len(columns), squeeze=False)
    figure.suptitle(title)
    for column, (motion, panels) in enumerate(columns.items()):
        axes[0, column].set_title(TITLES[motion])
        for row, panel in enumerate(panels):
            axis = axes[row, column]
            for curve in panel.curves:
                colour = _COLOURS.get(curve.label, 'C2')
                style = '--' if curve.label == '2 sigma' else '-'
                axis.plot(curve.time, curve.values, style, color=colour, lw=0.6, label=curve.label, rasterized=True)
            axis.set_ylabel(panel.quantity)
            axis.grid(alpha=0.3)
            if panel.limit is not None:
                axis.set_ylim(*panel.limit)
        axes[rows - 1, column].set_xlabel('t [s]')
    handles: dict[str, Any] = {}
    for axis in axes.ravel():
        handles |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True) if label}
    if handles:
        figure.legend(handles.values(), handles.keys(), loc='upper right')
    return figure


def _sensor_noise(title: str) -> Any:
    """Figure 8: a static record, and how often its values occur; the paper's real noise had heavier tails."""
    figure = _new_figure(6)
    axes = figure.subplots(2, 3)
    figure.suptitle(title)
    for row, (quantity, unit, samples) in enumerate(curves.static_noise()):
        for column, name in enumerate(('Gaussian', 'heavy tails')):
            time, values = samples[name]
            axes[row, column].plot(time, values, lw=0.4, rasterized=True)
            axes[row, column].set(title=name, ylabel=f'{quantity} [{unit}]', xlabel='t [s]')
            std = values.std()
            edges = np.linspace(-6.0, 6.0, 61)
            standardised = (values - values.mean()) / std
            axes[row, 2].hist(standardised, edges, density=True, histtype='step', label=name)
        axes[row, 2].plot(edges, norm.pdf(edges), 'k:', lw=1, label='normal distribution')
        axes[row, 2].set(yscale='log', ylim=(1e-4, 1.0), xlabel='deviations from the mean')
        axes[row, 2].legend()
    return figure


def _bars(lab: Laboratory, motion: str, title: str) -> Any:
    """Bars of the filter beside those of the baseline, a row per reference."""
    groups: Sequence[tuple[str, str, dict[str, dict[str, Array]]]] = curves.deviations(lab, motion)
    references = list(groups[0][2])
    figure = _new_figure(3.2 * len(references))
    axes = figure.subplots(len(references), len(groups), squeeze=False)
    figure.suptitle(title)
    for column, (quantity, names, values) in enumerate(groups):
        for row, reference in enumerate(references):
            axis = axes[row, column]
            for shift, (label, heights) in zip((-0.2, 0.2), values[reference].items(), strict=True):
                axis.bar(np.arange(3) + shift, heights, 0.4, label=label, color=_COLOURS[label])
            axis.set_xticks(np.arange(3), names.split())
            axis.set(ylabel=quantity, title=f'against {reference}')
    axes[0, 0].legend()
    return figure



def _new_figure(height: float) -> Any:
    """Figure of that height [inches], without pyplot: no display is needed, nothing stays open."""
    from matplotlib.figure import Figure as MatplotlibFigure

    return MatplotlibFigure(figsize=(13, height), layout='constrained')
