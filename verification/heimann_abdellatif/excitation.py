"""Heimann & Abdellatif, R4-23 to R4-28: the excitation, of their hexapod and of three machines of other kinds.

The paper prints no limits and no condition numbers: the limits are those of the machine files.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from pkm_description.machine import Machine
from pkm_description.motion.limits import check_motion
from pkm_identification.excitation.design import FINER, ExcitationDesign, design_excitation
from pkm_identification.excitation.objective import ExcitationSettings
from pkm_identification.excitation.problem import ExcitationProblem
from pkm_identification.excitation.search import optimised, random_series

from verification.check import Check, at_most, equal, holds
from verification.mechanics.neighbours import derivative_checks

#: the design must be this part of the best random series or less: 45 % below
LARGEST_PART = 0.55

#: m/s^2, of the drives
ACCELERATION = 20.0



def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """The printed series with a free base frequency."""
    settings = ExcitationSettings(
        objective='condition', base_frequency=0.25, frequency_ratio=2.0, max_acceleration=ACCELERATION, starts=2
    )
    settings = _quick(settings) if quick else settings
    problem = ExcitationProblem(machine, settings)
    design = design_excitation(machine, settings, ThreadPoolExecutor(1))
    yield from series_checks(problem, design)
    yield from limit_checks(machine, design)
    yield from search_checks(machine, settings)
    yield from end_checks(design)
    yield from condition_checks(problem, design, 20 if quick else 500)
    yield from export_checks(design)


def against_random(machine: Machine, quick: bool) -> Iterator[Check]:
    """R4-25: with the settings as they are, against many random series, each as large as the same limits allow."""
    settings = _quick(ExcitationSettings()) if quick else ExcitationSettings()
    design = design_excitation(machine, settings, ThreadPoolExecutor(1))
    count, problem = 20 if quick else 500, ExcitationProblem(machine, settings)
    yield at_most(
        'R4-25', f'column-scaled condition number {design.objective:.4g} / that of the best of {count} random series',
        LARGEST_PART, design.objective / best_random(problem, count),
    )  # fmt: skip
    step = design.series.period / (FINER * settings.design_samples)
    motion = design.evaluate(np.arange(0.0, design.duration, step))
    yield equal('R4-24', 'violations on the grid 10 times finer', 0, len(check_motion(machine, motion)))


def _quick(settings: ExcitationSettings) -> ExcitationSettings:
    return replace(settings, starts=1, draws=4, iterations=20)


def best_random(problem: ExcitationProblem, count: int) -> float:
    """Least objective of random series that the design did not draw, on the grid on which designs are reported."""
    random = np.random.default_rng(12345)
    drawn = [random_series(problem, random) for _ in range(count)]
    variables, _ = min(drawn, key=lambda one: one[1])
    return problem.figure(variables, FINER * problem.settings.design_samples)


def series_checks(problem: ExcitationProblem, design: ExcitationDesign) -> Iterator[Check]:
    """R4-23: Eqs. 11 and 12."""
    count = problem.settings.harmonics
    yield equal('R4-23', f'coefficients of {count} harmonics, 12 n + 7', 12 * count + 7, problem.coefficient_count)
    yield from derivative_checks('R4-23', design.series, ('rates', 'accelerations'), 1e-5)


def limit_checks(machine: Machine, design: ExcitationDesign) -> Iterator[Check]:
    """R4-24: 10 times finer, run-in and run-out included."""
    step = design.series.period / (FINER * design.settings.design_samples)
    motion = design.evaluate(np.arange(0.0, design.duration, step))
    violations = check_motion(machine, motion)
    yield equal('R4-24', 'violations of strokes, joint angles, speeds and forces', 0, len(violations))
    _, _, _, accelerations, _ = design.drive_values(motion)
    yield at_most('R4-24', 'acceleration of the drives', ACCELERATION, accelerations, 'm/s^2')


def search_checks(machine: Machine, settings: ExcitationSettings) -> Iterator[Check]:
    """R4-25: never worse than the start; the seed decides; other objectives."""
    small = replace(settings, draws=2, iterations=3, samples=40)
    for name in ('condition', 'scaled_condition', 'd_optimal', 'combined'):
        problem = ExcitationProblem(machine, replace(small, objective=name, sigma_weight=1.0))
        found = [optimised(problem, index) for index in (0, 0, 1)]
        worst = max(one.cost - one.start_cost for one in found)
        what = f'{name}: change of the cost (logarithm of the condition) in few iterations, two starts'
        yield holds('R4-25', what, '<= 0', f'{worst:.3g}', worst <= 0.0)
        same = bool(np.array_equal(found[0].variables, found[1].variables))
        apart = not np.array_equal(found[0].variables, found[2].variables)
        what = f'{name}: a start repeated is the same, another one is another'
        yield equal('R4-25', what, [True, True], [same, apart])


def end_checks(design: ExcitationDesign) -> Iterator[Check]:
    """R4-26: periodic; run-in and run-out from and to rest at home, without jumps."""
    series = design.series
    first, last = (series.periodic(np.array([time])) for time in (0.0, series.period))
    for name, one, other in zip(('positions', 'rates', 'accelerations'), first, last, strict=True):
        yield at_most('R4-26', f'{name} at both ends of a period', 1e-12, one - other)
    ends = series.coordinates(np.array([0.0, series.duration]))
    for name, value in zip(('positions', 'rates', 'accelerations'), ends, strict=True):
        yield at_most('R4-26', f'{name} at the beginning of the run-in and the end of the run-out', 1e-12, value)
    step = 1e-6 * series.period
    seams = np.array([series.periodic_start, series.periodic_end])
    before, after = (series.coordinates(seams + side * step) for side in (-1.0, 1.0))
    jump = np.abs(after[2] - before[2]).max() / np.abs(after[2]).max()
    yield at_most('R4-26', 'jump of accelerations between run-in, periods and run-out, relative', 1e-3, jump)


def condition_checks(problem: ExcitationProblem, design: ExcitationDesign, count: int) -> Iterator[Check]:
    """R4-27: with and without friction, against random motions of this machine within its limits."""
    note = ', '.join(f'{name} {value:.3g}' for name, value in design.measures.items())
    # of unit columns, as those of the random motions that the requirement names
    for what, kind, least in (('', 'scaled_condition', 73.0), ('out', 'scaled_condition of the bodies alone', 54.0)):
        name = f'condition number with{what} friction columns, against the least of the random motions'
        yield at_most('R4-27', name, least, design.measures[kind], note=note)
    part = design.objective / best_random(problem, count)
    yield at_most('R4-27', f'condition number / that of the best of {count} random series', LARGEST_PART, part)
    alone = ExcitationProblem(problem.machine, replace(problem.settings, friction='none'))
    designed = design_excitation(alone.machine, alone.settings, ThreadPoolExecutor(1))
    part = designed.objective / best_random(alone, count // 4)
    yield at_most('R4-27', f'without friction / best of {count // 4} random series', 1.0, part)


def export_checks(design: ExcitationDesign) -> Iterator[Check]:
    """R4-28: three periods at 1 kHz."""
    motion, series = design.sampled(1000.0), design.series
    yield equal('R4-28', 'samples at 1 kHz', int(np.ceil(1000.0 * design.duration)) + 1, len(motion))
    inside = (motion.time >= series.periodic_start) & (motion.time <= series.periodic_end)
    length = float(np.ptp(motion.time[inside]))
    yield at_most('R4-28', 'length of three periods, s off', 2e-3, length - 3.0 * series.period)
