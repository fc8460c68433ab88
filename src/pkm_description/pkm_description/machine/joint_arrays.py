"""The joints and bodies of all legs in one row: names, counts, and their numbers as arrays (J,)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.machine.parts import Closure, Joint, Leg, Pose, RigidBody


def _column(meaning: str, value: Callable[[Joint], float]) -> cached_property[Array]:
    """Property of a row of joints: one number of each (J,)."""

    def numbers(row: JointArrays) -> Array:
        return np.array([value(joint) for joint in row.joints], dtype=float)

    numbers.__doc__ = meaning
    return cached_property(numbers)


class JointArrays:
    """J joints, leg by leg, base to platform, of which A are driven; worked out when first asked for, and kept.

    Joint j moves body j. Arrays over joints have this order, the one of :attr:`joint_names`.
    """

    name: str
    legs: tuple[Leg, ...]
    freedom: str
    platform: RigidBody
    home: Pose
    gravity: Array
    drive_weights: tuple[float, ...] = ()

    # -- parts ---------------------------------------------------------------------------------------------------------

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """All joints."""
        return tuple(joint for leg in self.legs for joint in leg.joints)

    @cached_property
    def closures(self) -> tuple[Closure, ...]:
        """All closures, leg by leg."""
        return tuple(closure for leg in self.legs for closure in leg.closures)

    @cached_property
    def actuated_joints(self) -> tuple[Joint, ...]:
        """Actuated joints, leg by leg."""
        return tuple(joint for joint in self.joints if joint.actuated)

    @cached_property
    def leg_slices(self) -> tuple[slice, ...]:
        """Where the joints of each leg stand among all joints."""
        ends = np.cumsum([len(leg.joints) for leg in self.legs])
        return tuple(slice(int(end) - len(leg.joints), int(end)) for end, leg in zip(ends, self.legs, strict=True))

    @cached_property
    def drive_columns(self) -> NDArray[np.int64]:
        """Where the driven joints stand among all joints (A,)."""
        return np.array([place for place, joint in enumerate(self.joints) if joint.actuated], dtype=np.int64)

    @cached_property
    def leg_count(self) -> int:
        """Number of legs L."""
        return len(self.legs)

    @cached_property
    def actuated_count(self) -> int:
        """Number of driven joints A."""
        return len(self.actuated_joints)

    # -- names ---------------------------------------------------------------------------------------------------------

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """All leg joints, leg by leg, base to platform."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def actuated_joint_names(self) -> tuple[str, ...]:
        """Names of the driven joints, leg by leg."""
        return tuple(joint.name for joint in self.actuated_joints)

    @cached_property
    def passive_joint_names(self) -> tuple[str, ...]:
        """Names of the joints without a drive, leg by leg."""
        return tuple(joint.name for joint in self.joints if not joint.actuated)

    @cached_property
    def drive_labels(self) -> tuple[str, ...]:
        """Short names (A) of the drives: that of its leg where the leg has no other drive, else that of its joint."""
        return tuple(
            leg.name if sum(joint.actuated for joint in leg.joints) == 1 else joint.name
            for leg in self.legs
            for joint in leg.joints
            if joint.actuated
        )

    @cached_property
    def position_units(self) -> tuple[str, ...]:
        """Units (A) of the drives' positions: m where they push, rad where they turn."""
        return tuple('m' if joint.kind == 'prismatic' else 'rad' for joint in self.actuated_joints)

    @cached_property
    def effort_units(self) -> tuple[str, ...]:
        """Units (A) of the drives' efforts: N where they push, N m where they turn."""
        return tuple('N' if joint.kind == 'prismatic' else 'N m' for joint in self.actuated_joints)

    # -- legs that end at one point ------------------------------------------------------------------------------------

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
        """Leg lengths at zero joint position (L,) m: of struts ``leg_lengths = position + lengths_at_zero``."""
        return np.array([leg.length_at_zero for leg in self.legs], dtype=float)

    # -- platform ------------------------------------------------------------------------------------------------------

    @property
    def has_platform(self) -> bool:
        """False for open chains."""
        return self.freedom != 'none'

    @property
    def planar(self) -> bool:
        """Whether the platform moves in x and y and about z only."""
        return self.freedom == 'planar'

    # -- numbers -------------------------------------------------------------------------------------------------------

    home_positions = _column(
        'Joint positions (J,) rad, m, from which the loops are closed, as the file has them.', lambda joint: joint.home
    )
    position_lower = _column('Lower joint limits (J,) rad, m.', lambda joint: joint.limits.lower)
    position_upper = _column('Upper joint limits (J,) rad, m.', lambda joint: joint.limits.upper)
    rotor_inertia = _column(
        'Inertia (J,) kg or kg m^2 of rotors and screws, reflected to the joints.', lambda joint: joint.rotor_inertia
    )
    viscous = _column(
        'Viscous friction (J,) of the joints, N s/m or N m s/rad.', lambda joint: joint.friction.viscous
    )
    coulomb = _column('Coulomb friction (J,) of the joints, N or N m.', lambda joint: joint.friction.coulomb)

    @cached_property
    def parameters(self) -> Array:
        """Inertial parameters (J + 1, 10) of all bodies, the platform last."""
        return np.array([*(joint.body.parameters for joint in self.joints), self.platform.parameters])
