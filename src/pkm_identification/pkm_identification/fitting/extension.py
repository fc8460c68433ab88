"""Extends a model by the forces that a recording shows and the model lacks, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.friction_laws import AsymmetricStribeck, Stribeck
from scipy.stats import f as f_distribution

from pkm_identification.columns.friction_term import FrictionTerm, Presliding
from pkm_identification.columns.joint_terms import OFFSET, OneFactor, Ripple
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import NotConvergedError
from pkm_identification.estimator.least_squares import noise_floor
from pkm_identification.fitting.candidates import GAIN_TITLE, Candidate, Extension, ripples
from pkm_identification.fitting.lack_of_fit import HARM, SUSPICIOUS, MissingForce, missing_forces
from pkm_identification.fitting.model_fit import ModelFit, fit_model, is_late
from pkm_identification.fitting.pooled_laws import tested_pooling, with_pooled_laws
from pkm_identification.fitting.presliding import with_presliding
from pkm_identification.preparation import PreparedData

#: steps inwards and the nearest distance, in periods of the force cut-off
STEP, NEAREST = 0.1, 0.2
#: probability below which residuals are larger than those of the far rows; standard deviations of their mean by the
#: direction in which the drive turned
CHANCE, SIGMAS = 1e-3, 3.0
#: most forces that are added
MOST = 8
#: part of the largest explained power from which fewer factors are preferred: legs that differ explain much of all
NEARLY = 0.8
#: the same of an offset, which a spring or a gain resembles
ALIKE = 0.5
#: slow are a drive's rows up to this quantile of the speeds; part of that speed below which a Stribeck velocity is not
#: seen: with an exponent of 0.5, the least, 4 % of the effect are left there
SLOW, SEEN = 0.05, 0.1
#: growth of the error over all rows from which an added force is taken back
WORSE = 1.001


def extended_fit(
    data: PreparedData,
    fit: ModelFit,
    config: IdentificationConfig,
    say: Callable[[str], None],
) -> tuple[PreparedData, ModelFit, list[MissingForce], tuple[str, ...]]:
    """Add the clearest missing force and fit again, until none is missing.

    Parameters
    ----------
    data, fit : a prepared recording, and the fit of a model to it
    config, say : settings; takes a line for each force that is added

    Returns
    -------
    data : with the structure of the extended model
    fit : of it
    missing : forces that it still may lack
    added : names of the forces that were added
    """
    added: list[str] = []
    fit = tested_pooling(data, fit, config)
    waves = list(ripples(data))
    missing = missing_forces(data, fit, waves)
    refused: set[str] = set()
    kinds: dict[str, set[str]] = {}
    rippled = [one for one in missing if one.name.startswith(Ripple.title)]
    if rippled and 'ripple' in config.columns.terms:
        data, fit = _fitted(data, fit, rippled[0], config)
        missing = missing_forces(data, fit, waves)
    while config.columns.extend:
        while len(added) < MOST and not is_late():
            # forces that no model has are no reason to leave out those that one has; a gain is: they would imitate it
            possible = [one for one in missing if one.is_there and (one.candidate.extend or GAIN_TITLE in one.name)]
            force = _most_likely([force for force in possible if force.name not in refused])
            if force is None or force.candidate.extend is None:
                break
            try:
                larger, other = _fitted(data, fit, force, config)
            except NotConvergedError:
                refused.add(force.name)
                continue
            # it fits the rows that are used and spoils those near reversals, or nothing can be said of it
            worse = _whole_error(larger, other) > WORSE * np.sqrt(_growth(larger, fit, other)) * _whole_error(data, fit)
            if worse or _is_undetermined(fit, other) or _is_unseen(larger, other):
                refused.add(force.name)
                continue
            kinds[force.name] = other.model.kinds - fit.model.kinds - {OFFSET.kind}
            data, fit = larger, other
            say(f'the recording shows {force.name}: added to the model')
            added.append(force.name)
            refused.clear()  # beside the new one they may fit
            missing = missing_forces(data, fit, waves)
        if not (found := with_presliding(data, fit, config)):
            break
        data, fit = found
        say(f'the recording shows {Presliding.title}: added to the model')
        # what a reversal does over a distance may have looked like another force
        for name in [name for name in reversed(added) if kinds[name]]:
            try:
                smaller, other = _without(data, fit, kinds[name], config)
            except NotConvergedError:
                continue
            if not _shows(missing_forces(smaller, other, waves), name):
                data, fit = smaller, other
                say(f'with it, the recording does not show {name}: left out again')
                added.remove(name)
        added.append(Presliding.title)
        refused.clear()
        missing = missing_forces(data, fit, waves)
    return *_with_fitting_rows(data, fit, missing, config, waves), tuple(added)


def _with_fitting_rows(
    data: PreparedData, fit: ModelFit, missing: list[MissingForce], config: IdentificationConfig,
    waves: Sequence[Candidate],
) -> tuple[PreparedData, ModelFit, list[MissingForce]]:  # fmt: skip
    """Fit with the rows near reversals that the model predicts, unless they alone ask for another model."""
    reach = reach_by_residuals(data, fit)
    if reach == data.bands.reversal_reach:
        return data, fit, missing
    other = data.with_reach(reach)
    try:
        refit = tested_pooling(other, fit_model(other, fit.model, config, fit), config)
    except NotConvergedError:
        return data, fit, missing
    still_missing = missing_forces(other, refit, waves)
    decisive = [force for force in still_missing if force.is_decisive]
    # what is wrong at reversals alone is left out with these rows; what shows far from them, too, is not
    elsewhere = {force.name for force in missing if force.probability < SUSPICIOUS and force.shift > HARM}
    if any(force.is_decisive for force in missing) or not decisive or any(one.name in elsewhere for one in decisive):
        return other, refit, still_missing
    return data, fit, missing


def _most_likely(offers: Sequence[MissingForce]) -> MissingForce | None:
    """The force that explains most; of those that explain nearly as much the one with the fewest factors.

    An offset, which is added with every other force, comes before a force of as many factors that looks like one.
    """
    most = max((force.share for force in offers), default=0.0)
    near = [force for force in offers if force.share >= NEARLY * most]
    best = min(near, key=lambda force: (force.freedom, -force.share), default=None)
    for force in offers:
        if best and force.name == OFFSET.title and force.share >= ALIKE * best.share:
            return force if abs(force.freedom - best.freedom) <= 1 else best
    return best


def _is_undetermined(fit: ModelFit, other: ModelFit) -> bool:
    """Whether an extended model has new nonlinear parameters, none of which the recording determines."""
    new = [name not in fit.shape.names for name in other.shape.names]
    return any(new) and not np.isfinite(other.shape.std[new]).any()


def _is_unseen(data: PreparedData, fit: ModelFit) -> bool:
    """Whether most Stribeck velocities are far below the speeds of the rows, which show another force, then."""
    rows = data.row_filter
    speeds, used = np.abs(data.samples.lively[:: rows.step][rows.kept]), data.row_weights > 0.0
    slow = [np.quantile(own[of], SLOW) if of.any() else 0.0 for own, of in zip(speeds.T, used.T, strict=True)]
    unseen = [
        law.stribeck_velocity < SEEN * slow[place]
        for term in fit.model.terms
        if isinstance(term, FrictionTerm)
        for law, place in zip(term.laws, term.places, strict=True)
        if place < len(slow) and isinstance(law, Stribeck | AsymmetricStribeck)
    ]
    return bool(unseen) and float(np.mean(unseen)) > 0.5


def _whole_error(data: PreparedData, fit: ModelFit) -> float:
    """Root mean square of the predictions' error over all rows, those near reversals too."""
    return float(np.sqrt(np.mean(data.row_filter(data.efforts() - fit.efforts) ** 2)))


