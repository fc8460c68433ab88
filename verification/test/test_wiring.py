"""check_robot on seeded faults of wiring, one machine each; the campaign over machines is `./pkm verify wiring`."""

from dataclasses import replace

import numpy as np
import pytest
from pkm_bringup.robot_check import arrangement, check_robot
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.loading import load_machine
from pkm_description.skeleton import skeleton_text

from verification.wiring import foreign
from verification.wiring.campaign import run
from verification.wiring.faults import FAULTS, Fault
from verification.wiring.scenarios import Scenario

MACHINES = ('srs', 'valencia_3rps', 'palida', 'khalifa_3prr', 'my_3rrs')
#: those on which a check takes least time, one hexapod among them
QUICK = ('srs', 'valencia_3rps', 'my_3rrs')
SEED, DURATION = 3, 6.0


@pytest.fixture(scope='module')
def machines(tmp_path_factory):
    path = tmp_path_factory.mktemp('machines') / 'my_3rrs.yaml'
    path.write_text(skeleton_text('3rrs', 'my_3rrs', {}), encoding='utf-8')
    return {name: load_machine(path if name == 'my_3rrs' else name) for name in MACHINES}


def suited(machines, fault: Fault, number: int):
    """Machine that the fault can be made on, another one for each."""
    names = [name for name in QUICK if fault.suits(machines[name], 'drives')]
    return machines[names[number % len(names)]]


def test_there_are_more_faults_than_the_fifteen_that_are_asked_for():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


@pytest.mark.parametrize(('number', 'fault'), list(enumerate(FAULTS)), ids=lambda item: getattr(item, 'name', ''))
def test_a_seeded_fault_is_named_and_nothing_else(machines, number, fault):
    outcome = run(Scenario(suited(machines, fault, number), 'drives', SEED, DURATION), [fault])
    assert outcome.missed == (), outcome.report.text()
    assert outcome.alarms == (), outcome.report.text()
    assert outcome.unmended == (), outcome.report.text()
    assert outcome.report.exit_code in (1, 2)
    assert all(finding.remedy for finding in outcome.report.faults)


@pytest.mark.parametrize(
    ('name', 'seed', 'kind'),
    [('srs', 1, 'file'), ('octopod_8ups', 3, 'set'), ('delta', 1, 'set'), ('four_rrr', 0, 'file')],
)
def test_a_robot_wired_by_others_gets_the_right_file_or_all_that_explain_the_same(name, seed, kind):
    """Names, order, unit, quantity, signs, mounting, gravity, units of the IMU, delay and efforts unknown at once."""
    machine = load_machine(name)
    found = foreign.verdict(machine, seed)
    assert found.kind == kind, f'{found.truth.about}\n{found.report.text()}'
    assert (found.report.driver_file == '') == (kind == 'set')
    assert not [one for one in found.report.findings if one.code == 'driver_file']


def test_a_file_that_leaves_faults_is_not_proposed(machines, monkeypatch):
    """What is found is tried on the recording first."""
    monkeypatch.setattr(arrangement, 'row_entries', lambda wiring, row: {'position.unit': 'cm'})
    report = run(Scenario(machines['srs'], 'drives', SEED, DURATION), [named('positions in mm')]).report
    assert report.driver_file == ''
    assert 'is not proposed: with it position' in {one.code: one for one in report.findings}['driver_file'].sentence


def test_an_imu_that_feels_another_motion_gets_no_file(machines):
    """Of the motion backwards, reversed legs explain much of what it shows, but not all."""
    machine = machines['valencia_3rps']
    streams, other = (Scenario(machine, 'drives', seed, 10.0).streams() for seed in (SEED, SEED + 1))
    streams.force, streams.rate = other.force[::-1].copy(), -other.rate[::-1].copy()
    report = check_robot(machine, streams.observation())
    found = {one.code: one for one in report.faults}
    assert (report.driver_file, report.alternatives) == ('', ())
    assert found['leg_order'].state.value == 'suspicious'
    assert 'stay unexplained' in found['driver_file'].sentence


def named(name: str) -> Fault:
    return next(fault for fault in FAULTS if fault.name == name)


@pytest.mark.parametrize(
    ('name', 'motion', 'rates', 'noise'),
    [
        ('srs', 'rest', (100.0, 200.0), 1.0),
        ('palida', 'small', (500.0, 200.0), 2.0),
        ('valencia_3rps', 'drives', (100.0, 100.0), 0.0),
        ('khalifa_3prr', 'drives', (1000.0, 200.0), 1.0),
        ('my_3rrs', 'small', (250.0, 400.0), 1.0),
    ],
)
def test_a_good_system_is_well(machines, name, motion, rates, noise):
    outcome = run(Scenario(machines[name], motion, SEED, DURATION, *rates, noise))
    assert outcome.alarms == (), outcome.report.text()
    assert outcome.report.exit_code == 0
    assert 'all is well' in outcome.report.text()


