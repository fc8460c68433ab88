"""Does the model lack a force? Tests of the residuals against forces that real drives have.

A fit can be good and its values wrong by many of their own standard deviations: a constant offset of an effort goes
into the masses, and little is left to see. So each force that the model does not have is offered to the residuals (a
score test, Rao 1948), as far as the fitted columns do not contain it already. If it explains more of them than chance
does, and the base parameters would change by more than their standard deviations allow, then these are no longer
called identified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular
from scipy.stats import chi2

from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.prepared_data import PreparedData

#: probability below which chance does not explain it, and change of a base parameter, in its own standard deviations,
#: from which it matters. Complete models, simulated in MuJoCo, stay above 1e-4; what real drives have, at 1 to 2 % of
#: the force, is below 1e-10
CHANCE, HARM = 1e-6, 3.0
#: part of a column's square beyond the fitted columns up to which it counts as one of them
OWN = 1e-3
#: part of the force below which residuals are what smoothing and differentiation get wrong
ACCURACY = 1e-3
#: periods of a ripple, as numbers of waves over the travel of a drive
WAVES = np.geomspace(1.0, 60.0, 60)
#: speeds at which Stribeck friction fades, as parts of the largest one
STRIBECK = (0.03, 0.1)


@dataclass(frozen=True)
class MissingForce:
    """A force that the model does not have.

    Attributes
    ----------
    name : what it may be
    probability : that the residuals of a complete model would fit it this well
    shift : largest change of a base parameter with it, in standard deviations
    """

    name: str
    probability: float
    shift: float

    @property
    def is_decisive(self) -> bool:
        """Whether it is there, and the base parameters are wrong without it."""
        return self.probability < CHANCE and self.shift > HARM


def missing_forces(data: PreparedData, rows: Array, estimate: Estimate, predicted: Array) -> list[MissingForce]:
    """Forces that the model may lack, the clearest first.

    Parameters
    ----------
    data : rows of a recording, and the motion of its drives
    rows : (n, A, B) observation matrix of the base parameters
    estimate : their weighted least squares
    predicted : (N, A) N or N m, efforts of the model at the samples ``data.time``
    """
    test = _ScoreTest(data, rows, estimate)
    found = [result for name, columns in _candidates(data, predicted) if (result := test(name, columns))]
    ripples = [result for name, columns in _ripples(data) if (result := test(name, columns))]
    if ripples:
        clearest = min(ripples, key=_order)
        found.append(replace(clearest, probability=min(1.0, len(ripples) * clearest.probability)))
    return sorted(found, key=_order)


def _order(found: MissingForce) -> tuple[float, float]:
    return found.probability, -found.shift


def _candidates(data: PreparedData, predicted: Array) -> Iterator[tuple[str, list[Array]]]:
    """Names, and columns (n, A) of one drive each.

    Efforts are the model's: the noise of measured ones is in the residuals, too, so that they would explain them.
    """
    drives, rate = data.drives, data.row_filter.sample_rate
    ends = (len(drives.positions) - len(predicted)) // 2
    efforts = np.pad(predicted, ((ends, ends), (0, 0)), mode='edge')
    speed, sign = np.abs(drives.velocities), np.sign(drives.velocities)
    fastest = np.maximum(speed.max(axis=0), 1e-300)
    forms = {
        'a constant offset of the effort, or Coulomb friction that differs by direction': [np.ones_like(speed)],
        'Coulomb friction': [sign],
        'viscous friction': [drives.velocities],
        "friction that grows with the drive's force": [np.abs(efforts) * sign],
        'Stribeck friction': [sign * np.exp(-speed / (part * fastest)) for part in STRIBECK],
        'friction that grows with the square of the speed': [drives.velocities * speed],
        'a spring, or an effort that depends on the position': [drives.positions],
        'inertia of the drives': [drives.accelerations],
        'a wrong gain of the effort, or legs that differ': [efforts],
        'efforts that come late or early': [np.gradient(efforts, 1.0 / rate, axis=0)],
    }
    for name, columns in forms.items():
        yield name, [data.row_filter(column) for column in columns]


def _ripples(data: PreparedData) -> Iterator[tuple[str, list[Array]]]:
    positions = data.drives.positions
    travel = np.ptp(positions, axis=0)
    for waves in WAVES:
        phase = 2.0 * np.pi * waves * positions / np.maximum(travel, 1e-300)
        period = travel.mean() / waves
        name = f'a ripple over the position of the drives, with a period of about {period:.3g} m or rad'
        yield name, [data.row_filter(np.sin(phase)), data.row_filter(np.cos(phase))]


class _ScoreTest:
    """Test of columns against the residuals of a weighted fit."""

    def __init__(self, data: PreparedData, rows: Array, estimate: Estimate) -> None:
        floor = ACCURACY * np.sqrt(np.mean(data.row_forces**2))
        self._weights = data.row_weights / np.maximum(estimate.force_std, floor)
        weighted = rows * self._weights[..., None]
        count = weighted.shape[-1]
        self._scale = np.linalg.norm(weighted.reshape(-1, count), axis=0)
        basis, self._triangle = np.linalg.qr((weighted / self._scale).reshape(-1, count))
        self._basis = basis.reshape(weighted.shape)
        self._residuals, self._std = estimate.residuals * self._weights, estimate.std
        # how much more a sum of correlated residuals varies (Bartlett)
        lags = np.arange(1, len(estimate.autocorrelation))
        taper = 1.0 - lags / len(estimate.autocorrelation)
        correlated = np.nan_to_num(estimate.autocorrelation[1:])
        self._inflation = np.maximum(1.0, 1.0 + 2.0 * taper @ correlated)

    def __call__(self, name: str, columns: list[Array]) -> MissingForce | None:
        """Test of the columns (n, A), each drive with a factor of its own; None if the model has them already."""
        offered = np.stack(columns, axis=-1) * self._weights[..., None]
        size = np.linalg.norm(offered, axis=0)
        place, kind = np.nonzero(size > 1e-12 * max(size.max(), 1e-300))
        if not len(place):
            return None
        offered = offered[:, place, kind] / size[place, kind]
        inside = np.stack([self._basis[:, drive].T @ offered[:, i] for i, drive in enumerate(place)], axis=-1)
        gram = np.where(place[:, None] == place, offered.T @ offered, 0.0) - inside.T @ inside
        sizes, directions = np.linalg.eigh(gram)
        new = sizes > OWN
        if not new.any():
            return None
        vary = np.sqrt(self._inflation[place])
        along = directions[:, new].T @ np.einsum('ni,ni->i', offered, self._residuals[:, place] / vary)
        share = vary * (directions[:, new] @ (along / sizes[new]))
        shift = solve_triangular(self._triangle, inside @ share) / self._scale / self._std
        return MissingForce(name, float(chi2.sf(np.sum(along**2 / sizes[new]), new.sum())), float(np.abs(shift).max()))