def _growth(data: PreparedData, fit: ModelFit, other: ModelFit) -> float:
    """Power by which chance makes predictions worse with more parameters (final prediction error, Akaike 1970)."""
    rows = int(np.count_nonzero(data.row_weights))
    few, many = (min(one.fitted_columns.shape[-1], rows - 1) for one in (fit, other))
    return (rows + many) * (rows - few) / ((rows - many) * (rows + few))


def _fitted(
    data: PreparedData, fit: ModelFit, force: MissingForce, config: IdentificationConfig
) -> tuple[PreparedData, ModelFit]:
    """Fit of the model with one more force; of several begins the one that ends nearest to the data."""
    assert force.candidate.extend is not None
    found = []
    for extend in (force.candidate.extend, *force.candidate.others):
        try:
            found.append(_fitted_from(data, fit, extend, config))
        except NotConvergedError as error:
            failed = error
    if not found:
        raise failed
    return min(found, key=lambda pair: _badness(*pair))


def _badness(data: PreparedData, fit: ModelFit) -> float:
    """Negative logarithm of the likelihood of the residuals, but for a constant."""
    counts = (data.row_weights > 0.0).sum(axis=0)
    return float(counts @ np.log(np.maximum(fit.estimate.force_std, 1e-300)))


def _fitted_from(
    data: PreparedData, fit: ModelFit, extend: Extension, config: IdentificationConfig
) -> tuple[PreparedData, ModelFit]:
    model = extend(fit.model)
    assert model is not None
    # a drive that is not as its file says may have an offset, too, which other forces can hide; Coulomb friction by
    # direction has it
    if OFFSET.kind not in model.kinds and not any(name.endswith('.coulomb_negative') for name in model.names):
        model = model.with_terms((*model.terms, OneFactor(OFFSET, model.machine.actuated_joint_names)))
    if config.columns.pooled_laws:
        model = with_pooled_laws(model)
    larger = data.with_model(model)
    return larger, tested_pooling(larger, fit_model(larger, model, config, fit), config)


