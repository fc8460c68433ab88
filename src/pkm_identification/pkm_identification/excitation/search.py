"""One start of the search for an excitation: random series, the best of them, and its optimisation."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError, PkmError
from pkm_description.machine import Machine
from scipy.optimize import Bounds, minimize

from pkm_identification.errors import ExcitationError
from pkm_identification.excitation.objective import ExcitationSettings
from pkm_identification.excitation.problem import ExcitationProblem, Point, largest_use

#: libraries of linear algebra start threads of their own; one per process is enough
_ONE_THREAD = dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')
#: sharpness of the smooth largest uses in the two rounds: first round and easy, then close to the limits
_SHARPNESS = (60.0, 300.0)

#: part of the iterations that the last round has
_LAST_PART = 0.3

#: part of a limit kept free between samples of the design's grid, besides the margin
_BETWEEN = 0.01

#: where rounds begin, in parts of the start's amplitude, and how far they may move a variable, in parts of the largest;
#: the next one only where a round has not brought the cost down by so much: it began beside a pose that the machine
#: cannot pass, and its steps led there
_ATTEMPTS, _PROGRESS = ((1.0, 10.0), (0.7, 0.5), (0.4, 0.3)), 0.05

#: relative tolerance of the optimiser's cost
_TOLERANCE = 1e-5

#: the cost where a series leaves what the machine can reach, above that of the start
_FAR = 20.0

#: bisections of the amplitude, after which it is the largest within this part
_STEPS, _CLOSE = 40, 1e-3


@dataclass(frozen=True)
class StartResult:
    """What one start found.

    Attributes
    ----------
    index : number of the start
    variables, cost : (V,) of the best series inside the limits, on the design's grid
    start, start_cost : (V,) of the random series that it came from, with the largest amplitude inside the limits
    evaluations : of cost and limits
    message : what the optimiser said last
    """

    index: int
    variables: Array
    cost: float
    start: Array
    start_cost: float
    evaluations: int
    message: str


def largest_amplitude(
    problem: ExcitationProblem, variables: Array, ceiling: float, times: Array | None = None
) -> Array:
    """Scale a series to the largest amplitude at which no limit is used more than ``ceiling``, on the design's grid.

    Parameters
    ----------
    times : (N,) parts of the period to look at; default: the design's grid

    Raises
    ------
    ExcitationError
        Even standing still at home uses more; names limit and joint.
    """
    parts = problem.grid_times if times is None else times

    def use(factor: float) -> float:
        series = problem.series(problem.scaled(variables, factor))
        return problem.largest_use_of(series, parts * series.period)

    inside, outside, factor = 0.0, np.inf, 1.0
    for _ in range(_STEPS):
        found = use(factor)
        if found <= ceiling:
            inside = factor
            if found >= (1.0 - _CLOSE) * ceiling:
                break
        else:
            outside = factor
        # uses are nearly proportional to the amplitude; bisection where they are not
        guess = factor * ceiling / found * (1.0 - 0.3 * _CLOSE) if 0.0 < found < np.inf else 0.5 * factor
        low, high = (inside, outside) if np.isfinite(outside) else (inside, 4.0 * factor)
        factor = guess if low < guess < high else 0.5 * (low + high)
        if np.isfinite(outside) and outside - inside <= _CLOSE * outside:
            break
    if inside == 0.0:
        _require_rest(problem, ceiling)
        raise ExcitationError(
            f'{problem.machine.name}: no amplitude of this series stays inside the limits; choose a lower '
            'base_frequency, a smaller margin, or another home'
        )
    return problem.scaled(variables, inside)


def _require_rest(problem: ExcitationProblem, ceiling: float) -> None:
    """Raise ExcitationError if the machine at rest at home is not inside the limits."""
    count = len(problem.coordinates)
    rest = np.zeros((1, count))
    move = problem.coordinates.at(rest)
    uses = problem.limits(move, move(np.zeros(1), rest, rest), rest)
    worst = max(uses, key=lambda use: float(use.largest.max()))
    place = int(worst.largest.argmax())
    if worst.largest[place] > ceiling:
        raise ExcitationError(
            f'{problem.machine.name}: there is no feasible start: at rest at home {worst.names[place]} uses '
            f'{worst.largest[place]:.0%} of its {worst.limit} limit, and {ceiling:.0%} are allowed; choose a smaller '
            'margin, or another home'
        )


def random_series(problem: ExcitationProblem, random: np.random.Generator) -> tuple[Array, float]:
    """A random series with the largest amplitude inside the limits (V,), and its cost."""
    variables = largest_amplitude(problem, problem.random(random), problem.ceiling - _BETWEEN)
    try:
        return variables, problem.point(variables, _SHARPNESS[0]).cost
    except FloatingPointError:
        return variables, np.inf


def run_start(machine: Machine, settings: ExcitationSettings, index: int) -> StartResult:
    """Run start number ``index``; depends on nothing else, so that it may run anywhere.

    Raises
    ------
    ExcitationError
        No random series excites all parameters inside the limits.
    """
    return optimised(ExcitationProblem(machine, settings), index)


def optimised(problem: ExcitationProblem, index: int) -> StartResult:
    """See :func:`run_start`."""
    settings = problem.settings
    random = np.random.default_rng([settings.seed, index])
    drawn = [random_series(problem, random) for _ in range(settings.draws)]
    start, start_cost = min(drawn, key=lambda one: one[1])
    if not np.isfinite(start_cost):
        raise ExcitationError(
            f'{problem.machine.name}: none of {settings.draws} random series excites all '
            f'{len(problem.base)} base parameters; use more harmonics, or fix parameters'
        )
    search = _Search(problem, start, start_cost)
    last = max(1, round(_LAST_PART * settings.iterations))
    for part, radius in _ATTEMPTS:
        search.run(problem.scaled(start, part), _SHARPNESS[0], radius, settings.iterations - last)
        if search.best_cost < start_cost - _PROGRESS:
            break
    message = search.run(search.best, _SHARPNESS[1], _ATTEMPTS[0][1], last)
    return StartResult(index, search.best, search.best_cost, start, start_cost, search.evaluations, message)


class _Search:
    """SLSQP with a memory: the best series seen that keeps the limits, and the point that was looked at last."""

    def __init__(self, problem: ExcitationProblem, start: Array, cost: float) -> None:
        self._problem = problem
        self._ceiling = problem.ceiling - _BETWEEN
        self.best, self.best_cost, self._start_cost = start, cost, cost
        self.evaluations = 0
        self._last: tuple[bytes, bool, Point | None] = (b'', False, None)
        self._sharpness = _SHARPNESS[0]
        self._constraints = 0

    def run(self, start: Array, sharpness: float, radius: float, iterations: int) -> str:
        """Optimise from a series on; returns what the optimiser says."""
        self._sharpness = sharpness
        self._last = (b'', False, None)
        first = self._at(start, gradients=True)
        if first is None:
            return 'the start cannot be evaluated'
        self._constraints = len(first.smooth_uses)
        reach = radius * float(np.abs(start).max())
        found = minimize(
            self._cost, start, jac=self._slope, method='SLSQP', bounds=Bounds(start - reach, start + reach),
            constraints={'type': 'ineq', 'fun': self._room, 'jac': self._room_slope},
            options={'maxiter': iterations, 'ftol': _TOLERANCE},
        )  # fmt: skip
        # it may lie outside the limits: once more, with an amplitude at which it lies inside
        if np.isfinite(found.x).all() and np.abs(found.x).max() > 0.0:
            with suppress(ExcitationError):
                self._at(largest_amplitude(self._problem, np.asarray(found.x), (1.0 - 1e-9) * self._ceiling))
        return str(found.message)

    def _at(self, variables: Array, gradients: bool = False) -> Point | None:
        key, with_gradients, point = self._last
        if key == variables.tobytes() and (with_gradients or not gradients):
            return point
        self.evaluations += 1
        try:
            point = self._problem.point(variables, self._sharpness, gradients)
        except (PkmError, FloatingPointError, np.linalg.LinAlgError):
            point = None
        if point is not None and not np.isfinite(point.cost + point.smooth_uses.sum()):
            point = None
        if point is not None and point.cost < self.best_cost and largest_use(point.uses) <= self._ceiling:
            self.best, self.best_cost = variables.copy(), point.cost
        self._last = (variables.tobytes(), gradients, point)
        return point

    def _cost(self, variables: Array) -> float:
        point = self._at(variables)
        return self._start_cost + _FAR if point is None else point.cost

    def _slope(self, variables: Array) -> Array:
        point = self._at(variables, gradients=True)
        return np.zeros(len(variables)) if point is None else point.cost_gradient

    def _room(self, variables: Array) -> Array:
        point = self._at(variables)
        return np.full(self._constraints, -_FAR) if point is None else self._ceiling - point.smooth_uses

    def _room_slope(self, variables: Array) -> Array:
        point = self._at(variables, gradients=True)
        return np.zeros((self._constraints, len(variables))) if point is None else -point.use_gradients


@contextmanager
def process_executor(workers: int) -> Iterator[Executor]:
    """Executor of so many new processes with one thread of linear algebra each.

    More threads would round otherwise, and so could not give the same result with any number of workers.
    """
    if workers < 1:
        raise ConfigurationError(f'workers = {workers}: at least 1 is needed')
    before = dict(os.environ)
    os.environ.update(_ONE_THREAD)
    try:
        pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context('spawn'))
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    finally:
        for name in _ONE_THREAD:
            os.environ.pop(name)
        os.environ.update({name: before[name] for name in _ONE_THREAD if name in before})


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Executor of the Dask cluster whose scheduler has this address, such as ``tcp://host:8786``.

    Raises
    ------
    ConfigurationError
        Dask is not installed, or nothing answers at the address.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigurationError(
            f'a Dask cluster ({address}) needs the package distributed, which is not installed here: '
            'pip install distributed, or leave the address out to use the processors of this machine'
        ) from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f'no Dask scheduler answers at {address}: {error}') from error
    try:
        yield client.get_executor()
    finally:
        client.close()


def finished(executor: Executor, task: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Results of ``task(*arguments)`` as they come; an error of a task is raised here."""
    futures = [executor.submit(task, *arguments) for arguments in tasks]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
