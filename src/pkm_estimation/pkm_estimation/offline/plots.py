"""Plots of innovations, biases and rates of an estimated recording, inline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.report.page import MEASURED, NOMINAL, PREDICTED, RESIDUAL, STYLE, inline, new_figure
from pkm_description.report.words import Scale, scale_of
from scipy.stats import chi2

from pkm_estimation.models.extra_states import extra_state_units
from pkm_estimation.offline.result import EstimationResult

AXES = 'xyz'
#: per inch, so that curves can be looked at enlarged
DOTS = 200
#: points per curve; a plot shows no more
_MOST_POINTS = 4000
#: NIS is averaged over so many estimates
_NIS_WINDOW = 50


def time_of(result: EstimationResult) -> Array:
    """Seconds (N,) since the first estimate."""
    return np.asarray((result.motion.stamps - result.motion.stamps[0]) * 1e-9)


def innovation_plot(result: EstimationResult, legs: Sequence[str], units: Sequence[str]) -> str:
    """Innovation of every drive, whose positions are in m or rad, with its bounds of two standard deviations."""
    with matplotlib.rc_context(STYLE):
        rows = (len(legs) + 1) // 2
        figure, axes = new_figure(11.0, 1.6 * rows, rows, 2)
        chosen = thinned(len(result))
        time = time_of(result)[chosen]
        for leg, (axis, name, unit) in enumerate(zip(axes, legs, units, strict=False)):
            std = result.innovation_std[chosen, leg]
            scale = innovation_scale(result, unit)
            values = scale.factor * result.innovation[chosen, leg]
            axis.plot(time, values, color=PREDICTED, lw=0.4)
            _bounds(axis, time, 2.0 * scale.factor * std)
            _focus(axis, values)
            axis.set_ylabel(f'{name} [{scale.unit}]')
        for axis in axes[-2:]:
            axis.set_xlabel('time [s]')
        return inline(figure, dots_per_inch=DOTS)


def innovation_scale(result: EstimationResult, unit: str) -> Scale:
    """Scale of the innovations of drives whose positions are in this unit."""
    std = result.innovation_std[np.isfinite(result.innovation_std)]
    return scale_of(unit, np.median(std) if std.size else 0.0)


def nis_plot(result: EstimationResult) -> str:
    """NIS, its running mean, and the band in which 95 % of such means lie if the filter is consistent."""
    with matplotlib.rc_context(STYLE):
        figure, (axis,) = new_figure(11.0, 2.6, 1, 1)
        time, nis = time_of(result), result.nis
        good = np.isfinite(nis)
        degrees = np.isfinite(result.innovation).sum(axis=1)  # legs that were used
        chosen = np.flatnonzero(good)[thinned(int(good.sum()))]
        axis.plot(time[chosen], nis[chosen], '.', ms=1, color=NOMINAL, label='each measurement')
        if good.sum() >= _NIS_WINDOW:
            window = np.ones(_NIS_WINDOW)
            mean = np.convolve(nis[good], window / _NIS_WINDOW, 'valid')
            total = np.convolve(degrees[good], window, 'valid')
            centre = time[good][_NIS_WINDOW - 1 :]
            some = thinned(len(mean))
            low, high = (chi2.ppf(part, total[some]) / _NIS_WINDOW for part in (0.025, 0.975))
            axis.fill_between(centre[some], low, high, color=RESIDUAL, alpha=0.25, lw=0, label='95 % of such means')
            axis.plot(centre[some], mean[some], color=PREDICTED, lw=0.8, label=f'mean of {_NIS_WINDOW}')
        axis.set_yscale('log')
        axis.set_xlabel('time [s]')
        axis.set_ylabel('NIS')
        axis.legend(loc='upper right', ncols=3)
        return inline(figure, dots_per_inch=DOTS)


def bias_plot(result: EstimationResult, legs: Sequence[str], units: Sequence[str]) -> str:
    """Biases and further states less their last values, with bounds of two standard deviations."""
    names: dict[str, Sequence[str]] = {'leg_offsets': legs, 'imu_delay': ['delay']}
    panels: list[tuple[str, str, Sequence[str], Array, Array]] = [
        ('accelerometer bias', 'm/s^2', AXES, result.accelerometer_bias, result.bias_std[:, :3]),
        ('gyroscope bias', 'rad/s', AXES, result.gyroscope_bias, result.bias_std[:, 3:]),
        *(
            (
                name.replace('_', ' '), extra_state_units(units)[name], names.get(name, AXES),
                result.state[:, rows], result.state_std[:, rows],
            )
            for name, rows in result.extra_states.items()
        ),
    ]  # fmt: skip
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(11.0, 1.9 * len(panels), len(panels), 1)
        chosen = thinned(len(result))
        time = time_of(result)[chosen]
        for axis, (label, unit, columns, values, std) in zip(axes, panels, strict=True):
            known = np.flatnonzero(np.isfinite(values).all(axis=1))
            last = int(known[-1]) if len(known) else len(values) - 1
            # the start's may be a thousand times as large
            widest = 3.0 * float(np.nanmax(std[len(result) // 5 :], initial=0.0))
            scale, whole = scale_of(unit, widest), scale_of(unit, values[last])
            for column, shown in enumerate(columns):
                change = scale.factor * (values[chosen, column] - values[last, column])
                bound = 2.0 * scale.factor * std[chosen, column]
                name = f'{shown}, less {whole.factor * values[last, column]:.5g} {whole.unit}'
                line = axis.plot(time, change, lw=0.8, label=name)[0]
                axis.fill_between(time, change - bound, change + bound, color=line.get_color(), alpha=0.2, lw=0)
            if widest > 0.0:
                axis.set_ylim(-scale.factor * widest, scale.factor * widest)
            axis.set_ylabel(f'{label} [{scale.unit}]')
            axis.legend(loc='upper right', ncols=6)
        axes[-1].set_xlabel('time [s]')
        return inline(figure, dots_per_inch=DOTS)


def rate_plot(result: EstimationResult) -> str:
    """Interval between estimates, and where the filter started."""
    with matplotlib.rc_context(STYLE):
        figure, (axis,) = new_figure(11.0, 1.8, 1, 1)
        time = time_of(result)
        interval = np.diff(time)
        # every gap must be seen: the longest interval of each stretch, not every so many
        stretches = np.array_split(np.arange(len(interval)), min(len(interval), _MOST_POINTS))
        worst = np.array([stretch[np.argmax(interval[stretch])] for stretch in stretches if len(stretch)], dtype=int)
        axis.plot(time[1:][worst], 1e3 * interval[worst], '.', ms=2, color=MEASURED, label='interval')
        for start in time[result.started]:
            axis.axvline(start, color=RESIDUAL, lw=0.8)
        axis.set_xlabel('time [s], lines: (re-)starts')
        axis.set_ylabel('interval [ms]')
        axis.set_ylim(bottom=0.0)
        return inline(figure, dots_per_inch=DOTS)


def _bounds(axis: Axes, time: NDArray[Any], bound: NDArray[Any]) -> None:
    for sign in (-1.0, 1.0):
        axis.plot(time, sign * bound, color=RESIDUAL, lw=0.6)


def _focus(axis: Axes, values: Array) -> None:
    """Limit the axis to what happens after the start, whose errors may be a thousand times as large."""
    late = values[len(values) // 10 :]
    late = late[np.isfinite(late)]
    if late.size and np.ptp(late) > 0.0:
        low, high = np.percentile(late, [0.5, 99.5])
        margin = 0.75 * (high - low)
        axis.set_ylim(low - margin, high + margin)


def thinned(count: int) -> NDArray[np.intp]:
    """Rows of so many that a curve shows."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(np.intp)) if count else np.arange(0)
