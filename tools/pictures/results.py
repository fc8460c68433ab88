"""Pictures of results: errors of the estimate, identified parameters, a finished run of the demo; and their look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from ament_index_python.packages import get_package_share_directory
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pkm_bringup.simulation import simulate
from pkm_description.arrays import Array
from pkm_description.machine import ImuSensor, Machine
from pkm_description.report import page
from pkm_description.writing import make_folder, replacing
from pkm_estimation.bags import RecordedData, read_bag
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import matching
from pkm_identification.result import IdentificationResult

from pictures.runs import recorded_run, recording_of
from pkm_description import load_machine, profile
from pkm_estimation import estimate
from pkm_identification import identify

_RECORDED, _NOISE_SEED, _LEG = 25.0, 0, 0
#: samples of a running root mean square
_WINDOW = 50
#: m from home; nearer is rest
_AT_REST = 1e-3
_PANELS = (
    ('position', 1e6, (1.0, 100.0), 'Position error [µm]'),
    ('velocity', 1e3, (0.02, 500.0), 'Velocity error [mm/s]'),
)
_SETTLED = 20.0
BLUE, ORANGE, GREEN, GREY, BLACK = '#0072B2', '#D55E00', '#009E73', '#999999', '#000000'
AXES = (BLUE, ORANGE, GREEN)

STYLE: Any = page.STYLE | {
    'font.size': 10, 'axes.spines.top': False, 'axes.spines.right': False, 'legend.frameon': False,
    'axes.titlesize': 11, 'axes.titleweight': 'bold', 'axes.titlelocation': 'left',
}  # fmt: skip
#: s after the first estimate that the figures leave out
SETTLING = 10.0
#: what the dashed lines are
CLAIMED = 'two standard deviations that it claims'
_DURATION, _SEED, _SHOWN = 60.0, 0, 10.0


def estimate_against_baseline(path: Path) -> list[str]:
    """Simulate srs along motion profile 1, estimate it, and draw both errors; returns the caption."""
    machine = load_machine('srs')
    data = recorded_run(machine, profile('mp1', machine, _DURATION, 100.0, _SEED), _SEED)
    result = estimate(machine, data)
    truth = data.ground_truth
    assert truth is not None
    draw_errors(path, truth, result.motion, result.baseline, shown=(30.0, 30.0 + _SHOWN))
    ours, theirs = (_rms(motion, truth) for motion in (result.motion, result.baseline))
    return [
        f'srs in MuJoCo, motion profile 1, {_DURATION:g} s, seed {_SEED}: rms errors of the worst axis after '
        f'{SETTLING:g} s',
        f'position {1e6 * ours[0]:.1f} um (baseline {1e6 * theirs[0]:.1f} um), '
        f'velocity {1e3 * ours[1]:.3f} mm/s (baseline {1e3 * theirs[1]:.1f} mm/s)',
    ]


def draw_errors(
    path: Path, truth: MotionEstimate, ours: MotionEstimate, baseline: MotionEstimate, shown: tuple[float, float]
) -> None:
    """Errors in time of position (base axes) and velocity (platform axes), with the filter's own bounds."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 6.2), layout='constrained')
        axes = figure.subplots(3, 2, sharex=True)
        for motion, color, label in ((baseline, GREY, 'baseline'), (ours, BLUE, 'this suite')):
            time, position, velocity, std = _errors(motion, truth, shown)
            for row in range(3):
                axes[row, 0].plot(time, 1e6 * position[:, row], color=color, lw=1.0, label=label)
                axes[row, 1].plot(time, 1e3 * np.abs(velocity[:, row]), color=color, lw=1.0)
                if motion is ours:
                    bounds = 2.0 * std[:, (row, row + 3)]
                    for side in (1.0, -1.0):
                        axes[row, 0].plot(time, side * 1e6 * bounds[:, 0], color=ORANGE, lw=1.2, ls='--')
                    axes[row, 1].plot(time, 1e3 * bounds[:, 1], color=ORANGE, lw=1.2, ls='--', label=CLAIMED)
                axes[row, 1].set(yscale='log', ylim=(1e-3, 3e2), yticks=(0.01, 0.1, 1.0, 10.0, 100.0))
                axes[row, 1].yaxis.set_major_formatter('{x:g}')
                axes[row, 1].minorticks_off()
        for row, name in enumerate('xyz'):
            axes[row, 0].set_ylabel(name, rotation=0)
        axes[0, 0].set_title('Position error [µm]')
        axes[0, 1].set_title('Velocity error, size [mm/s]')
        for axis in axes[-1]:
            axis.set_xlabel('time [s]')
        handles = [*axes[0, 0].get_legend_handles_labels()[0], *axes[0, 1].get_legend_handles_labels()[0]]
        figure.legend(handles, ['baseline', 'this suite', CLAIMED], loc='outside lower center', ncols=3)
        save(figure, path)


