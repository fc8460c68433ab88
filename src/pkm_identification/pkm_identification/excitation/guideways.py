"""Sliders that share a guideway: they must keep their order and a distance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Joint, Machine

#: sine of the angle between two guideways, and their distance over the machine's radius, up to which they are one
_PARALLEL, _SAME_LINE = 1e-6, 1e-6


@dataclass(frozen=True)
class SharedGuideways:
    """Neighbours on common guideways, as they stand at home.

    Attributes
    ----------
    names : P pairs, as in ``leg1_prismatic - leg2_prismatic``
    factors : (P, J) so that distances are ``factors @ positions + constants``
    constants : (P,) m
    at_home : (P,) m
    clearance : m, least distance of two sliders' joint frames along the guideway
    """

    names: tuple[str, ...]
    factors: Array
    constants: Array
    at_home: Array
    clearance: float

    def __len__(self) -> int:
        return len(self.names)

    def use(self, positions: Array) -> Array:
        """How much of the distance at home is used up (N, P) at joint positions (N, J): 1 at the clearance."""
        gaps = positions @ self.factors.T + self.constants
        return np.asarray((self.at_home - gaps) / (self.at_home - self.clearance))

    @property
    def use_by_position(self) -> Array:
        """Derivative (P, J) of :meth:`use`."""
        return -self.factors / (self.at_home - self.clearance)[:, None]


def shared_guideways(machine: Machine, clearance: float = 0.0) -> SharedGuideways:
    """Find prismatic joints on the base whose axes lie on one line, and who stands beside whom at home.

    Raises
    ------
    KinematicsError
        Sliders that are closer at home than the clearance; names them.
    """
    sliders = [place for place, joint in enumerate(machine.joints)
               if joint.kind == 'prismatic' and machine.model.parent[place] == len(machine.joints) + 1]  # fmt: skip
    guides: list[list[int]] = []
    for place in sliders:
        own = next((guide for guide in guides if _same_line(machine, guide[0], place)), None)
        if own is None:
            guides.append([place])
        else:
            own.append(place)
    home = machine.model.home_joints
    names, factors, constants = [], [], []
    for guide in guides:
        along, _ = _line(machine.joints[guide[0]])
        signs, starts = zip(*(_placed(machine, along, place) for place in guide), strict=True)
        spots = np.array(starts) + np.array(signs) * home[guide]
        order = np.argsort(spots, kind='stable')
        for first, second in pairwise(order):
            row = np.zeros(len(machine.joints))
            row[guide[second]], row[guide[first]] = signs[second], -signs[first]
            factors.append(row)
            constants.append(starts[second] - starts[first])
            names.append(f'{machine.joints[guide[first]].name} - {machine.joints[guide[second]].name}')
    rows, offsets = np.array(factors).reshape(-1, len(machine.joints)), np.array(constants)
    at_home = rows @ home + offsets
    for name, gap in zip(names, at_home, strict=True):
        if gap <= clearance:
            raise KinematicsError(
                f'{machine.name}: {name} are {gap:.4g} m apart at home on their common guideway, the clearance is '
                f'{clearance:g} m; choose a smaller guideway_clearance or another home'
            )
    return SharedGuideways(tuple(names), rows, offsets, at_home, clearance)


def _line(joint: Joint) -> tuple[Array, Array]:
    """Direction and a point, base axes."""
    return joint.rotation_parent_joint @ joint.axis, joint.translation


def _placed(machine: Machine, along: Array, place: int) -> tuple[float, float]:
    """Sign of a joint's positions along a line, and where its zero is."""
    direction, point = _line(machine.joints[place])
    return float(np.sign(direction @ along)), float(point @ along)


def _same_line(machine: Machine, one: int, other: int) -> bool:
    (first, point), (second, end) = _line(machine.joints[one]), _line(machine.joints[other])
    between = end - point
    beside = between - (between @ first) * first
    parallel = float(np.linalg.norm(np.cross(first, second))) < _PARALLEL
    return parallel and float(np.linalg.norm(beside)) < _SAME_LINE * machine.platform_radius

