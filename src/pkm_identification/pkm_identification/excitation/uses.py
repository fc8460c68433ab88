"""How much of its limits a machine uses along a motion, with exact derivatives by the coordinates.

Every use is 0 in the middle of a range (or at home), 1 at a limit, and a smooth function of position, rate and
acceleration of the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.joint_limits import has_cones
from pkm_description.kinematics.joint_motion import JointMotion, joint_motion
from pkm_description.machine import PlatformMotion

from pkm_identification.excitation.coordinates import Mover
from pkm_identification.excitation.forces import LinearForces
from pkm_identification.excitation.guideways import SharedGuideways
from pkm_identification.excitation.joint_rates import JointRates, joint_rates_of
from pkm_identification.excitation.regularity import Regularity
from pkm_identification.excitation.tilts import Tilts

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
    condition_ratio : see :class:`~pkm_identification.excitation.regularity.Regularity`
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
