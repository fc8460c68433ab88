"""Does the model lack a force? Tests of the residuals against forces that real drives have.

A fit can be good and its values wrong by many of their own standard deviations: a constant offset of an effort goes
into the masses, and little is left to see. So each force that the model does not have is offered to the residuals (a
score test, Rao 1948), as far as the fitted columns do not contain it already. If it explains more of them than chance
does, and the base parameters would change by as much as their standard deviations, then these are not to be called
identified: of values that are one deviation off beside their noise, an interval of 95 % has 83 %. A force that changes
them by less, or of which it is not sure whether it is there, makes their deviations larger by that change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular
from scipy.stats import f as f_distribution

from pkm_identification.blocks import blocks
from pkm_identification.estimator.estimate import Estimate
from pkm_identification.fitting.candidates import Candidate, candidates, own_legs
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.prepared_data import PreparedData

#: probability below which chance does not explain it, and change of a base parameter, in its own standard deviations,
#: from which these are not true any more. Complete models, simulated in MuJoCo, stay above 1e-4; what real drives have,
#: at 1 to 2 % of the force, is below 1e-10
CHANCE, HARM = 1e-6, 1.0
#: probability below which a force may be there: legs are looked at one by one, deviations allow for it
SUSPICIOUS = 1e-3
#: part of the residuals' power from which predicted forces are better with it
VISIBLE = 0.05
#: part of a column's square beyond the fitted columns up to which it counts as one of them
OWN = 1e-3
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
    freedom : how many factors it has for that
    shifts : (B,) changes of the base parameters with it, in their standard deviations, beyond what the noise of its
        factors makes of them
    candidate : what was offered
    """

    name: str
    log_probability: float
    share: float
    freedom: int
    shifts: Array
    candidate: Candidate

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
        return self.probability < CHANCE and (self.shift > HARM or self.share > VISIBLE)

    @property
    def is_decisive(self) -> bool:
        """Whether it is there, and the base parameters are wrong without it."""
        return self.probability < CHANCE and self.shift > HARM

    @property
    def is_allowed_for(self) -> bool:
        """Whether it may be there, and deviations have what it would change: no alarm says that values are wrong."""
        return self.probability < SUSPICIOUS and not self.is_decisive


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
            found.append(replace(clearest, log_probability=min(0.0, clearest.log_probability + np.log(len(rippled)))))
    # many columns: only where something is there
    if found and min(force.probability for force in found) < SUSPICIOUS and (legs := own_legs(data, fit)):
        found += [result] if (result := test(legs)) else []
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
    shifts = [force.shifts for force in missing if force.is_allowed_for]
    if not shifts or any(force.is_decisive for force in missing):
        return estimate
    changes = np.array(shifts) * estimate.std
    return replace(estimate, covariance=estimate.covariance + changes.T @ changes)


def _order(found: MissingForce) -> tuple[float, float]:
    return found.log_probability, -found.shift


