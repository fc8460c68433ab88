"""Extends a model by the forces that a recording shows and the model lacks: each comes and goes by its evidence.

Forces whose columns are alike explain the same residuals, so their order in a list must not decide. Those that explain
nearly as much as the best are all fitted, and the one with the largest evidence enters: the likelihood that another
recording is expected to have. Rows near reversals, which are not fitted, are predicted, and count as well. What entered
before leaves where the evidence is larger without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from pkm_identification.columns.friction_term import Presliding, presliding_of
from pkm_identification.columns.joint_terms import OFFSET, OneFactor, Ripple
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import NotConvergedError
from pkm_identification.fitting.aliases import with_spreads
from pkm_identification.fitting.candidates import GAIN_TITLE, Candidate, Extension, ripples
from pkm_identification.fitting.lack_of_fit import ACCURACY, CHANCE, HARM, SUSPICIOUS, MissingForce, missing_forces
from pkm_identification.fitting.model_fit import ModelFit, fit_model, is_late
from pkm_identification.fitting.prediction import at_levels, deflected, efforts_by, forces_without_friction, with_forces
from pkm_identification.preparation import PreparedData

#: steps inwards and the nearest distance, in periods of the force cut-off
STEP, NEAREST = 0.1, 0.2
#: probability below which residuals are larger than those of the far rows; standard deviations of their mean by the
#: direction in which the drive turned
LARGER, SIGMAS = 1e-3, 3.0
#: most forces that are added
MOST = 8
#: part of the largest explained power from which forces may be the same one under another name, and how many are fitted
ALIKE, RIVALS = 0.5, 4
#: distances of pre-sliding that are tried, as parts of a drive's travel
DISTANCES = np.geomspace(1e-6, 1e-2, 17)
#: nearest rows that tell of it, in periods of the force cut-off
NEAREST_OF_PRESLIDING = 0.05


@dataclass(frozen=True)
class Fitted:
    """A fit with some forces of the table.

    Attributes
    ----------
    data, fit : a prepared recording, and the fit to it
    entered : forces beyond those of the settings, by name, and how they come into a model
    """

    data: PreparedData
    fit: ModelFit
    entered: Mapping[str, Extension] = field(default_factory=dict)

    @cached_property
    def evidence(self) -> float:
        """Expected logarithm of the likelihood of another recording, but for a constant (Akaike 1974).

        Far and near rows of each drive have their own noise. A force that is not in the settings has prior odds of
        :data:`~pkm_identification.fitting.lack_of_fit.CHANCE`: by chance one enters as rarely as the score test says.
        """
        data, fit = self.data, self.fit
        errors = data.row_filter(data.slides * (data.efforts() - fit.efforts))
        far, moving = data.row_weights > 0.0, data.moving_rows > 0.0
        least = ACCURACY**2 * float(np.mean(fit.row_forces**2))
        found = 0.0
        for rows in (far, moving & ~far):
            counts = rows.sum(axis=0)
            squares = (rows * errors**2).sum(axis=0) / np.maximum(counts, 1)
            found -= 0.5 * float(counts @ np.log(squares + least))
        return found - fit.fitted_columns.shape[-1] + len(self.entered) * float(np.log(CHANCE))


def extended_fit(
    data: PreparedData, fit: ModelFit, config: IdentificationConfig, say: Callable[[str], None]
) -> tuple[PreparedData, ModelFit, list[MissingForce], tuple[str, ...]]:
    """Let forces of the table in and out of a model, as long as the evidence grows.

    Parameters
    ----------
    data, fit : a prepared recording, and the fit of a model to it
    config, say : settings; takes a line for each force that comes or goes

    Returns
    -------
    data : with the structure of the extended model
    fit : of it
    missing : forces that it still may lack
    added : names of the forces that were added
    """
    waves, now = list(ripples(data)), Fitted(data, fit)
    try:
        now = Fitted(data, with_spreads(data, fit))
        offers = missing_forces(data, now.fit, waves) if 'ripple' in config.columns.terms else []
        for rippled in [one for one in offers if one.name.startswith(Ripple.title)]:
            now = replace(_with_force(now, rippled, config), entered={})
    except NotConvergedError:
        if not is_late():
            raise
    begin, missing = now, missing_forces(now.data, now.fit, waves)
    while config.columns.extend and len(now.entered) < MOST and not is_late():
        other = _entering(now, missing, config) or leaving(now, begin, config)
        if other is None:
            break
        gain = f'evidence {other.evidence - now.evidence:+.3g}'
        for name in other.entered.keys() - now.entered.keys():
            say(f'the recording shows {name}: added to the model ({gain})')
        for name in now.entered.keys() - other.entered.keys():
            say(f'with it, the recording does not show {name}: left out again ({gain})')
        now, missing = other, missing_forces(other.data, other.fit, waves)
    now, missing = _with_fitting_rows(now, missing, config, waves)
    return now.data, now.fit, missing, tuple(now.entered)


def _entering(now: Fitted, missing: Sequence[MissingForce], config: IdentificationConfig) -> Fitted | None:
    """The fit with one more force and the largest evidence: of pre-sliding, and of those that explain most.

    None where that is a wrong gain, which no model has by itself: any other force would only imitate it.
    """
    # others bring offsets along: beside these alone they are a second force, with its prior odds
    odds = float(np.log(CHANCE))
    sliding = _with_presliding(now, config)
    better = [(sliding.evidence + odds, sliding, Presliding.title)] if sliding else []
    offers = sorted((one for one in missing if one.is_there and one.candidate.extensions), key=lambda one: -one.share)
    while offers and not is_late():
        rivals = [one for one in offers if one.share >= ALIKE * offers[0].share][:RIVALS]
        offers = offers[len(rivals) :]
        for force in rivals:
            try:
                other = _with_force(now, force, config)
            except NotConvergedError:
                continue
            if other.evidence > now.evidence:
                better.append((other.evidence + (0.0 if force.name == OFFSET.title else odds), other, force.name))
        if better:
            break
    if not better:
        return None
    _, other, name = max(better, key=lambda one: one[0])
    return None if GAIN_TITLE in name else other


def _with_force(now: Fitted, force: MissingForce, config: IdentificationConfig) -> Fitted:
    """Fit of the model with one more force; of several begins the one that ends with the largest evidence."""
    found = []
    for extend in force.candidate.extensions:
        try:
            model = _completed(extend(now.fit.model))
            found.append(_fit(now.data, model, now.fit, config, {**now.entered, force.name: extend}))
        except NotConvergedError as error:
            failed = error
    if not found:
        raise failed
    return max(found, key=lambda one: one.evidence)


def _completed(model: ObservationModel) -> ObservationModel:
    """A model to which a force was added, with offsets.

    A drive that is not as its file says may have an offset, too, which other forces can hide; Coulomb friction by
    direction has it.
    """
    if OFFSET.kind not in model.kinds and not any(name.endswith('.coulomb_negative') for name in model.names):
        return model.with_terms((*model.terms, OneFactor(OFFSET, model.machine.actuated_joint_names)))
    return model


def _fit(
    data: PreparedData, model: ObservationModel, begin: ModelFit, config: IdentificationConfig,
    entered: Mapping[str, Extension],
) -> Fitted:  # fmt: skip
    """Fit of a model to a prepared recording, begun at another one."""
    data = data.with_model(model)
    return Fitted(data, with_spreads(data, fit_model(data, model, config, begin)), entered)


def leaving(now: Fitted, begin: Fitted, config: IdentificationConfig) -> Fitted | None:
    """The fit without one of the forces that have entered, if its evidence is larger.

    Parameters
    ----------
    now, begin : with all of them, the last one is new, and with none
    """
    found = []
    for name in [name for name in list(now.entered)[:-1] if name != OFFSET.title]:  # they stay beside any other
        rest = {other: extend for other, extend in now.entered.items() if other != name}
        model = begin.fit.model
        for extend in rest.values():
            model = extend(model)
        known = dict(zip(now.fit.shape.names, now.fit.shape.values.tolist(), strict=True))
        model = _completed(model)
        shapes = [zip(term.shape_names, term.shape.tolist(), strict=True) for term in model.terms]
        terms = [
            term.with_shape(np.array([known.get(one, value) for one, value in shape]))
            for term, shape in zip(model.terms, shapes, strict=True)
        ]
        try:
            found.append(_fit(now.data, model.with_terms(terms), now.fit, config, rest))
        except NotConvergedError:
            continue
    best = max(found, key=lambda one: one.evidence, default=None)
    return best if best and best.evidence > now.evidence else None


# Pre-sliding shows in the rows near reversals alone. Forces that were fitted to rows far from them predict those
# nearer; the distance that predicts best begins the fit to the rows near and far.
def _with_presliding(now: Fitted, config: IdentificationConfig) -> Fitted | None:
    """The fit with contacts of the drives that slide after a distance, if the evidence is larger with it."""
    fit, data = now.fit, now.data
    if not fit.model.has_drive_friction or presliding_of(fit.model.terms) is not None:
        return None
    near = data.with_reach(min(NEAREST_OF_PRESLIDING, data.bands.reversal_reach))
    model = _nearest_presliding(near, fit)
    if model is None:
        return None
    try:
        fits = [_fit(near, model, fit, config, {})]
        with suppress(NotConvergedError):  # whether drives share the stiffness shows in these rows, too
            alone = [one.pooling(False) if isinstance(one, Presliding) else one for one in model.terms]
            fits.append(_fit(near, model.with_terms(alone), fit, config, {}))
        found = max(fits, key=lambda one: one.evidence).fit
        term = presliding_of(found.model.terms)
        assert term is not None
        entered = {**now.entered, Presliding.title: lambda one: one.with_terms((*one.terms, term))}
        other = _fit(data, found.model, found, config, entered)
    except NotConvergedError:
        return None
    return other if other.evidence > now.evidence else None


def _nearest_presliding(near: PreparedData, fit: ModelFit) -> ObservationModel | None:
    """The model with the distance that predicts the rows near and far best; ``None``: friction turns at once.

    Models differ in the deflections of contacts only: neither forces without friction nor loads are computed again.
    """
    samples = with_forces(fit.model, near, fit.parameters)
    samples = at_levels(fit.model, near, samples, fit.parameters)
    assert samples.levels is not None
    still = np.add(*forces_without_friction(fit.model, near, samples, fit.parameters))
    travel, levels = np.ptp(near.samples.positions, axis=0), samples.levels.mean(axis=0)

    begins = [Presliding.of(fit.model.machine, part * travel, levels) for part in DISTANCES]
    models = [fit.model, *(fit.model.with_terms((*fit.model.terms, begin)) for begin in begins)]

    def error(model: ObservationModel) -> float:
        efforts = efforts_by(model, near, deflected(model, near, samples), fit.parameters, still)
        residuals = near.row_filter(near.slides * (near.efforts() - efforts)) / fit.estimate.force_std
        return float(np.mean(residuals[near.row_weights > 0.0] ** 2))

    best = int(np.argmin([error(model) for model in models]))
    return models[best] if best > 1 else None


def _with_fitting_rows(
    now: Fitted, missing: list[MissingForce], config: IdentificationConfig, waves: Sequence[Candidate]
) -> tuple[Fitted, list[MissingForce]]:
    """Fit with the rows near reversals that the model predicts, unless they alone ask for another model."""
    reach = reach_by_residuals(now.data, now.fit)
    if reach == now.data.bands.reversal_reach:
        return now, missing
    try:
        other = _fit(now.data.with_reach(reach), now.fit.model, now.fit, config, now.entered)
    except NotConvergedError:
        return now, missing
    still_missing = missing_forces(other.data, other.fit, waves)
    decisive = [force for force in still_missing if force.is_decisive]
    # what is wrong at reversals alone is left out with these rows; what shows far from them, too, is not
    elsewhere = {force.name for force in missing if force.probability < SUSPICIOUS and force.shift > HARM}
    if any(force.is_decisive for force in missing) or not decisive or any(one.name in elsewhere for one in decisive):
        return other, still_missing
    return now, missing


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
    reach, noise = data.bands.reversal_reach, fit.noise.std
    errors, columns, covariance = fit.errors / noise, fit.rows / noise[:, None], fit.estimate.covariance
    freedom = max(int(np.count_nonzero(data.row_weights)) - fit.fitted_columns.shape[-1], 1)

    def is_predicted(rows: NDArray[np.bool_]) -> bool:
        """Test of rows (n, A), also of their mean by the direction in which the drive turned."""
        if not rows.any():
            return True
        own, signs = columns[rows], data.reversals.direction[rows]
        variance = 1.0 + np.einsum('rb,bc,rc->r', own, covariance, own)
        larger = float(fdtrc(len(own), freedom, np.mean(errors[rows] ** 2 / variance)))
        mean_column = signs @ own
        spread = float(np.sqrt(signs @ signs + mean_column @ covariance @ mean_column))
        return larger > LARGER and abs(float(signs @ errors[rows])) <= SIGMAS * spread

    distance, moving = data.reversals.distance * data.bands.force_cutoff, data.moving_rows > 0.0
    for inner in np.arange(reach - STEP, NEAREST - 0.5 * STEP, -STEP):
        near = moving & (distance < reach) & (distance > inner)
        if not (is_predicted(near) and is_predicted(near & (distance <= inner + STEP))):
            return float(inner + STEP)
    return min(NEAREST, reach)
