"""Design of an excitation: several starts, the best of them, its run-in and run-out, and what it keeps free."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.errors import ArgumentError, KinematicsError
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.joint_motion import joint_motion
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.fourier import FourierCoordinates
from pkm_description.motion.limits import require_motion

from pkm_identification.blocks import blocks
from pkm_identification.errors import ExcitationError
from pkm_identification.excitation.coordinates import MotionCoordinates
from pkm_identification.excitation.objective import END_CONDITIONS, ExcitationSettings
from pkm_identification.excitation.problem import ExcitationProblem, largest_use
from pkm_identification.excitation.search import StartResult, finished, largest_amplitude, process_executor, run_start
from pkm_identification.excitation.uses import Use

Progress = Callable[[str], None]

#: how much finer than the design's grid the limits are checked, and the objective is measured
FINER = 10

#: run-in and run-out that are tried, in periods
_FADES = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)

#: s, longest block of a check: bounds its memory
_BLOCK = 2000


def design_excitation(
    machine: Machine,
    settings: ExcitationSettings | None = None,
    executor: Executor | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> ExcitationDesign:
    """Design a periodic motion that an identification learns most from, inside all limits of the machine.

    Every start draws random series, scales each to the largest amplitude inside the limits, and optimises the best one
    by sequential quadratic programming. The best of all starts is then checked on a grid 10 times
    finer, run-in and run-out included, and made smaller where it has to be. The result depends on machine, settings and
    seed only, not on where the starts run.

    Parameters
    ----------
    machine : nominal machine
    settings : default :class:`ExcitationSettings`
    executor : standard executor for the starts; default: ``workers`` processes. Where another one's linear algebra
        rounds otherwise, the result can be another
    workers : processes, where no executor is given
    progress : called with one line per event

    Raises
    ------
    ExcitationError
        No feasible motion to start from, or one that excites all parameters.
    ConfigurationError
        Settings that do not fit the machine.
    """
    require_machine(machine)
    settings = settings or ExcitationSettings()
    say = progress or (lambda text: None)
    problem = ExcitationProblem(machine, settings)
    say(
        f'{machine.name}: {problem.size} free of {problem.coefficient_count} coefficients in '
        f'{", ".join(problem.coordinates.names)}; {len(problem.base)} base parameters'
    )
    found = _starts(problem, executor, workers, say)
    return _completed(problem, found, say)


def _starts(problem: ExcitationProblem, executor: Executor | None, workers: int, say: Progress) -> list[StartResult]:
    settings = problem.settings
    found: list[StartResult] = []
    tasks = [(problem.machine, settings, index) for index in range(settings.starts)]
    figure = problem.objective.figure_of_cost
    with nullcontext(executor) if executor else process_executor(min(workers, settings.starts)) as chosen:
        for result in finished(chosen, run_start, tasks):
            found.append(result)
            say(
                f'start {result.index + 1} ({len(found)} of {settings.starts} done): {settings.objective} '
                f'{figure(result.start_cost):.4g} -> {figure(result.cost):.4g}, {result.evaluations} evaluations'
            )
    return sorted(found, key=lambda one: one.index)


def _completed(problem: ExcitationProblem, found: list[StartResult], say: Progress) -> ExcitationDesign:
    settings, fine = problem.settings, FINER * problem.settings.design_samples
    times = np.arange(fine) / fine
    # what is best on the fine grid, inside the limits there; the random series take part, so that none is better
    ends = [_inside(problem, one.variables, times) for one in found]
    starts = [_inside(problem, one.start, times) for one in found]
    figures, before = ([problem.figure(one, fine) for one in several] for several in (ends, starts))
    place = int(np.argmin(figures))
    best, objective, variables = found[place], figures[place], ends[place]
    if min(before) < objective:
        objective, variables = min(before), starts[int(np.argmin(before))]
    fade, uses = _faded(problem, variables)
    series = problem.series(variables, settings.periods, fade)
    motion = problem.motion_of(series, _fine_times(problem, series))
    require_motion(problem.machine, motion)  # by the machine's own friction, and independently of the above
    design = ExcitationDesign(
        machine=problem.machine, settings=settings, coordinates=problem.coordinates, series=series,
        variables=variables, base=problem.base, objective=objective, start_objective=before[place],
        random_objective=min(before), random_count=len(found) * settings.draws,
        measures=_measures(problem, variables, fine), margins=_margins(uses),
        evaluations=sum(one.evaluations for one in found), message=best.message,
    )  # fmt: skip
    say(design.summary)
    return design


def _inside(problem: ExcitationProblem, variables: Array, times: Array) -> Array:
    """The series, made smaller until it is inside the limits at all times (N,), parts of a period, too."""
    series = problem.series(variables)
    if problem.largest_use_of(series, times * series.period) <= problem.ceiling:
        return variables
    return largest_amplitude(problem, variables, problem.ceiling, times)


def _faded(problem: ExcitationProblem, variables: Array) -> tuple[float, list[Use]]:
    """Shortest run-in and run-out [s] that keep the limits, and the uses of the whole motion.

    A series that itself begins and ends at home at rest needs none.
    """
    period = problem.series(variables).period
    at_rest = set(problem.settings.end_conditions) == set(END_CONDITIONS)
    for part in (0.0,) if at_rest else _FADES:
        series = problem.series(variables, 1, part * period)
        try:
            times = _fine_times(problem, series)
            uses = [use for part in blocks(len(times), _BLOCK) for use in problem.uses_of(series, times[part])]
        except KinematicsError:  # on its way in or out the motion leaves what the machine can reach
            continue
        if largest_use(uses) <= problem.ceiling:
            return part * period, uses
    raise ExcitationError(
        f'{problem.machine.name}: no run-in of up to {_FADES[-1] * period:.3g} s stays inside the limits; use '
        'end_conditions position,velocity,acceleration, so that none is needed'
    )


def _fine_times(problem: ExcitationProblem, series: FourierCoordinates) -> Array:
    """Times [s] of a grid 10 times finer than the design's, over the whole motion; its periods are alike."""
    step = series.period / (FINER * problem.settings.design_samples)
    times = step * np.arange(int(np.floor(series.duration / step * (1.0 + 1e-12))) + 1)
    once = (times <= series.periodic_start + series.period) | (times >= series.periodic_end)
    return np.asarray(times[once], dtype=float)


