"""Heimann & Abdellatif, Figs 3 to 5 of the report: excitation, tracking errors, Cartesian errors (R4-47)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure as Drawing
from pkm_description.kinematics.rotation import angles_from_matrix
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_file
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_description.report.page import new_figure

from verification.check import Check
from verification.force_figures import shown
from verification.heimann_abdellatif.control import STAGES, palida_study
from verification.suite import Figure


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Each figure has a curve for what the paper's shows, with something on it."""
    path = str(machine.path)
    for number, drawing, curves in (
        (3, excitation(path), [3, 3]),
        (4, tracking_errors(path, quick), [len(STAGES)] * 2),
        (5, platform_errors(path, quick), [len(STAGES)] * 2),
    ):
        yield from shown('R4-47', f'figure like {number}', drawing, curves)


def figures() -> tuple[Figure, ...]:
    """Of the report, for PaLiDA's file."""
    path = str(machine_file('palida'))
    return (
        Figure('figure_03', 'Figure 3: excitation, one period of a Fourier motion', lambda: excitation(path)),
        Figure('figure_04', 'Figure 4: tracking errors of two drives on the circle', lambda: tracking_errors(path)),
        Figure('figure_05', 'Figure 5: Cartesian errors on the circle', lambda: platform_errors(path)),
    )


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


def tracking_errors(path: str, quick: bool = True) -> Drawing:
    """Of two drives, stage by stage."""
    study = palida_study(path, quick)
    drawing, axes = _two('leg 1 [mm]', 'leg 4 [mm]')
    for stage, text in STAGES.items():
        record = study.records[stage]
        during = record.during(study.circle.on_circle)
        for axis, drive in zip(axes, (0, 3), strict=True):
            axis.plot(record.time[during], 1e3 * record.errors[during, drive], label=f'PD{text}')
    axes[0].legend(ncols=len(STAGES))
    return drawing


def platform_errors(path: str, quick: bool = True) -> Drawing:
    """Errors of x and of the second cardan angle, stage by stage."""
    study = palida_study(path, quick)
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
