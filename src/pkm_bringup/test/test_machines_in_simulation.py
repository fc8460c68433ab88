"""Machines of every kind in the embedded simulator: hexapods and graphs, without sensors, with a payload."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hand_built_platform import hand_built_platform, six_axis_sinusoids
from pkm_bringup.control import ServoSettings
from pkm_bringup.control.leg_servo import LegServo
from pkm_bringup.simulation import ControlledSimulation, MujocoSimulation, SimulationRecord, simulate
from pkm_bringup.simulation.cli import main
from pkm_bringup.simulation.mujoco_simulation import PayloadError, SimulationError, point_mass
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError
from pkm_description.export.rest import home_configuration
from pkm_description.kinematics import forward_kinematics, leg_lengths, motion_from_drives
from pkm_description.loading import load_machine
from pkm_description.machine import NO_IMU, NO_LEG_SENSORS, NO_SERVO, Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_payload
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import read_bag
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorPipeline

Run = tuple[Machine, SimulationRecord]


@pytest.fixture(scope='module', params=['srs', pytest.param('palida', marks=pytest.mark.campaign)])
def run(request: pytest.FixtureRequest) -> Run:
    """MP1, then the Fourier excitation, driven as in the demo (PD and gravity feed-forward)."""
    machine = load_machine(request.param)
    motions = [profile('mp1', machine, 8.0), profile('fourier', machine, 6.0)]
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
            gaps.append(sample.closure_error)
            place = sample.truth.position
    assert max(gaps) < 1e-6
    assert not simulation.saturation_count.any()
    assert np.abs(place - machine.home.position).max() < 1e-6


@pytest.mark.parametrize(
    'name',
    ['delta', *(pytest.param(name, marks=pytest.mark.campaign) for name in ('five_bar', 'tricept', 'three_upu'))],
)
def test_a_motion_of_the_drives_moves_the_platform_as_forward_kinematics_says(name: str) -> None:
    machine = load_machine(name)
    record = simulate(machine, profile('drives', machine, 5.0), noise=False)
    assert record.closure_error.max() < 1e-5
    assert not record.saturation_count.any()
    truth = record.truth[np.isin(record.truth_stamps, record.joint_stamps)]
    assert np.ptp(truth.position, axis=0).max() > 0.01
    found = forward_kinematics(machine, record.joint_positions[::10]).require()
    assert np.abs(found.position - truth.position[::10]).max() < 1e-5
    assert np.abs(found.rotation_base_platform - truth.rotation_base_platform[::10]).max() < 1e-4


NO_HEXAPODS = ['valencia_3rps', 'khalifa_3prr', pytest.param('hexaglide_6pus', marks=pytest.mark.campaign)]


@pytest.fixture(scope='module', params=NO_HEXAPODS)
def driven(request: pytest.FixtureRequest) -> Run:
    machine = load_machine(request.param)
    return machine, simulate(machine, profile('drives', machine, 5.0), seed=1)


def test_loops_stay_closed_and_drives_inside_their_limits(driven: Run) -> None:
    assert driven[1].closure_error.max() < 1e-5
    assert not driven[1].saturation_count.any()


def test_simulated_platform_is_where_its_drives_put_it(driven: Run) -> None:
    machine, record = driven
    truth = record.truth[np.isin(record.truth_stamps, record.joint_stamps)]
    closed = forward_kinematics(machine, record.joint_positions).require()
    noise = float(np.max(machine.leg_sensors.position_noise))
    assert np.sqrt(np.mean((closed.position - truth.position) ** 2)) < 5.0 * noise + 2e-6


def test_forces_are_those_of_the_analytic_model(driven: Run) -> None:
    """Viscous and Coulomb friction (nearest pair of the file's law) are what MuJoCo has, so compare without them."""
    machine, record = driven
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


def test_open_chain_is_refused_by_name() -> None:
    with pytest.raises(SimulationError, match='double_pendulum is an open chain'):
        MujocoSimulation(load_machine('double_pendulum'))


PALIDA = load_machine('palida')
MISSING = {
    'sensors.imu': replace(PALIDA, imu=NO_IMU),
    'sensors.legs': replace(PALIDA, leg_sensors=NO_LEG_SENSORS),
}


@pytest.mark.parametrize('section', MISSING)
def test_who_needs_sensors_says_which(section: str) -> None:
    machine = MISSING[section]
    motion = profile('mp1', machine, duration=1.0, rate=100.0)
    for use in (
        lambda: EstimatorPipeline(machine),
        lambda: MujocoSimulation(machine),
        lambda: measure(machine, motion, 0),
    ):
        with pytest.raises(ConfigurationError, match=f'no section {section}, whose .* such as sensors: '):
            use()


def test_the_servo_is_refused_before_it_runs() -> None:
    with pytest.raises(ConfigurationError, match='no section servo, whose stiffness is needed here'):
        LegServo(replace(PALIDA, servo=NO_SERVO), 1_000_000)


def test_legs_are_estimated_without_what_is_not_needed() -> None:
    """The servo belongs to the simulator alone."""
    assert EstimatorPipeline(replace(PALIDA, servo=NO_SERVO)).machine.has_imu


BODY = RigidBody('payload', 40.0, np.array([0.1, -0.05, 0.2]), np.diag([0.6, 0.8, 0.5]))


def _state(simulation: MujocoSimulation) -> np.ndarray:
    return np.concatenate([simulation.data.qpos, simulation.data.qvel])


@pytest.mark.parametrize('name', ['srs', 'khalifa_3prr', 'delta'])
def test_from_then_on_it_is_the_heavier_machine(name: str) -> None:
    """Same state, same forces: the same motion to 1e-9; taken off again, that of the machine without."""
    machine = load_machine(name)
    size = 0.1 * (machine.platform.mass or 1.0)
    body = RigidBody('payload', size, np.array([0.02, -0.01, 0.03]), 1e-4 * size * np.eye(3))
    ours = MujocoSimulation(machine, noise=False)
    forces = ours.data.ctrl.copy()
    for _ in range(50):
        ours.step(1.02 * forces)
    for present in (body, None):
        ours.payload.put(present)
        assert ours.payload.body is present
        expected = MujocoSimulation(machine if present is None else with_payload(machine, body), noise=False)
        for part in ('qpos', 'qvel', 'act', 'qacc_warmstart'):
            getattr(expected.data, part)[:] = getattr(ours.data, part)
        before = _state(ours)
        for _ in range(100):
            ours.step(1.02 * forces)
            expected.step(1.02 * forces)
        moved = np.abs(_state(ours) - before).max()
        assert np.abs(_state(ours) - _state(expected)).max() < 1e-9 * moved


def test_forces_and_motion_belong_to_the_heavier_machine() -> None:
    """Newton and Euler, our own equations: motion with the payload and the drives' forces agree to 10 mN."""
    machine = hand_built_platform()
    controlled = ControlledSimulation(machine, noise=False, settings=ServoSettings(feedforward='rigid_body_friction'))
    simulation = controlled.simulation
    times = np.arange(1401) / 100.0
    controlled.add_reference(six_axis_sinusoids(machine).evaluate(times), simulation.time_ns)
    samples = []
    for index in range(round(4.0 / simulation.time_step)):
        if index == round(2.0 / simulation.time_step):
            simulation.payload.put(BODY)
        sample = controlled.step()
        if sample is not None and sample.joints is not None and sample.stamp_ns > 2_100_000_000:
            samples.append(sample)
    parts = PlatformMotion.__dataclass_fields__
    motion = PlatformMotion(*(np.concatenate([getattr(sample.truth, part) for sample in samples]) for part in parts))
    efforts = np.array([sample.joints.efforts for sample in samples])
    error = inverse_dynamics(with_payload(machine, BODY), motion) - efforts
    without = inverse_dynamics(machine, motion) - efforts
    assert np.sqrt(np.mean(error**2)) < 0.01 and np.sqrt(np.mean(without**2)) > 10.0


def test_what_is_no_payload_is_refused() -> None:
    simulation = MujocoSimulation(load_machine('srs'))
    assert point_mass(0.0, np.zeros(3)) is None
    for mass, place in ((-1.0, np.zeros(3)), (np.nan, np.zeros(3)), (1.0, np.full(3, np.inf)), (1.0, np.zeros(2))):
        with pytest.raises(PayloadError, match='payload of'):
            point_mass(mass, place)
    with pytest.raises(PayloadError, match='no body has'):
        simulation.payload.put(RigidBody('payload', 1.0, np.zeros(3), -1e6 * np.eye(3)))
    assert simulation.payload.body is None
