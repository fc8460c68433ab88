"""check_robot where several things are seen together; test_suites and `./pkm verify wiring` seed the faults."""

from dataclasses import replace

import numpy as np
import pytest
from pkm_bringup.robot_check import arrangement, check_robot
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.loading import load_machine

from verification.wiring.faults import FAULTS, Fault
from verification.wiring.plan import run
from verification.wiring.scenarios import Scenario

SEED, DURATION = 3, 6.0


@pytest.fixture(scope='module')
def machines():
    return {name: load_machine(name) for name in ('srs', 'valencia_3rps', 'palida')}


def test_there_are_more_faults_than_the_fifteen_that_are_asked_for():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


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
    assert outcome.report.exit_code == 1
    angles = [float(text) for text in finding.remedy.split('rpy: [')[1].split(']')[0].split(',')]
    turned = replace(machine, imu=replace(machine.imu, rotation_platform_imu=matrix_from_rpy(np.array(angles))))
    streams = Scenario(machine, 'drives', SEED, DURATION).streams()
    fault.spoil(streams, machine, np.random.default_rng(0))
    mended = check_robot(turned, streams.observation())
    assert mended.exit_code == 0 and 'all is well' in mended.text()
