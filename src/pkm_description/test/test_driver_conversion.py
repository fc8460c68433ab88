"""What a foreign driver publishes becomes the suite's convention, and back, checked by hand; Hall sensors."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from driver_files import EXAMPLE, FOREIGN, write_driver
from hypothesis import given, settings
from hypothesis import strategies as st
from other_machines import six_rus
from pkm_description.driver import Driver, HallSensor, PeriodicError, fit_periodic_error
from pkm_description.errors import ArgumentError, JointStateError
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics import leg_lengths
from pkm_description.loading import load_machine
from pkm_description.loading.read_driver import COPY, driver_of, driver_text, keep_driver, read_driver
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Machine
from wrong_machines import CONTENT, written

#: the driver's name of a joint: leg
JOINTS = {name: leg for entry in FOREIGN['joints'] for name, leg in entry.items()}
NAMES = ['gripper_left', *JOINTS, 'gripper_right']


SRS, MSI = load_machine('srs'), load_machine('msi')


def _driver(folder: Path, **keys: Any) -> Driver:
    """Driver of machine srs with these keys alone."""
    content = dict.fromkeys(FOREIGN) | {'machine': 'srs'} | keys
    return driver_of(SRS, {}, write_driver(folder, **content))


def _foreign(folder: Path, **changes: Any) -> Machine:
    """Machine srs with the driver in which everything is foreign."""
    return dataclasses.replace(SRS, driver=driver_of(SRS, {}, write_driver(folder, **changes)))


def test_without_a_driver_everything_stays_as_it_is() -> None:
    machine = load_machine('srs')
    assert machine.driver.is_standard and machine.as_converted is machine
    order = JointStateReader.of_drives(machine).order(machine.actuated_joint_names)
    values = np.array([1.0, -0.0, 3.0, 4.0, 5.0, 6.0])
    for quantity in ('position', 'velocity', 'effort'):
        assert order.by_joint(values, quantity).tobytes() == values.tobytes()
    assert machine.driver.joint_topic == 'joint_states' and machine.driver.imu_topic == 'imu/data_raw'


def test_a_settings_file_alone_maps_names_lengths_and_currents(tmp_path: Path) -> None:
    machine = load_machine('srs', driver=write_driver(tmp_path))
    assert (machine.driver.joint_topic, machine.driver.imu_topic) == ('drives/state', '/xsens/imu')
    position, rotation = machine.home.position, machine.home.rotation_base_platform
    lengths = leg_lengths(machine, position, rotation)
    order = JointStateReader.of_drives(machine).order(NAMES)
    assert (order.missing, order.unknown) == ((), ())
    assert JOINTS['actuator_3'] == 'leg1'
    of_leg = {name: int(leg[3:]) - 1 for name, leg in JOINTS.items()}
    millimetres = [1e3 * lengths[of_leg[name]] if name in of_leg else 42.0 for name in NAMES]
    expected = lengths - machine.lengths_at_zero + [0.4e-3, -0.2e-3, 0.0, 0.1e-3, 0.0, -0.3e-3]
    np.testing.assert_allclose(order.complete(millimetres), expected, rtol=0, atol=1e-12)
    amperes = [10.0 + of_leg[name] if name in of_leg else np.nan for name in NAMES]
    # 10 A in leg 1 of 812.5 N/A, counted backwards
    expected = [-10.0 * 812.5, -11.0 * 790.0, -12.0 * 801.25, -13.0 * 805.0, -14.0 * 799.0, -15.0 * 810.0]
    np.testing.assert_allclose(order.complete(amperes, 'effort'), expected, rtol=1e-15)
    speeds = [100.0 * of_leg[name] if name in of_leg else np.nan for name in NAMES]
    np.testing.assert_allclose(order.complete(speeds, 'velocity'), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5], rtol=1e-15)


def test_a_recording_is_converted_to_the_same_bits_as_its_messages(tmp_path: Path) -> None:
    error = {'pitch': 0.03, 'cosine': [1e-5, 2e-6], 'sine': [[1e-5] * 6, 3e-6]}
    machine = _foreign(tmp_path, position={'unit': 'mm', 'periodic_error': error})
    order = JointStateReader.of_drives(machine).order(NAMES)
    values = 1e3 * np.random.default_rng(3).normal(size=(50, 8))
    for quantity in ('position', 'velocity', 'effort'):
        rows = order.by_joint(values, quantity, values)
        each = np.array([order.by_joint(row, quantity, row) for row in values])
        assert rows.tobytes() == each.tobytes()


def test_what_is_missing_is_called_by_both_names(tmp_path: Path) -> None:
    machine = _foreign(tmp_path)
    order = JointStateReader.of_drives(machine).order(['actuator_3', 'gripper', 'camera'])
    assert order.unknown == ('camera',)
    with pytest.raises(JointStateError, match=r'no position of leg2_prismatic \(driver: actuator_2\), leg3'):
        order.complete([1.0, 2.0, 3.0])
    standard = load_machine('srs', driver='standard')
    assert standard.driver.is_standard


@pytest.mark.parametrize(
    ('position', 'reading', 'value'),
    [
        ({}, 0.25, 0.25),
        ({'unit': 'mm'}, 250.0, 0.25),
        ({'unit': 'in', 'offset': 0.1}, 10.0, 0.354),
        ({'unit': 'counts', 'scale': 2.0e-6, 'sign': -1, 'offset': 0.5}, 100_000.0, 0.3),
        ({'scale': 0.01, 'offset': -0.2}, 45.0, 0.25),
    ],
)
def test_positions(tmp_path: Path, position: dict[str, Any], reading: float, value: float) -> None:
    conversion = _driver(tmp_path, position=position).position
    np.testing.assert_allclose(conversion.position(np.full(6, reading)), value, rtol=1e-14)
    np.testing.assert_allclose(conversion.reading(np.full(6, value)), reading, rtol=1e-12)


def test_values_per_leg_by_list_or_by_name(tmp_path: Path) -> None:
    zeros = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    by_list = _driver(tmp_path, position={'offset': zeros}).position
    by_name = _driver(tmp_path, position={'offset': {f'leg{n}': n / 10 for n in (6, 1, 2, 3, 4, 5)}}).position
    assert by_list.position(np.zeros(6)).tolist() == by_name.position(np.zeros(6)).tolist() == zeros


@pytest.mark.parametrize(
    ('keys', 'reading', 'value'),
    [
        ({'position': {'unit': 'mm', 'sign': -1}}, 100.0, -0.1),
        ({'position': {'unit': 'mm', 'sign': -1}, 'velocity': {'unit': 'm/s'}}, 0.1, -0.1),
        ({'position': {'unit': 'mm', 'sign': -1}, 'velocity': {'sign': 1, 'unit': 'mm/min'}}, 6000.0, 0.1),
        ({'velocity': {'unit': 'mm/s', 'offset': 0.5}}, 100.0, 0.6),
    ],
)
def test_velocities(tmp_path: Path, keys: dict[str, Any], reading: float, value: float) -> None:
    conversion = _driver(tmp_path, **keys).position
    np.testing.assert_allclose(conversion.rate(np.full(6, reading)), value, rtol=1e-14)


@pytest.mark.parametrize(
    ('effort', 'reading', 'value'),
    [
        ({'unit': 'kN'}, 2.5, 2500.0),
        ({'quantity': 'torque', 'lead': 0.005}, 2.0, 2.0 * 2.0 * math.pi / 0.005),
        ({'quantity': 'torque', 'lead': 0.01, 'gear': 3.0, 'unit': 'N mm'}, 500.0, 0.5 * 3.0 * 2.0 * math.pi / 0.01),
        ({'quantity': 'current', 'gain': 52.0, 'offset': 7.0}, 3.0, 163.0),
        ({'quantity': 'current', 'gain': 0.4, 'lead': 0.02, 'unit': 'mA'}, 1500.0, 0.6 * 2.0 * math.pi / 0.02),
        ({'quantity': 'voltage', 'amplifier': 2.0, 'gain': 52.0, 'unit': 'mV'}, 250.0, 26.0),
        ({'quantity': 'voltage', 'amplifier': 2.0, 'gain': 0.4, 'lead': 0.02}, 3.0, 2.4 * 2.0 * math.pi / 0.02),
        ({'quantity': 'pressure_difference', 'area': 1.0e-3, 'unit': 'bar'}, 12.0, 1200.0),
    ],
)
def test_efforts(tmp_path: Path, effort: dict[str, Any], reading: float, value: float) -> None:
    conversion = _driver(tmp_path, effort=effort).effort
    np.testing.assert_allclose(conversion.effort([np.full(6, reading)]), value, rtol=1e-13)
    np.testing.assert_allclose(conversion.readings(np.full(6, value))[0], reading, rtol=1e-12)


def test_velocities_without_positions_are_converted(tmp_path: Path) -> None:
    order = JointStateReader.of_drives(_foreign(tmp_path)).order(NAMES)
    np.testing.assert_array_equal(
        order.by_joint(np.ones(len(NAMES)), 'velocity', at=np.empty(0)), order.by_joint(np.ones(len(NAMES)), 'velocity')
    )


def test_efforts_count_in_the_direction_of_the_positions_unless_told(tmp_path: Path) -> None:
    backwards = {'sign': [-1, 1, 1, 1, 1, 1]}
    follows = _driver(tmp_path, position=backwards, effort={'unit': 'kN'})
    assert follows.effort.effort([np.ones(6)]).tolist() == [-1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0]
    told = _driver(tmp_path, position=backwards, effort={'unit': 'kN', 'sign': 1})
    assert told.effort.effort([np.ones(6)]).tolist() == [1000.0] * 6


def test_a_sign_of_the_positions_alone_turns_efforts_and_commands(tmp_path: Path) -> None:
    """What is commanded comes back as effort, with or without names of the joints."""
    for names in ({}, {'joints': [{f'drive_{leg}': f'leg{leg}'} for leg in range(1, 7)]}):
        driver = _driver(tmp_path, position={'sign': [-1, 1, 1, 1, 1, 1]}, **names)
        forces = np.arange(1.0, 7.0)
        command = driver.command.command(forces)
        assert command.tolist() == [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        assert driver.effort.effort([command]).tolist() == forces.tolist()


def test_torques_of_drives_that_turn() -> None:
    content = {
        'position': {'unit': 'deg'}, 'velocity': {'unit': 'rpm'},
        'effort': {'quantity': 'current', 'gain': 0.1, 'gear': 50.0},
    }  # fmt: skip
    driver = read_driver(six_rus(), Section(Path('here.yaml'), 'driver', content))
    assert driver.position is not None and driver.effort is not None
    np.testing.assert_allclose(driver.position.position(np.full(6, 90.0)), math.pi / 2, rtol=1e-15)
    np.testing.assert_allclose(driver.position.rate(np.full(6, 60.0)), 2.0 * math.pi, rtol=1e-15)
    np.testing.assert_allclose(driver.effort.effort([np.full(6, 2.0)]), 10.0, rtol=1e-15)


def test_chambers_of_hydraulic_cylinders_have_entries_of_their_own(tmp_path: Path) -> None:
    content = dict.fromkeys(FOREIGN) | {
        'machine': 'msi',
        'joints': [{f'cyl{number}': f'leg{number}'} for number in (2, 1, 3, 4, 5, 6)],
        'effort': {
            'quantity': 'pressure', 'unit': 'bar', 'offset': -5.0,
            'chambers': {
                'extend': {'entry': '{name}_head', 'area': 1.2e-3},
                'retract': {'entry': {f'leg{n}': f'rod_{n}' for n in range(1, 7)}, 'area': 0.7e-3},
            },
        },
    }  # fmt: skip
    machine = dataclasses.replace(MSI, driver=driver_of(MSI, {}, write_driver(tmp_path, **content)))
    names = [f'cyl{n}{end}' for n in range(1, 7) for end in ('', '_head')] + [f'rod_{n}' for n in range(1, 7)]
    order = JointStateReader.of_drives(machine).order(names)
    assert order.unknown == ()
    pressures = [60.0 if name.endswith('head') else 20.0 if name.startswith('rod') else 0.0 for name in names]
    # 60e5 Pa on 1.2e-3 m^2 against 20e5 Pa on 0.7e-3 m^2: 7200 N - 1400 N - 5 N
    np.testing.assert_allclose(order.complete(pressures, 'effort'), 5795.0, rtol=1e-14)
    assert np.isnan(order.by_joint_or_nan([])).all()
    short = JointStateReader.of_drives(machine).order(names[:-1])
    assert short.missing == ()
    with pytest.raises(JointStateError, match='no effort of rod_6'):
        short.complete(pressures[:-1], 'effort')
    assert machine.driver.command is None
    back = machine.driver.effort.readings(np.array([100.0, -100.0, 0.0, 1.0, 2.0, 3.0]) - 5.0)
    assert min(part.min() for part in back) == 0.0  # pressures are never negative
    np.testing.assert_allclose(machine.driver.effort.effort(back)[:2], [95.0, -105.0], rtol=1e-13)


def test_commands_go_in_the_order_and_the_unit_of_the_driver(tmp_path: Path) -> None:
    command = _foreign(tmp_path).driver.command
    gains = np.array(FOREIGN['effort']['gain'])
    forces = np.array([100.0, 200.0, 300.0, 400.0, 500.0, 600.0])
    assert list(JOINTS.values()) == [f'leg{number}' for number in range(1, 7)]
    expected = -forces / gains  # the file's list is in the order of the legs
    np.testing.assert_allclose(command.command(forces), expected, rtol=1e-15)
    np.testing.assert_allclose(command.forces(command.command(forces)), forces, rtol=1e-15)
    other = _driver(
        tmp_path, joints=FOREIGN['joints'],
        command={'quantity': 'torque', 'lead': 0.01, 'topic': 'iq', 'order': sorted(JOINTS, reverse=True)},
    )  # fmt: skip
    assert other.command_topic == 'iq'
    # actuators 6 ... 1 are legs 4, 5, 6, 1, 2, 3
    expected = forces[[3, 4, 5, 0, 1, 2]] * 0.01 / (2 * math.pi)
    np.testing.assert_allclose(other.command.command(forces), expected, rtol=1e-15)
    np.testing.assert_allclose(other.command.forces(expected), forces, rtol=1e-15)
    backwards = FOREIGN['joints'][::-1]
    in_file_order = _driver(tmp_path, joints=backwards).command
    assert in_file_order.command(forces).tolist() == forces[::-1].tolist()


def test_imu_units_and_the_sign_of_gravity(tmp_path: Path) -> None:
    imu = _foreign(tmp_path).driver.imu
    np.testing.assert_allclose(imu.specific_force([0.0, 0.0, -1.0]), [0.0, 0.0, 9.80665], rtol=1e-15)
    np.testing.assert_allclose(imu.angular_rate([90.0, 0.0, -180.0]), [math.pi / 2, 0.0, -math.pi], rtol=1e-15)
    force, rate = imu.readings([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    np.testing.assert_allclose(imu.specific_force(force), [1.0, 2.0, 3.0], rtol=1e-15)
    np.testing.assert_allclose(imu.angular_rate(rate), [4.0, 5.0, 6.0], rtol=1e-15)


@settings(max_examples=30, deadline=None)
@given(
    scale=st.floats(1e-7, 1e3), sign=st.sampled_from([-1, 1]), offset=st.floats(-2.0, 2.0),
    amplitude=st.floats(0.0, 4e-4), pitch=st.floats(0.01, 0.1), position=st.floats(-1.0, 1.0),
)  # fmt: skip
def test_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, scale: float, sign: int, offset: float, amplitude: float, pitch: float,
    position: float,
) -> None:  # fmt: skip
    error = {'pitch': pitch, 'cosine': [amplitude, 0.0], 'sine': [0.0, amplitude / 2]}
    keys = {'scale': scale, 'sign': sign, 'offset': offset, 'periodic_error': error}
    conversion = _driver(tmp_path_factory.mktemp('driver'), position=keys).position
    there = conversion.reading(np.full(6, position))
    np.testing.assert_allclose(conversion.position(there), position, rtol=0, atol=1e-12)
    speed = conversion.rate_reading(np.full(6, 0.3), np.full(6, position))
    np.testing.assert_allclose(conversion.rate(speed, there), 0.3, rtol=1e-9)
    # the velocity of a sensor with a periodic error is the derivative of its position
    step = 1e-6
    before, after = (conversion.reading(np.full(6, position + way * 0.3 * step)) for way in (-1, 1))
    np.testing.assert_allclose((after - before) / (2 * step), speed, rtol=1e-5)


def test_a_settings_file_is_copied_with_its_comments() -> None:
    assert driver_text(load_machine('srs', driver=EXAMPLE)) == EXAMPLE.read_text()


def test_other_topics_stand_in_the_copy(tmp_path: Path) -> None:
    machine = load_machine('srs', driver=EXAMPLE).on_topics('/left/drives', '')
    copy = tmp_path / 'copy.yaml'
    copy.write_text(driver_text(machine))
    again = load_machine('srs', driver=copy).driver
    assert (again.joint_topic, again.imu_topic) == ('/left/drives', '/xsens/imu')
    assert again.joint_names == machine.driver.joint_names and again.order == machine.driver.order


def test_the_section_of_a_machine_file_becomes_a_settings_file(tmp_path: Path) -> None:
    copy = tmp_path / 'copy.yaml'
    content = CONTENT['srs'] | {'driver': {'position': {'unit': 'mm'}}}
    path = written(tmp_path, content)
    copy.write_text(driver_text(load_machine(path)))
    conversion = load_machine('srs', driver=copy).driver.position
    assert conversion is not None and conversion.linear.scale.tolist() == [1e-3] * 6


def test_topics_alone_make_a_settings_file(tmp_path: Path) -> None:
    copy = tmp_path / 'copy.yaml'
    copy.write_text(driver_text(load_machine('srs').on_topics('drives')))
    driver = load_machine('srs', driver=copy).driver
    assert (driver.joint_topic, driver.converts_joints) == ('drives', False)


def test_standard_streams_of_a_machine_with_a_driver_are_kept_as_standard(tmp_path: Path) -> None:
    """Else programs would convert them by the section of the machine file."""
    content = CONTENT['srs'] | {'driver': {'position': {'unit': 'mm'}}}
    path = written(tmp_path, content)
    keep_driver(load_machine(path, driver='standard'), tmp_path)
    assert load_machine(path, driver=tmp_path / COPY).driver.is_standard
    plain = tmp_path / 'plain'
    plain.mkdir()
    keep_driver(load_machine('srs'), plain)
    assert not list(plain.iterdir())


PITCH = 0.03
STROKE = np.linspace(-0.1, 0.2, 2001)


def test_a_perfect_sensor_reads_the_position_and_counts_turns() -> None:
    np.testing.assert_allclose(HallSensor(PITCH).reading(STROKE), STROKE, rtol=0, atol=1e-15)
    coarse = HallSensor(PITCH, resolution=1e-3).reading(STROKE)
    assert np.abs(coarse - STROKE).max() <= 0.5e-3 + 1e-12
    np.testing.assert_allclose(coarse / 1e-3, np.round(coarse / 1e-3), atol=1e-9)


@pytest.mark.parametrize(
    ('imperfect', 'expected'),
    [
        # d(atan2(s, c)) = c ds - s dc, to first order; phase p
        ({'offsets': (1e-4, 0.0)}, lambda p: -1e-4 * np.sin(p)),
        ({'offsets': (0.0, 1e-4)}, lambda p: 1e-4 * np.cos(p)),
        ({'amplitude_ratio': 1.0 + 1e-4}, lambda p: 0.5e-4 * np.sin(2 * p)),
        ({'angle_error': 1e-4}, lambda p: 0.5e-4 * (1.0 + np.cos(2 * p))),
        ({'third_harmonic': 1e-4}, lambda p: 1e-4 * np.sin(2 * p)),
    ],
)
def test_errors_of_first_order(imperfect: dict, expected) -> None:
    phase = 2.0 * np.pi * STROKE / PITCH
    error = (HallSensor(PITCH, **imperfect).reading(STROKE) - STROKE) * 2.0 * np.pi / PITCH
    np.testing.assert_allclose(error, expected(phase), rtol=0, atol=3e-8)


def test_the_fit_finds_a_known_error_exactly_and_its_own_slope() -> None:
    cosine, sine = 1e-5 * np.array([[3.0, 1.0], [0.5, 0.0]]), 1e-5 * np.array([[-2.0, 4.0], [0.0, 0.7]])
    pitch = np.array([0.03, 0.05])
    known = PeriodicError(pitch, cosine, sine)
    true = np.column_stack([STROKE, 0.3 + STROKE[::-1]])
    readings = known.reading(true) - np.array([1e-3, -2e-3])
    shifted = fit_periodic_error(readings, true, pitch, 2)
    np.testing.assert_allclose(
        readings - shifted.error.error(readings) + shifted.offset, true, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(shifted.offset, [1e-3, -2e-3], atol=1e-12)
    assert shifted.improvement.min() > 1e6
    direct = fit_periodic_error(known.reading(true), true, pitch, 2)
    np.testing.assert_allclose(direct.error.cosine, cosine, atol=1e-13)
    np.testing.assert_allclose(direct.error.sine, sine, atol=1e-13)
    step = 1e-7
    numeric = (known.error(true + step) - known.error(true - step)) / (2.0 * step)
    np.testing.assert_allclose(known.slope(true), numeric, rtol=1e-6, atol=1e-9)
    assert np.abs(known.slope(true)).max() <= known.steepest.max() < 1.0


@pytest.mark.parametrize(
    ('reading', 'reference', 'pitch', 'words'),
    [
        (STROKE[:10, None], STROKE[:10, None], PITCH, 'drive 1: 10 samples over 0.00135 of a pitch of 0.03 do not'),
        (STROKE[:4, None], STROKE[:5, None], PITCH, 'must have the same shape'),
        (STROKE[:, None], STROKE[:, None] * np.nan, PITCH, 'be finite'),
        (STROKE[:, None], STROKE[:, None], 0.0, 'must be greater than 0'),
    ],
)
def test_what_determines_nothing_is_refused(reading, reference, pitch: float, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        fit_periodic_error(reading, reference, pitch)
