"""Mass matrix, kinetic and potential energy of one sample."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics.state import coast
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.tree import inertia_times, map_bodies, mass_of_map
from pkm_description.kernels.linalg import cross, dot, plus, times, turned, turned_back, vector
from pkm_description.kernels.model import OK, ModelData, ScratchData


@kernel
def mass_on_twist(model: ModelData, scratch: ScratchData) -> None:
    """Mass matrix on the platform's twist into ``scratch.mass``; the legs are mapped already."""
    map_bodies(model, scratch, scratch.joint_map, scratch.unit, 6)
    mass_of_map(model, scratch, scratch.joint_map, 6)


@kernel
def copy_mass(scratch: ScratchData, masses: Array, sample: int) -> None:
    """Write ``scratch.mass`` into one of the matrices (N, I, I)."""
    for i in range(masses.shape[1]):
        for k in range(masses.shape[2]):
            masses[sample, i, k] = scratch.mass[i, k]


@kernel
def kinetic_energy(model: ModelData, scratch: ScratchData) -> float:
    """Kinetic energy [J] of all bodies and rotors."""
    total, p = 0.0, model.parameters
    for body in range(len(model.kind) + 1):
        v = turned_back(scratch.rotation, body, vector(scratch.velocity, body))
        w = turned_back(scratch.rotation, body, vector(scratch.spin, body))
        c = p[body, 1], p[body, 2], p[body, 3]
        total += 0.5 * p[body, 0] * dot(v, v) + dot(v, cross(w, c)) + 0.5 * dot(w, inertia_times(p, body, w))
    for joint in range(len(model.kind)):
        total += 0.5 * model.rotor_inertia[joint] * scratch.joint_rates[joint] * scratch.joint_rates[joint]
    return total


@kernel
def potential_energy(model: ModelData, scratch: ScratchData) -> float:
    """Energy [J] of all bodies in gravity, zero for all mass at the base origin."""
    total, p = 0.0, model.parameters
    gravity = model.gravity[0], model.gravity[1], model.gravity[2]
    for body in range(len(model.kind) + 1):
        c = turned(scratch.rotation, body, (p[body, 1], p[body, 2], p[body, 3]))
        total -= dot(plus(times(p[body, 0], vector(scratch.origin, body)), c), gravity)
    return total


@kernel
def energies(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, kinetic: Array, potential: Array, masses: Array,
) -> int:  # fmt: skip
    """Energies of N samples, poses (N, 3), (N, 3, 3) with velocities (N, 3), (N, 3).

    Parameters
    ----------
    kinetic, potential : (N,) J
    masses : (N, 6, 6) mass matrices on the platform's twist, or (0, 6, 6): not wanted
    """
    for sample in range(len(position)):
        status = coast(model, scratch, start, position, rotation, linear, angular, sample)
        if status < 0:
            return status
        kinetic[sample] = kinetic_energy(model, scratch)
        potential[sample] = potential_energy(model, scratch)
        if len(masses):
            mass_on_twist(model, scratch)
            copy_mass(scratch, masses, sample)
    return OK
