"""What a machine's driver publishes and takes, as lines of text."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.driver_streams import DriverStreams
from pkm_description.inspection.joint_lines import table
from pkm_description.machine import Machine


def driver_lines(machine: Machine, home: Array) -> list[str]:
    """File and topics, then a table of the drives: names, conversions, and what the driver reads at home.

    Parameters
    ----------
    machine : whose driver is not the standard one
    home : (A,) positions of the drives at home, m or rad
    """
    driver = machine.driver
    imu = driver.imu
    lines = [
        f'{"driver":<20}{driver.path or "topics given"}',
        f'{"joint states":<20}{driver.joint_topic}{_ignored(driver.ignore)}',
        f'{"IMU":<20}{driver.imu_topic}, {imu.acceleration_scale:.6g} m/s^2 and {imu.rate_scale:.6g} rad/s per unit',
        f'{"commands":<20}{driver.command_topic}, {driver.command.quantity if driver.command else "force or torque"}',
        '',
    ]
    count = machine.actuated_count
    streams = DriverStreams(machine)
    told = streams.joint_states(home, np.zeros(count), np.zeros(count))
    names = driver.joint_names or machine.actuated_joint_names
    at_home = dict(zip(told.names, told.positions.tolist(), strict=True))
    unit, force = ('m', 'N') if machine.actuated_joints[0].kind == 'prismatic' else ('rad', 'N m')
    rows = [('drive', "driver's name", f'position [{unit}]', f'effort [{force}]', 'the driver reads at home')]
    for drive, name in enumerate(names):
        rows.append((
            machine.actuated_joint_names[drive], name, _position(machine, drive), _effort(machine, drive),
            f'{at_home[name]:.6g}',
        ))  # fmt: skip
    return [*lines, *table(rows)]


def _ignored(names: tuple[str, ...]) -> str:
    return f', without {", ".join(names)}' if names else ''


def _position(machine: Machine, drive: int) -> str:
    conversion = machine.driver.position
    if conversion is None:
        return 'x'
    compensated = ' - periodic error' if conversion.periodic_error is not None else ''
    linear = conversion.linear
    return f'{linear.scale[drive]:.6g} x{compensated}{_offset(linear.offset[drive])}'


def _effort(machine: Machine, drive: int) -> str:
    effort = machine.driver.effort
    if effort is None:
        return 'x'
    terms = [
        f'{channel.scale[drive]:.6g} {_entry(machine, drive, channel.names[drive])}' for channel in effort.channels
    ]
    return ' + '.join(terms).replace('+ -', '- ') + _offset(effort.offset[drive])


def _entry(machine: Machine, drive: int, name: str) -> str:
    own = (machine.driver.joint_names or machine.actuated_joint_names)[drive]
    return 'x' if name == own else name


def _offset(value: float) -> str:
    return f' {"-" if value < 0.0 else "+"} {abs(value):.6g}' if value else ''
