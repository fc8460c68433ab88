"""How much of its limits a machine uses along a motion.

Every use is 0 in the middle of a range (or at home), 1 at a limit, and a smooth function of position, rate and
acceleration of the coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError, KinematicsError
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.joint_limits import ball_joint_studs, has_cones, tilt_limits
from pkm_description.kinematics.joint_motion import JointMotion, joint_motion
from pkm_description.machine import Joint, Machine, PlatformMotion

from pkm_identification.excitation.coordinates import MotionCoordinates, Mover

#: sine of the angle between two guideways, and their distance over the machine's radius, up to which they are one
_PARALLEL, _SAME_LINE = 1e-6, 1e-6


@dataclass(frozen=True)
class Use:
    """Use of one kind of limit by K joints (or drives, or pairs of sliders).

    Attributes
    ----------
    limit : what is limited
    names : K
    values : (N, K)
    two_sided : whether -1 is a limit, too
    """

    limit: str
    names: tuple[str, ...]
    values: Array
    two_sided: bool

    @property
    def largest(self) -> Array:
        """Largest use (K,) over time."""
        values = np.abs(self.values) if self.two_sided else self.values
        return np.asarray(values.max(axis=0))


class LimitUses:
    """All limits of a machine: strokes, cones, speeds, accelerations, forces, guideways, distance from singular poses.

    Parameters
    ----------
    coordinates : of the machine
    sign_width : m/s or rad/s of a tanh in place of the sign of friction
    clearance : m, see :class:`SharedGuideways`
    max_acceleration : (A,) m/s^2 or rad/s^2 of the drives, infinite where there is no limit
    box : (C,) largest values of the coordinates, infinite where there is no limit
    condition_ratio : see :class:`~pkm_identification.excitation.uses.Regularity`
    """

    def __init__(
        self, coordinates: MotionCoordinates, sign_width: float, clearance: float, max_acceleration: Array, box: Array,
        condition_ratio: float,
    ) -> None:  # fmt: skip
        self.coordinates, self.machine, self._sign_width = coordinates, coordinates.machine, sign_width
        self.guideways, self.max_acceleration = SharedGuideways(self.machine, clearance), max_acceleration
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

    def __call__(self, move: Mover, motion: PlatformMotion, value: Array, of_pose: bool = True) -> list[Use]:
        """Uses along a motion, those that rates change last.

        Parameters
        ----------
        move : makes motions at these values
        motion : N samples
        value : (N, C) of the coordinates
        of_pose : False: only those that rates change
        """
        machine = self.machine
        names, drives = np.array(machine.joint_names), np.array(machine.actuated_joint_names)
        joints = joint_motion(machine, motion)

        def use(limit: str, of: Array, values: Array) -> Use:
            return Use(limit, tuple(of.tolist()), values, True)

        found = [
            use('position', names[self._bounded], (joints.positions[:, self._bounded] - self._middle) / self._half),
            *(Use('regularity', (name,), one[:, None], False)
              for name, one in self.regularity.uses(move, len(motion))),
            use('coordinate', np.array(self.coordinates.names)[self._boxed], value[:, self._boxed] / self._box),
            Use('guideway', self.guideways.names, self.guideways.use(joints.positions), False),
            *([self._tilts(motion, joints)] if has_cones(machine) else []),
        ] if of_pose else []  # fmt: skip
        found += [
            use('speed', names[self._quick], joints.velocities[:, self._quick] / self._fastest),
            use('force', drives[self._strong],
                inverse_dynamics(machine, motion, sign_smoothing=self._sign_width)[:, self._strong] / self._strongest),
            use('acceleration', drives[self._swift],
                joints.accelerations[:, machine.drive_columns[self._swift]] / self.max_acceleration[self._swift]),
        ]  # fmt: skip
        return [one for one in found if one.names]

    def _tilts(self, motion: PlatformMotion, joints: JointMotion) -> Use:
        """Of ball joints with cones: ``(1 - cos tilt) / (1 - cos cone)``, which is smooth where a tilt is zero."""
        machine = self.machine
        legs = close_legs(machine, motion.position, motion.rotation_base_platform, joints.positions)
        home = close_legs(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
        limits = tilt_limits(machine, home, 1)
        chosen = np.flatnonzero(np.isfinite(limits.upper))
        cosines = np.sum(ball_joint_studs(legs)[:, chosen] * ball_joint_studs(home)[:, chosen], axis=-1)
        uses = (1.0 - cosines) / (1.0 - np.cos(limits.upper[chosen]))
        return Use('tilt', tuple(limits.joints[place] for place in chosen), uses, False)


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
        self._drives = None if coordinates.are_drives else machine.drive_columns
        self._machine, self._count = machine, len(coordinates)
        at_home = self._scaled_rates(coordinates.at(np.zeros((1, self._count))), 1)[0]
        self._size = float(np.linalg.norm(at_home))
        if self._drives is not None:
            self._least = float(np.linalg.svd(at_home[self._drives], compute_uv=False)[-1])

    def uses(self, move: Mover, count: int) -> Iterator[tuple[str, Array]]:
        """Name and use (N,), 0 at home and 1 at the limit, at N = ``count`` poses."""
        scaled = self._scaled_rates(move, count)
        size = np.sqrt(np.sum(scaled**2, axis=(1, 2)))
        yield 'joints', np.asarray((1.0 - self._size / size) / (1.0 - self._floor))
        if self._drives is not None:
            least = np.linalg.svd(scaled[:, self._drives], compute_uv=False)[:, -1]
            yield 'drives', np.asarray((1.0 - least / self._least) / (1.0 - self._floor))

    def _scaled_rates(self, move: Mover, count: int) -> Array:
        """Joint rates (N, J, C) per rate of the coordinates."""
        still, unit = np.zeros((count, self._count)), np.eye(self._count)
        rates = [joint_motion(self._machine, move(np.zeros(count), still + one, still)).velocities for one in unit]
        return np.asarray(np.stack(rates, axis=-1) * self._scale)


class SharedGuideways:
    """Neighbours on common guideways, as they stand at home: prismatic joints on the base whose axes are one line.

    Parameters
    ----------
    machine : the machine
    clearance : m, least distance of two sliders' joint frames along the guideway

    Attributes
    ----------
    names : P pairs, as in ``leg1_prismatic - leg2_prismatic``

    Raises
    ------
    KinematicsError
        Sliders that are closer at home than the clearance; names them.
    """

    def __init__(self, machine: Machine, clearance: float = 0.0) -> None:
        joints, home, rows, names = machine.joints, machine.model.home_joints, [], []
        starts = np.zeros(len(joints))
        left = [place for place, joint in enumerate(joints)
                if joint.kind == 'prismatic' and machine.model.parent[place] == len(joints) + 1]  # fmt: skip
        while left:
            along, point = _line(joints[left[0]])
            lines = {place: _line(joints[place]) for place in left}
            signs = {
                place: float(np.sign(direction @ along)) for place, (direction, end) in lines.items()
                if np.linalg.norm(np.cross(along, direction)) < _PARALLEL
                and np.linalg.norm(np.cross(along, end - point)) < _SAME_LINE * machine.platform_radius
            }  # fmt: skip
            left = [place for place in left if place not in signs]
            for place in signs:
                starts[place] = lines[place][1] @ along
            order = sorted(signs, key=lambda place: starts[place] + signs[place] * home[place])
            for first, second in pairwise(order):
                row = np.zeros((2, len(joints)))  # on positions, and on starts
                row[:, second], row[:, first] = (signs[second], 1.0), (-signs[first], -1.0)
                rows.append(row)
                names.append(f'{joints[first].name} - {joints[second].name}')
        self.names, found = tuple(names), np.array(rows).reshape(-1, 2, len(joints))
        self._factors, self._constants = found[:, 0], found[:, 1] @ starts
        self._at_home, self._clearance = self._factors @ home + self._constants, clearance
        for name, gap in zip(names, self._at_home, strict=True):
            if gap <= clearance:
                raise KinematicsError(
                    f'{machine.name}: {name} are {gap:.4g} m apart at home on their common guideway, the clearance is '
                    f'{clearance:g} m; choose a smaller guideway_clearance or another home'
                )

    def use(self, positions: Array) -> Array:
        """How much of the distance at home is used up (N, P) at joint positions (N, J): 1 at the clearance."""
        gaps = positions @ self._factors.T + self._constants
        return np.asarray((self._at_home - gaps) / (self._at_home - self._clearance))


def _line(joint: Joint) -> tuple[Array, Array]:
    """Direction and a point, base axes."""
    return joint.rotation_parent_joint @ joint.axis, joint.translation
