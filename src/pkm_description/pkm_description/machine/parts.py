"""Bodies, joints, legs and poses as plain immutable data.

All quantities in SI units; vectors in the frame that the attribute names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.friction_laws.nearest import nearest_viscous_coulomb
from pkm_description.friction_laws.sign import EXACT_SIGN
from pkm_description.friction_laws.viscous_coulomb import NO_FRICTION, ViscousCoulomb

#: order of the ten inertial parameters of a body, inertia about the body frame's origin
INERTIAL_PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')


@dataclass(frozen=True)
class RigidBody:
    """A rigid body in its own link frame.

    Attributes
    ----------
    name : link name, e.g. ``leg1_rod``
    mass : kg
    center_of_mass : (3,) m, link frame
    inertia : (3, 3) kg m^2, about the centre of mass, axes of the link frame
    """

    name: str
    mass: float
    center_of_mass: Array
    inertia: Array

    @property
    def parameters(self) -> Array:
        """Ten inertial parameters (10,), see :data:`INERTIAL_PARAMETERS`."""
        com = self.center_of_mass
        about_origin = self.inertia + self.mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com))
        upper = about_origin[np.triu_indices(3)]
        return np.concatenate([[self.mass], self.mass * com, upper])


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint: a law of the library.

    Attributes
    ----------
    law : friction law; default none at all
    speed : m/s or rad/s, the joint's velocity limit: up to there :attr:`viscous` and :attr:`coulomb` come nearest to
        the law
    """

    law: FrictionLaw = NO_FRICTION
    speed: float = np.inf

    @classmethod
    def viscous_coulomb(cls, viscous: float, coulomb: float) -> JointFriction:
        """Friction ``viscous * velocity + coulomb * sign(velocity)``: N s/m and N, or N m s/rad and N m; both >= 0."""
        return cls(ViscousCoulomb(viscous=viscous, coulomb=coulomb))

    @property
    def is_viscous_coulomb(self) -> bool:
        """Whether :attr:`viscous` and :attr:`coulomb` are the law itself, not only what comes nearest to it."""
        return isinstance(self.law, ViscousCoulomb) and self.law.sign == EXACT_SIGN

    @property
    def viscous(self) -> float:
        """Viscous coefficient [N s/m or N m s/rad] for programs that know no other friction (MJCF)."""
        return self._pair[0]

    @property
    def coulomb(self) -> float:
        """Coulomb friction [N or N m] that belongs to :attr:`viscous`."""
        return self._pair[1]

    @cached_property
    def _pair(self) -> tuple[float, float]:
        return nearest_viscous_coulomb(self.law, self.speed)

    def with_parameters(self, values: Mapping[str, float]) -> JointFriction:
        """The same friction with other linear parameters, by name; names that are not its own are ignored.

        Raises
        ------
        FrictionLawError
            A value that the law does not take.
        """
        names = self.law.linear_parameter_names
        own = zip(names, self.law.linear_parameters(), strict=True)
        law = self.law.with_linear_parameters([values.get(name, value) for name, value in own])
        return JointFriction(law, self.speed)


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint; infinite where the file gives none."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf


@dataclass(frozen=True)
class Joint:
    """A one-degree-of-freedom joint and the body that it carries.

    Attributes
    ----------
    name : full joint name, e.g. ``leg1_prismatic``
    kind : ``'revolute'`` or ``'prismatic'``
    axis : (3,) unit vector, child frame (= parent joint frame at zero position)
    translation, rotation_parent_joint : pose of the joint frame at zero position
        in the parent body's frame (``base_link`` for a leg's first joint), (3,) m and (3, 3)
    actuated : True where a drive acts
    limits, friction : see the classes
    body : the body that moves with the joint (its link frame is the joint frame)
    home : rad or m, roughly where the joint is at home: it names the leg's assembly branch where the loops are closed
        by iterations
    rotor_inertia : kg or kg m^2, inertia of rotor and screw reflected to the joint (Mata et al. 2008, Eq. 18)
    """

    name: str
    kind: str
    axis: Array
    translation: Array
    rotation_parent_joint: Array
    actuated: bool
    limits: JointLimits
    friction: JointFriction
    body: RigidBody
    home: float = 0.0
    rotor_inertia: float = 0.0


@dataclass(frozen=True)
class Leg:
    """A serial chain from ``base_link`` whose tip is joined to the platform (open chains: ends free).

    Attributes
    ----------
    name : e.g. ``leg1``
    joints : from base to platform
    tip : (3,) m, closing point in the frame of the last body
    platform_point : (3,) m, closing point in ``platform_link``
    length_at_zero : m, distance base joint - tip at zero position of the prismatic joint
    ball_cone : rad, how far the ball joint at the platform may tilt from where it is at home; infinite where the file
        gives none
    """

    name: str
    joints: tuple[Joint, ...]
    tip: Array
    platform_point: Array
    length_at_zero: float
    ball_cone: float = np.inf

    @property
    def base_point(self) -> Array:
        """Centre of the base joint in ``base_link`` (3,) m."""
        return self.joints[0].translation


@dataclass(frozen=True)
class Pose:
    """Platform pose: position (3,) m in ``base_link`` and rotation_base_platform (3, 3)."""

    position: Array
    rotation_base_platform: Array
