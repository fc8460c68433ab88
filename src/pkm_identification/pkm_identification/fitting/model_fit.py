"""Fits a model to a prepared recording: linear and nonlinear parameters, and forces that depend on the result.

The columns of friction laws, ripples and delays depend on nonlinear parameters (separable least squares, Golub and
Pereyra 1973); those of friction that grows with a force depend on the masses themselves, so that the fit is repeated
with the forces that the last one predicts, until nothing changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, Indices
from pkm_description.errors import ConvergenceError
from pkm_description.machine import Machine

from pkm_identification.columns.friction_term import Presliding
from pkm_identification.columns.joint_terms import EffortDelay
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.term import JointSamples, Term
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import NotConvergedError
from pkm_identification.estimator import least_squares
from pkm_identification.estimator.generalised import fitted_noise
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.estimator.residual_covariance import RowNoise
from pkm_identification.fitting.physical_machine import believed_machine, with_friction_of
from pkm_identification.fitting.prediction import all_rows, deflected, efforts_by, lateness, slope_rows, with_forces
from pkm_identification.fitting.shape_search import WeighedFit, joint_estimate, minimised
from pkm_identification.judgement.significance import excited_parameters
from pkm_identification.preparation import PreparedData

#: s of the monotonic clock, from which no model is fitted any more that begins at another fit
_DEADLINE = ContextVar('deadline', default=np.inf)
#: most repetitions; a change of the predicted forces, relative to the residuals, below which nothing changes
REPETITIONS, SETTLED = 25, 1e-3
#: repetitions with a search for nonlinear parameters; ones that the data hardly determine would go on for ever
SEARCHES = 8
#: standard deviation of a nonlinear parameter, relative to its value, above which the data do not determine it
UNDETERMINED = 1.0


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End fits after these seconds; 0: never.

    One that begins at another fit is refused, then, and the first one ends with what it has.
    """
    before = _DEADLINE.set(time.monotonic() + seconds if seconds else np.inf)
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def is_late() -> bool:
    """Whether the limit of time is over."""
    return time.monotonic() > _DEADLINE.get()


@dataclass(frozen=True)
class ShapeEstimate:
    """Nonlinear parameters.

    Attributes
    ----------
    names : Q
    values, std : (Q,) ``std`` is infinite where the recording does not determine the value: it is where it began
    """

    names: tuple[str, ...]
    values: Array
    std: Array


@dataclass(frozen=True)
class ModelFit:
    """A model with fitted parameters.

    Attributes
    ----------
    model : with its nonlinear parameters
    samples : of the joints, with the forces that the model predicts
    base, not_excited : base parameters that the recording determines, names of the others
    rows, row_forces : (n, A, B), (n, A) what was fitted
    fitted_columns : (n, A, B + Q') the same rows, and the derivatives by the nonlinear parameters that were fitted, too
    estimate : values, covariance and residuals of the base parameters
    shape : nonlinear parameters
    parameters : all parameters, in the order of ``model.all_names``, with the forces of the estimate
    efforts : (N, A) of all samples as the model predicts them
    believed : the machine whose joints have the loads that friction grows with
    is_settled : whether nothing would have changed any more, when the :func:`time_limit` was over
    """

    model: ObservationModel
    samples: JointSamples
    base: BaseParameters
    not_excited: tuple[str, ...]
    rows: Array
    row_forces: Array
    fitted_columns: Array
    estimate: Estimate
    shape: ShapeEstimate
    parameters: Array
    efforts: Array
    believed: Machine
    is_settled: bool = True

    @property
    def noise(self) -> RowNoise:
        """Noise of the rows, by which they are weighed."""
        return self.estimate.noise(least_squares.noise_floor(self.row_forces))

    @property
    def errors(self) -> Array:
        """Errors (n, A) of the fitted forces in all rows, those without weight included."""
        return np.asarray(self.row_forces - self.rows @ self.estimate.parameters)

    def weighed(self, row_weights: Array) -> WeighedFit:
        """The fitted columns, and what they leave, in units of the noise; ``row_weights`` (n, A)."""
        return WeighedFit(self.fitted_columns, self.errors, row_weights, self.noise)


def fit_model(
    data: PreparedData, model: ObservationModel, config: IdentificationConfig, begin: ModelFit | None = None
) -> ModelFit:
    """Fit all parameters of a model whose structure is that of the prepared recording.

    Parameters
    ----------
    begin : fit of a similar model: forces that friction depends on begin at those of its parameters

    Raises
    ------
    NotExcitedError
        The recording determines nothing.
    NotConvergedError
        The repetitions do not settle, or the :func:`time_limit` is over for a fit that begins at another one.
    """
    return _Fitting(data, model, config, begin).run()