@pytest.mark.parametrize(
    'names',
    [
        ('positions in mm', 'two legs swapped'),
        ('IMU upside down', 'sign of all efforts'),
        ('absolute lengths in mm', 'names of another convention, reversed, and a gripper'),
        ('stamps zero', 'rates in deg/s'),
        ('IMU 80 ms late', 'currents for forces'),
    ],
    ids=' and '.join,
)
def test_two_faults_at_once_are_both_named(machines, names):
    outcome = run(Scenario(machines['srs'], 'drives', SEED, DURATION), [named(name) for name in names])
    assert outcome.missed == (), outcome.report.text()
    assert outcome.alarms == (), outcome.report.text()


def test_at_rest_the_order_of_the_legs_is_not_called_certain(machines):
    report = run(Scenario(machines['srs'], 'rest', SEED, DURATION)).report
    states = {finding.code: finding.state.value for finding in report.findings}
    assert states['leg_order'] == states['imu_axes'] == states['imu_delay'] == 'cannot tell'
    assert all(finding.remedy for finding in report.findings if finding.state.value == 'cannot tell')


def turned_imu(streams, degrees):
    rotation = matrix_from_rpy(np.radians(degrees))
    return replace(streams, force=streams.force @ rotation.T, rate=streams.rate @ rotation.T), rotation


def faults_of(machine, streams):
    return {finding.code: finding for finding in check_robot(machine, streams.observation()).faults}


def test_an_imu_turned_by_any_angle_is_not_taken_for_another_order_of_the_legs(machines):
    machine = machines['srs']
    streams, rotation = turned_imu(Scenario(machine, 'fourier', SEED, DURATION).streams(), [40.0, 25.0, 110.0])
    found = faults_of(machine, streams)
    assert list(found) == ['imu_axes']
    angles = [float(text) for text in found['imu_axes'].remedy.split('rpy: [')[1].split(']')[0].split(',')]
    error = matrix_from_rpy(np.array(angles)) @ rotation @ machine.imu.rotation_platform_imu.T
    assert np.trace(error) > 1.0 + 2.0 * np.cos(np.radians(10.0))  # biases of the accelerometer take their part


def test_a_clock_of_another_pace_is_measured(machines):
    machine = machines['valencia_3rps']
    streams = Scenario(machine, 'drives', SEED, 20.0).streams()
    begin = streams.imu_stamps[0]
    streams.imu_stamps = begin + np.rint(1.005 * (streams.imu_stamps - begin)).astype(np.int64)
    streams.imu_received = streams.imu_stamps + 1_000_000
    found = faults_of(machine, streams)
    assert set(found) == {'imu_delay', 'clock_drift'}
    assert found['clock_drift'].evidence['drift_ms_per_s'] == pytest.approx(5.0, abs=0.3)
    assert found['imu_delay'].evidence['delay_ms'] == pytest.approx(50.0, abs=3.0)


def test_a_frozen_drive_makes_no_verdict_on_the_order_of_the_legs(machines):
    machine = machines['srs']
    streams = Scenario(machine, 'fourier', SEED, DURATION).streams()
    streams.positions[:, 1] = streams.positions[0, 1]
    report = check_robot(machine, streams.observation())
    assert [finding.code for finding in report.faults] == ['position_frozen']
    assert 'leg_order' in {finding.code for finding in report.findings if finding.state.value == 'cannot tell'}


def test_a_drive_that_freezes_halfway_is_seen_by_its_velocity(machines):
    machine = machines['srs']
    streams = Scenario(machine, 'fourier', SEED, DURATION).streams()
    half = len(streams.positions) // 2
    streams.positions[half:, 1] = streams.positions[half, 1]
    assert 'leg2' in faults_of(machine, streams)['velocity_noise'].sentence


def test_one_axis_of_the_gyroscope_that_is_dead_is_named_and_no_order_of_the_legs_is_certain(machines):
    machine = machines['srs']
    streams = Scenario(machine, 'drives', SEED, DURATION).streams()
    streams.rate[:, 1] = 0.0
    found = faults_of(machine, streams)
    assert found['imu_frozen'].sentence.startswith('y of the angular velocity')
    assert all(finding.state.value == 'suspicious' for finding in found.values())


def test_the_mounting_that_is_proposed_is_the_right_one(machines):
    """The lines for the machine file, put into it, make all well."""
    fault = named('IMU upside down')
    machine = machines['palida']
    outcome = run(Scenario(machine, 'drives', SEED, DURATION), [fault])
    (finding,) = outcome.report.faults
    angles = [float(text) for text in finding.remedy.split('rpy: [')[1].split(']')[0].split(',')]
    turned = replace(machine, imu=replace(machine.imu, rotation_platform_imu=matrix_from_rpy(np.array(angles))))
    streams = Scenario(machine, 'drives', SEED, DURATION).streams()
    fault.spoil(streams, machine, np.random.default_rng(0))
    assert check_robot(turned, streams.observation()).exit_code == 0