class ScoreTest:
    """Test of columns against the residuals of a weighted fit.

    Parameters
    ----------
    data : a prepared recording
    fit : of a model to it
    """

    def __init__(self, data: PreparedData, fit: ModelFit) -> None:
        estimate, self._data = fit.estimate, data
        # the weights of the fit: with others its residuals would not be orthogonal to its columns
        self._noise = fit.noise
        weighted = self._noise.weighed(fit.fitted_columns, data.row_weights)
        count = weighted.shape[-1]
        flat = weighted.reshape(-1, count)
        self._scale = np.linalg.norm(flat, axis=0)
        self._basis, self._triangle = np.linalg.qr(flat / self._scale)
        self._values, self._freedom = fit.rows.shape[-1], int(np.count_nonzero(data.row_weights)) - count
        # what rounding of the weights leaves of the columns
        errors = fit.row_forces - fit.rows @ estimate.parameters
        residuals = self._noise.weighed(errors, data.row_weights).ravel()
        residuals = residuals - self._basis @ (self._basis.T @ residuals)
        self._residuals, self._std = residuals.reshape(estimate.residuals.shape), estimate.std
        # how much more a sum of correlated residuals varies (Bartlett)
        lags = np.arange(1, len(estimate.autocorrelation))
        taper = 1.0 - lags / len(estimate.autocorrelation)
        correlated = np.nan_to_num(estimate.autocorrelation[1:])
        self._inflation = np.sqrt(np.maximum(1.0, 1.0 + 2.0 * taper @ correlated))
        # residuals smaller than the sensors' own noise (recordings that were computed) show no force
        cutoff, rate = data.bands.force_cutoff, data.recording.sample_rate
        noise = data.model.machine.leg_sensors.effort_noise * np.sqrt(min(1.0, 2.0 * cutoff / rate))
        floor = np.maximum(ACCURACY * np.sqrt(np.mean(fit.row_forces**2)), noise)
        self._inflation = self._inflation * np.maximum(1.0, floor / self._noise.std)

    def __call__(self, candidate: Candidate) -> MissingForce | None:
        """Test of a candidate, each column with a factor of its own; None if the model has them already.

        What drives that are built alike have in common is seen sooner with fewer factors. That is a second test, so its
        probability counts twice.
        """
        squares, inside, moments = self._products(candidate.rows(self._data))
        found = self._tested(candidate, squares, inside, moments)
        if found is None or candidate.alike is None or len(squares) != len(candidate.alike):
            return found
        both = candidate.alike
        shared = self._tested(candidate, both.T @ squares @ both, inside @ both, both.T @ moments)
        if shared is None or shared.log_probability + np.log(2.0) >= found.log_probability:
            return found
        return replace(found, log_probability=shared.log_probability + np.log(2.0), shifts=shared.shifts)

    def _tested(self, candidate: Candidate, squares: Array, inside: Array, moments: Array) -> MissingForce | None:
        """Test of columns by their products; None if the model has them already."""
        size = np.sqrt(np.diag(squares))
        seen = size > 1e-12 * max(size.max(initial=0.0), 1e-300)
        if not seen.any():
            return None
        inside, moments = inside[:, seen] / size[seen], moments[seen] / size[seen, None]
        beyond = squares[np.ix_(seen, seen)] / np.outer(size[seen], size[seen]) - inside.T @ inside
        sizes, directions = np.linalg.eigh(beyond)
        new = sizes > OWN
        if not new.any():
            return None
        along, judged = (directions[:, new].T / np.sqrt(sizes[new])[:, None] @ moments).T
        moved = solve_triangular(self._triangle, inside @ (directions[:, new] / np.sqrt(sizes[new])))
        moved = moved[: self._values] / self._scale[: self._values, None] / self._std[:, None]
        shifts = moved @ along
        # noise of the factors alone changes them by so much
        shifts = np.sign(shifts) * np.sqrt(np.maximum(shifts**2 - np.sum(moved**2, axis=1), 0.0))
        return MissingForce(
            candidate.title,
            self._log_probability(float(judged @ judged), int(new.sum())),
            float(along @ along / max(np.sum(self._residuals**2), 1e-300)),
            int(new.sum()),
            shifts,
            candidate,
        )

    def _log_probability(self, explained: float, factors: int) -> float:
        """Logarithm of the probability that chance explains as much: an F test, for rows may be few."""
        left = self._freedom - factors
        if left < 1:
            return 0.0
        rest = max(self._freedom - explained, 1e-3 * self._freedom) / left
        return float(f_distribution.logsf(explained / factors / rest, factors, left))

    def _products(self, rows: Array) -> tuple[Array, Array, Array]:
        """Products of rows (n, A, C) with themselves (C, C), with the basis (B, C), and with the residuals (C, 2).

        The residuals as they are, and as they are judged. In blocks: rows of own legs are large.
        """
        weighed = self._noise.weighed(rows, self._data.row_weights)
        count = rows.shape[-1]
        residuals = np.stack([self._residuals, self._residuals / self._inflation], axis=-1)
        basis = self._basis.reshape(*self._residuals.shape, -1)
        total = np.zeros((count + basis.shape[-1] + 2, count))
        for part in blocks(len(rows)):
            offered = weighed[part].reshape(-1, count)
            others = np.concatenate([basis[part], residuals[part]], axis=-1).reshape(len(offered), -1)
            total += np.concatenate([offered, others], axis=1).T @ offered
        squares, inside, moments = np.split(total, [count, count + basis.shape[-1]])
        return squares, inside, moments.T


