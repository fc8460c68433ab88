"""Machines with legs of any kind in MuJoCo: several closures per leg, passive legs, redundant drives."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_bringup.simulation import simulate
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation
from pkm_description.export.rest import home_configuration
from pkm_description.kinematics import forward_kinematics
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile

GRAPHS = ['delta', 'five_bar', 'tricept', 'three_upu', 'octopod_8ups', 'four_rrr']


@pytest.mark.parametrize('name', GRAPHS)
def test_home_is_held(name: str) -> None:
    """By the forces that hold it, and the servo on every drive."""
    machine = load_machine(name)
    simulation = MujocoSimulation(machine, noise=False)
    weight, home = home_configuration(machine).drive_forces, simulation.joint_positions.copy()
    gaps = []
    for _ in range(500):
        error = home - simulation.joint_positions
        rates = simulation.joint_velocities
        sample = simulation.step(weight + machine.servo.stiffness * error - machine.servo.damping * rates)
        if sample is not None:
            gaps.append(sample.truth.closure_error)
            place = sample.truth.position
    assert max(gaps) < 1e-6
    assert not simulation.saturation_count.any()
    assert np.abs(place - machine.home.position).max() < 1e-6


@pytest.mark.parametrize(
    'name',
    ['delta', 'five_bar', *(pytest.param(name, marks=pytest.mark.campaign) for name in ('tricept', 'three_upu'))],
)
def test_a_motion_of_the_drives_moves_the_platform_as_forward_kinematics_says(name: str) -> None:
    machine = load_machine(name)
    record = simulate(machine, profile('drives', machine, 6.0), noise=False)
    assert record.closure_error.max() < 1e-5
    assert not record.saturation_count.any()
    truth = record.truth[np.isin(record.truth_stamps, record.joint_stamps)]
    assert np.ptp(truth.position, axis=0).max() > 0.01
    found = forward_kinematics(machine, record.joint_positions[::10]).require()
    assert np.abs(found.position - truth.position[::10]).max() < 1e-5
    assert np.abs(found.rotation_base_platform - truth.rotation_base_platform[::10]).max() < 1e-4
