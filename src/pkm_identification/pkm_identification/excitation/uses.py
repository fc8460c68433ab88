"""How much of its limits a machine uses along a motion, with exact derivatives by the coordinates.

Every use is 0 in the middle of a range (or at home), 1 at a limit, and a smooth function of position, rate and
acceleration of the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics.closed_legs import body_poses, close_legs
from pkm_description.kinematics.joint_limits import ball_joint_studs, has_cones, tilt_limits
from pkm_description.kinematics.joint_motion import JointMotion, joint_motion
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion

from pkm_identification.excitation.coordinates import MotionCoordinates, Mover
from pkm_identification.excitation.forces import LinearForces
from pkm_identification.excitation.objective import SharedGuideways

#: derivatives (N, K, 3, C) by position, rate and acceleration of the coordinates
Slope = Callable[[], Array]


@dataclass(frozen=True)
class Use:
    """Use of one kind of limit by K joints (or drives, or pairs of sliders).

    Attributes
    ----------
    limit : what is limited
    names : K
    values : (N, K)
    two_sided : whether -1 is a limit, too
    slope : makes the derivatives (N, K, 3, C)
    """

    limit: str
    names: tuple[str, ...]
    values: Array
    two_sided: bool
    slope: Slope = field(repr=False)

    @property
    def largest(self) -> Array:
        """Largest use (K,) over time."""
        values = np.abs(self.values) if self.two_sided else self.values
        return np.asarray(values.max(axis=0))


class LimitUses:
    """All limits of a machine: strokes, cones, speeds, accelerations, forces, guideways, distance from singular poses.

    Parameters
    ----------
    forces : of the machine and the coordinates
    guideways : pairs of sliders
    max_acceleration : (A,) m/s^2 or rad/s^2 of the drives, infinite where there is no limit
    box : (C,) largest values of the coordinates, infinite where there is no limit
    condition_ratio : see :class:`~pkm_identification.excitation.uses.Regularity`
    """

    def __init__(
        self, forces: LinearForces, guideways: SharedGuideways, max_acceleration: Array, box: Array,
        condition_ratio: float,
    ) -> None:  # fmt: skip
        self.forces, self.coordinates, self.machine = forces, forces.coordinates, forces.machine
        self.guideways, self.max_acceleration = guideways, max_acceleration
        self.regularity = Regularity(self.coordinates, condition_ratio)
        machine = self.machine
        lower, upper = machine.position_lower, machine.position_upper
        self._bounded = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper))
        lower, upper = lower[self._bounded], upper[self._bounded]
        self._middle, self._half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        fastest = np.array([joint.limits.velocity for joint in machine.joints])
        self._quick = np.flatnonzero(np.isfinite(fastest))
        self._fastest = fastest[self._quick]
        strongest = np.array([joint.limits.effort for joint in machine.actuated_joints])
        self._strong = np.flatnonzero(np.isfinite(strongest))
        self._strongest = strongest[self._strong]
        self._boxed = np.flatnonzero(np.isfinite(box))
        self._box = box[self._boxed]
        self._swift = np.flatnonzero(np.isfinite(max_acceleration))

    def __call__(
        self, move: Mover, motion: PlatformMotion, value: Array, rate: Array, second: Array, slopes: bool
    ) -> tuple[list[Use], JointMotion]:
        """Uses along a motion, and the joints' motion; ``slopes``: the derivatives will be asked for.

        Parameters
        ----------
        move : makes motions at these values
        motion : N samples
        value, rate, second : (N, C) of the coordinates
        """
        machine, names = self.machine, self.machine.joint_names
        joints = joint_motion(machine, motion)
        rates = joint_rates_of(machine, move, len(motion), len(self.coordinates), slopes)
        drives = machine.actuated_joint_names
        found = [
            Use('position', tuple(names[place] for place in self._bounded),
                (joints.positions[:, self._bounded] - self._middle) / self._half, True,
                lambda: _slope(rates.first[:, self._bounded] / self._half[:, None])),
            Use('speed', tuple(names[place] for place in self._quick),
                joints.velocities[:, self._quick] / self._fastest, True, lambda: self._of_speeds(rates, rate)),
            Use('force', tuple(drives[place] for place in self._strong),
                self.forces.forces(machine, motion)[:, self._strong] / self._strongest, True,
                lambda: self._of_forces(motion, value, rate, second)),
            *(Use('regularity', (name,), use[:, None], False, partial(_slope_of_one, by))
              for name, use, by in self.regularity.uses(rates)),
        ]  # fmt: skip
        if len(self._swift):
            chosen = self._swift
            accelerations = joints.accelerations[:, machine.drive_columns[chosen]]
            found.append(Use('acceleration', tuple(drives[place] for place in chosen),
                             accelerations / self.max_acceleration[chosen], True,
                             lambda: self._of_accelerations(motion, value, rate, second)))  # fmt: skip
        if len(self._boxed):
            boxed = tuple(self.coordinates.names[place] for place in self._boxed)
            parts = value[:, self._boxed] / self._box
            found.append(Use('coordinate', boxed, parts, True, lambda: self._of_coordinates(len(value))))
        if len(self.guideways):
            factors = self.guideways.use_by_position
            found.append(Use('guideway', self.guideways.names, self.guideways.use(joints.positions), False,
                             lambda: _slope(np.einsum('pj,njc->npc', factors, rates.first))))  # fmt: skip
        if has_cones(machine):
            tilts = Tilts(machine, motion, joints)
            found.append(Use('tilt', tilts.names, tilts.uses(), False, lambda: _slope(tilts.slope(rates, move))))
        return [use for use in found if use.names], joints

    def _of_coordinates(self, count: int) -> Array:
        unit = np.eye(len(self.coordinates))[self._boxed] / self._box[:, None]
        return _slope(np.broadcast_to(unit, (count, *unit.shape)))

    def _of_speeds(self, rates: JointRates, rate: Array) -> Array:
        """Joint speeds Q z': by z the second derivatives, by z' Q."""
        first = rates.first[:, self._quick] / self._fastest[:, None]
        second = np.einsum('njcd,nd->njc', rates.second[:, self._quick], rate) / self._fastest[:, None]
        return np.stack([second, first, np.zeros_like(first)], axis=2)

    def _of_forces(self, motion: PlatformMotion, value: Array, rate: Array, second: Array) -> Array:
        found = self.coordinates.pull_back(value, rate, second, self.forces.force_derivatives(motion))
        return np.asarray(found[:, self._strong] / self._strongest[:, None, None])

    def _of_accelerations(self, motion: PlatformMotion, value: Array, rate: Array, second: Array) -> Array:
        found = self.coordinates.pull_back(value, rate, second, self.forces.acceleration_derivatives(motion))
        return np.asarray(found[:, self._swift] / self.max_acceleration[self._swift][:, None, None])


def _slope_of_one(by_value: Slope) -> Array:
    return _slope(by_value()[:, None])


def _slope(by_value: Array) -> Array:
    """Derivatives (N, K, 3, C) of what depends on the values of the coordinates only, from (N, K, C)."""
    found = np.zeros((*by_value.shape[:2], 3, by_value.shape[2]))
    found[:, :, 0] = by_value
    return found


class Tilts:
    """Ball joints with cones; their use is ``(1 - cos tilt) / (1 - cos cone)``, which is smooth where a tilt is zero.

    Attributes
    ----------
    names : K ball joints
    """

    def __init__(self, machine: Machine, motion: PlatformMotion, joints: JointMotion) -> None:
        self._machine, self._motion, self._joints = machine, motion, joints
        legs = close_legs(machine, motion.position, motion.rotation_base_platform, joints.positions)
        home = close_legs(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
        limits = tilt_limits(machine, home, 1)
        self._chosen = np.flatnonzero(np.isfinite(limits.upper))
        self.names = tuple(limits.joints[place] for place in self._chosen)
        self._room = 1.0 - np.cos(limits.upper[self._chosen])
        self._studs = ball_joint_studs(legs)[:, self._chosen]
        self._at_home = ball_joint_studs(home)[:, self._chosen]

    def uses(self) -> Array:
        """Use (N, K)."""
        return np.asarray((1.0 - np.sum(self._studs * self._at_home, axis=-1)) / self._room)

    def slope(self, rates: JointRates, move: Mover) -> Array:
        """Derivative (N, K, C) of the uses by the coordinates.

        The stud's direction in the other body turns with the difference of both bodies' angular velocities.
        """
        machine, positions = self._machine, self._joints.positions
        count, coordinates = len(positions), rates.first.shape[2]
        still = np.zeros((count, coordinates))
        platform = np.empty((count, coordinates, 3))
        for k in range(coordinates):
            unit = still.copy()
            unit[:, k] = 1.0
            platform[:, k] = move(np.zeros(count), unit, still).angular_velocity
        turns, rotations = body_turns(machine, positions, rates.first, platform, self._motion.rotation_base_platform)
        balls = np.flatnonzero([closure.kind == 'ball' for closure in machine.closures])[self._chosen]
        body, other = machine.model.closure_body[balls], machine.model.closure_other[balls]
        to_base = rotations[:, other]
        studs, at_home = ((to_base @ one[..., None])[..., 0] for one in (self._studs, self._at_home))
        spin = turns[:, body] - turns[:, other]
        change = np.sum(cross(spin, studs[:, :, None]) * at_home[:, :, None], axis=-1)
        return np.asarray(-change / self._room[:, None])


class Regularity:
    """Two figures that are 1 at home and 0 at a singular pose, and how much of the room between is used.

    *joints*: size of the joint rates per rate of the coordinates, home over here. It falls where a leg is stretched or
    folded or a universal joint is near its axis; with the drives as coordinates also where the drives lose the
    platform. *drives*, with the platform's coordinates: smallest singular value of the drive rates per rate of the
    platform, here over home. It falls where the platform can move while the drives stand still.

    Turns are measured by the platform's radius, so that no unit matters.

    Parameters
    ----------
    condition_ratio : both figures stay above ``1 / condition_ratio``; > 1
    """

    def __init__(self, coordinates: MotionCoordinates, condition_ratio: float) -> None:
        if not condition_ratio > 1.0:
            raise ConfigurationError(f'condition_ratio = {condition_ratio}: must be greater than 1')
        machine = coordinates.machine
        self._floor = 1.0 / condition_ratio
        radius = machine.platform_radius
        joints = np.array([radius if joint.kind == 'revolute' else 1.0 for joint in machine.joints])
        own = np.array([radius if unit == 'rad' else 1.0 for unit in coordinates.units])
        self._scale = joints[:, None] / own
        self._drives = machine.drive_columns if coordinates.kernel == 'platform' else None
        count = len(coordinates)
        at_home = joint_rates_of(machine, coordinates.at(np.zeros((1, count))), 1, count, second=False).first
        scaled = at_home * self._scale
        self._size = float(np.linalg.norm(scaled[0]))
        if self._drives is not None:
            self._least = float(np.linalg.svd(scaled[0, self._drives], compute_uv=False)[-1])

    def uses(self, rates: JointRates) -> Iterator[tuple[str, Array, Callable[[], Array]]]:
        """Name, use (N,), 0 at home and 1 at the limit, and what makes its derivative (N, C) by the coordinates."""
        scaled = rates.first * self._scale
        size = np.sqrt(np.sum(scaled**2, axis=(1, 2)))

        def by_size() -> Array:
            change = np.einsum('njc,njcd->nd', scaled * self._scale, rates.second) / size[:, None]
            return np.asarray(self._size / size**2)[:, None] * change / (1.0 - self._floor)

        yield 'joints', (1.0 - self._size / size) / (1.0 - self._floor), by_size
        if self._drives is None:
            return
        own = scaled[:, self._drives]
        left, values, right = np.linalg.svd(own, full_matrices=False)

        def by_least() -> Array:
            bent = rates.second[:, self._drives] * self._scale[self._drives][..., None]
            change = np.einsum('na,nc,nacd->nd', left[..., -1], right[:, -1], bent)
            return np.asarray(-change / self._least / (1.0 - self._floor))

        yield 'drives', (1.0 - values[:, -1] / self._least) / (1.0 - self._floor), by_least


@dataclass(frozen=True)
class JointRates:
    """Joint positions q as a function of the coordinates z: Q = dq/dz, H = d2q/dz2.

    Attributes
    ----------
    first : (N, J, C)
    second : (N, J, C, C), symmetric; empty if it was not asked for
    """

    first: Array
    second: Array


def joint_rates_of(machine: Machine, move: Mover, count: int, coordinates: int, second: bool) -> JointRates:
    """Derivatives of the joints by the coordinates of N = ``count`` poses, exact.

    Along constant rates w joints have the velocity ``Q w`` and the acceleration ``H[w, w]``: with unit rates and sums
    of two of them the analytic joint accelerations give all of H.
    """
    time, still = np.zeros(count), np.zeros((count, coordinates))
    joints = len(machine.joints)
    first = np.empty((count, joints, coordinates))
    bent = np.empty((count, joints, coordinates, coordinates) if second else (0, 0, 0, 0))
    for k in range(coordinates):
        found = joint_motion(machine, move(time, _unit(still, k), still))
        first[:, :, k] = found.velocities
        if second:
            bent[:, :, k, k] = found.accelerations
    for k in range(coordinates if second else 0):
        for other in range(k):
            found = joint_motion(machine, move(time, _unit(still, k, other), still))
            both = 0.5 * (found.accelerations - bent[:, :, k, k] - bent[:, :, other, other])
            bent[:, :, k, other] = bent[:, :, other, k] = both
    return JointRates(first, bent)


def _unit(still: Array, *places: int) -> Array:
    rates = still.copy()
    rates[:, list(places)] = 1.0
    return rates


def body_turns(
    machine: Machine, positions: Array, rates: Array, platform: Array, rotation_base_platform: Array
) -> tuple[Array, Array]:
    """Angular velocities (N, J + 2, C, 3) of all bodies per rate of the coordinates, and rotations (N, J + 2, 3, 3).

    Base axes; the platform stands behind the J legs' bodies, and then the base.

    Parameters
    ----------
    positions : (N, J)
    rates : (N, J, C), joint rates per rate of the coordinates
    platform : (N, C, 3) rad/s, of the platform
    rotation_base_platform : (N, 3, 3)
    """
    rotations, _ = body_poses(machine, positions)
    model, count = machine.model, len(machine.joints)
    turns = np.zeros((len(positions), count + 2, rates.shape[2], 3))
    turns[:, count] = platform
    axes = (rotations @ model.axis[..., None])[..., 0]
    for place, joint in enumerate(machine.joints):  # a parent stands before its child
        turns[:, place] = turns[:, model.parent[place]]
        if joint.kind == 'revolute':
            turns[:, place] += rates[:, place, :, None] * axes[:, place, None, :]
    base = np.broadcast_to(np.eye(3), rotation_base_platform.shape)
    return turns, np.concatenate([rotations, rotation_base_platform[:, None], base[:, None]], axis=1)
