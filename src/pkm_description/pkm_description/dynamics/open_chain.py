"""Dynamics of open chains, such as a pendulum on a cart.

Coordinates are the positions of the J joints; forces act in every joint, driven or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.body_blocks import body_blocks
from pkm_description.errors import KinematicsError
from pkm_description.kernels.dynamics import forward_dynamics as kernels
from pkm_description.kinematics.arguments import columns as columns_of
from pkm_description.kinematics.arguments import of_samples, require_machine, run_kernel
from pkm_description.machine import Machine

#: the pendulum's parameters (Oh 2003, Eq. 3.2): lengths (m), masses of links and cart (kg); links are uniform rods
PENDULUM_PARAMETERS = ('l1', 'l2', 'm1', 'm2', 'M')


def open_chain_forces(
    machine: Machine,
    positions: Array,
    velocities: Array,
    accelerations: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Joint forces and torques (N, J) that a motion of the joints needs.

    Parameters
    ----------
    positions, velocities, accelerations : (N, J), m or rad and time derivatives
    friction, sign_smoothing : as in :func:`pkm_description.dynamics.inverse_dynamics`
    """
    return _evaluated(machine, positions, velocities, accelerations, friction, sign_smoothing)[0]


def open_chain_regressor(
    machine: Machine, positions: Array, velocities: Array, accelerations: Array
) -> Array:
    """Regressor (N, J, 10 J): joint forces without friction and rotors, of ``rigid_body_parameters`` leg by leg."""
    joints = len(machine.joints)
    regressor = np.empty((len(positions), joints, 10 * joints))
    _evaluated(machine, positions, velocities, accelerations, regressor=regressor)
    return regressor


def open_chain_mass_matrix(machine: Machine, positions: Array) -> Array:
    """Mass matrices (N, J, J), rotors included."""
    joints = len(machine.joints)
    masses = np.empty((len(positions), joints, joints))
    still = np.zeros(np.shape(positions))
    _evaluated(machine, positions, still, still, masses=masses)
    return masses


