"""Nonlinear parameters of friction laws that drives of the same kind share, unless the recording contradicts it.

One drive alone hardly determines at which speed its Stribeck friction fades. Drives of the same kind are built alike,
so these parameters are fitted for all of them together, and Coulomb and viscous friction for each. Whether that is true
is tested on the residuals: velocities of each drive's own are offered to them (a score test, Rao 1948), and taken where
chance does not explain what they gain.
"""

from __future__ import annotations

from dataclasses import replace

from pkm_description.arrays import Array

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.term import Term
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.candidates import Candidate
from pkm_identification.fitting.lack_of_fit import ScoreTest
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.fitting.pooled_spread import Pooled, with_spread
from pkm_identification.fitting.prediction import slope_rows
from pkm_identification.prepared_data import PreparedData

#: probability that chance alone makes drives seem so different, below which each has its own law
CHANCE = 1e-3


def with_pooled_laws(model: ObservationModel) -> ObservationModel:
    """The model with nonlinear parameters of friction shared by joints of the same kind."""
    terms = [_pooled(term) for term in model.terms]
    return model if all(one is term for one, term in zip(terms, model.terms, strict=True)) else model.with_terms(terms)


def _pooled(term: Term) -> Term:
    """Friction with shared parameters; another term, and one on which the test has decided, as it is."""
    if not isinstance(term, Pooled) or term.pooled or term.note or not term.can_be_pooled:
        return term
    return term.pooling(True)


def tested_pooling(data: PreparedData, fit: ModelFit, config: IdentificationConfig) -> ModelFit:
    """The fit with a note that its drives share a law; or one in which each has its own, if the recording says so."""
    for term in fit.model.terms:
        if not (isinstance(term, Pooled) and term.pooled and term.can_be_pooled):
            continue
        single = term.pooling(False)
        chance = _probability(data, fit, single)
        names = ', '.join(dict.fromkeys(name.rpartition('.')[2] for name in single.shape_names))
        if chance is not None and chance < CHANCE:
            note = (
                f'drives of the same kind do not share their {names}: that chance makes them seem so different has '
                f'probability {chance:.1g} (chi-square test); each has its own'
            )
            model = _exchanged(fit.model, term, single.pooling(False, note))
            return tested_pooling(data, fit_model(data, model, config, fit), config)
        said = 'no test can tell' if chance is None else f'probability {chance:.2g} in a chi-square test'
        note = f'drives of the same kind share their {names}, which the recording does not contradict ({said})'
        fit = with_spread(data, fit, term, single)
        fit = replace(fit, model=_exchanged(fit.model, term, term.pooling(True, note)))
    return fit


def _probability(data: PreparedData, fit: ModelFit, single: Pooled) -> float | None:
    """Probability that laws of the drives' own gain as much by chance; ``None`` where their columns add nothing."""

    def rows(data: PreparedData) -> Array:
        return slope_rows(fit.model, data, single, fit.samples, fit.parameters)

    found = ScoreTest(data, fit)(Candidate('laws of their own', rows, None))
    return None if found is None else found.probability


def _exchanged(model: ObservationModel, old: Pooled, new: Pooled) -> ObservationModel:
    return model.with_terms([new if term is old else term for term in model.terms])
