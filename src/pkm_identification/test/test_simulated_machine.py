"""Identification of machines simulated in MuJoCo, with true sticking, a servo and sensor noise."""

from __future__ import annotations

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile

pytest.importorskip('mujoco')

from pkm_bringup.simulation import simulate
from pkm_identification.compare import compare_physical_with_truth, compare_with_truth
from pkm_identification.pipeline import identify
from pkm_identification.recording.recording import Recording, recording_from_joint_states
from synthetic import NOMINAL


def simulated(machine: Machine, seed: int) -> list[Recording]:
    """Excitation and validation run of one simulation."""
    durations = (25.0, 15.0)
    motions = [
        profile(name, machine, duration, 100.0, seed)
        for name, duration in zip(('fourier', 'fourier_validation'), durations, strict=True)
    ]
    record = simulate(machine, motions, seed=seed)
    recordings = []
    for start, duration in zip(record.motion_starts, durations, strict=True):
        part = (record.joint_stamps >= start - 5e8) & (record.joint_stamps <= start + duration * 1e9 + 5e8)
        recordings.append(
            recording_from_joint_states(
                machine,
                record.joint_stamps[part],
                [joint.name for joint in machine.actuated_joints],
                record.joint_positions[part],
                record.joint_efforts[part],
            )
        )
    return recordings


@pytest.mark.campaign
@pytest.mark.parametrize('name', ['srs', 'palida'])
def test_simulated_machine_is_identified(name: str) -> None:
    """The acceptance figures, from a nominal machine that is wrong on purpose, on physics that we did not write."""
    machine = known_machine(name)
    nominal = load_machine(name, NOMINAL / f'nominal_{name}.yaml')
    excitation, validation = simulated(machine, 0)
    result = identify(nominal, excitation, validation)
    rows = compare_with_truth(result, machine)
    deviations = np.array([row.standardised_error for row in rows])
    print(
        f'{name}: standardised errors rms {np.sqrt(np.mean(deviations**2)):.2f}, largest {np.abs(deviations).max():.2f}'
    )
    assert result.classification.count('identified') >= 20
    assert max(abs(row.standardised_error) for row in rows if row.status == 'identified') < 4.0
    physical = {row.name: row for row in compare_physical_with_truth(result, machine)}
    assert physical['platform_link.m'].relative_error < 0.01
    assert max(row.relative_error for key, row in physical.items() if 'prismatic' in key) < 0.05
    assert result.validation is not None
    assert result.validation.error.relative < 0.03
    assert not result.physical.infeasible