def _errors(
    motion: MotionEstimate, truth: MotionEstimate, shown: tuple[float, float]
) -> tuple[Array, Array, Array, Array]:
    ours, true, origin = _matched(motion, truth, *shown)
    covariances = motion.pose_covariance, motion.twist_covariance
    variances = [np.diagonal(value[ours], axis1=1, axis2=2)[:, :3] for value in covariances]
    time = np.asarray((motion.stamps[ours] - origin) * 1e-9, dtype=float)
    return (
        time,
        motion.position[ours] - truth.position[true],
        motion.linear_velocity[ours] - truth.linear_velocity[true],
        np.sqrt(np.hstack(variances)),
    )


def _rms(motion: MotionEstimate, truth: MotionEstimate) -> tuple[float, float]:
    """Root mean squares of position and velocity errors after settling, worst axis: m, m/s."""
    _, position, velocity, _ = _errors(motion, truth, (SETTLING, np.inf))
    worst = [float(np.sqrt(np.mean(values**2, axis=0)).max()) for values in (position, velocity)]
    return worst[0], worst[1]


def _matched(
    motion: MotionEstimate, truth: MotionEstimate, begin: float, end: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    first = int(motion.stamps[0])
    last = int(motion.stamps[-1]) if np.isinf(end) else first + round(end * 1e9)
    ours, true = matching(motion.stamps, truth.stamps, first + round(begin * 1e9), last)
    return ours, true, first


def save(figure: Figure, path: Path, dpi: int = 130) -> None:
    """Write a figure as PNG, the same bytes for the same data."""
    make_folder(path.parent)
    with replacing(path) as beside:
        figure.savefig(beside, dpi=dpi, facecolor='white', metadata={'Software': None})


def demo_run(path: Path, directory: Path) -> list[str]:
    """Draw the live errors in the bag of a run of ``./pkm demo output:=directory``; returns the caption."""
    topics = ('imu/data_raw', 'imu/data', 'ground_truth/odometry', 'platform/odometry', 'baseline/odometry')
    data = read_bag(directory / 'bag', require=topics)
    machine = load_machine('srs')
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 6.4), layout='constrained')
        axes = figure.subplots(3, 1, sharex=True, height_ratios=(1.0, 1.0, 1.0))
        caption = _live_errors(axes[:2], data)
        _biases(axes[2], data, machine.imu)
        for axis in axes:
            _shade(axis, data)
        axes[-1].set_xlabel('time [s]; shaded: the machine moves')
        axes[0].legend(ncols=2, loc='upper right')
        save(figure, path)
    return [f'./pkm demo, seed 0: estimates as published, rms of the worst axis after {_SETTLED:g} s', caption]


