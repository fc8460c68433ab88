"""Rosyid & El-Khasawneh (2020), R2-26 to R2-30: the excitation of the planar 3-PRR, judged by the paper's own model."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from pkm_description.kinematics.joint_motion import drive_positions
from pkm_description.machine import Machine
from pkm_description.motion.fourier import FourierCoordinates
from pkm_description.motion.limits import check_motion
from pkm_identification.excitation.design import FINER, ExcitationDesign, design_excitation
from pkm_identification.excitation.objective import ExcitationSettings, SeriesSpace
from pkm_identification.excitation.problem import ExcitationProblem
from pkm_identification.excitation.search import random_series

from verification.check import Check, at_least, at_most, equal
from verification.mechanics.neighbours import derivative_checks
from verification.rosyid_2020.data import condition_of
from verification.rosyid_2020.table import geometry_of

#: s, samples of the reference experiment, and the condition number of its best of 40 random sets (not printed)
PERIOD, SAMPLES, REFERENCE = 4.0, 401, 831.0


#: m, rad, m/s^2: narrower than the reference's box of 0.15 x 0.10 m and 0.35 rad
BOX, TURN, ACCELERATION = 0.10, 0.35, 20.0

#: m, of sliders on the guideway
CLEARANCE = 0.02

SETTINGS = ExcitationSettings(
    coordinates='planar', objective='combined', condition_weight=1.0, sigma_weight=1.0, harmonics=5,
    base_frequency=1.0 / PERIOD, end_conditions=('velocity', 'acceleration'), legs='different', friction='none',
    max_displacement=BOX, max_rotation=TURN, max_acceleration=ACCELERATION, guideway_clearance=CLEARANCE,
    condition_ratio=10.0, periods=1, starts=2,
)  # fmt: skip


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Series, end conditions, limits, objective, export."""
    settings = replace(SETTINGS, starts=1, draws=4, iterations=25) if quick else SETTINGS
    problem = ExcitationProblem(machine, settings)
    design = design_excitation(machine, settings, ThreadPoolExecutor(1))
    yield from series_checks(problem, design)
    yield from end_checks(problem, design)
    yield from limit_checks(machine, design)
    yield from objective_checks(machine, problem, design)
    yield from export_checks(machine, design)


def series_checks(problem: ExcitationProblem, design: ExcitationDesign) -> Iterator[Check]:
    """R2-26: Eq. (35) in the plane."""
    yield equal('R2-26', 'coefficients of 5 harmonics, 3 (2 n + 1)', 33, problem.coefficient_count)
    yield equal('R2-26', 'coordinates', ['x', 'y', 'theta_z'], list(problem.coordinates.names))
    yield from derivative_checks('R2-26', design.series, ('velocities', 'accelerations'), 1e-6)


def end_checks(problem: ExcitationProblem, design: ExcitationDesign) -> Iterator[Check]:
    """R2-27: rest at both ends, of the design and of any coefficients that the optimiser can try."""
    drawn = SeriesSpace(problem.space.scale, 5, SETTINGS.end_conditions)
    random = np.random.default_rng(7)
    series = {
        'the design': [design.series],
        '200 random series': [drawn.series(random.normal(size=drawn.shape), 1.0 / PERIOD) for _ in range(200)],
    }
    for what, members in series.items():
        ends = [one.periodic(np.array([0.0, PERIOD])) for one in members]
        for name, order in (('velocity', 1), ('acceleration', 2)):
            largest = max(float(np.abs(end[order]).max()) for end in ends)
            yield at_most('R2-27', f'{name} at both ends of {what}, m and rad', 1e-12, largest)
    amplitudes = design.series.sine  # a_j of Eq. (35)
    yield at_most('R2-27', 'sum of a_j', 1e-12, amplitudes.sum(axis=1))
    yield at_most('R2-27', 'sum of j b_j', 1e-12, design.series.cosine @ np.arange(1, 6))


def limit_checks(machine: Machine, design: ExcitationDesign) -> Iterator[Check]:
    """R2-28: 10 times the resolution, run-in and run-out included."""
    step = PERIOD / (FINER * design.settings.design_samples)
    motion = design.evaluate(np.arange(0.0, design.duration, step))
    yield equal('R2-28', 'violations of strokes, speeds and forces', 0, len(check_motion(machine, motion)))
    coordinates = np.abs(design.series.coordinates(motion.time)[0]).max(axis=0)
    yield at_most('R2-28', f'displacement from home, box of {BOX} m', BOX, coordinates[:2], 'm')
    yield at_most('R2-28', f'turn from home, {TURN} rad', TURN, coordinates[2], 'rad')
    _, positions, _, accelerations, _ = design.drive_values(motion)
    yield at_most('R2-28', 'acceleration of the sliders', ACCELERATION, accelerations, 'm/s^2')
    home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    order = np.argsort(home)
    gaps = np.diff(positions[:, order], axis=1)
    yield at_least('R2-28', 'distance of neighbours on the guideway, in the order of home', CLEARANCE, gaps, 'm')


def objective_checks(machine: Machine, problem: ExcitationProblem, design: ExcitationDesign) -> Iterator[Check]:
    """R2-29: 13 unit columns of the paper's model, largest over ninth singular value."""
    random, figures = np.random.default_rng(11), []
    for _ in range(40):
        variables, _ = random_series(problem, random)
        figures.append(_condition(machine, problem.series(variables)))
    found = _condition(machine, design.series)
    yield at_most('R2-29', "13 columns of rank 9, s1/s9; the reference's best of 40 random sets", REFERENCE, found)
    what = 's1/s9 against the best of 40 random sets within the same limits'
    yield at_most('R2-29', what, 0.55, found / min(figures))
    own = design.objective / design.random_objective
    yield at_most('R2-29', f'w1 cond + w2 / sigma_min against the best of {design.random_count} random sets', 0.55, own)


def _condition(machine: Machine, series: FourierCoordinates) -> float:
    """Of the reference experiment's samples of a series about home."""
    value, rate, second = series.periodic(np.linspace(0.0, PERIOD, SAMPLES))
    home = machine.home.position * [1.0, 1.0, 0.0]
    return condition_of(geometry_of(machine), home + value, rate, second)


def export_checks(machine: Machine, design: ExcitationDesign) -> Iterator[Check]:
    """R2-30: set-points of the sliders at a rate."""
    _, positions, _, _, _ = design.drive_values(design.sampled(500.0))
    time = design.sampled(500.0).time
    period = (time >= design.series.periodic_start) & (time < design.series.periodic_end - 1e-9)
    yield equal('R2-30', 'set-points of 4 s at 500 Hz, three sliders', [2000, 3], list(positions[period].shape))
    home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    yield at_most('R2-30', 'first and last set-point from home', 1e-9, positions[[0, -1]] - home, 'm')
