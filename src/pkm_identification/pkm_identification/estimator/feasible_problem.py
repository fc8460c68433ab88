"""Physical parameters that explain base parameters, as a convex problem whose every candidate is a real machine.

Unknown are the pseudo-inertias of the bodies, each in the axes in which the nominal one is the identity
(``J = L Y L'``, ``J_nominal = L L'``), and the friction coefficients. The cost is::

    |C^-1/2 (K x - b)|^2 + weight * sum over bodies of 2 / s^2 d(Y),    d(Y) = tr Y - log det Y - 4

with base values b and their covariance C. d is the log-det (Bregman) divergence from the nominal body, which agrees
with the affine-invariant metric to second order (Lee, Wensing, Park 2020). So ``weight = 1`` is the most probable
machine if the bodies' trust s is taken at its word (s: relative standard deviation of a mass); d grows beyond all
bounds at the edge of what can exist. Bounds and boxes of centres of mass are linear in the unknowns. Whitening by L is
what lets conic solvers converge for bodies of 1 g and of 3 t in one problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, Indices, matching_names
from pkm_description.errors import ConfigurationError
from scipy.linalg import cholesky, solve_triangular

from pkm_identification.estimator.bodies import (
    BASIS,
    is_inertial,
    parameters_by_whitened,
    places_of_bodies,
    pseudo_inertia,
)
from pkm_identification.estimator.residual_covariance import definite

#: coordinates of a nominal body
IDENTITY = np.eye(4)[np.triu_indices(4)]

#: thickness of a body that is drawn flat or slender, over its largest radius of gyration: a real one has some
THICKNESS = 1e-3

#: eigenvalue of a whitened pseudo-inertia that counts as zero
EDGE = 1e-12
#: the same in units of the largest eigenvalue: below, a matrix cannot be inverted
ROUNDING = 1e-14

#: last parts of names whose values no real joint has below zero, by their beginnings
NOT_NEGATIVE = (
    'viscous', 'coulomb', 'static', 'saturation', 'rotor_inertia', 'quadratic', 'load_friction', 'transverse_friction',
    'thrust_friction',
)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What a user knows of the machine for certain.

    Attributes
    ----------
    bounds : shell pattern of parameter names -> (lowest, highest); infinite ends are none. Friction is never negative
    center_boxes : body -> (lowest (3,), highest (3,)) m, of its centre of mass in its frame
    """

    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    center_boxes: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class FeasibleProblem:
    """The convex problem in whitened unknowns z: ten per free body, then the free friction coefficients.

    Attributes
    ----------
    names, nominal : (P,) all physical parameters
    bodies : free bodies, in the order of their coordinates
    pulls : (bodies,) factors ``2 / s^2`` of the divergence
    map, offset : (P, Z), (P,): ``parameters = map z + offset``
    matrix, target : (B, Z), (B,): the fit ``|matrix z - target|^2``, in standard deviations of the base parameters
    to_sigmas : (B, B) of ``matrix z - target``: changes of single base parameters, in their standard deviations
    limits, limit_values, limit_names : (M, Z), (M,), M: ``limits z <= limit_values``
    held, held_values : (E, Z), (E,): ``held z = held_values``, parameters held while others of their body are free
    start : (Z,) the nominal machine
    unseen : parameters without prior that no base parameter contains; they stay nominal
    """

    names: tuple[str, ...]
    nominal: Array
    bodies: tuple[str, ...]
    pulls: Array
    map: Array
    offset: Array
    matrix: Array
    target: Array
    to_sigmas: Array
    limits: Array
    limit_values: Array
    limit_names: tuple[str, ...]
    held: Array
    held_values: Array
    start: Array
    unseen: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of coordinates of bodies; scalars follow."""
        return 10 * len(self.bodies)

    def matrices(self, unknowns: Array) -> Array:
        """Whitened pseudo-inertias (bodies, 4, 4)."""
        return np.einsum('bk,kij->bij', unknowns[: self.size].reshape(-1, 10), BASIS)

    def parameters(self, unknowns: Array) -> Array:
        """Physical parameters (P,)."""
        return self.map @ unknowns + self.offset

    def misfit(self, unknowns: Array) -> float:
        """Squared distance from the base values, in their standard deviations (chi-square)."""
        return float(np.sum((self.matrix @ unknowns - self.target) ** 2))

    def shifts(self, unknowns: Array) -> Array:
        """Change (B,) of each base value, in its standard deviation."""
        return self.to_sigmas @ (self.matrix @ unknowns - self.target)

    def cost(self, unknowns: Array, weight: float) -> float:
        """Minimised figure."""
        return self.misfit(unknowns) + weight * self.divergence(unknowns)

    def divergence(self, unknowns: Array) -> float:
        """Weighted divergence from the nominal bodies; infinite outside of what can exist."""
        if not self.bodies:
            return 0.0
        values = np.linalg.eigvalsh(self.matrices(unknowns))
        if np.any(values[:, 0] <= np.maximum(EDGE, ROUNDING * values[:, -1])):
            return np.inf
        return float(self.pulls @ (values - np.log(values) - 1.0).sum(axis=1))

    def is_far(self, unknowns: Array, weight: float) -> bool:
        """Whether the misfit is so large that smaller weights of the pull can take but a hundredth of it away."""
        return self.misfit(unknowns) > 100.0 * weight * 4.0 * float(self.pulls.sum()) + 1.0

    def curvature(self, inverses: Array) -> Array:
        """Half the Hessian (Z, Z) of the weighted divergence, by inverses (bodies, 4, 4) of the pseudo-inertias."""
        result = np.zeros((len(self.start), len(self.start)))
        product = np.einsum('bij,kjm->bkim', inverses, BASIS)
        blocks = 0.5 * self.pulls[:, None, None] * np.einsum('bkim,blmi->bkl', product, product)
        for place, block in enumerate(blocks):
            at = slice(10 * place, 10 * place + 10)
            result[at, at] = block
        return result


def feasible_problem(
    base: BaseParameters,
    values: Array,
    covariance: Array,
    names: Sequence[str],
    nominal: Array,
    limits: Limits | None = None,
    platform_uncertainty: float = 0.3,
    leg_uncertainty: float = 0.05,
) -> FeasibleProblem:
    """Set up the problem.

    Parameters
    ----------
    base : combinations K of the free parameters
    values, covariance : (B,), (B, B) identified base parameters
    names, nominal : (P,) all parameters, free and held; those that ``base`` does not know are held
    limits : bounds
    platform_uncertainty, leg_uncertainty : of the platform, and of all other bodies

    Raises
    ------
    ConfigurationError
        A bound of something that does not exist, or a nominal body that cannot exist.
    """
    names, nominal = tuple(names), np.asarray(nominal, dtype=float)
    limits = limits or Limits()
    place = {name: index for index, name in enumerate(names)}
    free = np.zeros(len(names), dtype=bool)
    free[[place[name] for name in base.full_names]] = True
    combination = np.zeros((len(base), len(names)))
    combination[:, [place[name] for name in base.full_names]] = base.combination
    everything = places_of_bodies(names)
    unknown = [body for body in limits.center_boxes if body not in everything]
    if unknown:
        raise ConfigurationError(f'no body {", ".join(unknown)}; there are {", ".join(everything)}')
    # a body of no mass is a joint's intermediate frame: it stays what it is
    bodies = {body: at for body, at in everything.items() if free[at].any() and nominal[at].any()}
    for at in everything.values():
        if not nominal[at].any():
            free[at] = False
    unseen = [
        index for index, name in enumerate(names)
        if free[index] and not is_inertial(name) and not combination[:, index].any()
    ]  # fmt: skip
    scalars = np.array(
        [index for index, name in enumerate(names) if free[index] and not is_inertial(name) and index not in unseen],
        dtype=np.intp,
    )
    count = 10 * len(bodies)
    matrix = np.zeros((len(names), count + len(scalars)))
    for number, (body, at) in enumerate(bodies.items()):
        root = _root(body, nominal[at])
        matrix[at, 10 * number : 10 * number + 10] = parameters_by_whitened(root)
    sizes = _sizes(combination[:, scalars], values, nominal[scalars])
    matrix[scalars, count + np.arange(len(scalars))] = sizes
    offset = nominal.copy()
    offset[np.concatenate([*bodies.values(), scalars]).astype(int)] = 0.0
    std = np.sqrt(np.diag(covariance))
    half = cholesky(definite(covariance / np.outer(std, std)), lower=True)  # in standard deviations
    misfit = solve_triangular(half, combination @ matrix / std[:, None], lower=True)
    target = solve_triangular(half, (values - combination @ offset) / std, lower=True)
    start = np.concatenate([np.tile(IDENTITY, len(bodies)), np.maximum(nominal[scalars] / sizes, 0.0)])
    partly = np.array([index for at in bodies.values() for index in at if not free[index]], dtype=np.intp)
    rows, ends, texts = _limits(limits, names, nominal, free, scalars, matrix, offset, bodies)
    return FeasibleProblem(
        names, nominal, tuple(bodies),
        np.array([
            2.0 / (platform_uncertainty if body == 'platform_link' else leg_uncertainty) ** 2 for body in bodies
        ]),
        matrix, offset, misfit, target, half, rows, ends, texts, matrix[partly],
        (nominal - offset)[partly], start,
        tuple(names[index] for index in unseen),
    )  # fmt: skip


def _root(body: str, parameters: Array) -> Array:
    """Upper triangular L with ``L L' = J`` of a nominal body; one that is drawn flat or slender gets some thickness."""
    pseudo = pseudo_inertia(parameters)
    mass = float(parameters[0])
    if mass > 0.0:
        center = pseudo[:3, 3] / mass
        second = pseudo[:3, :3] - mass * np.outer(center, center)
        sizes, axes = np.linalg.eigh(second)
        if sizes[0] >= -1e-6 * sizes[2] and sizes[2] > 0.0:
            sizes = np.maximum(sizes, THICKNESS**2 * sizes[2])
            pseudo[:3, :3] = axes * sizes @ axes.T + mass * np.outer(center, center)
            return np.asarray(np.linalg.cholesky(pseudo[::-1, ::-1])[::-1, ::-1], dtype=float)
    raise ConfigurationError(
        f'{body}: the nominal body cannot exist (mass {mass:.4g} kg, smallest eigenvalue of its pseudo-inertia '
        f'{np.linalg.eigvalsh(pseudo)[0]:.3g}); give it the mass and inertia of a real one in the machine file'
    )


