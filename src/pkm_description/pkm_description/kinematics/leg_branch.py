"""Assembly branch of a single leg, and its distance from its own singularities (stretched or folded)."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.chain import ChainPose, chain_pose, tip_jacobian
from pkm_description.kinematics.leg_inverse import LEG_SINGULARITY
from pkm_description.kinematics.leg_iterations import CLOSING_TOLERANCE, gaps, nearest_positions
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine

#: steps of the tips from home to where they are wanted
_CONTINUATION_STEPS = 20
#: iterations of each step but the last one, which only have to stay near
_CONTINUATION_ITERATIONS = 4

#: rad, from which single turned joints iterations start where following the tips from home does not help
_TURNS = np.radians([60.0, -60.0, 120.0, -120.0, 180.0])

#: sine or cosine of the angle between two joint axes below which they count as parallel or normal
_ALIGNED = 1e-9


@dataclass(frozen=True)
class LegBranch:
    """The legs at home, whose branch they keep as long as they do not pass a singular position.

    Attributes
    ----------
    positions : (L, J) at home
    anchors : (L, 3) m, platform joints at home, base axes
    orientations : (L, 3), see :func:`leg_orientations`; zero of legs that have no branch: singular at home, or two
        joints that move the tip on a curved surface, whose normal turns over without a singular position
    """

    positions: Array
    anchors: Array
    orientations: Array

    def left(self, machine: Machine, positions: Array) -> NDArray[np.bool_]:
        """Legs (N, L) that are on another branch at joint positions (N, L, J); singular ones are on none."""
        jacobian = tip_jacobian(machine, chain_pose(machine, positions))
        own = _orientations(machine, jacobian)
        regular = np.linalg.norm(own, axis=-1) > LEG_SINGULARITY * _sizes(jacobian)
        return np.asarray(regular & (np.sum(own * self.orientations, axis=-1) < 0.0))

    def returned(self, machine: Machine, anchors: Array, positions: Array, left: NDArray[np.bool_]) -> Array:
        """Positions (N, L, J) with legs that have ``left`` (N, L) the branch brought back to it, where that succeeds.

        The tips are followed on straight lines from home to ``anchors`` (N, L, 3) m; where that passes a singular
        position, iterations start with single joints turned.
        """
        result = positions.copy()
        samples = np.flatnonzero(left.any(axis=1))
        wanted, missing = anchors[samples], left[samples]
        state = np.broadcast_to(self.positions, positions[samples].shape)
        for step in range(1, _CONTINUATION_STEPS):
            between = self.anchors + step / _CONTINUATION_STEPS * (wanted - self.anchors)
            state = nearest_positions(machine, between, state, _CONTINUATION_ITERATIONS)
        state = nearest_positions(machine, wanted, state)
        missing = self._taken(machine, wanted, state, result, samples, missing)
        for place in (index for index, kind in enumerate(machine.joint_kinds) if kind == 'revolute'):
            for turn in _TURNS:
                if not missing.any():
                    return result
                start = self.positions.copy()
                start[:, place] += turn
                state = nearest_positions(machine, wanted, start)
                missing = self._taken(machine, wanted, state, result, samples, missing)
        return result

    def _taken(
        self, machine: Machine, anchors: Array, found: Array, result: Array, samples: NDArray[np.intp],
        missing: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Write legs that close on the branch into ``result`` and return those that still miss."""
        good = missing & (gaps(machine, anchors, found) <= CLOSING_TOLERANCE) & ~self.left(machine, found)
        chosen = result[samples]
        chosen[good] = found[good]
        result[samples] = chosen
        return missing & ~good


_BRANCHES: WeakKeyDictionary[Machine, LegBranch] = WeakKeyDictionary()


def home_legs(machine: Machine) -> LegBranch:
    """Legs of a machine without closed form at home, found from the machine file's ``home`` of the joints; kept."""
    if machine not in _BRANCHES:
        home = machine.home
        anchors = home.position + machine.platform_points @ home.rotation_base_platform.T
        positions = nearest_positions(machine, anchors[None], machine.leg_home_positions)
        chain = chain_pose(machine, positions)
        jacobian = tip_jacobian(machine, chain)
        own = _orientations(machine, jacobian)
        regular = np.linalg.norm(own, axis=-1) > LEG_SINGULARITY * _sizes(jacobian)
        regular &= _normals_stay(machine, chain)
        _BRANCHES[machine] = LegBranch(positions[0], anchors, np.where(regular[..., None], own, 0.0)[0])
    return _BRANCHES[machine]


def _normals_stay(machine: Machine, chain: ChainPose) -> NDArray[np.bool_]:
    """Legs (N, L) of which a change of sign tells another branch: square ones, and those that move in a plane."""
    if machine.joint_count == machine.closing_equations:
        return np.ones(chain.tip.shape[:2], dtype=bool)
    first, second = chain.axes
    if machine.joint_kinds[0] != machine.joint_kinds[1]:
        return np.asarray(np.abs(np.sum(first * second, axis=-1)) < _ALIGNED)
    if machine.joint_kinds[0] == 'prismatic':
        return np.ones(chain.tip.shape[:2], dtype=bool)
    return np.asarray(np.linalg.norm(cross(first, second), axis=-1) < _ALIGNED)


def leg_orientations(machine: Machine, chain: ChainPose) -> Array:
    """Signed volumes of the joint directions of each leg (N, L, 3).

    Legs with as many joints as closing equations: the determinant of the tip Jacobian, in the first component. Legs of
    two joints on a ball: the area vector, normal to the plane in which their tip moves. A leg that goes from one branch
    to another passes zero.
    """
    return _orientations(machine, tip_jacobian(machine, chain))


def leg_regularity(machine: Machine, chain: ChainPose) -> Array:
    """How far legs are from stretched or folded: volume of their unit joint directions (N, L), 0 .. 1."""
    jacobian = tip_jacobian(machine, chain)
    return np.asarray(np.linalg.norm(_orientations(machine, jacobian), axis=-1) / _sizes(jacobian))


def _orientations(machine: Machine, jacobian: Array) -> Array:
    rows = machine.closing_equations
    if machine.joint_count != rows:
        return cross(jacobian[..., 0], jacobian[..., 1])
    volume = np.zeros((*jacobian.shape[:2], 3))
    volume[..., 0] = np.linalg.det(jacobian[..., :rows, :])
    return volume


def _sizes(jacobian: Array) -> Array:
    """Product of the lengths of a tip Jacobian's columns (N, L)."""
    return np.asarray(np.prod(np.sqrt(np.sum(jacobian * jacobian, axis=-2)), axis=-1))
