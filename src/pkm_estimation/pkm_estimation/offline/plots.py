"""Plots of an estimated recording, inline: innovations, biases, rates, motion and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.report.page import AXIS_COLOURS, MEASURED, NOMINAL, PREDICTED, RESIDUAL, STYLE, inline, new_figure
from pkm_description.report.words import Scale, scale_of
from scipy.spatial.transform import Rotation
from scipy.special import chdtri

from pkm_estimation.models.extra_states import extra_state_units
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import matching
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
            low, high = (chdtri(total[some], tail) / _NIS_WINDOW for tail in (0.975, 0.025))
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


#: intervals over which errors are averaged
_INTERVALS = 240
#: what an error is at least in the unit it is shown in: errors of speeds stay in mm/s and mrad/s
LEAST = {'m': 1.0, 'm/s': 1e-3, 'rad': 1.0, 'rad/s': 1e-3}


def motion_plot(result: EstimationResult) -> str:
    """Position, attitude and both velocities as they were estimated."""
    chosen = thinned(len(result))
    motion, time = result.motion, time_of(result)[chosen]
    angles = np.unwrap(Rotation.from_quat(motion.orientation[chosen]).as_euler('xyz'), axis=0)
    panels = (
        ('position', 'm', motion.position[chosen]),
        ('roll, pitch, yaw', 'rad', angles),
        ('velocity', 'm/s', motion.linear_velocity[chosen]),
        ('angular velocity', 'rad/s', motion.angular_velocity[chosen]),
    )
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(11.0, 5.0, 2, 2)
        for axis, (name, unit, values) in zip(axes, panels, strict=True):
            scale = scale_of(unit, values)
            for column, (letter, colour) in enumerate(zip(AXES, AXIS_COLOURS, strict=True)):
                axis.plot(time, scale.factor * values[:, column], color=colour, lw=0.8, label=letter)
            axis.set_ylabel(f'{name} [{scale.unit}]')
        axes[0].legend(loc='upper right', ncols=3)
        for axis in axes[-2:]:
            axis.set_xlabel('time [s]')
        return inline(figure, dots_per_inch=DOTS)


def error_plot(result: EstimationResult, truth: MotionEstimate) -> str:
    """Rms errors over short intervals: of the estimate with what it claims, and of the baseline."""
    begin, end = int(result.motion.stamps[0]), int(result.motion.stamps[-1])
    rows = (('position', 'm'), ('velocity', 'm/s'), ('attitude', 'rad'))
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(11.0, 7.0, len(rows), 3)
        edges = np.linspace(0.0, max((end - begin) * 1e-9, 1e-9), _INTERVALS + 1)
        scales: list[Any] = [None] * len(rows)
        for motion, is_ours in ((result.motion, True), (result.baseline, False)):
            ours, true = matching(motion.stamps, truth.stamps, begin, end)
            if not len(ours):
                continue
            time = np.asarray((motion.stamps[ours] - begin) * 1e-9)
            for row, (values, std) in enumerate(errors_of(motion, ours, truth, true)):
                if scales[row] is None:
                    unit, late = rows[row][1], values[len(values) // 5 :]
                    scales[row] = scale_of(unit, np.median(np.abs(late), axis=0), LEAST[unit])
                factor = scales[row].factor
                for column, colour in enumerate(AXIS_COLOURS):
                    axis = axes[3 * row + column]
                    middle, rms = _envelope(time, factor * values[:, column], edges)
                    if is_ours:
                        axis.semilogy(middle, rms, color=colour, lw=1.0, label='estimate')
                        middle, claimed = _envelope(time, factor * std[:, column], edges)
                        axis.semilogy(middle, claimed, '--', color='black', lw=0.8, label='as claimed')
                    else:
                        axis.semilogy(middle, rms, color=NOMINAL, lw=0.8, label='baseline')
        for row, (name, unit) in enumerate(rows):
            axes[3 * row].set_ylabel(f'{name} error, rms [{scales[row].unit if scales[row] else unit}]')
        for axis, name in zip(axes, AXES, strict=False):
            axis.set_title(name)
        axes[0].legend(loc='upper right')
        for axis in axes[-3:]:
            axis.set_xlabel('time [s]')
        return inline(figure, dots_per_inch=DOTS)


def errors_of(
    motion: MotionEstimate, ours: NDArray[np.intp], truth: MotionEstimate, true: NDArray[np.intp]
) -> tuple[tuple[Array, Array], ...]:
    """Errors (M, 3) of position, velocity and attitude [rad, base axes], each with its standard deviations."""
    turned = Rotation.from_quat(motion.orientation[ours]) * Rotation.from_quat(truth.orientation[true]).inv()
    pose = np.sqrt(motion.pose_covariance[ours].diagonal(axis1=1, axis2=2))
    twist = np.sqrt(motion.twist_covariance[ours].diagonal(axis1=1, axis2=2))
    return (
        (motion.position[ours] - truth.position[true], pose[:, :3]),
        (motion.linear_velocity[ours] - truth.linear_velocity[true], twist[:, :3]),
        (turned.as_rotvec(), pose[:, 3:]),
    )


def _envelope(time: NDArray[Any], values: NDArray[Any], edges: NDArray[Any]) -> tuple[Array, Array]:
    """Middle of the intervals that hold values, and the root mean square of those."""
    place = np.clip(np.searchsorted(edges, time, side='right') - 1, 0, len(edges) - 2)
    count = np.bincount(place, minlength=len(edges) - 1)
    squares = np.bincount(place, np.square(values), minlength=len(edges) - 1)
    filled = count > 0
    middle = 0.5 * (edges[1:] + edges[:-1])
    return middle[filled], np.sqrt(squares[filled] / count[filled])
