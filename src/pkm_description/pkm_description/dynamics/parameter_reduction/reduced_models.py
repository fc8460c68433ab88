"""Models with fewer parameters: base parameters left out, or shared by equal legs; and what no force shows, by rules.

Mata et al. (2008), section 5, identify a ladder of such models of a 3-RPS and compare how well they predict forces.

Heimann & Abdellatif find the minimal parameter set of a hexapod by analytic rules (after Gautier and Khalil 1990).
Theirs are those of joints::

    revolute     mass on the axis moves with both bodies: it can be counted with either one (3 directions)
    prismatic    both bodies turn alike: a moment of inertia can be counted with either one (6)
    ball         a mass point in the centre (1); universal joint alike; a pin that closes a loop: as revolute
    to the base  what can be counted with the base has no effect at all

A body that cannot move in every way has further parameters without effect: one that only slides has its mass alone;
one that moves in a plane, no first moment across it and one moment of inertia; one on a fixed axis, no mass either.

The rules are general: they hold for all poses. They are complete for legs of universal and prismatic joints, for
planar machines and for legs that move in a plane; where a chain is restricted in other ways the numerical reduction
may find more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, matching_names
from pkm_description.dynamics.parameters import ParameterMap
from pkm_description.machine import Closure, Joint, Machine


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


#: basis of symmetric matrices (3, 3)
_TENSORS = [
    np.outer(np.eye(3)[i], np.eye(3)[j]) + np.outer(np.eye(3)[j], np.eye(3)[i]) for i in range(3) for j in range(i, 3)
]

#: cosine or sine that counts as zero
_PARALLEL = 1e-9


class _Body:
    """A body of a leg: how it can turn. ``normal`` (3,) in its own frame where all axes below it are parallel.

    ``planar``: it moves in the plane across the normal; ``turns``: how many axes below it; ``slides``: how many slides.
    """

    def __init__(self, normal: Array | None = None, planar: bool = True, turns: int = 0, slides: int = 0) -> None:
        self.normal, self.planar, self.turns, self.slides = normal, planar, turns, slides
        self.slide_axes: list[Array] = []

    def after(self, joint: Joint) -> _Body:
        """The body that a joint carries."""
        back = joint.rotation_parent_joint.T
        normal = None if self.normal is None else back @ self.normal
        slides = [back @ axis for axis in self.slide_axes]
        axis = np.asarray(joint.axis, dtype=float)
        planar = self.planar
        if joint.kind == 'revolute':
            if normal is None:
                normal = axis
                planar = planar and all(abs(slide @ axis) < _PARALLEL for slide in slides)
            else:
                planar = planar and float(np.linalg.norm(np.cross(normal, axis))) < _PARALLEL
        else:
            planar = planar and (normal is None or abs(normal @ axis) < _PARALLEL)
            slides.append(axis)
        is_turn = joint.kind == 'revolute'
        found = _Body(normal, planar, self.turns + is_turn, self.slides + (not is_turn))
        found.slide_axes = slides
        return found


def unseen_directions(machine: Machine) -> Array:
    """Changes (P, K) of the parameters that leave the drive forces as they are, by the rules of the joints.

    P as of ``rigid_body_parameters(machine, identical_legs=False)``. The columns span the directions; they need not be
    independent.
    """
    names = [machine.platform.name] + [joint.body.name for joint in machine.joints]
    place = {name: 10 * index for index, name in enumerate(names)}
    columns: list[Array] = []

    def add(*parts: tuple[str, Array]) -> None:
        column = np.zeros(10 * len(names))
        for name, values in parts:
            if name in place:  # the base has no parameters
                column[place[name] : place[name] + 10] += values
        columns.append(column)

    for leg in machine.legs:
        bodies = {'base_link': _Body()}
        before = 'base_link'
        for joint in leg.joints:
            parent = joint.parent or before
            bodies[joint.body.name] = bodies[parent].after(joint)
            for own, other in _shared_by_joint(joint):
                add((joint.body.name, own), (parent, -other))
            for values in _without_effect(bodies[joint.body.name], joint, machine.gravity):
                add((joint.body.name, values))
            before = joint.body.name
        for closure in leg.closures:
            for own, other in _shared_by_closure(closure):
                add((closure.body, own), (closure.other, -other))
    if machine.planar:
        normal = machine.home.rotation_base_platform.T @ np.array([0.0, 0.0, 1.0])
        for values in _across(normal):
            add((machine.platform.name, values))
    return np.stack(columns, axis=1)


def minimal_count(machine: Machine, columns: Array | None = None, tolerance: float = 1e-9) -> int:
    """Number of base parameters by the rules.

    Parameters
    ----------
    columns : (P, R) matrix that makes all P parameters from R fewer ones: bodies that share parameters, or have a
        certain form; default: every body for itself
    tolerance : relative singular value that counts as zero
    """
    directions = unseen_directions(machine)
    full = np.eye(len(directions)) if columns is None else columns
    left, sizes, _ = np.linalg.svd(directions, full_matrices=False)
    basis = left[:, sizes > tolerance * sizes[0]]
    seen = full - basis @ (basis.T @ full)
    values = np.linalg.svd(seen, compute_uv=False)
    return int(np.sum(values > tolerance * values[0]))


def _parameters(mass: float, moments: Array, inertia: Array) -> Array:
    return np.concatenate([[mass], moments, inertia[np.triu_indices(3)]])


def _point(place: Array) -> Array:
    """Ten parameters of a unit mass."""
    return _parameters(1.0, place, place @ place * np.eye(3) - np.outer(place, place))


def _shared_by_joint(joint: Joint) -> Iterator[tuple[Array, Array]]:
    """Parameters on the body, and the same ones on its parent."""
    turn, none = joint.rotation_parent_joint, np.zeros(3)
    if joint.kind == 'prismatic':
        for tensor in _TENSORS:
            yield _parameters(0.0, none, tensor), _parameters(0.0, none, turn @ tensor @ turn.T)
        return
    for along in (-1.0, 0.0, 1.0):
        place = along * np.asarray(joint.axis)
        yield _point(place), _point(joint.translation + turn @ place)


def _shared_by_closure(closure: Closure) -> Iterator[tuple[Array, Array]]:
    if closure.kind == 'fixed':
        turn = closure.rotation_other @ closure.rotation_body.T
        for along in (-1.0, 0.0, 1.0):
            for axis in np.eye(3):
                yield (
                    _point(closure.point + along * axis), _point(closure.other_point + along * (turn @ axis))
                )  # fmt: skip
        for tensor in _TENSORS:
            yield _parameters(0.0, np.zeros(3), tensor), _parameters(0.0, np.zeros(3), turn @ tensor @ turn.T)
        return
    steps = (-1.0, 0.0, 1.0) if closure.kind == 'pin' else (0.0,)
    for along in steps:
        own, other = along * closure.rotation_body[:, 2], along * closure.rotation_other[:, 2]
        yield _point(closure.point + own), _point(closure.other_point + other)


def _without_effect(body: _Body, joint: Joint, gravity: Array) -> Iterator[Array]:
    """Parameters of a body that cannot move in every way."""
    none = np.zeros(3)
    if body.normal is None:  # it only slides
        for axis in np.eye(3):
            yield _parameters(0.0, axis, np.zeros((3, 3)))
        for tensor in _TENSORS:
            yield _parameters(0.0, none, tensor)
        return
    if not body.planar:
        return
    yield from _across(body.normal)
    if body.turns == 1 and not body.slides:  # on a fixed axis through its origin
        yield _parameters(1.0, none, np.zeros((3, 3)))
        down = joint.rotation_parent_joint.T @ gravity
        if float(np.linalg.norm(np.cross(down, joint.axis))) < _PARALLEL * max(float(np.linalg.norm(gravity)), 1.0):
            for axis in np.eye(3):
                yield _parameters(0.0, axis, np.zeros((3, 3)))


def _across(normal: Array) -> Iterator[Array]:
    """First moment across a plane of motion, and all second ones but the moment of inertia about the normal."""
    yield _parameters(0.0, normal, np.zeros((3, 3)))
    along = np.outer(normal, normal)
    for tensor in _TENSORS:
        yield _parameters(0.0, np.zeros(3), tensor - float(np.sum(tensor * along)) * along)