def _live_errors(axes: list[Axes], data: RecordedData) -> str:
    truth = data.ground_truth
    assert truth is not None
    figures = []
    streams = (data.baseline_odometry, GREY, 'baseline'), (data.platform_odometry, BLUE, 'this suite')
    for motion, color, label in streams:
        assert motion is not None
        own, true = matching(motion.stamps, truth.stamps, 0, int(motion.stamps[-1]))
        time = 1e-9 * motion.stamps[own]
        errors = {
            'position': motion.position[own] - truth.position[true],
            'velocity': motion.linear_velocity[own] - truth.linear_velocity[true],
        }
        for axis, (name, scale, limits, title) in zip(axes, _PANELS, strict=True):
            values = scale * errors[name]
            axis.plot(time, _running_rms(values), color=color, lw=1.3, label=label)
            axis.set(yscale='log', ylim=limits)
            axis.yaxis.set_major_formatter('{x:g}')
            axis.yaxis.set_minor_formatter('')
            axis.set_title(f'{title}, running rms of all axes')
            figures.append(float(np.sqrt(np.mean(values[time > _SETTLED] ** 2, axis=0)).max()))
    return (
        f'position {figures[2]:.1f} um (baseline {figures[0]:.1f} um), '
        f'velocity {figures[3]:.3f} mm/s (baseline {figures[1]:.1f} mm/s)'
    )


def _running_rms(values: Array) -> Array:
    squares = np.convolve((values**2).mean(axis=1), np.ones(_WINDOW) / _WINDOW, 'same')
    return np.asarray(np.sqrt(squares))


def _biases(axis: Axes, data: RecordedData, sensor: ImuSensor) -> None:
    raw, corrected = data.imu_data_raw, data.imu_data
    assert raw is not None
    assert corrected is not None
    own, at_raw = matching(corrected.stamps, raw.stamps, 0, int(corrected.stamps[-1]))
    errors = raw.specific_force[at_raw] - corrected.specific_force[own] - sensor.accelerometer_bias
    for column, (name, color) in enumerate(zip('xyz', AXES, strict=True)):
        axis.plot(1e-9 * corrected.stamps[own], 1e3 * errors[:, column], color=color, lw=1.2, label=name)
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


def identification(path: Path) -> list[str]:
    """Simulate srs, identify it from a belief that is wrong on purpose, and draw; returns the caption."""
    truth = load_machine('srs')
    belief_file = Path(get_package_share_directory('pkm_identification'), 'config', 'nominal_srs.yaml')
    belief = load_machine('srs', belief_file)
    motions = [profile(name, truth, _RECORDED, 100.0, _NOISE_SEED) for name in ('fourier', 'fourier_validation')]
    recordings = [
        recording_of(simulate(truth, motion, _NOISE_SEED + number, pause=0.0), name)
        for number, (motion, name) in enumerate(zip(motions, ('excitation', 'held out'), strict=True))
    ]
    result = identify(belief, recordings[0], recordings[1])
    true_base = result.base.combination @ _full_parameters(result, truth)
    assert result.validation is not None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 6.8), layout='constrained')
        grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 2.0))
        _parameters(figure.add_subplot(grid[:, 0]), result, true_base)
        force, friction = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
        _forces(force, result)
        _friction(friction, result, truth)
        save(figure, path)
    identified = result.classification.count('identified')
    deviations = np.abs(result.estimate.parameters - true_base) / result.estimate.std
    error = result.validation.error.relative
    before = result.validation.nominal_error.relative
    return [
        f'srs in MuJoCo, Fourier excitation of {_RECORDED:g} s, seeds {_NOISE_SEED} and {_NOISE_SEED + 1}, '
        'started from a platform 10 % too heavy and half of the friction',
        f'{len(result.base)} base parameters ({identified} identified, the others weakly excited), the farthest '
        f'{deviations.max():.1f} of its own standard deviations from the truth',
        f'force error on the held-out motion {100 * error:.2f} % rms ({100 * before:.1f} % before)',
    ]


def _full_parameters(result: IdentificationResult, machine: Machine) -> Array:
    """Parameters (P,) of a machine in the order of ``result.base.full_names``."""
    return result.model.all_parameters(machine)[result.model.free]


