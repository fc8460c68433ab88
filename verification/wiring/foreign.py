"""Robots wired by others: everything about the driver drawn at random, at once, and what a proposed file is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_bringup.robot_check import check_robot
from pkm_bringup.robot_check.wiring import with_driver
from pkm_description.arrays import Array
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.machine import Machine

from verification.wiring.scenarios import Scenario, Streams

#: ten machines: hexapods, more drives than freedoms, planar, turning drives, one that does not turn
MACHINES = (
    'srs', 'palida', 'msi', 'hexaglide_6pus', 'octopod_8ups', 'valencia_3rps', 'tricept', 'khalifa_3prr', 'delta',
    'four_rrr',
)  # fmt: skip
#: units of the positions in SI units: m, mm, cm, in; rad, deg, mrad, turn
_UNITS = {'prismatic': (1.0, 1e-3, 1e-2, 0.0254), 'revolute': (1.0, np.pi / 180.0, 1e-3, 2.0 * np.pi)}
#: names: true ones; true ones on exchanged plugs; of another convention, numbered; such as say nothing
_NAMES = ('true', 'exchanged', 'numbered', 'nothing')


@dataclass(frozen=True)
class Wired:
    """A recording with the truth about its driver.

    Attributes
    ----------
    streams : what the driver publishes
    positions : (N, A) true positions of the drives, by drive
    force_scale, rate_scale : SI units per unit of the IMU, with the sign of gravity
    """

    streams: Streams
    positions: Array
    force_scale: float
    rate_scale: float


def wired(machine: Machine, seed: int, duration: float = 20.0) -> Wired:
    """Draw names, order, unit, quantity, signs, mounting, units and gravity of the IMU, delay and efforts.

    Where plugs are exchanged under the true names, the IMU is mounted as the file says: on a machine that is alike
    when turned, nothing else would tell which of both is otherwise.
    """
    random = np.random.default_rng([seed, *machine.name.encode()])
    count = machine.actuated_count
    streams = Scenario(machine, 'drives', seed, duration).streams()
    truth = streams.positions.copy()
    factor = _UNITS[machine.actuated_joints[0].kind][random.integers(4)]
    absolute = machine.drives_are_struts and bool(random.random() < 0.4)
    flipped = random.choice(count, random.integers(0, 3), replace=False)
    sign = np.ones(count)
    sign[flipped] = -1.0
    if absolute:
        streams.positions = streams.positions + machine.lengths_at_zero
    streams.positions = streams.positions * sign / factor
    assert streams.velocities is not None
    assert streams.efforts is not None
    streams.velocities = streams.velocities * sign / factor
    streams.efforts = streams.efforts * sign / (random.uniform(40.0, 90.0, size=count) if random.random() < 0.5 else 1)
    names = str(random.choice(_NAMES))
    order = np.arange(count) if names == 'true' else random.permutation(count)
    for field in ('positions', 'velocities', 'efforts'):
        setattr(streams, field, getattr(streams, field)[:, order])
    if names == 'numbered':
        streams.names = [f'actuator_{entry + 1}' for entry in order]
    elif names == 'nothing':
        streams.names = [f'axis_{"uvwabcde"[entry]}' for entry in range(count)]
    turned = np.eye(3)
    if names != 'exchanged' and random.random() < 0.5:
        quaternion = random.normal(size=4)
        turned = matrix_from_quaternion(quaternion / np.linalg.norm(quaternion))
    force_scale = float(random.choice([1.0, 9.80665, 9.80665e-3]) * random.choice([1.0, -1.0]))
    # of a machine that does not turn nothing tells the unit of its rates
    turns = np.ptp(streams.rate, axis=0).max() > 0.1
    rate_scale = float(random.choice([1.0, np.pi / 180.0, 1e-3])) if turns else 1.0
    streams.force, streams.rate = streams.force @ turned.T / force_scale, streams.rate @ turned.T / rate_scale
    late = np.int64(round(1e9 * random.uniform(-0.05, 0.05)))
    streams.imu_stamps, streams.imu_received = streams.imu_stamps + late, streams.imu_received + late
    return Wired(streams, truth, force_scale, rate_scale)


def is_right(machine: Machine, driver_file: str, truth: Wired) -> bool:
    """Whether a driver file, applied to the recording, gives the true positions and IMU."""
    mended = with_driver(machine, driver_file)
    driver, streams = mended.driver, truth.streams
    positions = JointStateReader.of_drives(mended).order(tuple(streams.names)).by_joint(streams.positions)
    same = np.abs(positions - truth.positions).max() < 1e-6 * max(1.0, float(np.abs(truth.positions).max()))
    scales = driver.imu.acceleration_scale / truth.force_scale, driver.imu.rate_scale / truth.rate_scale
    return bool(same) and bool(np.allclose(scales, 1.0))


def verdict(machine: Machine, seed: int) -> str:
    """What check_robot makes of a recording of :func:`wired`.

    Returns
    -------
    ``file`` or ``set`` (right), ``none`` (nothing proposed), ``wrong``
    """
    truth = wired(machine, seed)
    report = check_robot(machine, truth.streams.observation())
    if report.driver_file or not report.alternatives:
        # a robot that needs no file is right without one
        right = is_right(machine, report.driver_file, truth)
        return 'file' if right else 'wrong' if report.driver_file else 'none'
    return 'set' if any(is_right(machine, one, truth) for one in report.alternatives) else 'wrong'
