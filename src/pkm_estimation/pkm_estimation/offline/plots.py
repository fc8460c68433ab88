"""Plots of an estimated recording, inline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.report.figures import MEASURED, NOMINAL, PREDICTED, RESIDUAL, STYLE, inline, new_figure
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from pkm_estimation.models.extra_states import EXTRA_STATES
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import matching
from pkm_estimation.offline.result import EstimationResult

_AXES = 'xyz'
#: points per curve; a plot shows no more
_MOST_POINTS = 4000
#: NIS is averaged over so many estimates
_NIS_WINDOW = 50


def time_of(result: EstimationResult) -> Array:
    """Seconds (N,) since the first estimate."""
    return np.asarray((result.motion.stamps - result.motion.stamps[0]) * 1e-9)


def error_plot(result: EstimationResult, truth: MotionEstimate) -> str:
    """Errors of position, velocity and attitude with the filter's own bounds, and those of the baseline."""
    begin, end = int(result.motion.stamps[0]), int(result.motion.stamps[-1])
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(11.0, 6.0, 3, 3)
        for motion, color, bounds in ((result.baseline, NOMINAL, False), (result.motion, PREDICTED, True)):
            ours, true = matching(motion.stamps, truth.stamps, begin, end)
            if not len(ours):
                continue
            chosen = _thinned(len(ours))
            ours, true = ours[chosen], true[chosen]
            time = (motion.stamps[ours] - begin) * 1e-9
            for row, (values, std) in enumerate(_errors(motion, ours, truth, true)):
                for column in range(3):
                    axis = axes[3 * row + column]
                    axis.plot(time, values[:, column], color=color, lw=0.6)
                    if bounds:
                        _bounds(axis, time, 2.0 * std[:, column])
                        _focus(axis, values[:, column])
        for row, label in enumerate(('position [m]', 'velocity [m/s]', 'attitude [rad]')):
            axes[3 * row].set_ylabel(label)
        for axis, name in zip(axes, _AXES, strict=False):
            axis.set_title(name)
        for axis in axes[-3:]:
            axis.set_xlabel('time [s]')
        return inline(figure)


def _errors(
    motion: MotionEstimate, ours: NDArray[np.intp], truth: MotionEstimate, true: NDArray[np.intp]
) -> tuple[tuple[Array, Array], ...]:
    turned = Rotation.from_quat(motion.orientation[ours]) * Rotation.from_quat(truth.orientation[true]).inv()
    pose = np.sqrt(motion.pose_covariance[ours].diagonal(axis1=1, axis2=2))
    twist = np.sqrt(motion.twist_covariance[ours].diagonal(axis1=1, axis2=2))
    return (
        (motion.position[ours] - truth.position[true], pose[:, :3]),
        (motion.linear_velocity[ours] - truth.linear_velocity[true], twist[:, :3]),
        (turned.as_rotvec(), pose[:, 3:]),
    )


def innovation_plot(result: EstimationResult, legs: Sequence[str]) -> str:
    """Innovation of every leg with its bounds of two standard deviations."""
    with matplotlib.rc_context(STYLE):
        rows = (len(legs) + 1) // 2
        figure, axes = new_figure(11.0, 1.6 * rows, rows, 2)
        chosen = _thinned(len(result))
        time = time_of(result)[chosen]
        for leg, (axis, name) in enumerate(zip(axes, legs, strict=False)):
            values = 1e6 * result.innovation[chosen, leg]
            axis.plot(time, values, color=PREDICTED, lw=0.4)
            _bounds(axis, time, 2e6 * result.innovation_std[chosen, leg])
            _focus(axis, values)
            axis.set_ylabel(f'{name} [um]')
        for axis in axes[-2:]:
            axis.set_xlabel('time [s]')
        return inline(figure)


def nis_plot(result: EstimationResult) -> str:
    """NIS, its running mean, and the band in which 95 % of such means lie if the filter is consistent."""
    with matplotlib.rc_context(STYLE):
        figure, (axis,) = new_figure(11.0, 2.6, 1, 1)
        time, nis = time_of(result), result.nis
        good = np.isfinite(nis)
        degrees = np.isfinite(result.innovation).sum(axis=1)  # legs that were used
        chosen = np.flatnonzero(good)[_thinned(int(good.sum()))]
        axis.plot(time[chosen], nis[chosen], '.', ms=1, color=NOMINAL, label='each measurement')
        if good.sum() >= _NIS_WINDOW:
            window = np.ones(_NIS_WINDOW)
            mean = np.convolve(nis[good], window / _NIS_WINDOW, 'valid')
            total = np.convolve(degrees[good], window, 'valid')
            centre = time[good][_NIS_WINDOW - 1 :]
            some = _thinned(len(mean))
            low, high = (chi2.ppf(part, total[some]) / _NIS_WINDOW for part in (0.025, 0.975))
            axis.fill_between(centre[some], low, high, color=RESIDUAL, alpha=0.25, lw=0, label='95 % of such means')
            axis.plot(centre[some], mean[some], color=PREDICTED, lw=0.8, label=f'mean of {_NIS_WINDOW}')
        axis.set_yscale('log')
        axis.set_xlabel('time [s]')
        axis.set_ylabel('NIS')
        axis.legend(loc='upper right', ncols=3)
        return inline(figure)


def bias_plot(result: EstimationResult, legs: Sequence[str]) -> str:
    """Biases and further states less their last values, with bounds of two standard deviations."""
    names: dict[str, Sequence[str]] = {'leg_offsets': legs, 'imu_delay': ['delay']}
    panels: list[tuple[str, Sequence[str], Array, Array]] = [
        ('accelerometer bias [m/s^2]', _AXES, result.accelerometer_bias, result.bias_std[:, :3]),
        ('gyroscope bias [rad/s]', _AXES, result.gyroscope_bias, result.bias_std[:, 3:]),
        *(
            (
                f'{name.replace("_", " ")} [{EXTRA_STATES[name]}]', names.get(name, _AXES),
                result.state[:, rows], result.state_std[:, rows],
            )
            for name, rows in result.extra_states.items()
        ),
    ]  # fmt: skip
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(11.0, 1.9 * len(panels), len(panels), 1)
        chosen = _thinned(len(result))
        time = time_of(result)[chosen]
        for axis, (label, columns, values, std) in zip(axes, panels, strict=True):
            for column, shown in enumerate(columns):
                change, bound = values[chosen, column] - values[-1, column], 2.0 * std[chosen, column]
                name = f'{shown}, less {values[-1, column]:.5g}'
                line = axis.plot(time, change, lw=0.8, label=name)[0]
                axis.fill_between(time, change - bound, change + bound, color=line.get_color(), alpha=0.2, lw=0)
            limit = 3.0 * float(std[len(result) // 5 :].max())  # the start's may be a thousand times as large
            axis.set_ylim(-limit, limit)
            axis.set_ylabel(label)
            axis.legend(loc='upper right', ncols=6)
        axes[-1].set_xlabel('time [s]')
        return inline(figure)


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
        return inline(figure)


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


def _thinned(count: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(np.intp)) if count else np.arange(0)
