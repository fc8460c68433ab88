"""R2-44 and R2-45: layout of Table 1, figures like 7 to 16 of synthetic data, Table 1 as data that repeat by bit."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure as Drawing
from pkm_description.dynamics import (
    friction_forces,
    inverse_dynamics,
    rigid_body_parameter_names,
    rigid_body_parameters,
)
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_file
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_description.report.words import text_table
from pkm_identification.estimator.constrained import FitResult, ForceFit

from verification.check import Check, at_most, equal, holds
from verification.force_figures import Drawn, curves, drawing_checks
from verification.rosyid_2020.comparison import BEST, outcomes
from verification.rosyid_2020.data import FRICTION_LIMITS, NAMES, measured, true_machine, truth, truth_run
from verification.rosyid_2020.recording import differentiated, recorded
from verification.rosyid_2020.table import ESTIMATE, embedding

#: columns of Table 1 and a remark, and units of its rows
HEADER = ('parameter', 'unit', 'lower', 'upper', 'design', 'estimate', 'change', 'remark')
UNITS = ('kg',) * 4 + ('kg m',) * 3 + ('kg m^2',) * 3 + ('kg', 'kg m', 'kg m^2', '', 'N s/m', '', 'm/s')
SLIDERS = ('slider 1', 'slider 2', 'slider 3')

#: prints the digest of forces and normal forces, for a process of its own
_PROGRAM = 'from verification.rosyid_2020.figures import digest; print(digest())'


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Table, data, figures."""
    yield from table_checks(machine)
    yield from data_checks(machine)
    yield from drawing_checks('R2-44', DRAWINGS, str(machine.path))


def table_checks(machine: Machine) -> Iterator[Check]:
    """R2-44: columns and rows of Table 1."""
    found = outcomes(str(machine.path))[BEST]
    fit = found.data.fit(FRICTION_LIMITS)
    rows = table_rows(fit, found.fit)
    yield equal('R2-44', 'columns: bounds, design value, estimate', True,
                {'parameter', 'unit', 'lower', 'upper', 'design', 'estimate'} <= set(HEADER))  # fmt: skip
    yield equal('R2-44', 'rows, one per parameter', list(NAMES), [row[0] for row in rows])
    estimates = np.array([float(row[5]) for row in rows])
    what = 'estimates in the table against those of the fit, relative'
    yield at_most('R2-44', what, 1e-4, estimates / found.fit.values - 1.0)
    text = text_table(HEADER, rows)
    yield equal('R2-44', 'lines of the table, with its head', len(rows) + 2, len(text.splitlines()))
    lines = ' / '.join(' '.join(line.split()) for line in text.splitlines()[13:])
    yield holds('R2-44', 'friction in the layout of Table 1', 'f_v, mu_c, mu_s, v_s', lines,
                all(name in lines for name in ('f_v', 'mu_c', 'mu_s', 'v_s')))  # fmt: skip


def table_rows(fit: ForceFit, result: FitResult) -> list[list[str]]:
    """One row per parameter, in the order of the fit."""
    rows = []
    for place, (name, unit, value) in enumerate(zip(fit.names, UNITS, result.values.tolist(), strict=True)):
        remark = 'runs away' if name in result.runaways else 'at its bound' if name in result.at_bounds else ''
        start = float(fit.start[place])
        change = f'{100.0 * (value / start - 1.0):+.1f} %' if start != 0.0 else ''
        numbers = (f'{number:.5g}' for number in (fit.lower[place], fit.upper[place], start, value))
        rows.append([name, unit, *numbers, change, remark])
    return rows


def data_checks(machine: Machine) -> Iterator[Check]:
    """R2-45: the overlay of Table 1 has its figures; forces and normal forces from it are the same bits again."""
    true = true_machine(str(machine.path))
    names = list(rigid_body_parameter_names(true, identical_legs=False))
    values = embedding(names, true).T @ rigid_body_parameters(true, identical_legs=False)
    yield at_most('R2-45', 'barycentric parameters of the overlay = Table 1, estimates', 1e-9, values - ESTIMATE)
    law = true.actuated_joints[0].friction.law.mapping()
    kinds = ('coulomb_coefficient', 'viscous', 'static_coefficient', 'stribeck_velocity')
    yield equal('R2-45', 'its friction = Table 1', truth()[13:].tolist(), [law[kind] for kind in kinds])
    first = digest()
    yield equal('R2-45', 'digest of forces and normal forces, computed again', first, digest())
    other = subprocess.run([sys.executable, '-c', _PROGRAM], capture_output=True, text=True, check=False)
    yield equal('R2-45', 'the same in a new process', first, other.stdout.strip() or other.stderr[-300:])


