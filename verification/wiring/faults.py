"""Faults of wiring that are seeded, each with the findings that name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pkm_bringup.robot_check import Endpoint
from pkm_description.dynamics import gravity_forces
from pkm_description.kinematics.rotation import rotation_about_axis
from pkm_description.machine import Machine

from verification.wiring.scenarios import Streams

#: fields with a column per joint
_MOTION = 'positions velocities'
_COLUMNS = f'{_MOTION} efforts'

Spoil = Callable[[Streams, Machine, np.random.Generator], None]


@dataclass(frozen=True)
class Fault:
    """A mistake of wiring.

    Attributes
    ----------
    name : in a few words
    codes : findings that name it; one of them is needed
    spoil : does it to streams
    needs : ``'any'`` motion, ``'moves'`` or ``'turns'`` (large enough to be told), ``'weight'`` on the drives
    kind : ``'prismatic'``, ``'strut'`` or ``'revolute'`` drives only; empty: all
    driver_mends : whether the driver file that check_robot proposes mends it
    also : findings that may come with it
    """

    name: str
    codes: tuple[str, ...]
    spoil: Spoil
    needs: str = 'any'
    kind: str = ''
    driver_mends: bool = False
    also: tuple[str, ...] = ()

    def suits(self, machine: Machine, motion: str) -> bool:
        """Whether the fault can be made, and told, on this machine in this motion."""
        if (self.needs == 'turns' and motion == 'rest') or (self.needs == 'moves' and motion == 'rest'):
            return False
        if self.needs == 'weight' and not carries_weight(machine, motion == 'rest'):
            return False
        kinds = {
            '': True,
            'prismatic': machine.actuated_joints[0].kind == 'prismatic',
            'revolute': machine.actuated_joints[0].kind == 'revolute',
            'strut': machine.drives_are_struts,
            'hexapod': machine.degrees_of_freedom == 6,
            'spatial': not machine.planar,
        }
        return kinds[self.kind]


def carries_weight(machine: Machine, at_rest: bool) -> bool:
    """Whether gravity acts along the machine's freedom, and more than dry friction could take at rest."""
    if machine.planar and abs(machine.gravity[2]) > 0.9 * float(np.linalg.norm(machine.gravity)):
        return False
    weight = np.abs(gravity_forces(machine, machine.home.position, machine.home.rotation_base_platform)).ravel()
    return not at_rest or bool((weight > 3.0 * machine.coulomb[machine.drive_columns]).all())


def _leg(random: np.random.Generator, streams: Streams) -> int:
    return int(random.integers(len(streams.names)))


def _two_legs(random: np.random.Generator, streams: Streams) -> tuple[int, int]:
    first, second = random.choice(len(streams.names), 2, replace=False).tolist()
    return first, second


