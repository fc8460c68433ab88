"""Physics of the embedded simulator against the analytic model, and its samples against each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hand_built_platform import hand_built_platform, six_axis_sinusoids
from pkm_bringup.control import ServoSettings
from pkm_bringup.simulation import ControlledSimulation, MujocoSimulation, SimulationRecord, simulate
from pkm_bringup.simulation.mujoco_simulation import SimulationError
from pkm_bringup.simulation.record import _record
from pkm_description.dynamics import inverse_dynamics
from pkm_description.export.mjcf import TIME_STEP
from pkm_description.kinematics import joint_motion
from pkm_description.machine import Machine, PlatformMotion
from scipy.spatial.transform import Rotation

FEEDFORWARD = ServoSettings(feedforward='rigid_body_friction')


def _times(duration: float, rate: float = 100.0) -> np.ndarray:
    return np.arange(round(duration * rate) + 1) / rate


def beginning(machine: Machine, seconds: float, time_step: float = TIME_STEP, **options: Any) -> SimulationRecord:
    """The run of six_axis_sinusoids as ``simulate`` makes it, but its first seconds only."""
    controlled = ControlledSimulation(machine, options.pop('seed', 0), time_step=time_step, **options)
    reference = controlled.add_reference(six_axis_sinusoids(machine).evaluate(_times(14.0)), 10**9)
    samples = [controlled.step() for _ in range(round(seconds / time_step) + 1)]
    kept = [sample for sample in samples if sample is not None]
    return _record(kept, (reference.start_ns,), controlled.servo.saturation_count)


@pytest.fixture(scope='module')
def frictionless() -> tuple[Machine, PlatformMotion, SimulationRecord]:
    machine = hand_built_platform()
    motion = six_axis_sinusoids(machine).evaluate(_times(14.0))
    return machine, motion, simulate(machine, motion, noise=False, settings=FEEDFORWARD)


def test_loops_stay_closed(frictionless: tuple[Machine, PlatformMotion, SimulationRecord]) -> None:
    assert frictionless[2].closure_error.max() < 1e-6


def test_analytic_forces_of_the_true_motion_are_the_applied_ones(
    frictionless: tuple[Machine, PlatformMotion, SimulationRecord],
) -> None:
    machine, _, record = frictionless
    error = inverse_dynamics(machine, record.truth) - record.joint_efforts
    assert np.ptp(record.joint_efforts, axis=0).min() > 20.0
    assert np.sqrt(np.mean(error**2)) < 1e-3  # required: 10 mN


def test_forces_of_the_reference_are_the_applied_ones(
    frictionless: tuple[Machine, PlatformMotion, SimulationRecord],
) -> None:
    """Feed-forward + PD while tracking, minus the analytic force; 2 to 4 mN with another simulator program."""
    machine, motion, record = frictionless
    during = (record.joint_stamps >= record.motion_starts[0]) & (
        record.joint_stamps <= record.motion_starts[0] + 14 * 10**9
    )
    error = inverse_dynamics(machine, motion) - record.joint_efforts[during]
    assert np.sqrt(np.mean(error**2)) < 1e-3


def test_joint_positions_are_those_of_the_true_pose(
    frictionless: tuple[Machine, PlatformMotion, SimulationRecord],
) -> None:
    machine, _, record = frictionless
    legs = joint_motion(machine, record.truth)
    assert np.abs(legs.positions[:, machine.drive_columns] - record.joint_positions).max() < 1e-6
    assert np.abs(legs.velocities[:, machine.drive_columns] - record.joint_velocities).max() < 1e-5


def test_friction_of_sliding_joints_is_the_machine_files() -> None:
    machine = hand_built_platform(viscous=20.0, coulomb=5.0)
    record = beginning(machine, 8.0, noise=False)
    rigid = inverse_dynamics(machine, record.truth, friction=False)
    sliding = np.abs(record.joint_velocities) > 0.01
    expected = 20.0 * record.joint_velocities + 5.0 * np.sign(record.joint_velocities)
    assert sliding.mean() > 0.5
    assert np.abs(record.joint_efforts - rigid - expected)[sliding].max() < 0.01


def test_friction_holds_a_resting_joint() -> None:
    """At rest the drives may be off by less than the Coulomb force without anything moving."""
    simulation = MujocoSimulation(hand_built_platform(coulomb=5.0), noise=False)
    weight = simulation.data.ctrl.copy()
    for _ in range(500):
        simulation.step(weight + 2.0)
    assert np.abs(simulation.joint_velocities).max() < 1e-6


def _second_order_errors(time_step: float) -> np.ndarray:
    """Largest differences between successive truth samples' differences and the sampled derivatives."""
    machine = hand_built_platform(viscous=20.0)
    rate = 1.0 / time_step
    machine = replace(
        machine, imu=replace(machine.imu, rate=rate), leg_sensors=replace(machine.leg_sensors, rate=rate),
    )  # fmt: skip
    record = beginning(machine, 4.6, time_step, noise=False, settings=FEEDFORWARD)
    during = slice(round(4.0 / time_step), round(4.6 / time_step))
    truth = record.truth[during]
    turn = truth.rotation_base_platform[2:] @ np.swapaxes(truth.rotation_base_platform[:-2], 1, 2)
    double = 2.0 * time_step

    def slope(values: np.ndarray) -> np.ndarray:
        return (values[2:] - values[:-2]) / double

    position = truth.position
    curvature = (position[2:] - 2.0 * position[1:-1] + position[:-2]) / time_step**2
    return np.array([
        np.abs(curvature - truth.linear_acceleration[1:-1]).max(),
        np.abs(slope(position) - truth.linear_velocity[1:-1]).max(),
        np.abs(slope(truth.linear_velocity) - truth.linear_acceleration[1:-1]).max(),
        np.abs(Rotation.from_matrix(turn).as_rotvec() / double - truth.angular_velocity[1:-1]).max(),
        np.abs(slope(truth.angular_velocity) - truth.angular_acceleration[1:-1]).max(),
        np.abs(slope(record.joint_positions[during]) - record.joint_velocities[during][1:-1]).max(),
    ])  # fmt: skip


