"""Constants of U-P legs, for which joint positions follow from the leg vector in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine.parts import Leg


@dataclass(frozen=True)
class UniversalPrismaticLegs:
    """Legs of two intersecting, perpendicular revolutes and a strut that runs through their intersection.

    Attributes
    ----------
    basis : (L, 3, 3), columns in base axes at zero positions: first axis, second axis, their cross product
    side : (L,) +1 or -1, side of the plane of both axes on which the strut lies at zero positions
    angle_at_zero : (L,) rad, angle of the strut from the third basis vector towards the first axis at zero
        positions
    """

    basis: Array
    side: Array
    angle_at_zero: Array

    @classmethod
    def from_chain(
        cls,
        machine_name: str,
        leg_names: Sequence[str],
        joint_kinds: tuple[str, ...],
        joint_axes: Array,
        joint_translations: Array,
        joint_rotations: Array,
        tips: Array,
        lengths_at_zero: Array,
    ) -> UniversalPrismaticLegs:
        """Extract the constants of L stacked legs; arrays as in :class:`pkm_description.machine.Machine`.

        Raises
        ------
        KinematicsError
            For legs of another kind; names leg and number.
        """
        if joint_kinds != ('revolute', 'revolute', 'prismatic'):
            raise KinematicsError(
                f'{machine_name}: legs of {joint_kinds} have no closed-form solution; '
                "it needs ('revolute', 'revolute', 'prismatic')"
            )
        rotations, axes = joint_rotations, joint_axes
        first = axes[:, 0]
        second = (rotations[:, 1] @ axes[:, 1, :, None])[..., 0]
        strut_in_cylinder = (rotations[:, 2] @ axes[:, 2, :, None])[..., 0]
        strut = (rotations[:, 1] @ strut_in_cylinder[..., None])[..., 0]
        tip = joint_translations[:, 2] + (rotations[:, 2] @ tips[..., None])[..., 0]
        off_line = tip - lengths_at_zero[:, None] * strut_in_cylinder
        for what, error in (
            (
                'distance between the universal axes [m]',
                np.linalg.norm(joint_translations[:, 1], axis=1),
            ),
            ('cosine between the universal axes', np.abs(np.sum(first * second, axis=1))),
            ('cosine between second axis and strut', np.abs(np.sum(second * strut, axis=1))),
            ('distance of the tip from length_at_zero on the strut [m]', np.linalg.norm(off_line, axis=1)),
        ):
            if error.max() > 1e-9:
                leg = leg_names[int(error.argmax())]
                raise KinematicsError(
                    f'{machine_name}: {leg}: {what} is {error.max():.3g}, must be 0 for a U-P leg'
                )
        third = np.cross(first, second)
        along_third, along_first = np.sum(strut * third, axis=1), np.sum(strut * first, axis=1)
        if np.abs(along_third).min() < 1e-3:
            leg = leg_names[int(np.abs(along_third).argmin())]
            raise KinematicsError(
                f'{machine_name}: {leg}: at zero the strut lies on the first universal axis'
            )
        basis = rotations[:, 0] @ np.stack([first, second, third], axis=-1)
        return cls(basis, np.sign(along_third), np.arctan2(along_first, along_third))


def strut_constants(leg: Leg, freedom: str) -> UniversalPrismaticLegs | None:
    """Constants of one leg (L = 1); None for a leg that is no strut on a universal joint, closed by a ball."""
    joints = leg.joints
    kinds = tuple(joint.kind for joint in joints)
    if freedom != 'free' or kinds != ('revolute', 'revolute', 'prismatic') or leg.parents != (-1, 0, 1):
        return None
    on_ball = len(leg.closures) == 1 and leg.closures[0].kind == 'ball' and bool(leg.platform_closures)
    if not on_ball or leg.closures[0].body != joints[-1].body.name:
        return None
    try:
        return UniversalPrismaticLegs.from_chain(
            leg.name, [leg.name], kinds,
            np.array([[joint.axis for joint in joints]]),
            np.array([[joint.translation for joint in joints]]),
            np.array([[joint.rotation_parent_joint for joint in joints]]),
            np.array([leg.tip]), np.array([leg.length_at_zero]),
        )  # fmt: skip
    except KinematicsError:
        return None
