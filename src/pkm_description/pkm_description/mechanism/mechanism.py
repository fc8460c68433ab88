"""The numerical form of a machine: its legs stacked into arrays with a leg axis."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import KinematicsError
from pkm_description.machine.model import Joint, Leg, Machine
from pkm_description.mechanism.universal_prismatic import UniversalPrismaticLegs

Array = NDArray[np.float64]


def _stack(machine: Machine, value: object) -> Array:
    """Stack ``value(joint)`` of every joint to (L, J, ...)."""
    assert callable(value)
    return np.array([[value(joint) for joint in leg.joints] for leg in machine.legs], dtype=float)


class Mechanism:
    """Machine data stacked across legs, so that one array operation serves all legs and all samples.

    Every leg is a serial chain of J one-degree-of-freedom joints, one body each, whose tip is joined to the platform:
    by a ball joint, or on planar machines by a pin about z. All legs have the same joint kinds in the same order;
    axes, offsets and masses differ freely. A leg with as many joints as closing equations leaves the platform free;
    one with fewer (the R-P legs of a 3-RPS) takes freedom from it. Open chains have no platform.

    Parameters
    ----------
    machine : the description, see :func:`pkm_description.machine.load_machine`

    Attributes
    ----------
    machine : as given
    leg_count, joint_count : L legs, J joints per leg
    joint_names, actuated_joint_names : leg by leg, base to platform
    joint_kinds : J of ``'revolute'`` / ``'prismatic'``
    actuated_index : place of the driven joint in each chain
    joint_axes : (L, J, 3) unit vectors in the joint frame
    joint_translations, joint_rotations : (L, J, 3) m and (L, J, 3, 3), joint frame in the parent body's frame
    axes_in_parent : (L, J, 3) joint axes in the parent body's frame
    sine_factors, versine_factors : (L, J, 3, 3); a revolute turned by q has the rotation
        ``joint_rotations + sin(q) sine_factors + (1 - cos(q)) versine_factors`` in the parent body's frame
    planar, has_platform : from the machine's freedom
    closing_equations : per leg, 3 (ball), 2 (pin) or 0 (open chain)
    constraint_count : equations K that hold the platform's twist, of legs and plane
    degrees_of_freedom : of the closed machine (away from singular poses)
    actuated_count : driven joints A
    home_positions : (L, J) joint positions from which the loops are closed
    rotor_inertia : (L, J) kg or kg m^2, reflected to the joints
    tips : (L, 3) m, closing point in the last body's frame
    base_points, platform_points : (L, 3) m in ``base_link`` and ``platform_link``
    lengths_at_zero : (L,) m
    leg_parameters : (L, J, 10) inertial parameters of the leg bodies, platform_parameters : (10,)
    viscous, coulomb : (L, J) joint friction
    position_lower, position_upper : (L, J) joint limits
    gravity : (3,) m/s^2 in ``base_link``

    Raises
    ------
    KinematicsError
        If the legs differ in joint kinds, a leg has not exactly one actuated joint, or has fewer or more joints than
        its closure can use.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.leg_count = len(machine.legs)
        self.joint_kinds = _common_joint_kinds(machine)
        self.joint_count = len(self.joint_kinds)
        self.actuated_index = _common_actuated_index(machine)
        self.joint_names = machine.joint_names
        self.actuated_joint_names = tuple(joint.name for joint in machine.actuated_joints)

        self.planar = machine.freedom == 'planar'
        self.has_platform = machine.has_platform
        self.closing_equations = {'free': 3, 'planar': 2, 'none': 0}[machine.freedom]
        self.constraint_count = _constraint_count(self)
        coordinates = 6 if self.has_platform else self.leg_count * self.joint_count
        self.degrees_of_freedom = coordinates - self.constraint_count
        self.actuated_count = len(self.actuated_joint_names)
        self.home_positions = _stack(machine, lambda joint: joint.home)
        self.rotor_inertia = _stack(machine, lambda joint: joint.rotor_inertia)

        self.joint_axes = _stack(machine, lambda joint: joint.axis)
        self.joint_translations = _stack(machine, lambda joint: joint.translation)
        self.joint_rotations = _stack(machine, lambda joint: joint.rotation_parent_joint)
        generators = np.array([[_generator(axis) for axis in axes] for axes in self.joint_axes])
        self.axes_in_parent = (self.joint_rotations @ self.joint_axes[..., None])[..., 0]
        self.sine_factors = self.joint_rotations @ generators
        self.versine_factors = self.sine_factors @ generators
        self.tips = np.array([leg.tip for leg in machine.legs], dtype=float)
        self.base_points = machine.base_points.astype(float)
        self.platform_points = machine.platform_points.astype(float)
        self.lengths_at_zero = machine.lengths_at_zero.astype(float)

        self.leg_parameters = _stack(machine, lambda joint: joint.body.parameters)
        self.platform_parameters = machine.platform.parameters
        self.viscous = _stack(machine, lambda joint: joint.friction.viscous)
        self.coulomb = _stack(machine, lambda joint: joint.friction.coulomb)
        self.position_lower = _stack(machine, lambda joint: joint.limits.lower)
        self.position_upper = _stack(machine, lambda joint: joint.limits.upper)
        self.gravity = np.asarray(machine.gravity, dtype=float)

    @cached_property
    def universal_prismatic(self) -> UniversalPrismaticLegs:
        """Constants of the closed-form leg solution; raises KinematicsError for legs of another kind."""
        return UniversalPrismaticLegs.from_mechanism(self)

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
    def leg_reach(self) -> float:
        """Length scale of the legs [m]: how far the longest of them reaches about home."""
        spans = np.linalg.norm(self.joint_translations[:, 1:], axis=-1).sum(axis=1)
        reach = spans + np.linalg.norm(self.tips, axis=-1) + np.abs(self.home_positions).max(axis=1)
        return float(reach.max())

    @cached_property
    def platform_radius(self) -> float:
        """Mean distance of the platform joints from the platform origin [m]."""
        return float(np.linalg.norm(self.platform_points, axis=1).mean())

    def __repr__(self) -> str:
        return f'Mechanism({self.machine.name!r}, {self.leg_count} legs of {self.joint_count} joints)'


