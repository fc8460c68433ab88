"""Which base parameters a record determines, and how well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.errors import NotExcitedError
from pkm_identification.least_squares import Estimate

#: status of a base parameter
IDENTIFIED, WEAK = 'identified', 'weakly excited'


def require_excitation(observation: Array, names: Sequence[str], tolerance: float = 1e-7) -> None:
    """Refuse a record in which some base parameters produce no force, or only forces that others produce too.

    Parameters
    ----------
    observation : (N, L, B) weighted observation matrix of the base parameters
    names : B names
    tolerance : singular value, relative to the largest, of the column-scaled matrix

    Raises
    ------
    NotExcitedError
        Naming the parameters that take part in the undetermined combinations.
    """
    flat = observation.reshape(-1, observation.shape[-1])
    norms = np.linalg.norm(flat, axis=0)
    silent = [name for name, norm in zip(names, norms, strict=True) if norm <= 1e-12 * norms.max(initial=0.0)]
    if silent or not norms.any():
        raise NotExcitedError(
            silent or list(names),
            'the motion produces no force that depends on these parameters; move all six coordinates',
        )
    if len(flat) < len(names):
        raise NotExcitedError(
            list(names), f'{len(flat)} equations are too few for {len(names)} parameters; record longer'
        )
    _, singular, rows = np.linalg.svd(np.linalg.qr(flat / norms, mode='r'))
    null = singular < tolerance * singular[0]
    if null.any():
        share = np.linalg.norm(rows[null], axis=0)
        involved = [names[index] for index in np.argsort(-share) if share[index] > 0.1]
        raise NotExcitedError(
            involved,
            f'the motion leaves {int(null.sum())} of {len(names)} combinations of base parameters undetermined '
            '(too slow, too small, or not in all six coordinates); these parameters take part',
        )


def classify(estimate: Estimate, max_relative_deviation: float) -> tuple[str, ...]:
    """Status of every base parameter by its relative standard deviation (Mata et al. 2008, section 6.2)."""
    sigma, value = estimate.standard_deviations, np.abs(estimate.parameters)
    return tuple(IDENTIFIED if good else WEAK for good in sigma <= max_relative_deviation * value)
