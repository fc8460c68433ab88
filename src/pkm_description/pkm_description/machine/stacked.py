"""The parameters of all legs as arrays with a leg axis, for vectorised computation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine.common_chain import common_actuated_index, common_joint_kinds
from pkm_description.machine.joint_arrays import JointArrays
from pkm_description.machine.parts import Joint
from pkm_description.machine.universal_prismatic import UniversalPrismaticLegs

#: equations that close one leg, by the platform's freedom: ball joint, pin, open chain
_CLOSING_EQUATIONS = {'free': 3, 'planar': 2, 'none': 0}


class StackedLegs(JointArrays):
    """Numerical form of a machine; worked out when first asked for, and kept.

    Every leg is a serial chain of J one-degree-of-freedom joints, one body each, whose tip is joined to the platform:
    by a ball joint, or on planar machines by a pin about z. All legs have the same joint kinds in the same order;
    axes, offsets and masses differ freely. A leg with as many joints as closing equations leaves the platform free;
    one with fewer (the R-P legs of a 3-RPS) takes freedom from it. Open chains have no platform.

    Raises
    ------
    KinematicsError
        By each property that needs it, if the legs differ in joint kinds, a leg has not exactly one actuated joint, or
        has fewer or more joints than its closure can use.
    """

    @cached_property
    def joint_kinds(self) -> tuple[str, ...]:
        """Kinds of the J joints of every leg: ``'revolute'`` / ``'prismatic'``."""
        return common_joint_kinds(self.name, self.legs)

    @cached_property
    def joint_count(self) -> int:
        """Joints per leg J."""
        return len(self.joint_kinds)

    @cached_property
    def actuated_index(self) -> int:
        """Place of the driven joint in each chain."""
        return common_actuated_index(self.name, self.legs)

    @property
    def closing_equations(self) -> int:
        """Equations that close a leg: 3 (ball joint), 2 (pin) or 0 (open chain)."""
        return _CLOSING_EQUATIONS[self.freedom]

    # -- geometry ------------------------------------------------------------------------------------------------------

    @cached_property
    def joint_axes(self) -> Array:
        """Unit vectors (L, J, 3) of the joint axes in the joint frames."""
        return self._stack(lambda joint: joint.axis)

    @cached_property
    def joint_translations(self) -> Array:
        """Origins (L, J, 3) m of the joint frames in the parent body's frame."""
        return self._stack(lambda joint: joint.translation)

    @cached_property
    def joint_rotations(self) -> Array:
        """Rotations (L, J, 3, 3) of the joint frames in the parent body's frame."""
        return self._stack(lambda joint: joint.rotation_parent_joint)

    @cached_property
    def axes_in_parent(self) -> Array:
        """Joint axes (L, J, 3) in the parent body's frame."""
        axes: Array = (self.joint_rotations @ self.joint_axes[..., None])[..., 0]
        return axes

    @cached_property
    def _generators(self) -> Array:
        """Matrices of the cross products with the joint axes (L, J, 3, 3)."""
        return np.array([[_generator(axis) for axis in axes] for axes in self.joint_axes])

    @cached_property
    def sine_factors(self) -> Array:
        """See :attr:`versine_factors`."""
        return self.joint_rotations @ self._generators

    @cached_property
    def versine_factors(self) -> Array:
        """Matrices (L, J, 3, 3); a revolute turned by q has this rotation in the parent body's frame.

        ``joint_rotations + sin(q) sine_factors + (1 - cos(q)) versine_factors``
        """
        return self.sine_factors @ self._generators

    @cached_property
    def tips(self) -> Array:
        """Closing points (L, 3) m in the last body's frame."""
        return np.array([leg.tip for leg in self.legs], dtype=float)

    @cached_property
    def base_points(self) -> Array:
        """Base joint centres (L, 3) m in ``base_link``."""
        return np.array([leg.base_point for leg in self.legs], dtype=float)

    @cached_property
    def platform_points(self) -> Array:
        """Platform joint centres (L, 3) m in ``platform_link``."""
        return np.array([leg.platform_point for leg in self.legs], dtype=float)

    @cached_property
    def lengths_at_zero(self) -> Array:
        """Leg lengths at zero joint position (L,) m: ``leg_lengths = position + lengths_at_zero``."""
        return np.array([leg.length_at_zero for leg in self.legs], dtype=float)

    @cached_property
    def leg_home_positions(self) -> Array:
        """Joint positions (L, J) from which the loops are closed."""
        return self._stack(lambda joint: joint.home)

    @cached_property
    def leg_position_lower(self) -> Array:
        """Lower joint limits (L, J)."""
        return self._stack(lambda joint: joint.limits.lower)

    @cached_property
    def leg_position_upper(self) -> Array:
        """Upper joint limits (L, J)."""
        return self._stack(lambda joint: joint.limits.upper)

    @cached_property
    def universal_prismatic(self) -> UniversalPrismaticLegs:
        """Constants of the closed-form leg solution; raises KinematicsError for legs of another kind."""
        return UniversalPrismaticLegs.from_chain(
            self.name, [leg.name for leg in self.legs], self.joint_kinds, self.joint_axes, self.joint_translations,
            self.joint_rotations, self.tips, self.lengths_at_zero,
        )  # fmt: skip

    @cached_property
    def has_closed_form(self) -> bool:
        """True for legs of universal joint and strut on a ball joint, see :attr:`universal_prismatic`."""
        if self.closing_equations != 3:
            return False
        try:
            return self.universal_prismatic is not None
        except KinematicsError:
            return False

    @cached_property
    def drives_are_struts(self) -> bool:
        """True where each drive is the length of a strut on a universal joint: length = position + length at zero."""
        return self.has_closed_form and self.actuated_index == 2

    @property
    def is_strut_hexapod(self) -> bool:
        """True for six driven struts: their lengths determine the pose, with a fast solver."""
        return self.drives_are_struts and self.leg_count == 6

    @cached_property
    def leg_reach(self) -> float:
        """Length scale of the legs [m]: how far the longest of them reaches about home."""
        spans = np.linalg.norm(self.joint_translations[:, 1:], axis=-1).sum(axis=1)
        reach = spans + np.linalg.norm(self.tips, axis=-1) + np.abs(self.leg_home_positions).max(axis=1)
        return float(reach.max())

    @cached_property
    def platform_radius(self) -> float:
        """Mean distance of the platform joints from the platform origin [m]."""
        return float(np.linalg.norm(self.platform_points, axis=1).mean())

    # -- inertia and friction ------------------------------------------------------------------------------------------

    @cached_property
    def leg_parameters(self) -> Array:
        """Inertial parameters (L, J, 10) of the leg bodies."""
        return self._stack(lambda joint: joint.body.parameters)

    @cached_property
    def platform_parameters(self) -> Array:
        """Inertial parameters (10,) of the platform."""
        return self.platform.parameters

    @cached_property
    def leg_rotor_inertia(self) -> Array:
        """Inertia (L, J) kg or kg m^2 of rotors and screws, reflected to the joints."""
        return self._stack(lambda joint: joint.rotor_inertia)

    @cached_property
    def leg_viscous(self) -> Array:
        """Viscous friction (L, J) of the joints."""
        return self._stack(lambda joint: joint.friction.viscous)

    @cached_property
    def leg_coulomb(self) -> Array:
        """Coulomb friction (L, J) of the joints."""
        return self._stack(lambda joint: joint.friction.coulomb)

    def check_legs(self) -> None:
        """Raise the KinematicsError that any of the arrays would raise; does nothing for legs that fit together."""
        _ = self.joint_kinds, self.actuated_index

    def _stack(self, value: Callable[[Joint], object]) -> Array:
        """Stack ``value(joint)`` of every joint to (L, J, ...)."""
        self.check_legs()
        return np.array([[value(joint) for joint in leg.joints] for leg in self.legs], dtype=float)


def _generator(axis: Array) -> Array:
    """Matrix of the cross product with a vector (3,)."""
    x, y, z = axis
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
