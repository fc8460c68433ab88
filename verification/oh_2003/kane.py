"""Force and energy model of Oh (2003) by Kane's equations, linear in twelve parameters, batched over samples.

``J F_a = pm + sm + cor + cen + grp + grs`` with F_a the strut forces and the groups of appendix B. Every group is
linear in the parameters, so each is computed as a matrix with one column per parameter. Independent of the library's
dynamics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

from verification.oh_2003.kinematics import (
    OhGeometry,
    OhMotion,
    StrutKinematics,
    apply,
    dot,
    strut_kinematics,
)

#: order of the parameters w, Eq. 4.4; e extending body, b body at the base, p platform; y is the strut's long axis
PARAMETERS = ('m_e', 'm_b', 'm_p', 'Ixxb', 'Iyyb', 'Izzb', 'Ixxp', 'Iyyp', 'Izzp', 'Ixxe', 'Iyye', 'Izze')

#: groups of terms, Eq. 2.55: platform and strut inertia, Coriolis, centripetal, gravity of platform and struts
GROUPS = ('pm', 'sm', 'cor', 'cen', 'grp', 'grs')

_E, _B, _P = 0, 1, 2
_INERTIA_B, _INERTIA_P, _INERTIA_E = range(3, 6), range(6, 9), range(9, 12)


@dataclass(frozen=True)
class PartialVelocities:
    """Derivatives by the generalised speeds [v_c, angle_rates], Eqs. 2.47-2.53.

    ``platform`` (N, 3, 6) of the platform's centre, ``platform_spin`` (N, 3, 6), and per strut (N, 6, 3, 6): ``joint``
    of the platform joint, ``e`` and ``b`` of the centres of mass, ``spin`` of both bodies.
    """

    platform: Array
    platform_spin: Array
    joint: Array
    e: Array
    b: Array
    spin: Array


def partial_velocities(geometry: OhGeometry, struts: StrutKinematics) -> PartialVelocities:
    """Evaluate Eqs. 2.47-2.53."""
    samples = len(struts.u)
    platform = np.zeros((samples, 3, 6))
    platform[..., :3] = np.eye(3)
    platform_spin = np.zeros((samples, 3, 6))
    platform_spin[..., 3:] = struts.u
    joint = np.broadcast_to(platform[:, None], (samples, 6, 3, 6)).copy()
    # columns U_k x r
    joint[..., 3:] = np.swapaxes(np.cross(np.swapaxes(struts.u, 1, 2)[:, None], struts.lever[:, :, None]), -1, -2)
    along = struts.along[..., :, None]
    extending = along * np.sum(along * joint, axis=-2, keepdims=True)
    normal = joint - extending
    spin = np.cross(along, joint, axis=-2) / struts.length[..., None, None]
    ratio_e = ((struts.length - geometry.offset_e) / struts.length)[..., None, None]
    ratio_b = (geometry.distance_b / struts.length)[..., None, None]
    return PartialVelocities(platform, platform_spin, joint, extending + ratio_e * normal, ratio_b * normal, spin)


def pseudo_jacobian(geometry: OhGeometry, motion: OhMotion) -> Array:
    """J (N, 6, 6), Eq. 2.54: strut forces to generalised forces; its transpose gives the strut rates."""
    struts = strut_kinematics(geometry, motion)
    moments = np.einsum('nji,nkj->nki', struts.u, np.cross(struts.lever, struts.along))
    return np.swapaxes(np.concatenate([struts.along, moments], axis=-1), 1, 2)


def group_regressors(geometry: OhGeometry, motion: OhMotion) -> dict[str, Array]:
    """Every group as a matrix (N, 6, 12) that gives its part of J F_a from the parameters (appendix B)."""
    struts = strut_kinematics(geometry, motion)
    v = partial_velocities(geometry, struts)
    groups = {name: np.zeros((len(struts.u), 6, len(PARAMETERS))) for name in GROUPS}
    _platform_terms(geometry, motion, struts, v, groups)
    _strut_terms(geometry, motion, struts, v, groups)
    return groups


def regressor(geometry: OhGeometry, motion: OhMotion) -> Array:
    """Y (N, 6, 12) with J F_a = Y w."""
    return np.sum(list(group_regressors(geometry, motion).values()), axis=0)


def strut_force_regressor(geometry: OhGeometry, motion: OhMotion) -> Array:
    """J^-1 Y (N, 6, 12) with F_a = J^-1 Y w."""
    return np.asarray(np.linalg.solve(pseudo_jacobian(geometry, motion), regressor(geometry, motion)), dtype=float)


def strut_forces(geometry: OhGeometry, motion: OhMotion, parameters: Array) -> Array:
    """F_a (N, 6) N, positive where a strut pushes platform and base apart, without friction."""
    return strut_force_regressor(geometry, motion) @ parameters


def mass_matrix_regressor(geometry: OhGeometry, motion: OhMotion) -> Array:
    """Mass matrix in q' per parameter (N, 12, 6, 6), Eqs. B.25-B.28."""
    struts = strut_kinematics(geometry, motion)
    v = partial_velocities(geometry, struts)
    result = np.zeros((len(struts.u), len(PARAMETERS), 6, 6))
    result[:, _P] = _square(v.platform)
    result[:, _E], result[:, _B] = _square(v.e).sum(axis=1), _square(v.b).sum(axis=1)
    for axis in range(3):
        strut = np.sum(struts.axes[..., axis, None] * v.spin, axis=-2)
        per_strut = np.einsum('nki,nkj->nij', strut, strut)
        result[:, _INERTIA_B[axis]] = result[:, _INERTIA_E[axis]] = per_strut
        platform = np.sum(struts.rotation[..., axis, None] * v.platform_spin, axis=-2)
        result[:, _INERTIA_P[axis]] = platform[:, :, None] * platform[:, None]
    return result