def test_samples_are_second_order_derivatives_of_each_other() -> None:
    coarse, fine = _second_order_errors(2e-3), _second_order_errors(1e-3)
    assert (fine < 1e-3).all()
    assert (coarse / fine > 3.0).all(), coarse / fine


def test_imu_truth_is_the_analytic_imu_of_the_true_motion(
    frictionless: tuple[Machine, PlatformMotion, SimulationRecord],
) -> None:
    """Finite differences of the IMU point's path, which know nothing of lever-arm formulas."""
    machine = frictionless[0]
    machine = replace(machine, imu=replace(machine.imu, rate=1000.0))
    record = beginning(machine, 7.0, noise=False)
    truth, h = record.truth, 1e-3
    point = truth.position + truth.rotation_base_platform @ machine.imu.position
    acceleration = (point[2:] - 2.0 * point[1:-1] + point[:-2]) / h**2
    rotation_base_imu = truth.rotation_base_platform[1:-1] @ machine.imu.rotation_platform_imu
    specific_force = np.einsum('nji,nj->ni', rotation_base_imu, acceleration - machine.gravity)
    assert np.ptp(specific_force, axis=0).min() > 1.0
    assert np.abs(specific_force - record.specific_force[1:-1]).max() < 5e-3
    assert np.sqrt(np.mean((specific_force - record.specific_force[1:-1]) ** 2)) < 2e-4


class _WatchedSimulation(MujocoSimulation):
    """Keeps what MuJoCo's own sensors say at the instant of a sample."""

    def _truth(self) -> PlatformMotion:
        self.accelerometer, self.gyro = (
            self.data.sensor(name).data.copy() for name in ('imu_accel', 'imu_gyro')
        )
        return super()._truth()


def test_imu_agrees_with_mujocos_sensors() -> None:
    simulation = _WatchedSimulation(hand_built_platform(), noise=False)
    weight, count = simulation.data.ctrl.copy(), 0
    for step in range(400):
        sample = simulation.step(weight + 20.0 * np.sin(0.01 * step + np.arange(6)))
        if sample is not None and sample.imu is not None:
            count += 1
            assert sample.imu.specific_force == pytest.approx(simulation.accelerometer, abs=1e-9)
            assert sample.imu.angular_rate == pytest.approx(simulation.gyro, abs=1e-12)
    assert count == 39
    assert np.abs(simulation.gyro).max() > 0.1


def test_runs_repeat_bit_for_bit_and_seeds_differ() -> None:
    machine = hand_built_platform(viscous=20.0, coulomb=5.0)
    first, second, other = (beginning(machine, 2.0, seed=seed) for seed in (5, 5, 6))
    for name in ('joint_positions', 'joint_velocities', 'joint_efforts', 'specific_force', 'angular_rate'):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
        assert getattr(first, name).tobytes() != getattr(other, name).tobytes()
    # the drives' own signals are noise-free: the seed must not touch the motion
    assert first.truth.position.tobytes() == other.truth.position.tobytes()


def test_first_sample_is_one_period_after_zero() -> None:
    machine = hand_built_platform()
    machine = replace(machine, leg_sensors=replace(machine.leg_sensors, rate=200.0))
    hold = PlatformMotion.at_rest(machine.home.position, machine.home.rotation_base_platform)
    record = simulate(machine, hold, pause=0.05)
    assert record.imu_stamps.tolist() == [10_000_000 * i for i in range(1, 11)]
    assert record.joint_stamps.tolist() == [5_000_000 * i for i in range(1, 21)]


def test_effort_limit_is_applied_and_counted() -> None:
    simulation = MujocoSimulation(hand_built_platform(), noise=False)
    simulation.step(np.array([1e4, 0.0, 0.0, 0.0, 0.0, -1e4]))
    assert simulation.data.ctrl.tolist() == [300.0, 0.0, 0.0, 0.0, 0.0, -300.0]
    assert simulation.saturation_count.tolist() == [1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize('forces', [np.zeros(5), np.full(6, np.nan), np.array([np.inf] + [0.0] * 5)])
def test_unusable_forces_are_refused(forces: np.ndarray) -> None:
    with pytest.raises(ValueError, match='6 finite numbers'):
        MujocoSimulation(hand_built_platform()).step(forces)


def test_sensor_rate_that_is_no_fraction_of_the_physics_rate_is_named() -> None:
    machine = hand_built_platform()
    with pytest.raises(SimulationError, match=r'imu.rate = 300.0 Hz'):
        MujocoSimulation(replace(machine, imu=replace(machine.imu, rate=300.0)))
