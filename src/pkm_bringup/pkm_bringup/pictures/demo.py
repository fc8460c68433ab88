"""Picture of a finished run of the demo: live errors over its whole time line."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pkm_description.arrays import Array
from pkm_estimation.bags import RecordedData, read_bag

from pkm_bringup.demo.estimation_errors import estimated_biases, estimation_errors, worst_axis_rms
from pkm_bringup.pictures.style import AXES, BLUE, GREY, STYLE, save
from pkm_description import load_machine

#: samples of a running root mean square
_WINDOW = 50
#: m from home; nearer is rest
_AT_REST = 1e-3
_PANELS = (
    ('position', 1e6, (1.0, 100.0), 'Position error [µm]'),
    ('velocity', 1e3, (0.02, 500.0), 'Velocity error [mm/s]'),
)
_SETTLED = 20.0


def demo_run(path: Path, directory: Path) -> list[str]:
    """Draw the live errors in the bag of a run of ``./pkm demo output:=directory``; returns the caption."""
    topics = ('imu/data_raw', 'imu/data', 'ground_truth/odometry', 'platform/odometry', 'baseline/odometry')
    data = read_bag(directory / 'bag', require=topics)
    machine = load_machine('srs')
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 6.4), layout='constrained')
        axes = figure.subplots(3, 1, sharex=True, height_ratios=(1.0, 1.0, 1.0))
        caption = _errors(axes[:2], data)
        _biases(axes[2], data, machine.imu.accelerometer_bias)
        for axis in axes:
            _shade(axis, data)
        axes[-1].set_xlabel('time [s]; shaded: the machine moves')
        axes[0].legend(ncols=2, loc='upper right')
        save(figure, path)
    return [f'./pkm demo, seed 0: estimates as published, rms of the worst axis after {_SETTLED:g} s', caption]


def _errors(axes: list[Axes], data: RecordedData) -> str:
    truth = data.ground_truth
    assert truth is not None
    figures = []
    streams = (data.baseline_odometry, GREY, 'baseline'), (data.platform_odometry, BLUE, 'this suite')
    for motion, color, label in streams:
        assert motion is not None
        errors = estimation_errors(truth, motion)
        time = errors.stamps * 1e-9
        for axis, (name, scale, limits, title) in zip(axes, _PANELS, strict=True):
            values = scale * getattr(errors, name)
            axis.plot(time, _running_rms(values), color=color, lw=1.3, label=label)
            axis.set(yscale='log', ylim=limits)
            axis.yaxis.set_major_formatter('{x:g}')
            axis.yaxis.set_minor_formatter('')
            axis.set_title(f'{title}, running rms of all axes')
            figures.append(worst_axis_rms(values[time > _SETTLED]))
    return (
        f'position {figures[2]:.1f} um (baseline {figures[0]:.1f} um), '
        f'velocity {figures[3]:.3f} mm/s (baseline {figures[1]:.1f} mm/s)'
    )


def _running_rms(values: Array) -> Array:
    squares = np.convolve((values**2).mean(axis=1), np.ones(_WINDOW) / _WINDOW, 'same')
    return np.asarray(np.sqrt(squares))


def _biases(axis: Axes, data: RecordedData, true: Array) -> None:
    raw, corrected = data.imu_data_raw, data.imu_data
    assert raw is not None
    assert corrected is not None
    stamps, bias, _ = estimated_biases(raw, corrected)
    for column, (name, color) in enumerate(zip('xyz', AXES, strict=True)):
        axis.plot(stamps * 1e-9, 1e3 * (bias[:, column] - true[column]), color=color, lw=1.2, label=name)
    axis.set(ylim=(-0.5, 0.5))
    axis.set_title('Accelerometer bias, estimated less true [mm/s²]')
    axis.legend(ncols=3, loc='upper right')


def _shade(axis: Axes, data: RecordedData) -> None:
    truth = data.ground_truth
    assert truth is not None
    time = truth.stamps * 1e-9
    moving = np.linalg.norm(truth.position - truth.position[0], axis=1) > _AT_REST
    edges = np.flatnonzero(np.diff(np.concatenate([[0], moving.astype(int), [0]])))
    for begin, end in edges.reshape(-1, 2):
        if time[end - 1] - time[begin] > 1.0:
            axis.axvspan(time[begin], time[end - 1], color='0.93', lw=0, zorder=0)