def _parameters(axis: Axes, result: IdentificationResult, truth: Array) -> None:
    """Base parameters: deviation from the truth in standard deviations."""
    estimate = result.estimate
    place = np.arange(len(truth))
    axis.axvspan(-2.0, 2.0, color=BLUE, alpha=0.12, lw=0)
    deviation = (estimate.parameters - truth) / estimate.std
    well = np.array([status == 'identified' for status in result.classification])
    for chosen, color, label in ((well, BLUE, 'identified'), (~well, ORANGE, 'weakly excited')):
        axis.errorbar(
            deviation[chosen], place[chosen], xerr=1.0, fmt='o', ms=4, lw=1, color=color,
            label=f'{label}: {chosen.sum()}',
        )  # fmt: skip
    axis.axvline(0.0, color=BLACK, lw=1.0)
    axis.set_yticks(place, [_short(name) for name in result.base.names], fontsize=7.5)
    axis.set_ylim(len(place) - 0.4, -2.4)  # room for the legend
    axis.set_xlim(-4.0, 4.0)
    axis.grid(axis='y', visible=False)
    axis.set_xlabel('identified less true, in its own standard deviations')
    axis.set_title(f'{len(place)} base parameters')
    axis.legend(loc='upper center', ncols=2, fontsize=9)


def _forces(axis: Axes, result: IdentificationResult) -> None:
    """Measured and modelled force of one leg on the motion that was held out."""
    held_out = result.validation
    assert held_out is not None
    time = held_out.time - held_out.time[0]
    shown = (time > 8.0) & (time < 16.0)
    for values, color, width, label in (
        (held_out.nominal, GREY, 1.5, 'model before'),
        (held_out.measured, BLACK, 2.4, 'measured'),
        (held_out.predicted, ORANGE, 1.0, 'model identified'),
    ):
        axis.plot(time[shown], 1e-3 * values[shown, _LEG], color=color, lw=width, label=label)
    axis.set(xlabel='time [s]', ylabel='[kN]', ylim=(-10.0, 31.0))
    axis.set_title('Force of leg 1 on the held-out motion')
    axis.legend(ncols=3, loc='upper center')


def _friction(axis: Axes, result: IdentificationResult, truth: Machine) -> None:
    """Coulomb and viscous friction of the legs: true, believed before, identified."""
    physical = result.physical
    index = {name: number for number, name in enumerate(physical.names)}
    kinds = ('viscous', 'coulomb')
    names = [name for kind in kinds for name in physical.names if name.endswith(f'.{kind}')]
    laws = {joint.name: joint.friction for joint in truth.actuated_joints}
    for number, name in enumerate(names):
        joint, _, parameter = name.rpartition('.')
        true = getattr(laws[joint], parameter)
        at = index[name]
        first = number == 0
        value, deviation = physical.values[at] / true, 2.0 * physical.std[at] / true
        axis.plot(number, physical.nominal[at] / true, 's', color=GREY, ms=6, label='before' if first else None)
        axis.errorbar(
            number, value, deviation, fmt='o', ms=5, color=BLUE, capsize=3,
            label='identified, two standard deviations' if first else None,
        )  # fmt: skip
    axis.axhline(1.0, color=GREEN, lw=1.5, zorder=0, label='true')
    axis.set_xticks(range(len(names)), [name.partition('_')[0] for name in names])
    axis.axvline(0.5 * len(names) - 0.5, color=GREY, lw=1.0)
    for number, kind in enumerate(kinds):
        axis.text(0.25 + 0.5 * number, 0.93, kind, transform=axis.transAxes, ha='center', fontstyle='italic')
    axis.set(ylim=(0.4, 1.2), ylabel='part of the true value')
    axis.grid(axis='x', visible=False)
    axis.set_title('Friction of the legs')
    axis.legend(loc='center', ncols=3, bbox_to_anchor=(0.5, 0.5), columnspacing=1.0)


def _short(name: str, length: int = 34) -> str:
    return name if len(name) <= length else name[: length - 1] + '…'
