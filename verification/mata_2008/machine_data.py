"""Mata et al. (2008), M9, M40 and M41: forces from motor currents, the simulator of the truth, noise by seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import yaml
from pkm_bringup.robot_check.wiring import with_driver
from pkm_bringup.simulation.mujoco_simulation import SimulationError
from pkm_description.dynamics import forward_dynamics, inverse_dynamics
from pkm_description.errors import InfeasibleMachineError
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics.joint_motion import drive_positions
from pkm_description.machine import Machine, RigidBody
from pkm_description.motion.profiles import profile
from pkm_identification.recording.recording import recording_from_joint_states

from pkm_bringup import simulate
from verification.check import Check, agree, at_least, at_most, equal, refused, within
from verification.drive_data import DriveNoise, forward_run
from verification.mata_2008.data import NOISE, SMOOTHING, robot

#: N m/A, m per turn of each drive (invented: the paper prints neither)
TORQUE_CONSTANTS, LEADS = [0.061, 0.059, 0.060], [0.005, 0.005, 0.010]


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks on one motion."""
    yield from current_checks(machine)
    yield from simulator_checks(machine, 2.0 if quick else 7.5)


def current_checks(machine: Machine) -> Iterator[Check]:
    """M9: Eq. 30, and the screw that turns the torque into a force."""
    motion = profile('drives', machine, 4.0, 100.0, 1)
    positions, forces = drive_positions(machine, motion), inverse_dynamics(machine, motion)
    content = {'effort': {'quantity': 'current', 'gain': TORQUE_CONSTANTS, 'lead': LEADS}}
    driven = with_driver(machine, yaml.safe_dump({'driver': content}))
    # work of one turn: torque times 2 pi = force times lead
    currents = forces * np.array(LEADS) / (2.0 * np.pi * np.array(TORQUE_CONSTANTS))
    stamps = 10**9 + np.round(motion.time * 1e9).astype(np.int64)
    recording = recording_from_joint_states(driven, stamps, machine.actuated_joint_names, positions, currents)
    yield agree('M9', 'forces of a recording of motor currents: K_m i 2 pi / lead', 1e-13, recording.forces, forces)
    reader = JointStateReader.of_drives(driven).order(machine.actuated_joint_names)
    one = reader.by_joint(np.ones((1, 3)), 'effort')[0]
    expected = 2.0 * np.pi * np.array(TORQUE_CONSTANTS) / np.array(LEADS)
    what = 'force of one ampere, each drive with its own constant and lead, relative'
    yield at_most('M9', what, 1e-13, one / expected - 1.0)
    back = driven.driver.command_of_forces(forces)
    yield agree('M9', 'currents commanded for these forces', 1e-13, back, currents)


def simulator_checks(machine: Machine, duration: float) -> Iterator[Check]:
    """M40 and M41: forward dynamics agree with inverse dynamics on what they made; infeasible machines are refused."""
    rubbing = robot(str(machine.path), 'stribeck')
    wanted = profile('drives', machine, duration, 2000.0, 1)
    run = forward_run(rubbing, wanted, 20, SMOOTHING)
    again = inverse_dynamics(rubbing, run.motion(rubbing), sign_smoothing=SMOOTHING)
    error = np.abs(again - run.efforts).max() / np.abs(run.efforts).max()
    what = 'efforts of a forward run with Stribeck friction against inverse dynamics, relative'
    yield at_most('M40', what, 1e-9, error)
    tracked = drive_positions(machine, wanted)[::20]
    yield at_most('M40', 'the run follows the motion that it was led along', 1e-3, run.positions - tracked, 'm')
    steps = np.gradient(run.velocities, run.time, axis=0)[1:-1]
    rough = np.sqrt(np.mean((steps - run.accelerations[1:-1]) ** 2) / np.mean(steps**2))
    yield at_most('M40', 'accelerations of the run against differences of its velocities, relative rms', 0.1, rough)
    yield from refusal_checks(machine)
    noisy, same, other = (run.with_noise(NOISE, seed) for seed in (1, 1, 2))
    names = ('positions', 'velocities', 'accelerations', 'efforts')
    yield equal('M41', 'quantities with the same numbers for the same seed', 4, sum(
        bool(np.array_equal(getattr(noisy, name), getattr(same, name))) for name in names))  # fmt: skip
    yield equal('M41', 'quantities with other numbers for another seed', 4, sum(
        not np.array_equal(getattr(noisy, name), getattr(other, name)) for name in names))  # fmt: skip
    for name in names:
        level = float(getattr(NOISE, name))
        spread = float(np.std(getattr(noisy, name) - getattr(run, name)))
        yield within('M41', f'noise of the {name} over its standard deviation {level:g}', 0.9, 1.1, spread / level)
    quiet = run.with_noise(DriveNoise(efforts=1.0), 1)
    yield equal('M41', 'without noise of their own, positions stay as they are', True, bool(
        np.array_equal(quiet.positions, run.positions)))  # fmt: skip
    correlation = np.corrcoef((noisy.positions - run.positions).ravel(), (noisy.efforts - run.efforts).ravel())[0, 1]
    yield at_most('M41', 'correlation of the noise of positions and efforts', 0.2, correlation)


def refusal_checks(machine: Machine) -> Iterator[Check]:
    """M40: a machine with the masses that least squares can find is not simulated."""
    body, home = machine.platform, machine.home
    wrong = dataclasses.replace(
        machine, platform=RigidBody(body.name, -2000.0, body.center_of_mass, body.inertia)
    )
    still = home.position, home.rotation_base_platform, np.zeros(6), np.zeros(3)
    what = 'mass matrix that is not positive definite, forward dynamics'
    yield refused('M40', what, InfeasibleMachineError, forward_dynamics, wrong, *still)
    motion = profile('drives', machine, 4.0, 100.0)
    yield refused('M40', 'the same machine in MuJoCo', SimulationError, simulate, wrong, motion)
    good = forward_dynamics(machine, *still)
    yield at_least('M40', 'the machine of the file falls', 0.0, -good[2], 'm/s^2')
