"""Every machine against engines that share nothing with the library: Pinocchio, and MuJoCo on the exported model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_joint_states, random_states
from pkm_description.machine import Machine, PlatformMotion

from verification.check import Check, agree, at_most, not_reachable, relative_error
from verification.engines.mujoco import mujoco_open_chain, mujoco_result
from verification.engines.pinocchio import pinocchio_open_chain, pinocchio_result
from verification.engines.projection import EngineMissingError, EngineResult


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Compare kinematics, drive forces, forces in the joints, power and mass with both engines."""
    compare = closed_machine_checks if machine.has_platform else open_chain_checks
    samples = 10 if quick else 40
    for name, limit in (('Pinocchio', 1e-9), ('MuJoCo', 1e-6)):
        try:
            yield from compare(machine, name, limit, samples)
        except EngineMissingError as error:
            yield not_reachable(name, 'inverse dynamics, constraint forces, mass', f'<= {limit:g}', str(error))


def closed_machine_checks(machine: Machine, engine: str, limit: float, samples: int) -> Iterator[Check]:
    """Compare a machine with a platform with an engine, at random states without friction."""
    motion = random_states(machine, samples, seed=11)
    legs = joint_motion(machine, motion)
    ask = {'Pinocchio': pinocchio_result, 'MuJoCo': mujoco_result}[engine]
    result = ask(machine, legs.positions, motion)
    yield at_most(engine, 'closures at our joint positions', 1e-11, result.gaps, 'm')
    scale = max(1.0, float(np.abs(legs.velocities).max()))
    yield at_most(engine, 'closures at our platform velocity', 1e-9 * scale, result.residuals, 'm/s')
    yield agree(engine, 'joint velocities', limit, legs.velocities, result.velocities)
    yield agree(engine, 'joint accelerations', limit, legs.accelerations, result.accelerations)
    forces = inverse_dynamics(machine, motion, friction=False)
    yield agree(engine, 'inverse dynamics', limit, forces, result.drive_forces)
    if result.determined:  # forces in the joints of overconstrained machines are not those of rigid bodies
        yield from reaction_checks(machine, motion, engine, limit, result)
    power = np.sum(forces * legs.velocities[:, machine.drive_columns], axis=1)
    yield from energy_and_mass_checks(machine, engine, power, result)


def reaction_checks(
    machine: Machine, motion: PlatformMotion, engine: str, limit: float, result: EngineResult
) -> Iterator[Check]:
    """Forces and moments in closures and joints."""
    ours = joint_reactions(machine, motion, friction=False)
    what = 'constraint forces in the closures, relative'
    yield at_most(engine, what, limit, relative_error(ours.closure_forces, result.closure_forces))
    if any(closure.kind != 'ball' for closure in machine.closures) and not machine.planar:
        what = 'constraint moments in the closures, relative'
        yield at_most(engine, what, limit, relative_error(ours.closure_moments, result.closure_moments))
    if result.joint_forces is not None and result.joint_moments is not None:
        yield agree(engine, 'constraint forces in the leg joints', limit, ours.joint_forces, result.joint_forces)
        yield agree(engine, 'constraint moments in the leg joints', limit, ours.joint_moments, result.joint_moments)


def open_chain_checks(machine: Machine, engine: str, limit: float, samples: int) -> Iterator[Check]:
    """Compare a machine without a platform with an engine: all joint forces."""
    state = random_joint_states(machine, samples, seed=11)
    ask: Callable[..., EngineResult] = {'Pinocchio': pinocchio_open_chain, 'MuJoCo': mujoco_open_chain}[engine]
    result = ask(machine, *state)
    forces = open_chain_forces(machine, *state, friction=False)
    yield agree(engine, 'inverse dynamics', limit, forces, result.drive_forces)
    yield from energy_and_mass_checks(machine, engine, np.sum(forces * state[1], axis=1), result)


def energy_and_mass_checks(machine: Machine, engine: str, power: Array, result: EngineResult) -> Iterator[Check]:
    """Power (N,) of our drive forces against the engine's energy, and the total mass."""
    if result.energy_rates is not None:
        rotors = rotor_power(machine, result)
        yield at_most(
            engine,
            "power of our drive forces = change of the engine's energy, relative",
            1e-6,
            relative_error(power - rotors, result.energy_rates),
        )
    bodies = [joint.body.mass for leg in machine.legs for joint in leg.joints]
    mass = machine.platform.mass + float(np.sum(bodies))
    yield agree(engine, 'mass of all bodies', 1e-12, mass, result.mass)


def rotor_power(machine: Machine, result: EngineResult) -> Array:
    """Power (N,) W that accelerates the rotors, which the engine's bodies do not contain."""
    return np.asarray(np.sum(machine.rotor_inertia * result.velocities * result.accelerations, axis=1))
