"""Calls that between them reach every kernel, so that the program compile_kernels has compiled all when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from pkm_description import dynamics, kinematics
from pkm_description.dynamics.friction import friction_torques
from pkm_description.dynamics.inverse import drive_force_terms
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.dynamics.parameter_reduction.machine import base_parameters
from pkm_description.kernels.dynamics.newton_euler import joint_forces, tree_wrenches
from pkm_description.kernels.friction import deflect
from pkm_description.kernels.kinematics.tree import turn_about
from pkm_description.kinematics.closed_legs import admissible_home, close_legs, leg_regularity
from pkm_description.kinematics.geometry_constants import geometry_constants, with_geometry
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.idle_freedoms import AtHome
from pkm_description.machine.model_data import free_model
from pkm_description.machine.tolerances import USUAL_TOLERANCES
from pkm_description.motion.limits import check_motion
from pkm_description.motion.profiles import profile

#: one of each kind: struts on universal joints, other legs, fewer than six degrees of freedom, a plane, an open chain
MACHINES = ('srs', 'hexaglide_6pus', 'valencia_3rps', 'khalifa_3prr', 'double_pendulum')

Call = Callable[[], object]


def first_calls() -> Iterator[Call]:
    """Calls of the public functions of kinematics and dynamics; single poses run the same kernels as batches."""
    yield partial(load_machine, 'delta')  # rods that may turn about themselves are looked for in a way of their own
    yield partial(turn_about, np.eye(3)[None].copy(), 0, (1.0, 0.0, 0.0), 0.0)  # loading calls it where loops are rigid
    one = np.zeros((1, 1))
    yield partial(deflect, one, one, 0.0, one, np.ones(1), one, one)
    at_home = AtHome.of(free_model(load_machine('srs')))  # of the importers
    for kernel in (tree_wrenches, joint_forces):
        yield partial(kernel, at_home.compiled, at_home.scratch)
    for name in MACHINES:
        machine = load_machine(name)
        yield partial(base_parameters, machine)
        if not machine.has_platform:
            still = np.zeros((1, len(machine.joints)))
            yield partial(open_chain_forces, machine, still, still, still)
        else:
            yield from _poses(machine)
            yield from _motions(machine)
            yield from _drives(machine)


def _poses(machine: Machine) -> Iterator[Call]:
    position, rotation = machine.home.position[None], machine.home.rotation_base_platform[None]
    for function in (
        kinematics.drive_positions,
        kinematics.drive_jacobian,
        kinematics.joint_positions,
        dynamics.gravity_forces,
        dynamics.mass_matrix,
        dynamics.potential_energy,
    ):
        yield partial(function, machine, position, rotation)
    rest, forces = np.zeros((1, 6)), np.zeros((1, machine.actuated_count))
    yield partial(kinematics.joint_rates, machine, position, rotation, rest[:, :3], rest[:, 3:])
    yield partial(dynamics.kinetic_energy, machine, position, rotation, rest)
    yield partial(dynamics.forward_dynamics, machine, position, rotation, rest, forces)
    still = np.zeros((1, len(machine.joints)))
    yield partial(friction_torques, machine, still, loads=still)
    yield partial(admissible_home, machine, drives=machine.home_positions[machine.drive_columns])
    closed = close_legs(machine, position, rotation)
    yield partial(leg_regularity, machine, position, rotation, closed.positions)
    if machine.legs_hold_platform:
        wrong = replace(machine, tolerances=USUAL_TOLERANCES)
        yield partial(with_geometry, wrong, np.zeros(len(geometry_constants(wrong).kind)))
    if machine.has_closed_form:
        yield partial(kinematics.leg_lengths, machine, position, rotation)
        yield partial(kinematics.length_jacobian, machine, position, rotation)


def _motions(machine: Machine) -> Iterator[Call]:
    motion = profile('hold', machine, duration=0.02, rate=100)
    yield partial(kinematics.joint_motion, machine, motion)
    yield partial(dynamics.inverse_dynamics, machine, motion)
    yield partial(dynamics.inverse_dynamics, machine, motion, friction=False)
    yield partial(dynamics.friction_forces, machine, motion)
    yield partial(drive_force_terms, machine, motion)
    joints, loads = kinematics.joint_motion(machine, motion), dynamics.friction_loads(machine, motion)
    yield partial(dynamics.friction_regressor, machine, joints, 'all', loads=loads)
    yield partial(check_motion, machine, motion)
    yield partial(dynamics.rigid_body_regressor, machine, motion)
    yield partial(dynamics.rigid_body_regressor, machine, motion, identical_legs=False)


def _drives(machine: Machine) -> Iterator[Call]:
    motion = profile('hold', machine, duration=0.02, rate=100)
    positions = kinematics.drive_positions(machine, motion)
    found, still = kinematics.forward_kinematics(machine, positions), np.zeros_like(positions)
    yield partial(kinematics.forward_kinematics, machine, positions[0])
    yield partial(getattr, found, 'condition')
    yield partial(kinematics.forward_kinematics, machine, positions, initial=found, verify_branch=True)
    yield partial(kinematics.forward_kinematics, machine, positions, initial=machine.home)
    yield partial(kinematics.assembly_modes, machine, positions[0], max_batches=1)
    yield partial(kinematics.PoseSolver(machine, 1e-9, 10).series, positions, np.zeros(len(positions), dtype=bool))
    yield partial(kinematics.motion_from_drives, machine, motion.time, positions, still, still)
    yield partial(dynamics.DriveDynamics(machine).forces, positions[0], still[0], still[0])
    yield partial(dynamics.DriveRegressor(machine).rows, positions[0], still[0], still[0])