def _shows(missing: Sequence[MissingForce], name: str) -> bool:
    """Whether a force is among those that are there; of ripples the period may be another one."""
    return any(force.is_there and force.name.split(',')[0] == name.split(',')[0] for force in missing)


def _without(
    data: PreparedData, fit: ModelFit, kinds: set[str], config: IdentificationConfig
) -> tuple[PreparedData, ModelFit]:
    """Fit of the model without the forces of some kinds."""
    model = fit.model.with_terms([term for term in fit.model.terms if term.kind not in kinds])
    smaller = data.with_model(model)
    return smaller, fit_model(smaller, model, config, fit)


# How near to a reversal rows are used: as near as their residuals are no larger than elsewhere.
#
# Near a reversal the jump of Coulomb friction is misplaced, contacts are deflected before they slide, and the filter
# spreads that error over some tenths of its period. How far, depends on the drive, the sensors and the sample rate; so
# the recording itself is asked. The model is fitted to rows that are far from all reversals, and predicts the nearer
# ones (predictive test, Chow 1960), from the far ones inwards. They are used up to where the prediction fails.
def reach_by_residuals(data: PreparedData, fit: ModelFit) -> float:
    """Periods of the force cut-off around reversals in which rows do not fit the model; see the module.

    Parameters
    ----------
    data : a prepared recording
    fit : of the model to its rows, which are far from reversals

    Returns
    -------
    float
        At most the reach of the fit.
    """
    reach = data.bands.reversal_reach
    distance, moving = data.reversals.distance * data.bands.force_cutoff, data.moving_rows > 0.0
    test = _PredictiveTest(fit, data.row_weights > 0.0)
    for inner in np.arange(reach - STEP, NEAREST - 0.5 * STEP, -STEP):
        near = moving & (distance < reach) & (distance > inner)
        if not all(test(rows, data.reversals.direction) for rows in (near, near & (distance <= inner + STEP))):
            return float(inner + STEP)
    return min(NEAREST, reach)


class _PredictiveTest:
    """Whether a fit to some rows predicts others."""

    def __init__(self, fit: ModelFit, used: NDArray[np.bool_]) -> None:
        estimate = fit.estimate
        noise = np.maximum(estimate.force_std, noise_floor(fit.row_forces))
        self._errors = fit.errors / noise
        self._columns, self._covariance = fit.rows / noise[:, None], estimate.covariance
        self._freedom = max(int(used.sum()) - fit.fitted_columns.shape[-1], 1)

    def __call__(self, rows: NDArray[np.bool_], direction: Array) -> bool:
        """Test of rows (n, A), also of their mean by the direction (n, A) in which the drive turned."""
        if not rows.any():
            return True
        errors, columns, signs = self._errors[rows], self._columns[rows], direction[rows]
        variance = 1.0 + np.einsum('rb,bc,rc->r', columns, self._covariance, columns)
        larger = float(f_distribution.sf(np.mean(errors**2 / variance), len(errors), self._freedom))
        mean_column = signs @ columns
        spread = float(np.sqrt(signs @ signs + mean_column @ self._covariance @ mean_column))
        return larger > CHANCE and abs(float(signs @ errors)) <= SIGMAS * spread
