"""Joint limits: positions, tilts, speeds and forces of a motion, and the limits that it violates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array, packed
from pkm_description.kernels.kinematics.joint_motion import gaps_of_legs
from pkm_description.kernels.kinematics.pose import CLOSING_TOLERANCE
from pkm_description.kinematics.arguments import require_ok
from pkm_description.kinematics.closed_legs import ClosedLegs, all_body_poses, close_legs
from pkm_description.kinematics.joint_motion import JointMotion
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Closure, Leg, Machine

Limit = Literal['reach', 'position', 'tilt', 'speed', 'force']


@dataclass(frozen=True)
class LimitViolation:
    """A joint outside of a limit.

    Attributes
    ----------
    sample, time : index in the motion, s
    leg, joint : names; the joint of ``tilt`` and ``reach`` is the one between leg and platform
    limit : ``'reach'`` (by how much a leg misses its platform joint), ``'position'``,
        ``'tilt'`` (cone of a ball joint), ``'speed'`` or ``'force'`` (torque of turning drives)
    value, lower, upper : in ``unit``
    unit : m, rad, m/s, rad/s, N or N m
    """

    sample: int
    time: float
    leg: str
    joint: str
    limit: Limit
    value: float
    lower: float
    upper: float
    unit: str

    @property
    def excess(self) -> float:
        """Distance from the limit, relative to half the allowed range; infinite where the value is not a number."""
        beyond = max(self.lower - self.value, self.value - self.upper)
        finite = np.isfinite(self.lower) and np.isfinite(self.upper)
        half = 0.5 * (self.upper - self.lower) if finite else 1.0
        return float(beyond / half) if half > 0.0 and np.isfinite(beyond) else np.inf

    def __str__(self) -> str:
        name = 'torque' if self.unit == 'N m' else self.limit
        value, unit = self.value, self.unit
        if self.limit == 'reach':
            return f'{self.leg} misses its platform joint by {value:.3g} {unit}: the pose is out of its reach'
        if self.limit == 'position' and value < self.lower:
            return f'{self.joint}: position {value:.4f} {unit} is below the lower limit {self.lower:.4f} {unit}'
        if self.limit == 'position':
            return f'{self.joint}: position {value:.4f} {unit} exceeds the upper limit {self.upper:.4f} {unit}'
        digits = 1 if self.limit == 'force' else 3
        return f'{self.joint}: {name} {abs(value):.{digits}f} {unit} exceeds {self.upper:.{digits}f} {unit}'


@dataclass(frozen=True)
class LimitedQuantity:
    """One kind of limited quantity of K joints along a motion.

    Attributes
    ----------
    limit : its kind
    legs, joints, units : K names and units
    values : (N, K)
    lower, upper : (K,), infinite where there is no limit
    """

    limit: Limit
    legs: tuple[str, ...]
    joints: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    lower: Array
    upper: Array

    def outside(self) -> NDArray[np.bool_]:
        """Where a limit is broken (N, K); numbers that are not finite break every limit."""
        return ~((self.values >= self.lower) & (self.values <= self.upper)) | ~np.isfinite(self.values)

    def violations(self, time: Array) -> list[LimitViolation]:
        """Every broken limit, in order of samples."""
        return [
            LimitViolation(
                int(sample), float(time[sample]), self.legs[place], self.joints[place], self.limit,
                float(self.values[sample, place]), float(self.lower[place]), float(self.upper[place]),
                self.units[place],
            )
            for sample, place in np.argwhere(self.outside())
        ]  # fmt: skip

    def use(self) -> Array:
        """Largest part of the limits that each joint uses (K,): distance from the middle over half the range."""
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        lower, upper = np.where(bounded, self.lower, -1.0), np.where(bounded, self.upper, 1.0)
        distance = np.abs(self.values - 0.5 * (lower + upper)).max(axis=0, initial=0.0)
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.asarray(np.where(bounded, distance / (0.5 * (upper - lower)), 0.0))


def position_limits(machine: Machine, positions: Array) -> LimitedQuantity:
    """Positions (N, J) of all joints, passive ones too."""
    return _quantity(machine, 'position', ('m', 'rad'), positions, machine.position_lower, machine.position_upper)


def reach_limits(machine: Machine, position: Array, rotation_base_platform: Array) -> LimitedQuantity:
    """How far the legs miss their platform joints at poses (N, 3) m, (N, 3, 3); zero of struts on universal joints."""
    names = tuple(leg.name for leg in machine.legs)
    missing = np.zeros((len(position), machine.leg_count))
    finite = np.isfinite(position).all(axis=1) & np.isfinite(rotation_base_platform).all(axis=(1, 2))
    gaps = np.zeros((int(finite.sum()), machine.leg_count))
    data, scratch = machine.scratch
    pose = packed(position[finite]), packed(rotation_base_platform[finite])
    require_ok(machine, gaps_of_legs(machine.compiled_model, scratch, *pose, gaps), data.detail)
    missing[finite] = gaps
    joints = tuple(f'{name} platform joint' for name in names)
    upper = np.full(len(names), CLOSING_TOLERANCE)
    return LimitedQuantity('reach', names, joints, ('m',) * len(names), missing, np.zeros(len(names)), upper)


def speed_limits(machine: Machine, motion: JointMotion) -> LimitedQuantity:
    """Speeds of all joints that the machine file limits."""
    fastest = np.array([joint.limits.velocity for joint in machine.joints])
    return _quantity(machine, 'speed', ('m/s', 'rad/s'), motion.velocities, -fastest, fastest)


def force_limits(machine: Machine, forces: Array) -> LimitedQuantity:
    """Forces (N, A) of the drives [N, N m]."""
    strongest = np.array([joint.limits.effort for joint in machine.actuated_joints])
    return _quantity(machine, 'force', ('N', 'N m'), forces, -strongest, strongest)


def _balls(machine: Machine) -> list[tuple[Leg, Closure]]:
    """Ball joints that close legs, leg by leg."""
    return [(leg, closure) for leg in machine.legs for closure in leg.closures if closure.kind == 'ball']


def has_cones(machine: Machine) -> bool:
    """True if a ball joint has a limit."""
    return bool(np.isfinite([closure.cone for _, closure in _balls(machine)]).any())


def tilt_limits(machine: Machine, legs: ClosedLegs | None, count: int) -> LimitedQuantity:
    """Tilts of all B ball joints, see :func:`ball_joint_tilts`; zero where none has a cone.

    Parameters
    ----------
    legs : closed onto N poses; not needed where no ball joint has a cone (see :func:`has_cones`)
    count : number of poses N
    """
    balls = _balls(machine)
    names = tuple(leg.name for leg, _ in balls)
    joints = tuple(
        f'{leg.name if len(leg.closures) == 1 else closure.name} ball joint' for leg, closure in balls
    )
    tilts = np.zeros((count, len(balls)))
    if has_cones(machine):
        if legs is None:
            raise ValueError('this machine has ball joints with cones: give its closed legs')
        tilts = ball_joint_tilts(legs)
    cones = np.array([closure.cone for _, closure in balls])
    return LimitedQuantity('tilt', names, joints, ('rad',) * len(balls), tilts, np.zeros(len(balls)), cones)


def ball_joint_tilts(legs: ClosedLegs) -> Array:
    """Angle (N, B) rad between each ball joint's stud, seen from the other body, and where it points at home.

    The stud is fixed to the closure's own body, the last of a leg, and points from that body's joint to the ball's
    centre (along the joint's axis where both coincide). Turning about the stud is not a tilt.
    """
    machine, home = legs.machine, legs.machine.home
    at_home = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    studs, reference = ball_joint_studs(legs), ball_joint_studs(at_home)
    sine = np.linalg.norm(cross(studs, np.broadcast_to(reference, studs.shape)), axis=-1)
    return np.asarray(np.arctan2(sine, np.sum(studs * reference, axis=-1)))


def ball_joint_studs(legs: ClosedLegs) -> Array:
    """Unit vectors (N, B, 3) along the studs of all ball joints, axes of the other bodies: mostly of the platform."""
    machine = legs.machine
    rotations, _ = all_body_poses(machine, legs.positions, legs.position, legs.rotation_base_platform)
    kinds = [closure.kind == 'ball' for closure in machine.closures]
    bodies, others = machine.model.closure_body[kinds], machine.model.closure_other[kinds]
    points = machine.model.closure_point[kinds]
    lengths = np.linalg.norm(points, axis=-1, keepdims=True)
    along_axis = lengths < 1e-9
    axes = np.concatenate([machine.model.axis, np.eye(3)[[2, 2]]])[bodies]
    in_body = np.where(along_axis, axes, points / np.where(along_axis, 1.0, lengths))
    in_base = (rotations[:, bodies] @ in_body[..., None])[..., 0]
    return np.asarray((np.swapaxes(rotations[:, others], -1, -2) @ in_base[..., None])[..., 0])


def _quantity(
    machine: Machine, limit: Limit, units: tuple[str, str], values: Array, lower: Array, upper: Array
) -> LimitedQuantity:
    """Quantity of all joints, or of the driven ones (forces); ``units`` of prismatic and of revolute joints."""
    pairs = [(leg, joint) for leg in machine.legs for joint in leg.joints if limit != 'force' or joint.actuated]
    return LimitedQuantity(
        limit,
        tuple(leg.name for leg, _ in pairs),
        tuple(joint.name for _, joint in pairs),
        tuple(units[0] if joint.kind == 'prismatic' else units[1] for _, joint in pairs),
        values,
        lower,
        upper,
    )
