"""Legs that are struts on universal joints, for which joint positions follow from the leg vector in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.machine.parts import Leg

#: m, and cosines, by which a leg may miss being a strut
_EXACT = 1e-9

#: cosine of the angle between strut and the normal of both axes, at zero, below which the strut lies on the first axis
_LEAST_HEIGHT = 1e-3


@dataclass(frozen=True)
class StrutConstants:
    """A leg of two intersecting, perpendicular revolutes and a strut that runs through their intersection.

    Attributes
    ----------
    basis : (3, 3), columns in base axes at zero positions: first axis, second axis, their cross product
    side : +1 or -1, side of the plane of both axes on which the strut lies at zero positions
    angle_at_zero : rad, angle of the strut from the third basis vector towards the first axis at zero positions
    """

    basis: Array
    side: float
    angle_at_zero: float


def strut_constants(leg: Leg, freedom: str) -> StrutConstants | None:
    """Constants of a leg; None for one that is no strut on a universal joint, closed by a ball on the platform.

    Parameters
    ----------
    freedom : of the platform
    """
    kinds = tuple(joint.kind for joint in leg.joints)
    if freedom != 'free' or kinds != ('revolute', 'revolute', 'prismatic'):
        return None
    if not leg.ends_at_platform or leg.end.kind != 'ball':
        return None
    bottom, middle, slide = leg.joints
    first = bottom.axis
    second = middle.rotation_parent_joint @ middle.axis
    strut_in_cylinder = slide.rotation_parent_joint @ slide.axis
    strut = middle.rotation_parent_joint @ strut_in_cylinder
    off_line = slide.translation + slide.rotation_parent_joint @ leg.tip - leg.length_at_zero * strut_in_cylinder
    misses = [np.linalg.norm(middle.translation), first @ second, second @ strut, np.linalg.norm(off_line)]
    if max(abs(float(miss)) for miss in misses) > _EXACT:
        return None
    third = np.cross(first, second)
    if abs(strut @ third) < _LEAST_HEIGHT:
        return None
    basis = bottom.rotation_parent_joint @ np.stack([first, second, third], axis=-1)
    return StrutConstants(basis, float(np.sign(strut @ third)), float(np.arctan2(strut @ first, strut @ third)))
