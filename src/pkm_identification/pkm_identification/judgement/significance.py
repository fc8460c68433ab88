"""Significance of base parameters: which a recording determines, and how well.

The published rule (Mata et al. 2008, section 6.2) compares the standard deviation with the value, 15 %. A value that is
zero, such as the product of inertia of a symmetric platform, never passes it, however well it is known. So it is also
compared with what the bodies of the combination have at most: mass, mass times size, mass times size squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.bodies import FROM_PSEUDO, is_inertial, places_of_bodies
from pkm_identification.estimator.feasible_problem import NOT_NEGATIVE
from pkm_identification.estimator.least_squares import Estimate

#: singular value, relative to the largest of the column-scaled matrix, up to which columns differ by what smoothing
#: and differentiation get wrong alone
EXCITATION_TOLERANCE = 1e-4
#: status of a base parameter; one that is not excited stays nominal
IDENTIFIED, WEAK, NOT_EXCITED = 'identified', 'weakly excited', 'not excited'
#: known to be small: its standard deviation is a small part of the bodies' scale, though not of the value
SMALL = 'identified as small'
#: no machine has such a value, whatever its bodies
IMPOSSIBLE = 'impossible'
#: status where the model lacks a force: its standard deviation says nothing about its error
NOT_TRUSTED = 'model insufficient'
#: what counts as known
KNOWN = (IDENTIFIED, SMALL)

#: standard deviations by which a value may have the wrong sign
NOISE = 3.0


@dataclass(frozen=True)
class Significance:
    """How well base parameters are known.

    Attributes
    ----------
    status : (B,) see the words of this module
    relative : (B,) standard deviation over the size of the value, infinite for zero
    scale : (B,) what the value could be by the size of the bodies, or by the forces of the drives
    scaled : (B,) standard deviation over the scale
    sign : (B,) 1 where only values >= 0 are possible, -1 where only values <= 0 are, 0 where both are
    possible : (B,) feasibility of each value by itself: ``possible``, ``possible within the noise`` or ``impossible``
    """

    status: tuple[str, ...]
    relative: Array
    scale: Array
    scaled: Array
    sign: Array
    possible: tuple[str, ...]


def significance(
    base: BaseParameters, estimate: Estimate, scale: Array, max_relative_std: float, max_scaled_std: float
) -> Significance:
    """Classify base parameters by both rules and by feasibility.

    Parameters
    ----------
    base, estimate : combinations, values and covariance
    scale : (B,) see :func:`body_scale`
    max_relative_std : of ``identified``: standard deviation over the value
    max_scaled_std : of ``identified as small``: standard deviation over the scale
    """
    value, std, sign = np.abs(estimate.parameters), estimate.std, possible_signs(base)
    relative, scaled = (
        np.divide(std, size, out=np.full(len(std), np.inf), where=size > 0.0) for size in (value, scale)
    )
    wrong = sign * estimate.parameters < 0.0
    impossible = wrong & (value > NOISE * std)
    possible = np.where(impossible, IMPOSSIBLE, np.where(wrong, 'possible within the noise', 'possible'))
    status = np.where(relative <= max_relative_std, IDENTIFIED, np.where(scaled <= max_scaled_std, SMALL, WEAK))
    status = np.where(impossible, IMPOSSIBLE, status)
    return Significance(tuple(status.tolist()), relative, scale, scaled, sign, tuple(possible.tolist()))


def body_scale(base: BaseParameters, nominal: Array, rows: Array, forces: Array, row_weights: Array) -> Array:
    """Scale (B,) of base parameters.

    Of combinations with bodies: the sum of their sizes, each the mass times a power of the body's size, which is the
    root mean square distance of its mass from its frame. Of friction and other forces: the value with which the
    parameter alone would give the root mean square force of the drives that it acts on.

    Parameters
    ----------
    base : combinations of P free parameters
    nominal : (P,) their nominal values
    rows, forces, row_weights : (n, A, B), (n, A), (n, A) what was fitted
    """
    size = np.zeros(len(nominal))
    for places in places_of_bodies(base.full_names).values():
        mass, inertia = nominal[places[0]], nominal[places[[4, 7, 9]]].sum()
        length = np.sqrt(max(0.5 * inertia / mass, 0.0)) if mass > 0.0 else 0.0
        size[places] = mass * length ** np.repeat([0.0, 1.0, 2.0], [1, 3, 6])
    scale = np.abs(base.combination) @ size
    used = (row_weights > 0.0)[..., None] & (rows != 0.0)
    column = np.sqrt((rows**2 * used).sum(axis=(0, 1)))
    force = np.sqrt((forces[..., None] ** 2 * used).sum(axis=(0, 1)))
    by_force = np.divide(force, column, out=np.zeros_like(column), where=column > 0.0)
    return np.asarray(np.where(scale > 0.0, scale, by_force))


def possible_signs(base: BaseParameters) -> Array:
    """Signs (B,) that base parameters of real machines have: 1, -1, or 0 for both.

    A combination of a body's parameters is the trace of a matrix times the body's pseudo-inertia, which is positive
    semidefinite. Where that matrix is, too, no body has a negative value. Friction parameters are not negative; offsets
    and other forces may have any sign.
    """
    names, bodies = base.full_names, places_of_bodies(base.full_names)
    inside = {int(place) for places in bodies.values() for place in places}
    others = [place for place in range(len(names)) if place not in inside]
    found = np.zeros(len(base))
    for row, combination in enumerate(base.combination):
        lowest, highest = 0.0, 0.0
        for places in bodies.values():
            if combination[places].any():
                values = np.linalg.eigvalsh(_trace_matrix(combination[places]))
                lowest, highest = min(lowest, values[0]), max(highest, values[-1])
        for place in others:
            factor = combination[place]
            if factor and not _has_sign(names[place]):
                lowest, highest = min(lowest, -abs(factor)), max(highest, abs(factor))
            else:
                lowest, highest = min(lowest, factor), max(highest, factor)
        rounding = 1e-9 * max(highest, -lowest)
        found[row] = float(lowest >= -rounding) - float(highest <= rounding)
    return found


def _has_sign(name: str) -> bool:
    kind = name.rpartition('.')[2]
    return kind == 'm' or (not is_inertial(name) and kind.startswith(NOT_NEGATIVE))


def _trace_matrix(factors: Array) -> Array:
    """Matrix C (4, 4) with ``factors @ parameters = trace(C J)``, J the pseudo-inertia of ten parameters."""
    matrix = (factors @ FROM_PSEUDO).reshape(4, 4)
    return np.asarray(0.5 * (matrix + matrix.T))


def excited_parameters(observation: Array, base: BaseParameters) -> tuple[BaseParameters, tuple[str, ...]]:
    """Base parameters that a record determines, and the names of those that it leaves open.

    Where the motion gives a base parameter no force of its own, it is regrouped into the others, as the structure's
    dependent parameters are (Gautier 1991): what remains is the largest set of combinations that these data tell apart.

    Parameters
    ----------
    observation : (N, A, B) weighted observation matrix of the base parameters
    base : the structure's B base parameters

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
    found = reduce_parameters(flat, base.names, EXCITATION_TOLERANCE, absence=1e-12)
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
