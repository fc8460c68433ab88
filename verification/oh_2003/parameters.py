"""Oh's twelve parameters of a machine, and how the ten parameters of each body follow from them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameter_names, rigid_body_parameters
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.closed_legs import body_poses, platform_joints
from pkm_description.machine import Machine, PlatformMotion

from verification.oh_2003.kane import PARAMETERS
from verification.oh_2003.kinematics import (
    HOME_ANGLES,
    OhGeometry,
    OhMotion,
    rotation_zxz,
    strut_axes,
    strut_kinematics,
)

_CROSS, _CYLINDER, _ROD = range(3)


@dataclass(frozen=True)
class OhModel:
    """A hexapod of U-P legs in Oh's terms.

    Attributes
    ----------
    geometry : joint centres and centres of mass
    parameters : (12,) of the machine, in the order of Eq. 4.4
    matrix : (40, 12), ``rigid_body_parameters(machine, identical_legs=True) = matrix @ parameters`` but for the cross,
        which has no counterpart among Oh's bodies and is left zero
    home : (3,) m, position of the platform's centre at home
    rotation_platform_p : (3, 3), axes of {P} to axes of ``platform_link``
    """

    geometry: OhGeometry
    parameters: Array
    matrix: Array
    home: Array
    rotation_platform_p: Array

    def platform_motion(self, motion: OhMotion, time: Array | None = None) -> PlatformMotion:
        """Motion of ``platform_link`` (its origin is the centre of mass)."""
        struts = strut_kinematics(self.geometry, motion)
        return PlatformMotion(
            time=np.arange(len(motion.position), dtype=float) if time is None else time,
            position=motion.position,
            rotation_base_platform=struts.rotation @ self.rotation_platform_p.T,
            linear_velocity=motion.velocity,
            angular_velocity=struts.angular_velocity,
            linear_acceleration=motion.acceleration,
            angular_acceleration=struts.angular_acceleration,
        )


def oh_model(machine: Machine) -> OhModel:
    """Express a machine in Oh's terms.

    Raises
    ------
    ValueError
        If its bodies are not of Oh's form: centres of mass on the struts and in the platform's origin, inertias that
        are principal in his axes, all legs alike.
    """
    home = machine.home.position[None], machine.home.rotation_base_platform[None]
    rotations, origins = (found[0] for found in body_poses(machine, joint_positions(machine, *home)))
    strut = platform_joints(machine, *home)[0] - machine.base_points
    axes = strut_axes(strut / np.linalg.norm(strut, axis=1, keepdims=True))
    leg = machine.legs[0]
    centers = [
        origins[body] + rotations[body] @ leg.joints[body].body.center_of_mass
        for body in range(3)
    ]
    platform_p = home[1][0].T @ rotation_zxz(HOME_ANGLES[None])[0]
    geometry = OhGeometry(
        base_points=machine.base_points,
        platform_points=machine.platform_points @ platform_p,
        distance_b=float(np.linalg.norm(centers[_CYLINDER] - machine.base_points[0])),
        offset_e=float(np.linalg.norm(centers[_ROD] - machine.base_points[0] - strut[0])),
        gravity=machine.gravity,
    )
    matrix = np.zeros((40, len(PARAMETERS)))
    matrix[0, 2] = 1.0
    matrix[4:10, 6:9] = _principal_inertias(platform_p)
    for body, mass, first in ((_CYLINDER, 1, 3), (_ROD, 0, 9)):
        block = matrix[10 * (1 + body) : 10 * (2 + body)]
        block[:, mass] = _point_mass(leg.joints[body].body.center_of_mass)
        block[4:, first : first + 3] = _principal_inertias(rotations[body].T @ axes[0])
    full = rigid_body_parameters(machine, identical_legs=True)
    # the cross stands between platform and cylinder
    full[10 * (1 + _CROSS) : 10 * (2 + _CROSS)] = 0.0
    parameters = np.asarray(np.linalg.lstsq(matrix, full, rcond=None)[0], dtype=float)
    difference = np.abs(matrix @ parameters - full)
    if difference.max() > 1e-9 * np.abs(full).max():
        worst = rigid_body_parameter_names(machine)[int(np.argmax(difference))]
        raise ValueError(f"{machine.name}: {worst} is off by {difference.max():.3g} from the form of Oh's bodies")
    return OhModel(geometry, parameters, matrix, machine.home.position, platform_p)


def random_motion(model: OhModel, count: int, seed: int, move: float = 0.08, turn: float = 0.2) -> OhMotion:
    """Unrelated random states in Oh's coordinates, up to ``move`` of the strut length and ``turn`` rad from home."""
    random = np.random.default_rng(seed)
    home = OhMotion.of(np.concatenate([model.home, HOME_ANGLES])[None])
    reach = move * float(strut_kinematics(model.geometry, home).length.mean())

    def draw(size: float) -> Array:
        return random.uniform(-size, size, (count, 3))

    return OhMotion(model.home + draw(reach), HOME_ANGLES + draw(turn), draw(0.5), draw(1.0), draw(3.0), draw(6.0))


def shifted(motion: OhMotion, step: float) -> OhMotion:
    """Continue every state for ``step`` s with constant accelerations of all six coordinates."""
    return dataclasses.replace(
        motion,
        position=motion.position + step * motion.velocity + 0.5 * step**2 * motion.acceleration,
        angles=motion.angles + step * motion.angle_rates + 0.5 * step**2 * motion.angle_accelerations,
        velocity=motion.velocity + step * motion.acceleration,
        angle_rates=motion.angle_rates + step * motion.angle_accelerations,
    )


def _point_mass(center: Array) -> Array:
    """Ten parameters (10,) of 1 kg at a point of the link frame."""
    about_origin = np.dot(center, center) * np.eye(3) - np.outer(center, center)
    return np.concatenate([[1.0], center, about_origin[np.triu_indices(3)]])


def _principal_inertias(rotation: Array) -> Array:
    """Six inertias (6, 3) per principal inertia about the columns of a rotation to link axes."""
    return np.array([np.outer(axis, axis)[np.triu_indices(3)] for axis in rotation.T]).T
