"""Does the model lack a force? Tests of the residuals against forces that real drives have.

A fit can be good and its values wrong by many of their own standard deviations: a constant offset of an effort goes
into the masses, and little is left to see. So each force that the model does not have is offered to the residuals (a
score test, Rao 1948), as far as the fitted columns do not contain it already. If it explains more of them than chance
does, and the base parameters would change by as much as their standard deviations, then these are not to be called
identified: of values that are one deviation off beside their noise, an interval of 95 % has 83 %. A force that changes
them by less, or of which it is not sure whether it is there, makes their deviations larger by that change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.estimator.residual_covariance import RowNoise, autocorrelation
from pkm_identification.fitting.candidates import Candidate, candidates, own_legs
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.fitting.shape_search import CORRELATION_LAGS, WeighedFit
from pkm_identification.judgement.score import Evidence, Products, inflation, log_probability
from pkm_identification.preparation import PreparedData

#: probability below which chance does not explain it, and change of a base parameter, in its own standard deviations,
#: from which these are not true any more. Complete models, simulated in MuJoCo, stay above 1e-4; what real drives have,
#: at 1 to 2 % of the force, is below 1e-10
CHANCE, HARM = 1e-6, 1.0
#: probability below which legs are looked at one by one
SUSPICIOUS = 1e-3
#: probability below which deviations allow for a force: it is then as likely there as not, if one of ten that are
#: offered was before. The odds for it are 1 / (-e p ln p) at the most (Sellke, Bayarri & Berger 2001)
DOUBTFUL = 7.5e-3
#: part of the residuals' power from which predicted forces are better with it
VISIBLE = 0.05
#: part of the force below which residuals are what smoothing and differentiation get wrong
ACCURACY = 1e-4


@dataclass(frozen=True)
class MissingForce:
    """A force that the model does not have.

    Attributes
    ----------
    name : what it may be
    probability : that the residuals of a complete model would fit it this well, with a factor for each drive, or with
        factors that all drives share
    log_probability : its natural logarithm, for it may be too small a number
    share : part of the weighted residuals' power that it explains, with a factor for each drive
    shifts : (B,) changes of the base parameters with it, in their standard deviations, beyond what the noise of its
        factors makes of them; by weights that are the size of the noise alone
    candidate : what was offered
    changes : gives the same changes (B,) by the weights of the fit, in the units of the parameters
    evidence : what the logarithm of the likelihood gains with it, less one for each of its factors
    """

    name: str
    log_probability: float
    share: float
    shifts: Array
    candidate: Candidate
    changes: Callable[[], Array]
    evidence: float = 0.0

    @property
    def probability(self) -> float:
        """See the class."""
        return float(np.exp(self.log_probability))

    @property
    def shift(self) -> float:
        """Largest change of a base parameter with it, in standard deviations."""
        return float(np.abs(self.shifts).max(initial=0.0))

    @property
    def is_there(self) -> bool:
        """Whether chance does not explain it, and it matters: for the base parameters, or for the predicted forces."""
        return self.log_probability < np.log(CHANCE) and (self.shift > HARM or self.share > VISIBLE)

    @property
    def is_decisive(self) -> bool:
        """Whether it is there, and the base parameters are wrong without it."""
        return self.probability < CHANCE and self.shift > HARM

    @property
    def is_allowed_for(self) -> bool:
        """Whether it may be there, and deviations have what it would change: no alarm says that values are wrong."""
        return self.probability < DOUBTFUL and not self.is_decisive


def missing_forces(data: PreparedData, fit: ModelFit, waves: Sequence[Candidate]) -> list[MissingForce]:
    """Forces that the model may lack, the clearest first.

    Parameters
    ----------
    data : a prepared recording
    fit : of a model to it
    waves : ripples that are tried, see :func:`pkm_identification.fitting.candidates.ripples`
    """
    test = ScoreTest(data, fit)
    found = [result for candidate in candidates(data, fit) if (result := test(candidate))]
    if not any(term.kind == 'ripple' for term in fit.model.terms):
        rippled = [result for candidate in waves if (result := test(candidate))]
        if rippled:
            clearest = min(rippled, key=_order)
            tried = np.log(len(rippled))
            chance = min(0.0, clearest.log_probability + tried)
            found.append(replace(clearest, log_probability=chance, evidence=clearest.evidence - tried))
    # many columns: only where something is there
    if found and min(force.probability for force in found) < SUSPICIOUS:
        found += [result for legs in own_legs(fit) if (result := test(legs))]
    return sorted(found, key=_order)


def with_doubtful_forces(estimate: Estimate, missing: Sequence[MissingForce]) -> Estimate:
    """Estimate whose covariance has what forces that may be there would change, as if by chance.

    Where one is decisive, nothing is called identified, and deviations are those of the fit. Several of them may be one
    force under different names; each counts, for nothing tells which it is.

    Parameters
    ----------
    estimate : of the base parameters
    missing : forces that its model may lack
    """
    doubtful = [force for force in missing if force.is_allowed_for]
    if not doubtful or any(force.is_decisive for force in missing):
        return estimate
    changes = np.array([force.changes() for force in doubtful])
    return replace(estimate, covariance=estimate.covariance + changes.T @ changes)


def _order(found: MissingForce) -> tuple[float, float]:
    return -found.evidence, -found.shift


class ScoreTest:
    """Test of columns against the residuals of a weighted fit.

    What residuals vary by is what the columns leave of them (a Wald test): a force that is missing correlates them,
    however slow it is, and one drive alone may have it. Noise is white otherwise: of a force that is missing the
    correlation of the residuals takes a part for noise, most of a slow one. What deviations have of it is by the
    weights of the fit, as these are.

    Parameters
    ----------
    data : a prepared recording
    fit : of a model to it
    """

    def __init__(self, data: PreparedData, fit: ModelFit) -> None:
        self._data, self._std, self._of_fit = data, fit.estimate.std, fit
        self._fit = WeighedFit(fit.fitted_columns, fit.errors, data.row_weights, RowNoise(fit.noise.std))
        self._power = float(np.sum(self._fit.residuals**2))
        self._floor = self._least_deviations(fit)

    def _least_deviations(self, fit: ModelFit) -> Array:
        """Deviations (A,) that residuals have at least, in those of the fit."""
        # residuals smaller than the sensors' own noise (recordings that were computed) show no force
        cutoff, rate = self._data.bands.force_cutoff, self._data.recording.sample_rate
        noise = self._data.model.machine.leg_sensors.effort_noise * np.sqrt(min(1.0, 2.0 * cutoff / rate))
        floor = np.maximum(ACCURACY * np.sqrt(np.mean(fit.row_forces**2)), noise)
        return np.asarray(floor / fit.noise.std)

    def _deviations_of(self, residuals: Array) -> Array:
        """Deviations (A,) that sums of weighed residuals (n, A) vary with, in those of the fit."""
        # a sum of correlated residuals varies more (Bartlett)
        correlated = inflation(autocorrelation(residuals, self._fit.used, CORRELATION_LAGS))
        whole, part = (np.square(one).sum(axis=0) for one in (self._fit.residuals, residuals))
        size = np.sqrt(np.divide(part, whole, out=np.ones(len(part)), where=whole > 0.0))
        return np.asarray(correlated * np.maximum(size, self._floor))

    def __call__(self, candidate: Candidate) -> MissingForce | None:
        """Test of a candidate, each column with a factor of its own; None if the model has them already.

        What drives that are built alike have in common is seen sooner with fewer factors. That is a second test, so its
        probability counts twice.
        """
        rows = candidate.rows(self._data)
        products = self._fit.products(rows)
        deviations = self._judged_by(rows, products)
        found, both = self._tested(candidate, products, deviations), candidate.alike
        if found is None or both is None or rows.shape[-1] != len(both):
            return found
        shared = self._tested(candidate, products.combined(both), deviations)
        if shared is None or shared.log_probability + np.log(2.0) >= found.log_probability:
            return found
        probability, changes = shared.log_probability + np.log(2.0), partial(self._changes, candidate, both)
        return replace(found, log_probability=probability, shifts=shared.shifts, changes=changes)

    def _changes(self, candidate: Candidate, sums: Array | None = None) -> Array:
        """Changes (B,) of the base parameters with a candidate's columns, or with sums (C, G) of them."""
        rows, weighed = candidate.rows(self._data), self._of_fit.weighed(self._data.row_weights)
        products = weighed.products(rows if sums is None else rows @ sums)
        found = Evidence.of(products).explained()
        return np.zeros(len(self._std)) if found is None else weighed.changes(products, found)[: len(self._std)]

    def _judged_by(self, rows: Array, products: Products) -> Array:
        """Deviations (A,) that residuals are judged by: of the noise that forces of columns (n, A, C) leave."""
        explained, left = Evidence.of(products).explained(), self._fit.residuals
        if explained is not None:
            left = left - self._fit.beyond(rows @ explained.factors)
        return self._deviations_of(left)

    def _tested(self, candidate: Candidate, products: Products, deviations: Array) -> MissingForce | None:
        """Test of columns by their products; None if the model has them already."""
        found = Evidence.of(products, deviations).explained()
        if found is None:
            return None
        size = f' ({candidate.size(found.factors)})' if candidate.size else ''
        share = found.power / max(self._power, 1e-300)
        return MissingForce(
            candidate.title + size,
            log_probability(found, self._fit.freedom, with_it=True),
            share,
            self._fit.changes(products, found)[: len(self._std)] / self._std,
            candidate,
            partial(self._changes, candidate),
            -0.5 * self._fit.freedom * float(np.log(max(1.0 - share, 1e-12))) - len(found.along),
        )
