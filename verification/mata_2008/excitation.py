"""Mata et al. (2008), M16 to M20: the excitation of the 3-RPS, judged by the paper's own regressor.

Stroke, speed and aperture are those of the machine file, which the paper does not print.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from pkm_description.kinematics.joint_motion import drive_positions
from pkm_description.machine import Machine
from pkm_description.motion.limits import check_motion
from pkm_identification.excitation.design import FINER, ExcitationDesign, design_excitation
from pkm_identification.excitation.objective import ExcitationSettings
from pkm_identification.excitation.problem import ExcitationProblem
from pkm_identification.excitation.search import optimised

from verification.check import Check, at_most, equal, holds
from verification.mata_2008.checks import robot_of
from verification.mata_2008.regressor import drive_regressor, heads, parameter_names
from verification.mechanics.neighbours import derivative_checks

#: s, points of the paper
PERIOD, POINTS = 7.5, 75

#: the paper's least condition number is 492, that of its example 595, its largest 718 (sections 3 and 6, Table 4)
LARGEST_CONDITION = 595.0

#: parameters that Table 1 regroups into others, by their names here: m2, m3, my3, Iyy2, Iyy5, Iyy7
ELIMINATED = ('leg1_rod.m', 'platform_link.m', 'platform_link.my', 'leg?_rod.Iyy')

#: the paper's excitation: 11 harmonics of the drives, 25 rigid-body columns in SI units
SETTINGS = ExcitationSettings(
    coordinates='drives', objective='condition', harmonics=11, base_frequency=1.0 / PERIOD, samples=POINTS, margin=0.0,
    legs='different', friction='none', weights='equal', eliminated=ELIMINATED, starts=2, periods=3,
)  # fmt: skip


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Series, objectives, limits, condition number, export."""
    settings = replace(SETTINGS, starts=1, draws=4, iterations=25) if quick else SETTINGS
    design = design_excitation(machine, settings, ThreadPoolExecutor(1))
    yield from series_checks(machine, design)
    yield from objective_checks(machine)
    yield from limit_checks(machine, design)
    yield from condition_checks(machine, design)
    yield from export_checks(design)


def series_checks(machine: Machine, design: ExcitationDesign) -> Iterator[Check]:
    """M16: Eq. (25) with analytic derivatives."""
    series, problem = design.series, ExcitationProblem(machine, design.settings)
    yield equal('M16', 'coefficients of 11 harmonics and 3 drives', 69, problem.coefficient_count)
    yield from derivative_checks('M16', series, ('speeds', 'accelerations'), 1e-6)
    time = np.linspace(0.0, series.period, 200)
    value, _, _ = series.periodic(time)
    number = np.arange(1, series.harmonics + 1) * 2.0 * np.pi / PERIOD
    angle = time[:, None] * number
    printed = np.asarray(series.offset) + np.sin(angle) / number @ series.sine.T
    printed = printed - np.cos(angle) / number @ series.cosine.T
    yield at_most('M16', 'positions of Eq. (25) as printed, m', 1e-12, printed - value)


def objective_checks(machine: Machine) -> Iterator[Check]:
    """M17: every objective falls from its start."""
    for name in ('condition', 'scaled_condition', 'd_optimal'):
        settings = replace(SETTINGS, objective=name, draws=2, iterations=30)
        found = optimised(ExcitationProblem(machine, settings), 0)
        what = f'{name} after 30 iterations, before {found.start_cost:.4g} (conditions by their logarithm)'
        yield holds('M17', what, f'< {found.start_cost:.4g}', f'{found.cost:.4g}', found.cost < found.start_cost)


def limit_checks(machine: Machine, design: ExcitationDesign) -> Iterator[Check]:
    """M18: the check of motions that knows nothing of the design, on a grid 10 times finer, run-in included."""
    count = FINER * POINTS
    motion = design.evaluate(np.arange(0.0, design.duration, PERIOD / count))
    violations = check_motion(machine, motion)
    yield equal('M18', f'violations of stroke, speed, aperture and force, {count} points a period', 0, len(violations))
    kinds = sorted({margin.limit for margin in design.margins})
    yield equal('M18', 'limits of the design', ['force', 'position', 'regularity', 'speed', 'tilt'], kinds)


def condition_checks(machine: Machine, design: ExcitationDesign) -> Iterator[Check]:
    """M19: the condition number of the paper's own regressor, 25 columns of Table 1, 75 points."""
    series = design.series
    value, rate, second = series.periodic(np.arange(POINTS) * PERIOD / POINTS)
    home = machine.home
    shortest = machine.legs[0].length_at_zero
    lengths = drive_positions(machine, home.position, home.rotation_base_platform) + shortest + value
    matrix = drive_regressor(robot_of(machine), lengths, rate, second, machine.gravity).reshape(-1, 70)
    columns = matrix[:, [parameter_names().index(name) for name in heads()]]
    condition = float(np.linalg.cond(columns))
    yield at_most('M19', 'condition number, 25 columns in SI units (printed 492 .. 718)', LARGEST_CONDITION, condition)
    # the paper's columns have no rotors
    own_columns = replace(design.settings, fixed=('*.rotor_inertia',))
    own = ExcitationProblem(machine, own_columns).figure(design.variables, POINTS)
    yield at_most('M19', "the design's own condition number against it, relative", 1e-6, own / condition - 1.0)
    what = f'condition number against the best of {design.random_count} random series'
    ratio = design.objective / design.random_objective
    yield at_most('M19', what, 0.55, ratio)


def export_checks(design: ExcitationDesign) -> Iterator[Check]:
    """M20: three periods at 100 Hz."""
    motion, series = design.sampled(100.0), design.series
    inside = (motion.time >= series.periodic_start) & (motion.time < series.periodic_end - 1e-9)
    yield equal('M20', 'samples of three periods of 7.5 s at 100 Hz', 2250, int(inside.sum()))
    yield at_most('M20', 'period, s - 7.5', 1e-12, series.period - PERIOD)
    position = motion.position[inside]
    repeated = position.reshape(3, 750, 3)[1:] - position[:750]
    yield at_most('M20', 'second and third period against the first, m', 1e-9, repeated)
