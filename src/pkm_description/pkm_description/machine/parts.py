"""Bodies, joints, legs and poses as plain immutable data.

All quantities in SI units; vectors in the frame that the attribute names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.friction_laws.law import EXACT_SIGN, FrictionLaw
from pkm_description.friction_laws.laws import NO_FRICTION, ViscousCoulomb

#: speeds compared, from a tenth of a percent of the largest one, evenly spaced in their logarithm and linearly
_SPEEDS = np.concatenate([np.geomspace(1e-3, 1.0, 60), np.linspace(0.0, 1.0, 61)[1:]])
#: entries of an inertia tensor in files, and their places
INERTIA_ENTRIES = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}
#: order of the ten inertial parameters of a body, inertia about the body frame's origin
INERTIAL_PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')


@dataclass(frozen=True)
class Placement:
    """Pose of one frame in another.

    Attributes
    ----------
    position : (3,) m
    rotation : (3, 3), its columns are the axes of the placed frame
    """

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, other: Placement) -> Placement:
        """Pose of ``other``'s frame in the frame that this one is given in."""
        return Placement(self.point(other.position), self.rotation @ other.rotation)

    def point(self, point: Array) -> Array:
        """Return a point (3,) m of the placed frame in the frame that this one is given in."""
        return self.position + self.rotation @ point

    @property
    def inverse(self) -> Placement:
        """Pose of the frame that this one is given in, in the placed frame."""
        return Placement(-self.rotation.T @ self.position, self.rotation.T)

    def seen_from(self, other: Placement) -> Placement:
        """Pose of this frame in ``other``, both given in the same frame."""
        return other.inverse @ self


HERE = Placement()


@dataclass(frozen=True)
class RigidBody:
    """A rigid body in its own link frame; by default without mass.

    Attributes
    ----------
    name : link name, e.g. ``leg1_rod``
    mass : kg
    center_of_mass : (3,) m, link frame
    inertia : (3, 3) kg m^2, about the centre of mass, axes of the link frame
    """

    name: str
    mass: float = 0.0
    center_of_mass: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    @property
    def parameters(self) -> Array:
        """Ten inertial parameters (10,), see :data:`INERTIAL_PARAMETERS`."""
        com = self.center_of_mass
        about_origin = self.inertia + self.mass * unit_inertia(com)
        return np.concatenate([[self.mass], self.mass * com, about_origin[np.triu_indices(3)]])

    def moved(self, place: Placement) -> RigidBody:
        """Return the same body in a frame in which its own has the pose ``place``."""
        turned = place.rotation @ self.inertia @ place.rotation.T
        return replace(self, center_of_mass=place.point(self.center_of_mass), inertia=turned)


def inertia_tensor(entries: Iterable[float]) -> Array:
    """Tensor (3, 3) of the six numbers of :data:`INERTIA_ENTRIES`."""
    xx, xy, xz, yy, yz, zz = entries
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def unit_inertia(point: Array) -> Array:
    """Inertia (3, 3) m^2 about the origin of a unit mass at a point (3,) m."""
    return np.dot(point, point) * np.eye(3) - np.outer(point, point)


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
        return isinstance(self.law, ViscousCoulomb) and self.law.sign == EXACT_SIGN and not self.law.offset

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
    parent : link name of the body that carries the joint; empty: the body of the joint before it in the leg, of the
        first joint ``base_link``
    part_of : name of the universal, spherical or cylindrical joint of the file that it is part of; empty: of none
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
    parent: str = ''
    part_of: str = ''

    @property
    def place(self) -> Placement:
        """Pose of the joint frame at zero position in the parent body's frame."""
        return Placement(self.translation, self.rotation_parent_joint)


@dataclass(frozen=True)
class Closure:
    """What closes a loop: joins a body of a leg to the platform, to the base, or to another body of the same leg.

    A closure frame on either side. ``'ball'``: their origins coincide. ``'universal'``: besides, the x axis on ``body``
    stays perpendicular to the y axis on ``other``. ``'pin'``: besides, their z axes coincide. ``'fixed'``: the frames
    coincide. In a plane (x, y of ``base_link``) a pin, and there are only pins and fixed ones, leaves the turn about z.

    Attributes
    ----------
    name : full name, e.g. ``leg1_closure``
    kind : ``'ball'``, ``'universal'``, ``'pin'`` or ``'fixed'``
    body, other : link names
    point, other_point : (3,) m, origins of the closure frame in the frames of both bodies
    rotation_body, rotation_other : (3, 3), its axes in the frames of both bodies
    cone : rad, how far a ball may tilt from where it is at home; infinite where the file gives none
    """

    name: str
    kind: str
    body: str
    point: Array
    other: str
    other_point: Array
    rotation_body: Array = field(default_factory=lambda: np.eye(3))
    rotation_other: Array = field(default_factory=lambda: np.eye(3))
    cone: float = np.inf

    @property
    def frame(self) -> Placement:
        """The closure frame in ``body``."""
        return Placement(self.point, self.rotation_body)

    @property
    def other_frame(self) -> Placement:
        """The closure frame in ``other``."""
        return Placement(self.other_point, self.rotation_other)


