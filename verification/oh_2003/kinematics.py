"""Kinematics of a hexapod as Oh (2003), chapter 2, writes it, batched over samples; and his trajectories.

Written from the dissertation's equations, on purpose without a line of the library's kinematics. Axes of the base
everywhere, unless a name says otherwise; ``N`` samples, 6 struts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

#: phi, theta, psi at home; the platform's y axis is vertical there, and U is regular (det U = -sin theta)
HOME_ANGLES = np.radians([0.0, -90.0, 0.0])


@dataclass(frozen=True)
class OhGeometry:
    """Joint centres and centres of mass, all struts alike.

    Attributes
    ----------
    base_points : (6, 3) m
    platform_points : (6, 3) m, axes of {P}, from the platform's centre of mass
    distance_b : m, L_B, base joint to the centre of mass of body B, along the strut
    offset_e : m, L - L_E, centre of mass of body E to the platform joint
    gravity : (3,) m/s^2
    """

    base_points: Array
    platform_points: Array
    distance_b: float
    offset_e: float
    gravity: Array


@dataclass(frozen=True)
class OhMotion:
    """Position (m) and Z-X-Z angles (rad) with their time derivatives, each (N, 3)."""

    position: Array
    angles: Array
    velocity: Array
    angle_rates: Array
    acceleration: Array
    angle_accelerations: Array

    @classmethod
    def of(cls, place: Array, rate: Array | None = None, second: Array | None = None) -> OhMotion:
        """Motion of coordinates and their time derivatives (N, 6); what is left out is zero."""
        still = np.zeros_like(place)
        parts = (place, still if rate is None else rate, still if second is None else second)
        return cls(*(half for part in parts for half in (part[:, :3], part[:, 3:])))

    @property
    def coordinates(self) -> Array:
        """Position and angles q (N, 6)."""
        return np.concatenate([self.position, self.angles], axis=1)

    @property
    def speeds(self) -> Array:
        """Generalised speeds q' (N, 6), Eq. 2.8."""
        return np.concatenate([self.velocity, self.angle_rates], axis=1)


def rotation_zxz(angles: Array) -> Array:
    """W_R_P (N, 3, 3) of phi, theta, psi (N, 3), Eq. 2.9."""
    sf, st, sp = np.sin(angles).T
    cf, ct, cp = np.cos(angles).T
    return _matrix(
        [
            [cp * cf - ct * sf * sp, -sp * cf - ct * sf * cp, st * sf],
            [cp * sf + ct * cf * sp, -sp * sf + ct * cf * cp, -st * cf],
            [sp * st, cp * st, ct],
        ]
    )


def angle_rate_matrix(angles: Array) -> Array:
    """U (N, 3, 3) with angular velocity = U angle_rates, Eq. 2.14."""
    sf, st, _ = np.sin(angles).T
    cf, ct, _ = np.cos(angles).T
    zero = np.zeros_like(sf)
    return _matrix([[zero, cf, sf * st], [zero, sf, -cf * st], [zero + 1.0, zero, ct]])


def angle_rate_matrix_rate(angles: Array, rates: Array) -> Array:
    """Time derivative of U (N, 3, 3), Eq. 2.38."""
    sf, st, _ = np.sin(angles).T
    cf, ct, _ = np.cos(angles).T
    df, dt, _ = rates.T
    zero = np.zeros_like(sf)
    return _matrix(
        [
            [zero, -sf * df, cf * st * df + sf * ct * dt],
            [zero, cf * df, sf * st * df - cf * ct * dt],
            [zero, zero, -st * dt],
        ]
    )


@dataclass(frozen=True)
class StrutKinematics:
    """Platform and struts of N samples; vectors in base axes.

    Attributes
    ----------
    rotation, u : (N, 3, 3), W_R_P and U
    angular_velocity, angular_acceleration : (N, 3) of the platform
    lever : (N, 6, 3) r, platform centre to platform joints
    along : (N, 6, 3) s3, from the base to the platform
    axes : (N, 6, 3, 3), columns s2, s3, s23
    length, rate, acceleration : (N, 6) L, L', L''
    joint_velocity : (N, 6, 3) v_p
    spin, spin_rate : (N, 6, 3) omega_s, alpha_s
    """

    rotation: Array
    u: Array
    angular_velocity: Array
    angular_acceleration: Array
    lever: Array
    along: Array
    axes: Array
    length: Array
    rate: Array
    acceleration: Array
    joint_velocity: Array
    spin: Array
    spin_rate: Array


