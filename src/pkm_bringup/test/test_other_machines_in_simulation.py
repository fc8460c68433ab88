"""Machines that are no 6-UPS hexapods, simulated in MuJoCo, driven, and estimated: by their files alone."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_bringup.simulation import SimulationRecord, simulate
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation, SimulationError
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import forward_kinematics, motion_from_drives
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_estimation.stream import EstimatorPipeline

from pkm_estimation.config import EstimatorConfig

NAMES = ['valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus']
Run = tuple[Machine, SimulationRecord]


@pytest.fixture(scope='module', params=NAMES)
def run(request: pytest.FixtureRequest) -> Run:
    machine = load_machine(request.param)
    return machine, simulate(machine, profile('drives', machine, 7.0), seed=1)


def test_loops_stay_closed_and_drives_inside_their_limits(run: Run) -> None:
    assert run[1].closure_error.max() < 1e-5
    assert not run[1].saturation_count.any()


def test_simulated_platform_is_where_its_drives_put_it(run: Run) -> None:
    machine, record = run
    truth = record.truth[np.isin(record.truth_stamps, record.joint_stamps)]
    closed = forward_kinematics(machine, record.joint_positions).require()
    noise = float(np.max(machine.leg_sensors.position_noise))
    assert np.sqrt(np.mean((closed.position - truth.position) ** 2)) < 5.0 * noise + 2e-6


def test_forces_are_those_of_the_analytic_model(run: Run) -> None:
    """Viscous and Coulomb friction (nearest pair of the file's law) are what MuJoCo has, so compare without them."""
    machine, record = run
    rest = slice(50, 80)
    truth = record.truth[np.isin(record.truth_stamps, record.joint_stamps)]
    motion = motion_from_drives(
        machine, truth.time[rest], record.joint_positions[rest],
        np.zeros_like(record.joint_positions[rest]), np.zeros_like(record.joint_positions[rest]),
    )  # fmt: skip
    held = inverse_dynamics(machine, motion, friction=False)
    friction = np.array([joint.friction.coulomb for joint in machine.actuated_joints])
    noise = np.max(machine.leg_sensors.effort_noise)
    assert (np.abs(np.mean(record.joint_efforts[rest] - held, axis=0)) < 1.05 * friction + noise + 1.0).all()


def test_estimator_follows(run: Run) -> None:
    machine, record = run
    pipeline = EstimatorPipeline(machine, EstimatorConfig(baseline=False))
    names = [joint.name for joint in machine.actuated_joints]
    events = [(stamp, 0, i) for i, stamp in enumerate(record.imu_stamps)]
    # every fifth leg message: closing the legs onto all sigma points takes its time
    events += [(record.joint_stamps[i], 1, i) for i in range(0, len(record.joint_stamps), 5)]
    outputs = []
    for stamp, kind, index in sorted(events):
        if kind == 0:
            outputs += pipeline.add_imu(int(stamp), record.specific_force[index], record.angular_rate[index])
        else:
            outputs += pipeline.add_joint_positions(int(stamp), names, record.joint_positions[index])
    assert pipeline.health.counters['started'] == 1
    estimates = outputs[len(outputs) // 2 :]
    truth = record.truth[np.isin(record.truth_stamps, [output.stamp for output in estimates])]
    error = np.array([output.motion.position for output in estimates]) - truth.position
    noise = float(np.max(machine.leg_sensors.position_noise))
    assert np.sqrt(np.mean(error**2)) < 5.0 * noise + 2e-6


def test_open_chain_is_refused_by_name() -> None:
    with pytest.raises(SimulationError, match='double_pendulum is an open chain'):
        MujocoSimulation(load_machine('double_pendulum'))