def _constraint_count(mechanism: Mechanism) -> int:
    """Equations that legs and plane put on the platform's twist."""
    if not mechanism.has_platform:
        return 0
    missing = mechanism.closing_equations - mechanism.joint_count
    if missing not in ((0,) if mechanism.planar else (0, 1)):
        usable = '2 joints' if mechanism.planar else '2 or 3 joints'
        raise KinematicsError(
            f'{mechanism.machine.name}: a leg has {mechanism.joint_count} joints; legs of a '
            f'{"planar" if mechanism.planar else "free"} platform need {usable} before the closing joint'
        )
    return missing * mechanism.leg_count + (3 if mechanism.planar else 0)


def _generator(axis: Array) -> Array:
    """Matrix of the cross product with a vector (3,)."""
    x, y, z = axis
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _common_joint_kinds(machine: Machine) -> tuple[str, ...]:
    """Joint kinds that all legs share."""
    if not machine.legs:
        raise KinematicsError(f'{machine.name}: a mechanism needs at least one leg')

    def kinds(leg: Leg) -> tuple[str, ...]:
        return tuple(joint.kind for joint in leg.joints)

    first = machine.legs[0]
    for leg in machine.legs:
        if kinds(leg) != kinds(first):
            raise KinematicsError(
                f'{machine.name}: {leg.name} has joints {kinds(leg)}, {first.name} has {kinds(first)}; '
                'all legs need the same joint kinds in the same order'
            )
        for joint in leg.joints:
            _check_joint(joint)
    return kinds(first)


def _check_joint(joint: Joint) -> None:
    if joint.kind not in ('revolute', 'prismatic'):
        raise KinematicsError(f"{joint.name}: kind {joint.kind!r} is neither 'revolute' nor 'prismatic'")
    if abs(np.linalg.norm(joint.axis) - 1.0) > 1e-9:
        raise KinematicsError(f'{joint.name}: axis {joint.axis} is not a unit vector')


def _common_actuated_index(machine: Machine) -> int:
    """Place of the one driven joint in each chain."""
    index = None
    for leg in machine.legs:
        driven = [place for place, joint in enumerate(leg.joints) if joint.actuated]
        if len(driven) != 1 or index not in (None, driven[0]):
            raise KinematicsError(
                f'{machine.name}: {leg.name} drives joints {[leg.joints[place].name for place in driven]}; '
                'each leg needs exactly one actuated joint, at the same place in every leg'
            )
        index = driven[0]
    assert index is not None
    return index
