"""Machines with fewer degrees of freedom than six: identified from the positions and forces of their drives, too."""

from __future__ import annotations

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import motion_from_drives
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine

from pkm_identification import (
    IdentificationConfig,
    ObservationModel,
    Recording,
    RecordingError,
    compare_with_truth,
    identify,
)


@pytest.fixture(scope='module')
def machine() -> Machine:
    """Return a 3-RPS whose drives have heavy rotors."""
    return known_machine('valencia_3rps')


@pytest.fixture(scope='module')
def recording(machine: Machine) -> Recording:
    """Return 25 s of drive sines with the forces that they take."""
    random = np.random.default_rng(0)
    time = np.arange(2500) / 100.0
    drives = machine.actuated_count
    positions = np.array([joint.home for joint in machine.actuated_joints]) + np.zeros((len(time), drives))
    rates, accelerations = np.zeros_like(positions), np.zeros_like(positions)
    for number in range(1, 6):
        omega = 2.0 * np.pi * 0.2 * number
        phase = omega * time[:, None] + random.uniform(0.0, 2.0 * np.pi, drives)
        amplitude = 0.05 / number * random.uniform(0.5, 1.0, drives)
        positions += amplitude * np.sin(phase)
        rates += amplitude * omega * np.cos(phase)
        accelerations -= amplitude * omega**2 * np.sin(phase)
    motion = motion_from_drives(machine, time, positions, rates, accelerations)
    return Recording(time, positions, inverse_dynamics(machine, motion))


def test_rotors_are_known_forces(machine: Machine) -> None:
    """Columns and known forces together are inverse dynamics."""
    assert machine.rotor_inertia.any()
    model = ObservationModel(machine)
    motion = random_states(machine, 20, 3)
    regressor, known = model.regressor(motion)
    expected = inverse_dynamics(machine, motion)
    assert np.abs(regressor @ model.parameters(machine) + known - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.usefixtures('fit_alone')
def test_platform_with_three_degrees_of_freedom_is_identified(machine: Machine, recording: Recording) -> None:
    """Clean data: the forces are explained, and the friction of the drives is found."""
    found = identify(machine, recording, config=IdentificationConfig.from_mapping({'columns.extend': False}))
    assert found.training.filtered_error.relative < 0.01
    friction = [row for row in compare_with_truth(found, machine) if row.name.endswith(('.viscous', '.coulomb'))]
    assert len(friction) == 6
    assert max(row.relative_error for row in friction) < 0.02


def test_the_source_estimator_needs_poses(machine: Machine, recording: Recording) -> None:
    with pytest.raises(RecordingError, match='no platform poses were recorded'):
        identify(machine, recording, None, IdentificationConfig.from_mapping({'motion.source': 'estimator'}))