def energy_regressor(geometry: OhGeometry, motion: OhMotion) -> Array:
    """Kinetic plus potential energy per parameter (N, 12), Eq. 2.57; zero height is the base's origin."""
    struts = strut_kinematics(geometry, motion)
    speeds = motion.speeds
    energy = 0.5 * np.einsum('ni,npij,nj->np', speeds, mass_matrix_regressor(geometry, motion), speeds)
    distance_e = (struts.length - geometry.offset_e)[..., None]
    center_e = geometry.base_points + distance_e * struts.along
    center_b = geometry.base_points + geometry.distance_b * struts.along
    energy[:, _P] -= motion.position @ geometry.gravity
    energy[:, _E] -= center_e.sum(axis=1) @ geometry.gravity
    energy[:, _B] -= center_b.sum(axis=1) @ geometry.gravity
    return np.asarray(energy, dtype=float)


def _platform_terms(
    geometry: OhGeometry, motion: OhMotion, struts: StrutKinematics, v: PartialVelocities, groups: dict[str, Array]
) -> None:
    """Eqs. B.1, B.2, B.12 (platform), B.13; alpha_c counts as acceleration, so U' angle_rates belongs to pm."""
    groups['pm'][..., _P] = _project(v.platform, motion.acceleration)
    groups['grp'][..., _P] = -_project(v.platform, np.broadcast_to(geometry.gravity, motion.position.shape))
    for axis, column in enumerate(_INERTIA_P):
        unit = struts.rotation[..., axis]
        momentum = unit * dot(unit, struts.angular_velocity)[..., None]
        torque = unit * dot(unit, struts.angular_acceleration)[..., None]
        groups['pm'][..., column] = _project(v.platform_spin, torque)
        groups['cen'][..., column] = _project(v.platform_spin, np.cross(struts.angular_velocity, momentum))


def _strut_terms(
    geometry: OhGeometry, motion: OhMotion, struts: StrutKinematics, v: PartialVelocities, groups: dict[str, Array]
) -> None:
    """Eqs. B.3-B.12 of the struts and B.15, summed over the struts."""
    along, spin = struts.along, struts.spin
    length, rate = struts.length[..., None], struts.rate[..., None]
    distance_e = length - geometry.offset_e
    distance_b = np.full_like(length, geometry.distance_b)
    omega, alpha = struts.angular_velocity[:, None], struts.angular_acceleration[:, None]
    tangential = motion.acceleration[:, None] + np.cross(alpha, struts.lever)
    centripetal = np.cross(omega, np.cross(omega, struts.lever))
    # (s3 x v_p) x s3: velocity normal to the strut
    normal_velocity = np.cross(np.cross(along, struts.joint_velocity), along)

    def add(group: str, column: int, partial: Array, force: Array) -> None:
        groups[group][..., column] += _project(partial, force).sum(axis=1)

    for column, partial, distance in ((_E, v.e, distance_e), (_B, v.b, distance_b)):
        moves_along = float(column == _E)
        share = distance / length

        def at_center(acceleration: Array, moves_along: float = moves_along, share: Array = share) -> Array:
            parallel = along * dot(acceleration, along)[..., None]
            return moves_along * parallel + share * (acceleration - parallel)

        coriolis = moves_along * 2.0 * rate * np.cross(spin, along) - 2.0 * share * rate / length * normal_velocity
        turning = np.cross(spin, np.cross(spin, distance * along)) + moves_along * dot(spin, spin)[..., None] * (
            length * along
        )
        add('sm', column, partial, at_center(tangential))
        add('cor', column, partial, coriolis)
        add('cen', column, partial, turning + at_center(centripetal))
        add('grs', column, partial, np.broadcast_to(-geometry.gravity, along.shape))
    for axis in range(3):
        unit = struts.axes[..., axis]

        def inertia(vector: Array, unit: Array = unit) -> Array:
            return unit * dot(unit, vector)[..., None]

        for column in (_INERTIA_B[axis], _INERTIA_E[axis]):
            add('sm', column, v.spin, inertia(np.cross(along, tangential)) / length)
            add('cor', column, v.spin, -2.0 * rate / length * inertia(spin))
            add('cen', column, v.spin, inertia(np.cross(along, centripetal)) / length + np.cross(spin, inertia(spin)))


def _project(partial: Array, force: Array) -> Array:
    """Generalised force (..., 6) of a force or moment (..., 3) at partial velocities (..., 3, 6)."""
    return apply(np.swapaxes(partial, -1, -2), force)


def _square(partial: Array) -> Array:
    return np.asarray(np.swapaxes(partial, -1, -2) @ partial, dtype=float)
