"""Heimann & Abdellatif, Figs 3 to 5 of the report: excitation, tracking errors, Cartesian errors (R4-47)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure as Drawing
from pkm_description.kinematics.rotation import angles_from_matrix
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_description.report.page import new_figure

from verification.check import Check
from verification.force_figures import Drawn, drawing_checks
from verification.heimann_abdellatif.control import STAGES, palida_study


def excitation(path: str) -> Drawing:
    """Displacements and cardan angles of the platform."""
    machine = load_machine(path)
    motion = profile('fourier', machine, 14.0, 50.0, seed=1)
    drawing, axes = _two('displacement [mm]', 'angle [deg]')
    angles = np.degrees(angles_from_matrix(motion.rotation_base_platform))
    for place, (axis, names) in enumerate(zip('xyz', ('alpha', 'beta', 'gamma'), strict=True)):
        axes[0].plot(motion.time, 1e3 * (motion.position - machine.home.position)[:, place], label=axis)
        axes[1].plot(motion.time, angles[:, place], label=names)
    for axis in axes:
        axis.legend(ncols=3)
    return drawing


def tracking_errors(path: str) -> Drawing:
    """Of two drives, stage by stage."""
    study = palida_study(path, True)
    drawing, axes = _two('leg 1 [mm]', 'leg 4 [mm]')
    for stage, text in STAGES.items():
        record = study.records[stage]
        during = record.during(study.circle.on_circle)
        for axis, drive in zip(axes, (0, 3), strict=True):
            axis.plot(record.time[during], 1e3 * record.errors[during, drive], label=f'PD{text}')
    axes[0].legend(ncols=len(STAGES))
    return drawing


def platform_errors(path: str) -> Drawing:
    """Errors of x and of the second cardan angle, stage by stage."""
    study = palida_study(path, True)
    drawing, axes = _two('x [mm]', 'second cardan angle [mrad]')
    first, last = study.circle.on_circle
    for stage, text in STAGES.items():
        time, position, angles = study.records[stage].platform_errors(step=5)
        during = (time >= first) & (time <= last)
        axes[0].plot(time[during], 1e3 * position[during, 0], label=f'PD{text}')
        axes[1].plot(time[during], 1e3 * angles[during, 1])
    axes[0].legend(ncols=len(STAGES))
    return drawing


def _two(*labels: str) -> tuple[Drawing, list]:
    drawing, axes = new_figure(9, 5, 2, 1)
    for axis, label in zip(axes, labels, strict=True):
        axis.set(ylabel=label)
        axis.grid(alpha=0.3)
    axes[-1].set(xlabel='time [s]')
    return drawing, axes


DRAWINGS = (
    Drawn(3, 'excitation, one period of a Fourier motion', excitation, (3, 3)),
    Drawn(4, 'tracking errors of two drives on the circle', tracking_errors, (len(STAGES),) * 2),
    Drawn(5, 'Cartesian errors on the circle', platform_errors, (len(STAGES),) * 2),
)


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Each figure has a curve for what the paper's shows."""
    yield from drawing_checks('R4-47', DRAWINGS, str(machine.path))