def digest() -> str:
    """Of the bits of forces and normal forces that the overlay of Table 1 predicts on a motion."""
    machine = load_machine('khalifa_3prr', machine_file('khalifa_3prr').parent / 'table1_estimates.yaml')
    motion = profile('drives', machine, 4.0, 100.0, 1)
    forces, normal = inverse_dynamics(machine, motion), joint_reactions(machine, motion).joint_forces
    return hashlib.sha256(forces.tobytes() + normal.tobytes()).hexdigest()[:16]


def _excitation(path: str) -> Drawing:
    run = truth_run(path)
    motion = run.motion(true_machine(path))
    rotation = motion.rotation_base_platform
    angle = np.degrees(np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0]))
    values = np.column_stack([1e3 * motion.position[:, :2], angle])
    return curves(run.time, {'excitation': values}, ('x [mm]', 'y [mm]', 'angle [deg]'), '')


def _positions(path: str) -> Drawing:
    recording = recorded(path)
    return curves(recording.time, {'raw': recording.drive_positions}, SLIDERS, 'm')


def _derivatives(path: str, order: int) -> Drawing:
    recording = recorded(path)
    rough, smooth = differentiated(path)
    values = {'differences': rough[order], 'Savitzky-Golay': smooth[order]}
    return curves(recording.time, values, SLIDERS, 'm/s' if order == 1 else 'm/s^2')


def _filtered(path: str) -> Drawing:
    recording = recorded(path)
    return curves(recording.time, {'raw': recording.forces, 'filtered': differentiated(path)[1][3]}, SLIDERS, 'N')


def _two_laws(path: str) -> Drawing:
    found, run = outcomes(path), truth_run(path)
    values = {'measured': measured(path).forces}
    for word in ('Coulomb and viscous, varying', BEST):
        values[word] = found[word].data.predicted(found[word].fit.values)
    return curves(run.time, values, SLIDERS, 'N', ['measured'])


def _normal(path: str) -> Drawing:
    one = outcomes(path)[BEST]
    values = np.abs(one.data.loads(one.fit.values))
    return curves(truth_run(path).time, {'|R_y|': values}, SLIDERS, 'N')


def _circle(path: str) -> Drawing:
    motion = truth_run(path, 'circle').motion(true_machine(path))
    drawing = curves(1e3 * motion.position[:, 0], {'path': 1e3 * motion.position[:, 1:2]}, ('y',), 'mm')
    drawing.axes[0].set(xlabel='x [mm]', aspect='equal')
    return drawing


def _circle_forces(path: str) -> Drawing:
    found = outcomes(path)
    values = {'measured': found[BEST].circle.forces}
    for word in ('Stribeck, constant', BEST):
        values[word] = found[word].circle.predicted(found[word].fit.values)
    return curves(truth_run(path, 'circle').time, values, SLIDERS, 'N', ['measured'])


def _shares(path: str) -> Drawing:
    run, machine = truth_run(path, 'circle'), true_machine(path)
    values = {'force': run.efforts, 'friction': friction_forces(machine, run.motion(machine))}
    return curves(run.time, values, SLIDERS, 'N')


DRAWINGS = (
    Drawn(7, 'excitation of the platform', _excitation, (1, 1, 1)),
    Drawn(8, 'positions of the sliders, as measured', _positions, (1, 1, 1)),
    Drawn(9, 'velocities, differences and smoothed', partial(_derivatives, order=1), (2, 2, 2)),
    Drawn(10, 'accelerations, differences and smoothed', partial(_derivatives, order=2), (2, 2, 2)),
    Drawn(11, 'forces, raw and filtered', _filtered, (2, 2, 2)),
    Drawn(12, 'forces by Coulomb and viscous and by Stribeck friction', _two_laws, (3, 3, 3)),
    Drawn(13, 'normal forces in the plane', _normal, (1, 1, 1)),
    Drawn(14, 'the circle', _circle, (1,)),
    Drawn(15, 'forces on the circle by constant and by varying normal force', _circle_forces, (3, 3, 3)),
    Drawn(16, 'friction and the whole force on the circle', _shares, (2, 2, 2)),
)