def _sizes(combination: Array, values: Array, nominal: Array) -> Array:
    """Magnitudes of scalar unknowns, so that these are of order one: the nominal ones, or what base values allow."""
    found = np.abs(nominal)
    for column, factors in enumerate(combination.T):
        rows = np.flatnonzero(factors)
        if found[column] == 0.0:
            found[column] = np.min(np.abs(values[rows] / factors[rows]))
    return np.where(found > 0.0, found, 1.0)


def _limits(
    limits: Limits, names: tuple[str, ...], nominal: Array, free: NDArray[np.bool_], scalars: NDArray[np.intp],
    matrix: Array, offset: Array, bodies: Mapping[str, Indices],
) -> tuple[Array, Array, tuple[str, ...]]:  # fmt: skip
    """Rows, right-hand sides and names of all linear limits."""
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for index in scalars:
        if names[index].rpartition('.')[2].startswith(NOT_NEGATIVE):
            low[index] = 0.0
    for pattern, (lowest, highest) in limits.bounds.items():
        try:
            chosen = matching_names(names, [pattern], 'bounds') & free
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        if not lowest < highest:
            raise ConfigurationError(
                f'bounds: {pattern} = ({lowest}, {highest}): the first must be below the second; hold a parameter by '
                'the setting fixed'
            )
        low[chosen], high[chosen] = np.maximum(low[chosen], lowest), np.minimum(high[chosen], highest)
    found = []  # row, end, its sign, what it is
    for index in np.flatnonzero(free):
        for end, sign, word in ((low[index], -1.0, 'lower'), (high[index], 1.0, 'upper')):
            if np.isfinite(end):
                text = f'{names[index]} at its {word} bound {end:.6g}'
                found.append((matrix[index], end - offset[index], sign, text))
    for body, corners in limits.center_boxes.items():
        at = bodies.get(body, np.zeros(0, dtype=np.intp))
        for axis, letter in enumerate('xyz' if len(at) else ''):
            for corner, sign, word in zip(corners, (-1.0, 1.0), ('lower', 'upper'), strict=True):
                row = matrix[at[1 + axis]] - corner[axis] * matrix[at[0]]
                text = f'{body}: centre of mass {letter} at its {word} bound {corner[axis]:.6g} m'
                found.append((row, 0.0, sign, text))
    rows = np.array([sign * row for row, _, sign, _ in found]).reshape(len(found), matrix.shape[1])
    ends = np.array([sign * end for _, end, sign, _ in found])
    # rows of length one, so that all slacks count alike
    length = np.linalg.norm(rows, axis=1)
    return rows / length[:, None], ends / length, tuple(text for *_, text in found)
