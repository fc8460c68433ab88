"""Plots of an estimated motion and of its errors, inline."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.report.page import AXIS_COLOURS, NOMINAL, STYLE, inline, new_figure
from pkm_description.report.words import scale_of
from scipy.spatial.transform import Rotation

from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import matching
from pkm_estimation.offline.plots import AXES, DOTS, thinned, time_of
from pkm_estimation.offline.result import EstimationResult

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