def open_chain_energy(machine: Machine, positions: Array, velocities: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy, (N,) J each."""
    energies = _evaluated(machine, positions, velocities, np.zeros(np.shape(positions)))[1]
    return energies[:, 0], energies[:, 1]


def open_chain_accelerations(
    machine: Machine,
    positions: Array,
    velocities: Array,
    forces: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Joint accelerations (N, J) under joint forces (N, J); passive joints get 0.

    Raises
    ------
    ConvergenceError
        Friction that depends on the load does not settle with the forces in the joints.
    """
    positions, velocities, forces = _joints(machine, positions, ('velocities', velocities), ('forces', forces))
    accelerations = np.empty_like(positions)
    run_kernel(
        machine, kernels.open_chain_accelerations, positions, velocities, forces, bool(friction), float(sign_smoothing),
        accelerations,
    )  # fmt: skip
    return accelerations


def _joints(machine: Machine, positions: Array, *others: tuple[str, Array]) -> list[Array]:
    """Check and pack arrays (N, J) of an open chain."""
    require_machine(machine)
    if machine.has_platform:
        raise KinematicsError(f'{machine.name} has a platform: use the functions of pkm_description.dynamics')
    joints = len(machine.joints)
    positions = columns_of('positions', positions, joints, 'joint')
    found = [packed(positions)]
    for name, values in others:
        found.append(packed(of_samples(name, values, len(positions), joints)))
    return found


def _evaluated(
    machine: Machine, positions: Array, velocities: Array, accelerations: Array, friction: bool = False,
    sign_smoothing: float = 0.0, masses: Array | None = None, regressor: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Forces (N, J) and energies (N, 2); fills the others, see the kernel."""
    positions, velocities, accelerations = _joints(
        machine, positions, ('velocities', velocities), ('accelerations', accelerations)
    )
    forces, loads, energies = np.empty_like(positions), np.empty_like(positions), np.empty((len(positions), 2))
    block, _ = body_blocks(machine, False)
    nothing = np.empty((0, 0, 0))
    run_kernel(
        machine, kernels.open_chain_forces, positions, velocities, accelerations, bool(friction), float(sign_smoothing),
        block, forces, loads, energies, nothing if masses is None else masses, nothing if regressor is None else
        regressor,
    )  # fmt: skip
    return forces, energies


# A cart with two links, in closed form with its five parameters: Oh (2003), chapter 3.
#
# Lengths enter these equations nonlinearly, so that no regressor of the general formulation finds them: the benchmark
# of nonlinear identification. open_chain_forces of the machine double_pendulum gives the same forces from bodies and
# joints.
@dataclass(frozen=True)
class PendulumMotion:
    """Motion of the three coordinates x [m], th1, th2 [rad].

    Attributes
    ----------
    position, velocity, acceleration : (N, 3); the angles are absolute, from the upward vertical, where the angles of
        the machine file's joints are relative
    """

    position: Array
    velocity: Array
    acceleration: Array


def pendulum_forces(motion: PendulumMotion, parameters: Array, gravity: float = 9.81) -> Array:
    """Generalised forces (N, 3) of the coordinates, N and N m: Eqs. 3.3 to 3.5 without the force on the cart.

    Where the parameters are right, the first is the force on the cart and the others are zero.

    Parameters
    ----------
    motion : N states
    parameters : (5,) in the order of :data:`PENDULUM_PARAMETERS`
    gravity : m/s^2, downwards
    """
    l1, l2, m1, m2, cart = parameters
    (s1, c1), (s2, c2), (s12, c12) = _sines(motion)
    w1, w2 = motion.velocity[:, 1] ** 2, motion.velocity[:, 2] ** 2
    x, a1, a2 = motion.acceleration.T
    mu, g = 0.5 * m1 + m2, gravity
    first = (cart + m1 + m2) * x + mu * l1 * (a1 * c1 - w1 * s1) + 0.5 * m2 * l2 * (a2 * c2 - w2 * s2)
    second = mu * l1 * (x * c1 - g * s1) + (m1 / 3.0 + m2) * l1**2 * a1 + 0.5 * m2 * l1 * l2 * (a2 * c12 - w2 * s12)
    third = 0.5 * m2 * l2 * (x * c2 - g * s2) + 0.5 * m2 * l1 * l2 * (a1 * c12 + w1 * s12) + m2 / 3.0 * l2**2 * a2
    return np.stack([first, second, third], axis=1)


def pendulum_force_jacobian(motion: PendulumMotion, parameters: Array, gravity: float = 9.81) -> Array:
    """J_LS (N, 3, 5), Eq. 3.7: derivative of :func:`pendulum_forces` by the parameters (5,)."""
    l1, l2, m1, m2, _ = parameters
    (s1, c1), (s2, c2), (s12, c12) = _sines(motion)
    w1, w2 = motion.velocity[:, 1] ** 2, motion.velocity[:, 2] ** 2
    x, a1, a2 = motion.acceleration.T
    mu, g = 0.5 * m1 + m2, gravity
    swing_1, swing_2 = a1 * c1 - w1 * s1, a2 * c2 - w2 * s2
    result = np.zeros((len(x), 3, 5))
    result[:, 0] = np.stack(
        [mu * swing_1, 0.5 * m2 * swing_2, x + 0.5 * l1 * swing_1, x + l1 * swing_1 + 0.5 * l2 * swing_2, x], axis=1
    )
    on_first = a2 * c12 - w2 * s12
    result[:, 1, 0] = mu * (x * c1 - g * s1) + 2.0 * (m1 / 3.0 + m2) * l1 * a1 + 0.5 * m2 * l2 * on_first
    result[:, 1, 1] = 0.5 * m2 * l1 * on_first
    result[:, 1, 2] = 0.5 * l1 * (x * c1 - g * s1) + l1**2 * a1 / 3.0
    result[:, 1, 3] = l1 * (x * c1 - g * s1) + l1**2 * a1 + 0.5 * l1 * l2 * on_first
    on_second = a1 * c12 + w1 * s12
    result[:, 2, 0] = 0.5 * m2 * l2 * on_second
    result[:, 2, 1] = 0.5 * m2 * (x * c2 - g * s2 + l1 * on_second) + 2.0 / 3.0 * m2 * l2 * a2
    result[:, 2, 3] = 0.5 * l2 * (x * c2 - g * s2 + l1 * on_second) + l2**2 * a2 / 3.0
    return result


def _sines(motion: PendulumMotion) -> tuple[tuple[Array, Array], ...]:
    """Sine and cosine of th1, th2 and th2 - th1."""
    _, th1, th2 = motion.position.T
    return tuple((np.sin(angle), np.cos(angle)) for angle in (th1, th2, th2 - th1))
