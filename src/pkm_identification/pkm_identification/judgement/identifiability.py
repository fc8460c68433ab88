"""Identifiability: which base parameters a recording determines."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.estimate import Estimate
from pkm_identification.judgement.significance import IDENTIFIED, WEAK

#: relative singular value up to which columns differ only by what smoothing and differentiation get wrong
EXCITATION_TOLERANCE = 1e-4


def excited_parameters(
    observation: Array, base: BaseParameters, tolerance: float = EXCITATION_TOLERANCE
) -> tuple[BaseParameters, tuple[str, ...]]:
    """Base parameters that a record determines, and the names of those that it leaves open.

    Where the motion gives a base parameter no force of its own, it is regrouped into the others, as the structure's
    dependent parameters are (Gautier 1991): what remains is the largest set of combinations that these data tell apart.

    Parameters
    ----------
    observation : (N, A, B) weighted observation matrix of the base parameters
    base : the structure's B base parameters
    tolerance : singular value, relative to the largest, of the column-scaled matrix up to which a combination counts as
        not excited

    Returns
    -------
    excited : ``base`` itself if the record determines all of it
    not_excited : names of the base parameters without a force of their own

    Raises
    ------
    NotExcitedError
        If the record determines nothing, or has fewer equations than parameters.
    """
    flat = observation.reshape(-1, len(base))
    if not flat.any():
        raise NotExcitedError(
            base.names, 'the motion produces no force that depends on these parameters; move all six coordinates'
        )
    equations = int(np.count_nonzero(flat.any(axis=1)))
    if equations < len(base):
        raise NotExcitedError(
            base.names, f'{equations} equations are too few for {len(base)} parameters; record longer'
        )
    found = reduce_parameters(flat, base.names, tolerance, absence=1e-12)
    if len(found) == len(base):
        return base, ()
    combination = found.combination @ base.combination
    # terms that cancel leave rounding behind
    size = np.abs(found.combination) @ np.abs(base.combination)
    combination[np.abs(combination) < 1e-9 * size] = 0.0
    independent = base.independent[found.independent]
    seen = np.flatnonzero(combination.any(axis=0))
    excited = BaseParameters(
        base.full_names,
        independent,
        np.setdiff1d(seen, independent),
        np.setdiff1d(np.arange(len(base.full_names)), seen),
        combination,
        found.singular_values,
    )
    open_ones = np.sort(np.concatenate([found.dependent, found.absent]))
    return excited, tuple(base.names[index] for index in open_ones)


def classify(estimate: Estimate, max_relative_std: float) -> tuple[str, ...]:
    """Status of every base parameter by the published rule alone: standard deviation over value (Mata et al., 6.2)."""
    limit = max_relative_std * np.abs(estimate.parameters)
    return tuple(IDENTIFIED if good else WEAK for good in estimate.std <= limit)