class _Fitting:
    """Repeats the linear fit."""

    def __init__(
        self, data: PreparedData, model: ObservationModel, config: IdentificationConfig, begin: ModelFit | None
    ) -> None:
        self._data, self._model, self._config, self._may_be_late = data, model, config, begin is None
        self._structure = model.base_parameters(config.columns.rank_tolerance)
        self._nominal = model.all_parameters(model.machine)
        self._begin_at(np.concatenate([np.zeros(0), *(term.shape for term in model.terms)]))
        self._base: BaseParameters | None = None
        # of the rows; none: not known yet
        self._noise: RowNoise | None = None
        self._is_shaped = not len(self._start_shape)
        # whether the search of nonlinear parameters ended with the time
        self._is_cut = False
        self._believed = begin.believed if begin else model.machine
        self._start = _carried_over(begin, model, self._nominal) if begin else self._nominal
        self._covariance = np.zeros((0, 0))
        # whose friction the believed machine has; none: its own, as far as the data know it
        self._friction_of: Machine | None = None
        # of terms that nothing changes
        self._constant_rows: dict[Term, Array] = {}
        self._known: tuple[Array, Array, Array] | None = None

    def run(self) -> ModelFit:
        """Fit until nothing changes."""
        model, parameters, shape = self._model, self._start, self._start_shape
        # friction by forces, and contacts that turn sooner where friction is small, go with the solution
        follows, before = any(term.from_model or isinstance(term, Presliding) for term in model.terms), None
        for repetition in range(1, REPETITIONS + 1):
            self._require_time()
            if repetition == SEARCHES:  # noise of friction and loads that follow each other has no end
                self._friction_of = self._friction_of or self._believed
            samples = self._with_believed_forces(shape, parameters)
            if len(shape) and repetition <= SEARCHES:
                shape = self._best_shape(shape, samples)
                if repetition == 1:
                    # with the laws at the begin, a drive whose law is unlike those of the others looks worse than it is
                    self._noise, self._known, self._is_shaped = None, None, True
                    self._begin_at(shape)
                    shape = self._best_shape(shape, samples)
            trial = self._shaped(shape)
            rows, forces = self._rows(trial, samples)
            solution = self._solved(rows, forces)
            parameters = self._all_parameters(trial, solution.parameters)
            predicted = rows @ solution.parameters
            settled = not follows or (before is not None and self._is_settled(predicted - before, solution.residuals))
            if settled or is_late():
                found = self._finished(trial, samples, rows, forces, parameters)
                return found if settled and not self._is_cut else replace(found, is_settled=False)
            before = predicted
        raise NotConvergedError(
            f'{self._data.recording.source}: the fit of {", ".join(term.title for term in model.terms)} does not '
            f'settle in {REPETITIONS} repetitions; record a livelier motion or leave out a term'
        )

    def _with_believed_forces(self, shape: Array, parameters: Array) -> JointSamples:
        """Samples with the forces of the last solution."""
        model = self._shaped(shape)
        try:
            return with_forces(model, self._data, parameters, self._believed)
        except ConvergenceError:
            # noise in the friction of passive joints locks them: then loads are those under nominal friction
            self._friction_of = model.machine
            self._believed = with_friction_of(self._believed, model.machine)
            return with_forces(model, self._data, parameters, self._believed)

    def _best_shape(self, shape: Array, samples: JointSamples) -> Array:
        """Nonlinear parameters (Q,) of the least squares; those that they leave open are where they began."""
        self._known = None  # it belongs to other forces
        known = self._determined(*self._reduced(shape, samples)[1:])
        while len(known):
            found = minimised(lambda trial: self._reduced(trial, samples)[:2], shape, known, self._limits, is_late)
            if found is None:
                raise NotConvergedError(
                    f'{self._data.recording.source}: the nonlinear parameters of '
                    f'{", ".join(term.title for term in self._model.terms if term.shape_names)} do not settle; record '
                    'a livelier motion or leave out a term'
                )
            self._is_cut |= is_late()
            still = np.intersect1d(known, self._determined(*self._reduced(found, samples)[1:]))
            if len(still) == len(known):
                return found
            # the search left the region in which the data determine them
            open_again = np.setdiff1d(known, still)
            shape, known = found.copy(), still
            shape[open_again] = self._start_shape[open_again]
        return shape

    def _begin_at(self, shape: Array) -> None:
        """Search nonlinear parameters (Q,) from here, within limits about it."""
        terms = self._shaped(shape).terms
        self._start_shape = shape
        self._limits = np.concatenate([np.zeros((0, 2)), *(term.shape_limits for term in terms)])

    def _reduced(self, shape: Array, samples: JointSamples) -> tuple[Array, Array, Array]:
        """Weighted residuals (nA,) of the linear solution, what is left of the slopes (nA, Q), and the shape (Q,)."""
        if self._known is not None and np.array_equal(self._known[2], shape):
            return self._known
        self._require_time()
        model = self._shaped(shape)
        rows, forces = self._rows(model, samples)
        solution = self._solved(rows, forces)
        slopes = solution.beyond(self._slopes(model, samples, self._all_parameters(model, solution.parameters)))
        self._known = solution.residuals.ravel(), slopes.reshape(-1, slopes.shape[-1]), shape.copy()
        return self._known

    def _require_time(self) -> None:
        if is_late() and not self._may_be_late:
            raise NotConvergedError(f'{self._data.recording.source}: the limit of time is over (columns.time_limit)')

    def _shaped(self, shape: Array) -> ObservationModel:
        if not len(shape):
            return self._model
        terms = self._model.terms
        parts = np.split(shape, np.cumsum([len(term.shape_names) for term in terms])[:-1])
        return self._model.with_terms([
            term.with_shape(own) if len(own) else term for term, own in zip(terms, parts, strict=True)
        ])

    def _rows(self, model: ObservationModel, samples: JointSamples) -> tuple[Array, Array]:
        """Rows (n, A, B) of the base parameters, and forces (n, A) without those of held parameters."""
        data, samples = self._data, deflected(model, self._data, samples)
        everything = all_rows(model, data, samples, self._constant_rows)
        free = everything[..., model.free]
        if self._base is None:
            weighted = self._structure.columns(free) * data.row_weights[..., None]
            self._base, self._not_excited = excited_parameters(weighted, self._structure)
        forces = data.effort_rows(*lateness(model.terms)) - everything[..., model.held] @ self._nominal[model.held]
        return self._base.columns(free), forces

    def _solved(self, rows: Array, forces: Array) -> WeighedFit:
        """Least squares of the base values (B,)."""
        # later the weights stay, for the costs of different shapes are compared
        if self._noise is None:
            self._noise = self._noise_of(rows, forces)
        solution = WeighedFit(rows, forces, self._data.row_weights, self._noise)
        if any(term.needs_loads for term in self._model.terms):
            self._covariance = solution.covariance
        return solution

    def _noise_of(self, rows: Array, forces: Array) -> RowNoise:
        """Noise of the rows by the residuals; its correlation in time where the estimator asks for it."""
        weights = self._data.row_weights
        size = least_squares.noise_of_legs(rows, forces, weights)
        noise = RowNoise(np.maximum(size, least_squares.noise_floor(forces)))
        is_wanted = self._is_shaped and self._config.estimator.method == 'gls'
        return fitted_noise(rows, forces, weights, noise) if is_wanted else noise

    def _all_parameters(self, model: ObservationModel, values: Array) -> Array:
        """All parameters with the forces of base values (B,): nominal but for those that head combinations."""
        assert self._base is not None
        everything = model.with_base_values(self._nominal, self._base, values)
        if any(term.needs_loads for term in model.terms):
            believed = believed_machine(model, self._base, values, self._covariance, self._config.estimator)
            if believed is not None:
                self._believed = with_friction_of(believed, self._friction_of) if self._friction_of else believed
        return everything

    def _slopes(self, model: ObservationModel, samples: JointSamples, parameters: Array) -> Array:
        """Rows (n, A, Q) of the derivatives by the nonlinear parameters."""
        contacts = deflected(model, self._data, samples)
        found = [slope_rows(model, self._data, term, contacts, parameters) for term in model.terms if term.shape_names]
        return np.concatenate([np.zeros((*self._data.row_weights.shape, 0)), *found], axis=-1)

    @staticmethod
    def _determined(slopes: Array, shape: Array) -> Indices:
        """Places of the nonlinear parameters (Q,) that the data determine, by weighted slopes (nA, Q)."""
        scale = np.where(np.abs(shape) > 0.0, np.abs(shape), EffortDelay.LONGEST)
        return np.flatnonzero(np.linalg.norm(slopes, axis=0) * scale * UNDETERMINED > 1.0)

    def _is_settled(self, change: Array, residual: Array) -> bool:
        assert self._noise is not None
        size = np.sqrt(np.sum(self._noise.weighed(change, self._data.row_weights) ** 2))
        return bool(size < SETTLED * max(np.sqrt(np.sum(residual**2)), 1e-12))

    def _finished(
        self, model: ObservationModel, samples: JointSamples, rows: Array, forces: Array, parameters: Array
    ) -> ModelFit:
        """Estimate with the covariance of linear and nonlinear parameters together."""
        assert self._base is not None
        assert self._noise is not None
        samples = deflected(model, self._data, samples)
        shape = np.concatenate([np.zeros(0), *(term.shape for term in model.terms)])
        slopes, known = self._slopes(model, samples, parameters), np.zeros(0, dtype=np.intp)
        if len(shape):
            self._known = None
            known = self._determined(*self._reduced(shape, samples)[1:])
        estimate, std, columns = joint_estimate(
            rows, slopes, known, self._limits, forces, self._data.row_weights, self._noise,
            self._config.estimator.method,
        )  # fmt: skip
        names = tuple(name for term in model.terms for name in term.shape_names)
        parameters = self._all_parameters(model, estimate.parameters)
        return ModelFit(
            model, samples, self._base, self._not_excited, rows, forces, columns, estimate,
            ShapeEstimate(names, shape, std), parameters, efforts_by(model, self._data, samples, parameters),
            self._believed,
        )  # fmt: skip


def _carried_over(begin: ModelFit, model: ObservationModel, nominal: Array) -> Array:
    """Parameters of a model by their names in a fit; others are nominal."""
    if not begin.model.has_structure_of(model):
        return nominal
    known = dict(zip(begin.model.all_names, begin.parameters.tolist(), strict=True))
    return np.array([known.get(name, value) for name, value in zip(model.all_names, nominal.tolist(), strict=True)])