def _changed(fields: str, change: Callable[[np.ndarray], object]) -> Spoil:
    """Each of the named fields changed alike."""

    def spoil(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
        for field in fields.split():
            setattr(streams, field, change(getattr(streams, field)))

    return spoil


def _scaled(fields: str, factor: float) -> Spoil:
    return _changed(fields, lambda values: values * factor)


def _filled(field: str, value: float) -> Spoil:
    return _changed(field, lambda values: np.full_like(values, value))


def _later(fields: str, seconds: float) -> Spoil:
    return _changed(fields, lambda stamps: stamps + np.int64(round(1e9 * seconds)))


def _no(field: str) -> Spoil:
    return _changed(field, lambda values: None)


def _turned(fields: str) -> Spoil:
    """The sign of one leg in each of the named fields."""

    def spoil(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
        leg = _leg(random, streams)
        for field in fields.split():
            getattr(streams, field)[:, leg] *= -1.0

    return spoil


def _one_in_mm(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    leg = _leg(random, streams)
    for field in _MOTION.split():
        getattr(streams, field)[:, leg] *= 1e3


def _absolute(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    streams.positions = streams.positions + machine.lengths_at_zero


def _absolute_mm(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    _absolute(streams, machine, random)
    _scaled(_MOTION, 1e3)(streams, machine, random)


def _foreign_names(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    """actuator_A ... actuator_1, and a gripper."""
    _reversed(streams, machine, random)
    count = len(streams.names)
    streams.names = [f'actuator_{index + 1}' for index in range(count)[::-1]] + ['gripper']
    gripper = np.full((len(streams.positions), 1), 0.01)
    _changed(_COLUMNS, lambda values: np.hstack([values, gripper]))(streams, machine, random)


def _shuffled_names(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    """Names that say nothing of the legs."""
    count = len(streams.names)
    _reorder(streams, random.permutation(count).tolist())
    streams.names = [f'axis_{"uvwabc"[index]}' for index in range(count)]


def _reorder(streams: Streams, order: list[int]) -> None:
    for field in _COLUMNS.split():
        setattr(streams, field, getattr(streams, field)[:, order])


def _swapped(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    first, second = _two_legs(random, streams)
    order = list(range(len(streams.names)))
    order[first], order[second] = second, first
    _reorder(streams, order)


def _reversed(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    _reorder(streams, list(range(len(streams.names)))[::-1])


def _one_missing(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    leg = _leg(random, streams)
    del streams.names[leg]
    _changed(_COLUMNS, lambda values: np.delete(values, leg, axis=1))(streams, machine, random)


def _doubled(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    first, second = _two_legs(random, streams)
    streams.names[first] = streams.names[second]


def _effort_leg_sign(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    assert streams.efforts is not None
    # one that carries enough to be seen
    weight = np.abs(streams.efforts).mean(axis=0)
    streams.efforts[:, int(np.argmax(weight))] *= -1.0


def _current(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    assert streams.efforts is not None
    streams.efforts = streams.efforts / random.uniform(40.0, 90.0, size=len(streams.names))


def _offset(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    drives = machine.drive_columns
    stroke = machine.position_upper[drives] - machine.position_lower[drives]
    leg = _leg(random, streams)
    streams.positions[:, leg] += 1.2 * stroke[leg]


def _disordered(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    rows = np.arange(len(streams.joint_stamps))
    for at in random.choice(len(rows) - 1, len(rows) // 20, replace=False):
        rows[at], rows[at + 1] = rows[at + 1], rows[at]
    streams.joint_stamps = streams.joint_stamps[rows]


def _reception(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    interval = float(np.median(np.diff(streams.joint_stamps)))
    late = np.rint(random.gamma(2.0, 0.2 * interval, size=len(streams.joint_stamps))).astype(np.int64)
    streams.joint_received = np.maximum.accumulate(streams.joint_received + late)
    streams.joint_stamps = streams.joint_received - np.int64(2_000)
    streams.joint_stamps += np.arange(len(late))


def _jittering(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    interval = float(np.median(np.diff(streams.imu_stamps)))
    noise = np.rint(0.45 * interval * random.uniform(-1.0, 1.0, size=len(streams.imu_stamps))).astype(np.int64)
    streams.imu_stamps = np.maximum.accumulate(streams.imu_stamps + noise) + np.arange(len(noise))


def _lossy(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    kept = random.random(len(streams.imu_stamps)) > 0.15
    _changed('force rate imu_stamps imu_received', lambda values: values[kept])(streams, machine, random)


def _bursts(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    groups = np.arange(len(streams.imu_stamps)) // 8
    streams.imu_stamps = (
        streams.imu_stamps[np.minimum(8 * groups + 7, len(groups) - 1)] + np.arange(len(groups)) % 8 * 50_000
    )
    streams.imu_received = streams.imu_stamps + np.int64(400_000)


def _imu_axes(matrix: np.ndarray, gyroscope: np.ndarray | None = None) -> Spoil:
    def spoil(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
        streams.force = streams.force @ matrix.T
        streams.rate = streams.rate @ (matrix if gyroscope is None else gyroscope).T

    return spoil


def _covariance(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    streams.covariances['linear_acceleration'] = np.array([-1.0] + [0.0] * 8)


def _two_publishers(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    streams.publishers['/imu/data_raw'].append(Endpoint('/other_imu', 'sensor_msgs/msg/Imu'))


def _best_effort(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    streams.publishers['/joint_states'] = [Endpoint('/driver', 'sensor_msgs/msg/JointState', 'best_effort')]
    streams.reliability = 'reliable'


def _other_topic(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    streams.publishers['/drives/state'] = streams.publishers.pop('/joint_states')
    streams.topics = '/drives/state', streams.topics[1]


def _other_type(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    streams.publishers['/joint_states'] = [Endpoint('/driver', 'control_msgs/msg/DynamicJointState')]
    streams.topics = '/drives/state', streams.topics[1]


def _nan_positions(streams: Streams, machine: Machine, random: np.random.Generator) -> None:
    streams.positions[random.random(len(streams.positions)) < 0.1, _leg(random, streams)] = np.nan


_repeated_stamps = _changed('imu_stamps', lambda stamps: np.repeat(stamps[::2], 2)[: len(stamps)])
_uptime = _changed('imu_stamps', lambda stamps: stamps - stamps[0] + np.int64(71_000_000_000))
_future = _later('joint_stamps imu_stamps', 3.0)
_slow = _changed(f'{_COLUMNS} joint_stamps joint_received', lambda values: values[::4])
_gravity_removed = _changed('force', lambda force: force - force.mean(axis=0))
_frozen_imu = _changed('force rate', lambda values: np.tile(values[0], (len(values), 1)))
_frame = _changed('frames', lambda frames: ['imu_optical'] * len(frames))

_UPSIDE_DOWN = np.diag([1.0, -1.0, -1.0])
_YAW = rotation_about_axis(np.array([0.0, 0.0, 1.0]), np.array(np.pi / 2))
_MIRROR = np.diag([1.0, -1.0, 1.0])

FAULTS: tuple[Fault, ...] = (
    Fault('names of another convention, reversed, and a gripper', ('joint_names',), _foreign_names, driver_mends=True),
    Fault('names that say nothing', ('joint_names',), _shuffled_names),
    Fault('one drive missing', ('joint_names',), _one_missing),
    Fault('one name twice', ('joint_names_doubled',), _doubled),
    Fault('two legs swapped', ('leg_order',), _swapped, 'turns', driver_mends=True, also=('pose', 'imu_left_handed')),
    Fault('legs in reversed order', ('leg_order', 'imu_left_handed'), _reversed, 'turns', also=('pose',)),
    Fault('positions in mm', ('position_unit',), _scaled(_MOTION, 1e3), kind='prismatic', driver_mends=True),
    Fault('positions of one leg in mm', ('position_unit',), _one_in_mm, kind='strut', driver_mends=True),
    Fault('positions in degrees', ('position_unit',), _scaled(_MOTION, 180.0 / np.pi), 'turns', 'revolute', True),
    Fault('absolute lengths', ('position_length',), _absolute, kind='strut', driver_mends=True),
    Fault('absolute lengths in mm', ('position_length',), _absolute_mm, kind='strut', driver_mends=True),
    Fault(
        'sign of one leg',
        ('position_sign',),
        _turned(_MOTION),
        'turns',
        driver_mends=True,
        also=('pose', 'imu_tilt'),
    ),
    Fault(
        'zero of one leg far off',
        ('position_offset',),
        _offset,
        kind='strut',
        also=('pose', 'imu_tilt', 'leg_imu_disagree'),
    ),
    Fault('NaN among the positions', ('position_missing',), _nan_positions),
    Fault('no velocities', ('velocity_missing',), _no('velocities')),
    Fault('velocities in mm/s', ('velocity_unit',), _scaled('velocities', 1e3), 'moves', 'prismatic', True),
    Fault('sign of one velocity', ('velocity_sign',), _turned('velocities'), 'moves', driver_mends=True),
    Fault('velocities zero', ('velocity_zero',), _filled('velocities', 0.0), 'moves'),
    Fault('no efforts', ('effort_missing',), _no('efforts')),
    Fault('efforts zero', ('effort_zero',), _filled('efforts', 0.0)),
    Fault('efforts NaN', ('effort_missing',), _filled('efforts', np.nan)),
    Fault('sign of all efforts', ('effort_sign',), _scaled('efforts', -1.0), 'weight', driver_mends=True),
    Fault('sign of one effort', ('effort_sign',), _effort_leg_sign, 'weight', driver_mends=True),
    Fault('efforts in kN', ('effort_unit',), _scaled('efforts', 1e-3), 'weight', driver_mends=True),
    Fault('currents for forces', ('effort_unit',), _current, 'weight', driver_mends=True),
    Fault('stamps zero', ('joint_stamp_zero',), _filled('joint_stamps', 0), also=('clock_domain',)),
    Fault('stamps repeated', ('imu_stamp_repeated',), _repeated_stamps, also=('imu_rate',)),
    Fault('stamps out of order', ('joint_stamp_order',), _disordered, also=('joint_lost', 'joint_jitter')),
    Fault('stamps in the future', ('joint_stamp_future',), _future, also=('imu_stamp_future',)),
    Fault('IMU stamped by uptime', ('clock_domain',), _uptime),
    Fault('IMU 80 ms late', ('imu_delay',), _later('imu_stamps imu_received', 0.08), 'turns'),
    Fault('IMU 1.3 s late', ('imu_delay', 'imu_stamp_old'), _later('imu_stamps imu_received', 1.3), 'turns'),
    Fault('stamps set at reception', ('joint_stamp_reception',), _reception, also=('joint_jitter', 'imu_delay')),
    Fault('stamps that jitter', ('imu_jitter',), _jittering),
    Fault('a quarter of the rate', ('joint_rate',), _slow),
    Fault('messages lost', ('imu_lost',), _lossy),
    Fault('messages in bursts', ('imu_bursts',), _bursts, also=('imu_delay',)),
    Fault('accelerometer sign', ('imu_gravity_sign',), _imu_axes(-np.eye(3), np.eye(3)), driver_mends=True),
    Fault('IMU upside down', ('imu_axes', 'imu_gravity_sign'), _imu_axes(_UPSIDE_DOWN)),
    Fault('IMU turned about the vertical', ('imu_axes', 'imu_left_handed'), _imu_axes(_YAW), 'turns', 'hexapod'),
    Fault(
        'IMU left-handed',
        ('imu_left_handed', 'leg_order', 'gyroscope_axes', 'accelerometer_axes'),
        _imu_axes(_MIRROR),
        'turns',
        'hexapod',
    ),
    Fault('acceleration in g', ('accelerometer_unit',), _scaled('force', 1.0 / 9.80665), driver_mends=True),
    Fault('rates in deg/s', ('gyroscope_unit',), _scaled('rate', 180.0 / np.pi), 'turns', driver_mends=True),
    Fault('gravity removed', ('gravity_removed',), _gravity_removed),
    Fault('IMU frozen', ('imu_frozen',), _frozen_imu),
    Fault('IMU frame', ('imu_frame',), _frame),
    Fault('IMU covariance', ('imu_covariance',), _covariance),
    Fault('two IMUs on one topic', ('imu_two_publishers',), _two_publishers),
    Fault('QoS', ('joint_qos',), _best_effort),
    Fault('joints on another topic', ('joint_topic_missing',), _other_topic),
    Fault('another type on the topic', ('joint_topic_type',), _other_type),
)
