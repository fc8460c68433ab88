"""Lagrangian dynamics with multipliers of the planar 3-PRR of Rosyid & El-Khasawneh (2020), as an oracle.

Mass matrix and forces in the 12 redundant coordinates of :mod:`verification.rosyid_2020.model`, inverse dynamics by
the paper's partition of coordinates (Eqs. 18-21) and, independently of it, by the 21 x 21 descriptor system (Eq. 16).
The multipliers of the first three constraints are the normal forces of the guides, those of the others the forces at
the pins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConvergenceError, KinematicsError

from verification.rosyid_2020.model import ACTIVE, CONSTRAINTS, COORDINATES, PASSIVE, PlanarGeometry

#: number of barycentric parameters: see :class:`PlanarDynamics`
PARAMETERS = 16


@dataclass(frozen=True)
class PlanarDynamics:
    """A 3-PRR with masses.

    Attributes
    ----------
    geometry : see the class
    parameters : (16,) barycentric parameters: slider masses (3), leg masses (3), leg first moments from the slider's
        pivot along the leg (3), leg inertias about that pivot (3), platform mass, its first moments x and y, its
        inertia, about the platform's origin
    gravity : (2,) m/s^2 in the plane of motion
    """

    geometry: PlanarGeometry
    parameters: Array
    gravity: Array

    def mass_matrix(self, q: Array) -> Array:
        """Mass matrix M (N, 12, 12)."""
        slider, leg, moment, inertia, (mass, moment_x, moment_y, platform_inertia) = self._groups()
        matrix = np.zeros((len(q), COORDINATES, COORDINATES))

        def put(row: int, column: int, value: Array | float) -> None:
            matrix[:, row, column] = matrix[:, column, row] = value

        for i in range(3):
            angle = q[:, 6 + i]
            put(i, i, slider[i] + leg[i])
            put(6 + i, 6 + i, inertia[i])
            put(i, 6 + i, -moment[i] * np.sin(angle))
            if not self.geometry.printed:  # the printed energies do not know y_i, as the printed constraints
                put(3 + i, 3 + i, slider[i] + leg[i])
                put(3 + i, 6 + i, moment[i] * np.cos(angle))
        cosine, sine = np.cos(q[:, 11]), np.sin(q[:, 11])
        put(9, 9, mass)
        put(10, 10, mass)
        put(11, 11, platform_inertia)
        put(9, 11, -(moment_x * sine + moment_y * cosine))
        put(10, 11, moment_x * cosine - moment_y * sine)
        return matrix

    def other_forces(self, q: Array, velocity: Array) -> Array:
        """Velocity and gravity forces N (N, 12) of ``M q_ddot + N = Q + B^T lambda`` (Eq. 14)."""
        slider, leg, moment, _, (mass, moment_x, moment_y, _) = self._groups()
        angles, swing, turn = q[:, 6:9], velocity[:, 6:9] ** 2, velocity[:, 11] ** 2
        gx, gy = self.gravity
        arm_x = moment_x * np.cos(q[:, 11]) - moment_y * np.sin(q[:, 11])
        arm_y = moment_x * np.sin(q[:, 11]) + moment_y * np.cos(q[:, 11])
        result = np.zeros((len(q), COORDINATES))
        result[:, 0:3] = -moment * np.cos(angles) * swing - (slider + leg) * gx
        if not self.geometry.printed:
            result[:, 3:6] = -moment * np.sin(angles) * swing - (slider + leg) * gy
        result[:, 6:9] = moment * (gx * np.sin(angles) - gy * np.cos(angles))
        result[:, 9] = -arm_x * turn - mass * gx
        result[:, 10] = -arm_y * turn - mass * gy
        result[:, 11] = gx * arm_y - gy * arm_x
        return result

    def inverse_by_partition(
        self, q: Array, velocity: Array, slider_accelerations: Array, platform_force: Array | None = None
    ) -> tuple[Array, Array]:
        """Slider forces (N, 3) and multipliers (N, 9) by Eqs. (18)-(21), signs as of Eq. (14).

        Parameters
        ----------
        slider_accelerations : (N, 3)
        platform_force : (N, 3), external Qx, Qy, Qtheta on the platform
        """
        mass, other, jacobian = self.mass_matrix(q), self.other_forces(q, velocity), self.geometry.jacobian(q)
        load = np.zeros((len(q), len(PASSIVE)))
        if platform_force is not None:
            load[:, -3:] = platform_force
        b_active, b_passive = jacobian[:, :, ACTIVE], jacobian[:, :, PASSIVE]
        m_aa, m_ap = mass[:, ACTIVE[:, None], ACTIVE], mass[:, ACTIVE[:, None], PASSIVE]
        m_pa, m_pp = mass[:, PASSIVE[:, None], ACTIVE], mass[:, PASSIVE[:, None], PASSIVE]
        inverse = np.asarray(np.linalg.inv(b_passive), dtype=float)
        carry = _transposed(b_active) @ _transposed(inverse)  # B_a^T B_p^-T
        drift = self.geometry.drift(q, velocity)[:, :, None]
        reduced_mass = m_aa - m_ap @ inverse @ b_active - carry @ (m_pa - m_pp @ inverse @ b_active)
        reduced_other = (
            other[:, ACTIVE, None]
            + carry @ (load - other[:, PASSIVE])[:, :, None]
            + (-m_ap @ inverse + carry @ m_pp @ inverse) @ drift
        )
        accelerations = slider_accelerations[:, :, None]
        force = reduced_mass @ accelerations + reduced_other
        passive = -inverse @ (b_active @ accelerations + drift)
        right = m_pa @ accelerations + m_pp @ passive + (other[:, PASSIVE] - load)[:, :, None]
        return force[..., 0], (_transposed(inverse) @ right)[..., 0]

    def accelerations(
        self, q: Array, velocity: Array, slider_forces: Array, platform_force: Array | None = None
    ) -> tuple[Array, Array]:
        """Accelerations (N, 12) and multipliers (N, 9) from forces, by the descriptor system (Eq. 16)."""
        jacobian = self.geometry.jacobian(q)
        system = np.zeros((len(q), COORDINATES + CONSTRAINTS, COORDINATES + CONSTRAINTS))
        system[:, :COORDINATES, :COORDINATES] = self.mass_matrix(q)
        system[:, :COORDINATES, COORDINATES:] = -_transposed(jacobian)
        system[:, COORDINATES:, :COORDINATES] = jacobian
        right = np.concatenate([-self.other_forces(q, velocity), -self.geometry.drift(q, velocity)], axis=1)
        right[:, ACTIVE] += slider_forces
        if platform_force is not None:
            right[:, 9:12] += platform_force
        solution = np.linalg.solve(system, right[..., None])[..., 0]
        return solution[:, :COORDINATES], solution[:, COORDINATES:]

    def accelerations_with_friction(
        self, q: Array, velocity: Array, slider_forces: Array, friction: Callable[[Array, Array], Array]
    ) -> tuple[Array, Array]:
        """Accelerations and multipliers where friction grows with the normal forces, by iteration to a fixed point.

        Parameters
        ----------
        friction : gives the force (N, 3) of slider velocities (N, 3) and normal forces (N, 3)

        Raises
        ------
        ConvergenceError
            Friction and normal forces do not settle within 200 rounds.
        """
        normal = np.zeros((len(q), 3))
        for _ in range(200):
            result, multipliers = self.accelerations(q, velocity, slider_forces - friction(velocity[:, ACTIVE], normal))
            change = np.abs(multipliers[:, :3] - normal).max()
            normal = multipliers[:, :3]
            if change < 1e-12 * max(1.0, float(np.abs(normal).max())):
                return result, multipliers
        raise ConvergenceError(f'friction and normal forces still change by {change:.3g} N')

    def normal_forces(self, multipliers: Array) -> Array:
        """Guide normals (N, 3), positive where the guide pushes towards +y.

        Raises
        ------
        KinematicsError
            A guide's multiplier is zero whatever moves, by the form of the constraints: it would silence friction.
        """
        random = np.random.default_rng(0)
        sample = random.normal(size=(1, COORDINATES))
        rows = self.mass_matrix(sample)[:, 3:6].any(axis=(0, 2)) | self.geometry.jacobian(sample)[:, 3:, 3:6].any(
            axis=(0, 1)
        )
        if not rows.all():
            guide = int(np.flatnonzero(~rows)[0]) + 1
            raise KinematicsError(
                f'nothing but its own constraint depends on the displacement across guide {guide}: its multiplier is '
                'identically zero; let the loops and energies contain y_i'
            )
        return multipliers[:, :3]

    def regressor(self, q: Array, velocity: Array, slider_accelerations: Array) -> Array:
        """Slider forces per unit of each barycentric parameter, (N, 3, 16)."""
        columns = [
            replace(self, parameters=unit).inverse_by_partition(q, velocity, slider_accelerations)[0]
            for unit in np.eye(PARAMETERS)
        ]
        return np.stack(columns, axis=-1)

    def energy(self, q: Array, velocity: Array) -> Array:
        """Kinetic plus potential energy (N,) of all bodies, from the motion of their centres of mass."""
        slider, leg, moment, inertia, (mass, moment_x, moment_y, platform_inertia) = self._groups()
        length = moment / leg
        direction = np.stack([np.cos(q[:, 6:9]), np.sin(q[:, 6:9])], axis=-1)
        pivots = np.stack([q[:, 0:3], q[:, 3:6]], axis=-1)
        pivot_speed = np.stack([velocity[:, 0:3], velocity[:, 3:6]], axis=-1)
        across = np.stack([-direction[..., 1], direction[..., 0]], axis=-1)
        center = pivots + length[:, None] * direction
        speed = pivot_speed + (length * velocity[:, 6:9])[..., None] * across
        central = inertia - leg * length**2
        total = 0.5 * np.sum(slider * np.sum(pivot_speed**2, axis=-1), axis=1)
        total += 0.5 * np.sum(leg * np.sum(speed**2, axis=-1) + central * velocity[:, 6:9] ** 2, axis=1)
        total -= np.sum(slider * (pivots @ self.gravity) + leg * (center @ self.gravity), axis=1)
        arm = np.array([moment_x, moment_y]) / mass
        turn = np.array([[np.cos(q[:, 11]), -np.sin(q[:, 11])], [np.sin(q[:, 11]), np.cos(q[:, 11])]])
        offset = np.einsum('ijn,j->ni', turn, arm)
        platform_speed = velocity[:, 9:11] + velocity[:, 11:] * np.stack([-offset[:, 1], offset[:, 0]], axis=1)
        total += 0.5 * mass * np.sum(platform_speed**2, axis=1)
        total += 0.5 * (platform_inertia - mass * arm @ arm) * velocity[:, 11] ** 2
        return np.asarray(total - mass * (q[:, 9:11] + offset) @ self.gravity)

    def _groups(self) -> tuple[Array, Array, Array, Array, Array]:
        parts = np.split(self.parameters, [3, 6, 9, 12])
        return parts[0], parts[1], parts[2], parts[3], parts[4]


def base_parameters(geometry: PlanarGeometry, parameters: Array) -> Array:
    """Nine (ten with the platform's y moment) identifiable combinations of 16 parameters (..., 16), closed form.

    Every leg's first moment goes to its two ends; valid for any gravity in the plane.

    Returns
    -------
    (..., 10) : M_1..3 [kg], J_1..3 [kg m^2], platform mass [kg], its moments x and y [kg m], its inertia [kg m^2]
    """
    slider, leg, moment, inertia, platform = np.split(parameters, [3, 6, 9, 12], axis=-1)
    at_pin = moment / geometry.leg_lengths
    moved = np.stack(
        [
            platform[..., 0] + at_pin.sum(axis=-1),
            platform[..., 1] + (at_pin * geometry.pin_offsets).sum(axis=-1),
            platform[..., 2],
            platform[..., 3] + (at_pin * geometry.pin_offsets**2).sum(axis=-1),
        ],
        axis=-1,
    )
    return np.concatenate([slider + leg - at_pin, inertia - geometry.leg_lengths * moment, moved], axis=-1)


def _transposed(matrices: Array) -> Array:
    return np.asarray(np.swapaxes(matrices, -1, -2), dtype=float)