@dataclass(frozen=True)
class Leg:
    """Joints from ``base_link`` on, a chain or a tree, and the closures at their ends (open chains: none).

    Attributes
    ----------
    name : e.g. ``leg1``
    joints : from base to platform; a joint's parent stands before it
    closures : see the class
    chain : kind of leg in the file, key of ``leg_chains``; empty where all legs have the same
    """

    name: str
    joints: tuple[Joint, ...]
    closures: tuple[Closure, ...] = ()
    chain: str = ''

    @classmethod
    def to_platform(
        cls, name: str, joints: tuple[Joint, ...], kind: str, point: Array, platform: str, platform_point: Array,
        cone: float = np.inf,
    ) -> Leg:  # fmt: skip
        """Leg whose last body ends at ``point`` (3,) m on the platform, link name ``platform``."""
        end = Closure(f'{name}_closure', kind, joints[-1].body.name, point, platform, platform_point, cone=cone)
        return cls(name, joints, (end,))

    @cached_property
    def platform_closures(self) -> tuple[Closure, ...]:
        """Closures on the platform, which is neither base nor body of the leg."""
        own = {'base_link', *(joint.body.name for joint in self.joints)}
        return tuple(closure for closure in self.closures if closure.other not in own)

    @property
    def ends_at_platform(self) -> bool:
        """Whether the leg is a chain with one closure, at its last body, on the platform."""
        is_chain = self.parents == tuple(range(-1, len(self.joints) - 1))
        ends = len(self.closures) == len(self.platform_closures) == 1
        return is_chain and ends and self.closures[0].body == self.joints[-1].body.name

    @property
    def end(self) -> Closure:
        """The closure of a leg that has exactly one, on the platform.

        Raises
        ------
        KinematicsError
            A leg with none, or with several closures.
        """
        if len(self.closures) != 1 or not self.platform_closures:
            names = [closure.name for closure in self.closures] or 'none'
            raise KinematicsError(f'{self.name} does not end at one point of the platform; its closures: {names}')
        return self.closures[0]

    def with_end(self, **changes: Any) -> Leg:
        """Return the leg with other attributes of :attr:`end`."""
        return replace(self, closures=(replace(self.end, **changes),))

    def with_body_names(self, names: Mapping[str, str]) -> Leg:
        """Return the leg with other link names of its bodies, old name -> new name."""
        joints = tuple(
            replace(
                joint,
                parent=names.get(joint.parent, joint.parent),
                body=replace(joint.body, name=names.get(joint.body.name, joint.body.name)),
            )
            for joint in self.joints
        )
        closures = tuple(
            replace(one, body=names.get(one.body, one.body), other=names.get(one.other, one.other))
            for one in self.closures
        )
        return replace(self, joints=joints, closures=closures)

    @property
    def tip(self) -> Array:
        """Closing point (3,) m in the frame of the last body; zero of an open chain. Legs with one closure only."""
        return self.end.point if self.closures else np.zeros(3)

    @property
    def platform_point(self) -> Array:
        """Closing point (3,) m in ``platform_link``; zero of an open chain. Legs with one closure only."""
        return self.end.other_point if self.closures else np.zeros(3)

    @cached_property
    def length_at_zero(self) -> float:
        """Distance base joint - tip [m] with all joints at zero; serial legs with one closure only."""
        reach, turn = np.zeros(3), np.eye(3)
        for joint in self.joints[1:]:
            reach = reach + turn @ joint.translation
            turn = turn @ joint.rotation_parent_joint
        return float(np.linalg.norm(reach + turn @ self.tip))

    @property
    def base_point(self) -> Array:
        """Centre of the base joint in ``base_link`` (3,) m."""
        return self.joints[0].translation

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Place among the leg's joints of the joint before each one; -1 for joints on ``base_link``.

        Raises
        ------
        KinematicsError
            A parent that is no body before the joint.
        """
        places = {'base_link': -1}
        parents = []
        for place, joint in enumerate(self.joints):
            if joint.parent and joint.parent not in places:
                raise KinematicsError(
                    f'{joint.name}: its parent {joint.parent!r} is neither base_link nor a body before it in '
                    f'{self.name}: {", ".join(places)}'
                )
            parents.append(places[joint.parent] if joint.parent else place - 1)
            places[joint.body.name] = place
        return tuple(parents)

    @property
    def carriers(self) -> tuple[str, ...]:
        """Link names of the bodies that carry the joints."""
        names = [*(joint.body.name for joint in self.joints), 'base_link']
        return tuple(names[parent] for parent in self.parents)


@dataclass(frozen=True)
class Pose:
    """Platform pose: position (3,) m in ``base_link`` and rotation_base_platform (3, 3)."""

    position: Array
    rotation_base_platform: Array


def nearest_viscous_coulomb(law: FrictionLaw, speed: float) -> tuple[float, float]:
    """Viscous and Coulomb coefficient, both >= 0, by least squares of the force up to a speed.

    Both directions are averaged; a law that depends on the load counts without it (its additional load stays).

    Parameters
    ----------
    speed : m/s or rad/s, > 0; 1 is taken where it is infinite
    """
    if isinstance(law, ViscousCoulomb) and law.sign == EXACT_SIGN:
        return float(law.viscous), float(law.coulomb)
    from scipy.optimize import nnls  # a third of a second, for laws that few machines have

    speeds = _SPEEDS * (speed if np.isfinite(speed) else 1.0)
    forces = 0.5 * (law.force(speeds, 0.0) - law.force(-speeds, 0.0))
    solution, _ = nnls(np.column_stack([speeds, np.ones_like(speeds)]), forces)
    return float(solution[0]), float(solution[1])


