"""Models with fewer parameters: base parameters left out, or shared by equal legs; and what no force shows.

Mata et al. (2008), section 5, identify a ladder of such models of a 3-RPS and compare how well they predict forces.

Heimann & Abdellatif find the minimal parameter set of a hexapod by analytic rules (after Gautier and Khalil 1990):
mass on the axis of a revolute joint counts with either body (3 directions), moments of inertia do so across a prismatic
joint (6), a mass point in the centre of a ball or universal joint (1). All of them follow from two statements:

    shared      what counts with either of two bodies has no momentum along the twists that their joint leaves free, and
                stays as it is when the joint moves
    no effect   what a body shows in no motion of its chain alone, as mass matrix and as weight

The closed machine moves in fewer ways than its chains do, so both hold for all poses; where the closures restrict it
further (platforms that only translate) the numerical reduction may find more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space

from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, matching_names
from pkm_description.dynamics.parameters import ParameterMap
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Joint, Machine


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


#: axes of the closure frame about which a closure leaves turns free
_FREE_AXES = {'ball': [0, 1, 2], 'universal': [0, 1], 'pin': [2], 'fixed': []}

#: joint positions at random at which a body must show nothing of what is called unseen
_SAMPLES = 6

#: singular value, relative to the largest, that counts as zero
_ZERO = 1e-9


def unseen_directions(machine: Machine) -> Array:
    """Changes (P, K) of the parameters that leave the drive forces as they are, by joints and chains alone.

    P as of ``rigid_body_parameters(machine, identical_legs=False)``. The columns span the directions; they need not be
    independent.
    """
    names = [machine.platform.name] + [joint.body.name for joint in machine.joints]
    places = {name: slice(10 * index, 10 * index + 10) for index, name in enumerate(names)}
    columns: list[Array] = []

    def add(directions: Array, *bodies: str) -> None:
        whole = np.zeros((10 * len(names), directions.shape[1]))
        for part, body in enumerate(bodies):
            if body in places:  # the base has no parameters
                whole[places[body]] += directions[10 * part : 10 * part + 10]
        columns.append(whole)

    for leg in machine.legs:
        before = 'base_link'
        for joint in leg.joints:
            shared = _shared(joint.rotation_parent_joint, joint.translation, _joint_twist(joint)[None])
            add(shared, joint.body.name, joint.parent or before)
            before = joint.body.name
        for closure in leg.closures:
            turn = closure.rotation_other @ closure.rotation_body.T
            axes = closure.rotation_body.T[_FREE_AXES[closure.kind]]
            free = np.concatenate([np.cross(closure.point, axes), axes], axis=1)
            add(_shared(turn, closure.other_point - turn @ closure.point, free), closure.body, closure.other)
    for index, joint in enumerate(machine.joints):
        add(_without_effect(machine, index), joint.body.name)
    if machine.planar:
        plane = np.eye(6)[[0, 1, 5]].reshape(-1, 3) @ machine.home.rotation_base_platform
        add(null_space(_powers(plane.reshape(3, 6), plane.reshape(3, 6)), _ZERO), machine.platform.name)
    return np.concatenate(columns, axis=1)


def minimal_count(machine: Machine, columns: Array | None = None, tolerance: float = 1e-9) -> int:
    """Number of base parameters that :func:`unseen_directions` leaves.

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


def _joint_twist(joint: Joint) -> Array:
    """Twist (6,) of a joint at unit rate, in the frame of the body that it carries."""
    axis, none = np.asarray(joint.axis, dtype=float), np.zeros(3)
    return np.concatenate([none, axis] if joint.kind == 'revolute' else [axis, none])


def _momenta(twists: Array) -> Array:
    """Momenta (N, 6, 10) of twists (N, 6) per inertial parameter of a body; angular about the frame's origin."""
    linear, spin = twists[:, None, :3], twists[:, None, 3:]
    units = np.eye(3)
    result = np.zeros((len(twists), 6, 10))
    result[:, :3, 0] = twists[:, :3]
    result[:, :3, 1:4] = np.swapaxes(np.cross(spin, units), 1, 2)
    result[:, 3:, 1:4] = np.swapaxes(np.cross(units, linear), 1, 2)
    for column, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True), 4):
        result[:, 3 + i, column] = twists[:, 3 + j]
        result[:, 3 + j, column] = twists[:, 3 + i]
    return result


def _powers(twists: Array, others: Array) -> Array:
    """What the momenta of twists (N, 6) do on other twists (M, 6), per inertial parameter of a body (M N, 10)."""
    return np.einsum('mi,nip->mnp', others, _momenta(twists)).reshape(-1, 10)


def _shared(turn: Array, shift: Array, free: Array) -> Array:
    """Parameters (20, K) of a body and of the one before it that no motion of both shows.

    Parameters
    ----------
    turn, shift : (3, 3), (3,) m, pose of the body in the one before it
    free : (F, 6) twists that the joint leaves to the body, in its frame
    """
    linear, spin = np.eye(6)[:, :3], np.eye(6)[:, 3:]
    carried = np.concatenate([(linear + np.cross(spin, shift)) @ turn, spin @ turn], axis=1)
    own, before = np.concatenate([carried, free]), np.concatenate([np.eye(6), np.zeros_like(free)])
    rows = [np.concatenate([_powers(own, own), _powers(before, before)], axis=1)]
    for twist in free:  # and this stays so when the body moves along
        moved = np.concatenate([np.cross(twist[3:], linear) + np.cross(twist[:3], spin), np.cross(twist[3:], spin)], 1)
        powers = _powers(moved, np.eye(6)).reshape(6, 6, 10)
        change = (powers + np.swapaxes(powers, 0, 1)).reshape(36, 10)
        rows.append(np.concatenate([change, np.zeros((36, 10))], axis=1))
    return np.asarray(null_space(np.concatenate(rows), _ZERO))


def _without_effect(machine: Machine, index: int) -> Array:
    """Parameters (10, K) of the body behind a joint that its chain never shows, whatever the chain's joints do."""
    chain = [index]
    while (parent := int(machine.model.parent[chain[-1]])) < len(machine.joints):
        chain.append(parent)
    random = np.random.default_rng(0)
    positions = machine.home_positions + random.uniform(-1.0, 1.0, (_SAMPLES, len(machine.joints)))
    rows = []
    for rotations, origins in zip(*body_poses(machine, positions), strict=True):
        own = np.array([_joint_twist(machine.joints[place]).reshape(2, 3) @ rotations[place].T for place in chain])
        linear, spin = own[:, 0], own[:, 1]
        linear = linear + np.cross(spin, origins[index] - origins[chain])
        twists = np.concatenate([linear @ rotations[index], spin @ rotations[index]], axis=1)
        weight = np.concatenate([machine.gravity @ rotations[index], np.zeros(3)])
        rows.append(_powers(np.concatenate([twists, weight[None]]), twists))
    return np.asarray(null_space(np.concatenate(rows), _ZERO))