def strut_kinematics(geometry: OhGeometry, motion: OhMotion) -> StrutKinematics:
    """Evaluate Eqs. 2.1-2.38 at N samples."""
    rotation, u = rotation_zxz(motion.angles), angle_rate_matrix(motion.angles)
    omega = apply(u, motion.angle_rates)
    u_rate = angle_rate_matrix_rate(motion.angles, motion.angle_rates)
    alpha = apply(u, motion.angle_accelerations) + apply(u_rate, motion.angle_rates)
    lever = np.einsum('nij,kj->nki', rotation, geometry.platform_points)
    strut = motion.position[:, None] + lever - geometry.base_points
    length = np.linalg.norm(strut, axis=-1)
    along = strut / length[..., None]

    joint_velocity = motion.velocity[:, None] + np.cross(omega[:, None], lever)
    joint_acceleration = (
        motion.acceleration[:, None]
        + np.cross(alpha[:, None], lever)
        + np.cross(omega[:, None], np.cross(omega[:, None], lever))
    )
    rate = dot(joint_velocity, along)
    spin = np.cross(along, joint_velocity) / length[..., None]
    acceleration = dot(joint_acceleration, along) + length * dot(spin, spin)
    spin_rate = (np.cross(along, joint_acceleration) - 2.0 * rate[..., None] * spin) / length[..., None]
    return StrutKinematics(
        rotation=rotation,
        u=u,
        angular_velocity=omega,
        angular_acceleration=alpha,
        lever=lever,
        along=along,
        axes=strut_axes(along),
        length=length,
        rate=rate,
        acceleration=acceleration,
        joint_velocity=joint_velocity,
        spin=spin,
        spin_rate=spin_rate,
    )


def strut_axes(along: Array) -> Array:
    """Principal axes of the struts as columns s2, s3, s23 (..., 3, 3), Eqs. 2.1-2.3."""
    second = np.cross([1.0, 0.0, 0.0], along)
    second /= np.linalg.norm(second, axis=-1, keepdims=True)
    return np.stack([second, along, np.cross(second, along)], axis=-1)


def apply(matrix: Array, vector: Array) -> Array:
    """Matrix (..., i, j) times vector (..., j)."""
    return np.asarray((matrix @ vector[..., None])[..., 0], dtype=float)


def dot(left: Array, right: Array) -> Array:
    """Scalar product over the last axis."""
    return np.asarray(np.sum(left * right, axis=-1), dtype=float)


def _matrix(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


#: rad/s: low, medium and high level of the thesis
OH_FREQUENCIES = {'low': np.pi, 'medium': 2.0 * np.pi, 'high': 4.0 * np.pi}

#: m and rad, of x, y, z, phi, theta, psi: one inch and five degrees
AMPLITUDES = np.array([0.0254] * 3 + [float(np.radians(5.0))] * 3)

#: m, in x and in y: Table 2.2 gives its size, half an inch, and no direction
OFFSET = np.array([0.0127 / np.sqrt(2.0), 0.0127 / np.sqrt(2.0), 0.0])

#: number in Table 2.2 -> moving coordinates, and whether the middle of the motion is moved by the radial offset
OH_TRAJECTORIES: dict[int, tuple[tuple[int, ...], bool]] = {
    1: ((0,), False),
    2: ((0,), True),
    3: ((2,), False),
    4: ((2,), True),
    5: ((4, 5), False),
    6: ((4, 5), True),
}


def sine(coordinates: tuple[int, ...], frequency: float, time: Array, home: Array) -> OhMotion:
    """Coordinates among 0 .. 5 (x, y, z, phi, theta, psi) that move at a frequency [rad/s] around a home (3,) m.

    All in phase, without a fade-in.
    """
    amplitude = np.where(np.isin(np.arange(6), coordinates), AMPLITUDES, 0.0)
    phase = frequency * np.asarray(time, dtype=float)[:, None]
    moved = amplitude * np.sin(phase)
    value = np.concatenate([home, HOME_ANGLES]) + moved
    rate, second = frequency * amplitude * np.cos(phase), -(frequency**2) * moved
    return OhMotion.of(value, rate, second)


def case(number: int, frequency: float, time: Array, home: Array) -> OhMotion:
    """One of the six trajectories of Table 2.2 around a home (3,) m."""
    coordinates, has_offset = OH_TRAJECTORIES[number]
    return sine(coordinates, frequency, time, home + OFFSET if has_offset else home)
