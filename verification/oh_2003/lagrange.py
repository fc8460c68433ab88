"""Generalised forces of Oh's hexapod from Lagrange's equations, differentiated numerically.

The energies are sums over the 13 bodies, from velocities alone; no partial velocity and no acceleration of
:mod:`verification.oh_2003.kane` enters.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from verification.mechanics.lagrange import lagrange_forces
from verification.oh_2003.kinematics import OhGeometry, OhMotion, apply, dot, strut_kinematics


def kinetic_energy(geometry: OhGeometry, motion: OhMotion, parameters: Array, hooke_joints: bool = False) -> Array:
    """Sum over platform, bodies E and bodies B (N,) J.

    Parameters
    ----------
    hooke_joints : struts turn about their axes as Hooke joints with first axes along X make them, instead of Eq. 2.21
    """
    m_e, m_b, m_p = parameters[:3]
    struts = strut_kinematics(geometry, motion)
    spin = struts.spin
    if hooke_joints:
        # the angular velocity has no part normal to both joint axes, X and s2
        normal = np.cross([1.0, 0.0, 0.0], struts.axes[..., 0])
        spin = spin - struts.along * (dot(spin, normal) / dot(struts.along, normal))[..., None]
    distance_e = (struts.length - geometry.offset_e)[..., None]
    velocity_e = struts.rate[..., None] * struts.along + np.cross(struts.spin, distance_e * struts.along)
    velocity_b = np.cross(struts.spin, geometry.distance_b * struts.along)
    platform_spin = apply(np.swapaxes(struts.rotation, 1, 2), struts.angular_velocity)
    strut_spin = apply(np.swapaxes(struts.axes, -1, -2), spin)
    platform = m_p * dot(motion.velocity, motion.velocity) + platform_spin**2 @ parameters[6:9]
    bodies = m_e * dot(velocity_e, velocity_e) + m_b * dot(velocity_b, velocity_b)
    turning = strut_spin**2 @ (parameters[3:6] + parameters[9:12])
    return 0.5 * (platform + np.sum(bodies + turning, axis=1))


def potential_energy(geometry: OhGeometry, motion: OhMotion, parameters: Array) -> Array:
    """Sum over the 13 bodies (N,) J, zero with all mass at the base's origin."""
    m_e, m_b, m_p = parameters[:3]
    struts = strut_kinematics(geometry, motion)
    distance_e = (struts.length - geometry.offset_e)[..., None]
    center_e = geometry.base_points + distance_e * struts.along
    center_b = geometry.base_points + geometry.distance_b * struts.along
    first_moment = m_p * motion.position + np.sum(m_e * center_e + m_b * center_b, axis=1)
    return np.asarray(-first_moment @ geometry.gravity, dtype=float)


def generalised_forces(geometry: OhGeometry, motion: OhMotion, parameters: Array, hooke_joints: bool = False) -> Array:
    """d/dt dT/dq' - dT/dq + dV/dq (N, 6), which is J F_a; ``hooke_joints`` as in :func:`kinetic_energy`."""
    return lagrange_forces(
        lambda place, rate: kinetic_energy(geometry, OhMotion.of(place, rate), parameters, hooke_joints),
        lambda place: potential_energy(geometry, OhMotion.of(place), parameters),
        motion.coordinates,
        motion.speeds,
        np.concatenate([motion.acceleration, motion.angle_accelerations], axis=1),
    )
