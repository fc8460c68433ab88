"""Reduced models: base parameters left out, or shared by equal legs.

Mata et al. (2008), section 5, identify a ladder of such models of a 3-RPS and compare how well they predict forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, matching_names
from pkm_description.dynamics.parameters import ParameterMap


@dataclass(frozen=True)
class ReducedModel:
    """Which base parameters a model has; they are named by the parameters that head them.

    Attributes
    ----------
    name : of the model
    kept : names or patterns (``leg?_rod.m``) of base parameters that the model has
    left_out : names or patterns of base parameters among those that it has not: they count as zero
    shared : patterns; all base parameters that match one of them have one value, named by the pattern
    friction : law of the drives' friction that goes with it
    """

    name: str
    kept: tuple[str, ...] = ('*',)
    left_out: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    friction: str = 'viscous_coulomb'

    def map(self, base: BaseParameters) -> ParameterMap:
        """Map that makes all base parameters from those of the model.

        The model's regressor is ``map.columns(base.columns(regressor))``, its parameters are ``map.names``.

        Raises
        ------
        ValueError
            If a pattern matches no base parameter, or a base parameter belongs to two shared ones.
        """
        heads = tuple(base.full_names[index] for index in base.independent)
        present = matching_names(heads, self.kept, f'{self.name}, kept')
        present &= ~matching_names(heads, self.left_out, f'{self.name}, left out')
        owner = np.array(heads, dtype=object)
        owned = np.zeros(len(heads), dtype=bool)
        for pattern in self.shared:
            matching = matching_names(heads, (pattern,), f'{self.name}, shared')
            if np.any(matching & owned):
                twice = heads[int(np.argmax(matching & owned))]
                raise ValueError(f'{self.name}: {twice} belongs to two shared parameters, the second is {pattern}')
            owner[matching] = pattern
            owned |= matching
        names = tuple(dict.fromkeys(str(name) for name in owner[present]))
        matrix = np.array([present & (owner == name) for name in names], dtype=float).reshape(len(names), len(heads)).T
        return ParameterMap(heads, names, matrix)


#: parameters that Table 1 of Mata et al. (2008) regroups into others; a 3-RPS whose legs are ``cylinder`` and ``rod``
MATA_ELIMINATED = ('leg1_rod.m', 'platform_link.m', 'platform_link.my', 'leg?_rod.Iyy')

#: zero where legs and platform are symmetric
_SMALL = (
    'leg?_cylinder.mx', 'leg?_rod.mx', 'platform_link.mz', 'platform_link.Ix[yz]', 'platform_link.Iyz',
)  # fmt: skip

#: models 1 to 4 of Mata et al. (2008): all 25 base parameters; without those that symmetry makes zero (15); legs alike
#: (9); the three that matter most (3)
MATA_MODELS = (
    ReducedModel('model 1', friction='asymmetric_coulomb'),
    ReducedModel('model 2', left_out=_SMALL),
    ReducedModel('model 3', left_out=_SMALL, shared=('leg?_cylinder.my', 'leg?_cylinder.Izz', 'leg?_rod.mz')),
    ReducedModel('model 4', kept=('platform_link.mx', 'leg[23]_rod.m')),
)


# Backward elimination: remove parameters from a linear model until the data determine all that remain.
#
# Heimann & Abdellatif reduce the friction parameters of all joints to a minimal set; this is the usual rule for it:
# drop the parameter with the largest relative standard deviation, estimate again, until all are below a threshold.
@dataclass(frozen=True)
class Elimination:
    """What is left after a backward elimination.

    Attributes
    ----------
    kept : (K,) indices of the remaining parameters, ascending
    dropped : indices of the parameters left out, in the order in which they went
    values, standard_deviations : (K,) of the remaining ones; residuals are taken as independent and of equal size
    residual : root mean square of what the remaining parameters do not explain, in the unit of the measurements
    """

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    values: Array
    standard_deviations: Array
    residual: float

    @property
    def relative(self) -> Array:
        """Standard deviations over absolute values (K,)."""
        with np.errstate(divide='ignore'):
            return self.standard_deviations / np.abs(self.values)


def backward_elimination(
    observation: Array, measurement: Array, candidates: Sequence[int], threshold: float = 0.15
) -> Elimination:
    """Drop badly determined parameters, the worst first.

    Parameters
    ----------
    observation : (M, P) observation matrix of full column rank
    measurement : (M,)
    candidates : indices of the parameters that may be left out; the others always stay
    threshold : largest relative standard deviation of a candidate that may stay

    Raises
    ------
    ValueError
        If there are not more equations than parameters, or columns depend on each other.
    """
    kept = list(range(observation.shape[1]))
    dropped: list[int] = []
    droppable = set(candidates)
    while True:
        values, deviations, residual = _least_squares(observation[:, kept], measurement)
        result = Elimination(tuple(kept), tuple(dropped), values, deviations, residual)
        doubtful = [place for place, index in enumerate(kept) if index in droppable]
        if not doubtful:
            return result
        worst = max(doubtful, key=lambda place: result.relative[place])
        if result.relative[worst] <= threshold:
            return result
        dropped.append(kept.pop(worst))


def _least_squares(matrix: Array, measurement: Array) -> tuple[Array, Array, float]:
    """Values, standard deviations (P,) and root mean square residual."""
    rows, columns = matrix.shape
    if rows <= columns:
        raise ValueError(f'{rows} equations do not determine {columns} parameters and their standard deviations')
    if columns == 0:
        return np.zeros(0), np.zeros(0), float(np.sqrt(np.mean(measurement**2)))
    scale = np.linalg.norm(matrix, axis=0)
    if not np.all(scale > 0.0):
        raise ValueError(f'column {int(np.argmin(scale))} is zero: no measurement depends on this parameter')
    left, singular, right = np.linalg.svd(matrix / scale, full_matrices=False)
    if singular[-1] < 1e-10 * singular[0]:
        raise ValueError('columns of the observation matrix depend on each other: reduce them to base parameters first')
    values = (right.T @ ((left.T @ measurement) / singular)) / scale
    residuals = measurement - matrix @ values
    variance = float(residuals @ residuals) / (rows - columns)
    covariance = np.sum((right.T / singular) ** 2, axis=1)
    return values, np.sqrt(variance * covariance) / scale, float(np.sqrt(np.mean(residuals**2)))
