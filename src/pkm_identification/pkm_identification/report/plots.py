"""Plots of an identification as inline SVG or PNG, ready for a page without links."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pkm_description.report.figures import MEASURED, NOMINAL, PREDICTED, RESIDUAL, STYLE, inline, new_figure
from scipy.signal import welch

from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.result import ForceComparison, IdentificationResult


def force_plot(comparison: ForceComparison, leg_names: tuple[str, ...]) -> str:
    """Measured and predicted force of every leg over time, and their difference on its own scale."""
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(11.0, 1.9 * ((len(leg_names) + 1) // 2), (len(leg_names) + 1) // 2, 2)
        for leg, (axis, name) in enumerate(zip(axes, leg_names, strict=False)):
            axis.plot(comparison.time, comparison.measured[:, leg], color=MEASURED, lw=0.6, label='measured')
            axis.plot(comparison.time, comparison.predicted[:, leg], color=PREDICTED, lw=0.9, label='predicted')
            axis.set_ylabel(f'{name} [N]')
            twin = axis.twinx()
            difference = comparison.measured[:, leg] - comparison.predicted[:, leg]
            twin.plot(comparison.time, difference, color=RESIDUAL, lw=0.4, label='difference')
            limit = 4.0 * max(float(np.abs(difference).max()), 1e-9)
            twin.set_ylim(-limit, limit)
            twin.tick_params(axis='y', labelcolor=RESIDUAL)
            twin.grid(False)
        handles = [*axes[0].get_legend_handles_labels()[0], *twin.get_legend_handles_labels()[0]]
        figure.legend(
            handles, ['measured', 'predicted', 'difference (right scale)'], loc='outside upper center', ncols=3
        )
        for axis in axes[-2:]:
            axis.set_xlabel('time [s]')
        return inline(figure)


def parameter_plot(result: IdentificationResult) -> str:
    """Base parameters relative to the nominal machine, with error bars of two standard deviations."""
    with matplotlib.rc_context(STYLE):
        count = len(result.base)
        figure, (axis,) = new_figure(9.0, 0.21 * count + 0.8, 1, 1)
        values, std, nominal = result.estimate.parameters, result.estimate.std, result.nominal_base
        scale = np.maximum(np.abs(nominal), 2.0 * std)
        place = np.arange(count)
        good = np.array([status == 'identified' for status in result.classification])
        for chosen, colour, label in ((good, PREDICTED, 'identified'), (~good, RESIDUAL, 'weakly excited')):
            if chosen.any():
                axis.errorbar(
                    (values / scale)[chosen], place[chosen], xerr=(2.0 * std / scale)[chosen],
                    fmt='o', ms=3, lw=1, capsize=2, color=colour, label=label,
                )  # fmt: skip
        axis.plot(nominal / scale, place, '|', color=NOMINAL, ms=9, mew=2, label='nominal')
        axis.set_yticks(place, [_short(name) for name in result.base.names])
        axis.set_ylim(count - 0.5, -0.5)
        axis.set_xlabel('value / max(|nominal|, 2 std), bars: 2 std')
        axis.legend(loc='best')
        return inline(figure, vector=True)


def correlation_plot(result: IdentificationResult) -> str:
    """Correlation of the base parameters' errors."""
    with matplotlib.rc_context(STYLE | {'axes.grid': False}):
        count = len(result.base)
        figure, (axis,) = new_figure(7.5, 6.0, 1, 1)
        image = axis.imshow(result.estimate.correlation, vmin=-1.0, vmax=1.0, cmap='RdBu_r')
        numbers = np.arange(count)
        axis.set_xticks(numbers, [str(number + 1) for number in numbers], fontsize=5)
        axis.set_yticks(
            numbers, [f'{_short(name, 22)} {number + 1}' for number, name in enumerate(result.base.names)], fontsize=5
        )
        figure.colorbar(image, ax=axis, shrink=0.8)
        return inline(figure, vector=True)


def whiteness_plot(result: IdentificationResult) -> str:
    """Residual: histogram in units of its standard deviation, spectrum and autocorrelation, all legs."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 2.8), layout='constrained')
        histogram, spectrum, correlation = figure.subplots(1, 3)
        estimate = result.estimate
        used = estimate.residuals != 0.0
        scaled = (estimate.residuals / estimate.force_std)[used]
        bins = np.linspace(-4.0, 4.0, 41)
        histogram.hist(scaled, bins=bins, density=True, color=RESIDUAL, alpha=0.6)
        histogram.plot(bins, np.exp(-0.5 * bins**2) / np.sqrt(2.0 * np.pi), color=MEASURED, lw=1)
        histogram.set_xlabel('residual / standard deviation')
        _spectrum(spectrum, result)
        _autocorrelation(correlation, estimate, used)
        return inline(figure, vector=True)


def _spectrum(axis: matplotlib.axes.Axes, result: IdentificationResult) -> None:
    comparison = result.training
    rate = (len(comparison.time) - 1) / (comparison.time[-1] - comparison.time[0])
    segment = min(len(comparison.time), 512)
    for values, colour, label in (
        (comparison.measured, MEASURED, 'force'),
        (comparison.measured - comparison.predicted, RESIDUAL, 'residual'),
    ):
        frequency, density = welch(values, fs=rate, nperseg=segment, axis=0)
        axis.semilogy(frequency[1:], np.sqrt(density.mean(axis=1))[1:], color=colour, lw=0.9, label=label)
    axis.axvline(result.bands.force_cutoff, color=PREDICTED, lw=1, ls='--', label='force cut-off')
    axis.set_xlabel('frequency [Hz]')
    axis.set_ylabel('N / sqrt(Hz)')
    axis.legend()


def _autocorrelation(axis: matplotlib.axes.Axes, estimate: Estimate, used: NDArray[np.bool_]) -> None:
    lags = np.arange(len(estimate.autocorrelation))
    axis.plot(lags, estimate.autocorrelation, 'o-', ms=2, lw=0.7)
    limit = 2.0 / np.sqrt(max(int(used.sum(axis=0).min()), 1))
    axis.axhspan(-limit, limit, color=NOMINAL, alpha=0.3, label='white, 95 %')
    axis.set_xlabel('lag [rows]')
    axis.set_ylabel('autocorrelation, per leg')
    axis.legend()


def _short(name: str, length: int = 46) -> str:
    return name if len(name) <= length else name[: length - 3] + '...'
