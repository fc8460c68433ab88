"""Shipped machines and motions in simulation: accuracy of the simulator for each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_bringup.simulation import SimulationRecord, simulate
from pkm_bringup.simulation.cli import main
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import leg_lengths
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import read_bag

Run = tuple[Machine, SimulationRecord]


@pytest.fixture(scope='module', params=['srs', pytest.param('palida', marks=pytest.mark.campaign)])
def run(request: pytest.FixtureRequest) -> Run:
    """MP1, then the Fourier excitation, driven as in the demo (PD and gravity feed-forward)."""
    machine = load_machine(request.param)
    motions = [profile('mp1', machine, 20.0), profile('fourier', machine, 8.0)]
    return machine, simulate(machine, motions, noise=False)


def test_closure_error_stays_below_10_um(run: Run) -> None:
    assert run[1].closure_error.max() < 1e-6  # required: 10 um


def test_no_drive_saturates(run: Run) -> None:
    assert not run[1].saturation_count.any()


def test_analytic_forces_are_the_measured_ones_while_the_joints_slide(run: Run) -> None:
    machine, record = run
    truth = record.truth[np.isin(record.truth_stamps, record.joint_stamps)]
    error = inverse_dynamics(machine, truth, friction=True) - record.joint_efforts
    sliding = np.abs(record.joint_velocities) > 0.01
    scale = np.sqrt(np.mean(record.joint_efforts**2))
    assert sliding.mean() > 0.6
    assert np.sqrt(np.mean(error[sliding] ** 2)) < 1e-2  # N; required: 10 mN
    assert np.sqrt(np.mean(error[sliding] ** 2)) < 1e-5 * scale


def test_motions_come_back_to_home(run: Run) -> None:
    """With Coulomb friction and no integral part the legs stop within coulomb / stiffness of their set-points."""
    machine, record = run
    rest = machine.legs[0].joints[2].friction.coulomb / machine.servo.stiffness
    assert np.abs(record.truth.position[-1] - machine.home.position).max() < 5.0 * rest


def test_measured_positions_are_leg_lengths_of_the_true_pose(run: Run) -> None:
    machine, record = run
    truth = record.truth[np.isin(record.truth_stamps, record.joint_stamps)]
    lengths = leg_lengths(machine, truth.position, truth.rotation_base_platform)
    assert np.abs(lengths - machine.lengths_at_zero - record.joint_positions).max() < 1e-6


def test_command_writes_a_bag_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / 'run'
    assert main(['palida', '--profile', 'hold', '--duration', '1', '--seed', '2', '-o', str(path)]) == 0
    assert 'closure error at most' in capsys.readouterr().out
    machine = load_machine('palida')
    expected, data = simulate(machine, profile('hold', machine, 1.0), seed=2), read_bag(path)
    assert data.joint_states is not None and data.imu_data_raw is not None and data.ground_truth is not None
    assert np.array_equal(data.joint_states.stamps, expected.joint_stamps)
    assert np.array_equal(data.joint_states.efforts, expected.joint_efforts)
    assert np.array_equal(data.imu_data_raw.specific_force, expected.specific_force)
    assert np.array_equal(data.ground_truth.position, expected.truth.position)


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['nobody'], 'nobody'),
        (['palida', '--duration', '-1'], '-1'),
        (['palida', '--overlay', 'absent.yaml'], 'absent.yaml'),
    ],
)
def test_command_names_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert main([*arguments, '-o', str(tmp_path / 'run')]) == 1
    error = capsys.readouterr().err
    assert error.startswith('error: ') and text in error
