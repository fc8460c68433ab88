"""Picture: errors of the estimate beside those of the baseline."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import matching

from pkm_bringup.pictures.runs import recorded_run
from pkm_bringup.pictures.style import BLUE, GREY, ORANGE, STYLE, save
from pkm_description import load_machine, profile
from pkm_estimation import estimate

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