def _margins(uses: list[Use]) -> tuple[Margin, ...]:
    largest: dict[tuple[str, str], float] = {}
    for use in uses:
        for name, value in zip(use.names, use.largest, strict=True):
            key = use.limit, name
            largest[key] = max(largest.get(key, -np.inf), float(value))
    return tuple(Margin(limit, name, value) for (limit, name), value in largest.items())


def _measures(problem: ExcitationProblem, variables: Array, samples: int) -> dict[str, float]:
    """Condition numbers of a period, plain and scaled, with and without the columns of friction."""
    rows = problem.period_rows(variables, samples)
    bodies = problem.base.independent < problem.model.body_count
    found: dict[str, float] = {}
    for ending, chosen in (('', rows), (' of the bodies alone', rows[:, bodies])):
        found[f'condition{ending}'] = float(np.linalg.cond(chosen))
        found[f'scaled_condition{ending}'] = float(np.linalg.cond(chosen / np.linalg.norm(chosen, axis=0)))
    return found


@dataclass(frozen=True)
class Margin:
    """Largest use of one limit of one joint: 0 in the middle of the range or at home, 1 at the limit."""

    limit: str
    name: str
    use: float


@dataclass(frozen=True)
class ExcitationDesign:
    """Result of :func:`~pkm_identification.excitation.design.design_excitation`.

    Attributes
    ----------
    machine, settings : as given
    coordinates : of the series
    series : the motion in these coordinates, with run-in and run-out
    variables : (V,) free variables of the series
    base : base parameters that it was designed for
    objective : of the designed series, measured on the fine grid with the sign of friction as it is
    start_objective : of the random series that the optimisation began with, measured in the same way
    random_objective, random_count : best of so many random series, each with the largest amplitude inside the limits
    measures : condition numbers, plain and column-scaled, with and without friction
    margins : largest use of every limit on the fine grid, run-in and run-out included
    evaluations : of cost and limits, all starts together
    message : what the optimiser said last
    """

    machine: Machine
    settings: ExcitationSettings
    coordinates: MotionCoordinates
    series: FourierCoordinates
    variables: Array
    base: BaseParameters
    objective: float
    start_objective: float
    random_objective: float
    random_count: int
    measures: dict[str, float]
    margins: tuple[Margin, ...]
    evaluations: int
    message: str

    @property
    def duration(self) -> float:
        """Of the whole motion, s."""
        return self.series.duration

    @property
    def tightest(self) -> Margin:
        """The limit that is used most."""
        return max(self.margins, key=lambda one: one.use)

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at times (N,) s: from rest at home to rest at home."""
        return self.coordinates.motion(np.asarray(time, dtype=float), *self.series.coordinates(time))

    def sampled(self, rate: float) -> PlatformMotion:
        """Motion at ``rate`` Hz, from 0 to the end at home.

        Raises
        ------
        ArgumentError
            A rate at which the highest harmonic has fewer than four samples.
        """
        least = 4.0 * self.series.harmonics * self.series.base_frequency
        if not rate >= least:
            raise ArgumentError(f'rate = {rate} Hz: the highest harmonic needs at least {least:.3g} Hz')
        count = int(np.ceil(self.duration * rate - 1e-9))
        # the last sample is the end itself, which is at rest
        return self.evaluate(np.minimum(np.arange(count + 1) / rate, self.duration))

    def drive_values(self, motion: PlatformMotion) -> tuple[Array, Array, Array, Array, Array]:
        """Time (N,) s of a motion, and positions, velocities, accelerations and forces (N, A) of the drives."""
        joints, columns = joint_motion(self.machine, motion), self.machine.drive_columns
        positions, velocities, accelerations = (
            part[:, columns] for part in (joints.positions, joints.velocities, joints.accelerations)
        )
        return motion.time, positions, velocities, accelerations, inverse_dynamics(self.machine, motion)

    @property
    def summary(self) -> str:
        """One sentence."""
        tight = self.tightest
        change = '' if self.settings.objective == 'd_optimal' else (
            f' ({100.0 * (self.objective / self.random_objective - 1.0):+.0f} %)'
        )
        return (
            f'{self.settings.objective} {self.objective:.4g}, best of {self.random_count} random series '
            f'{self.random_objective:.4g}{change}; period {self.series.period:.4g} s, {self.duration:.4g} s in all '
            f'with run-in and run-out of {self.series.fade_in:.3g} s each; most used: {tight.limit} of {tight.name}, '
            f'{tight.use:.0%}'
        )
