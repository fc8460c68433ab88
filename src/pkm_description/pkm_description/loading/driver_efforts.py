"""Read how a driver measures and takes forces: as forces, torques, currents, voltages or pressures."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.driver import Channel, CommandConversion, EffortConversion
from pkm_description.driver.driver import COMMAND_TOPIC
from pkm_description.driver.units import EFFORT
from pkm_description.loading.driver_values import choice, per_drive, scales, signs, texts, topic
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Machine

#: what each quantity needs and may have beside the keys of all; hydraulics push along a line
_NEEDS = {
    'force': ([], []),
    'torque': ([], ['lead', 'gear']),
    'current': (['gain'], ['lead', 'gear']),
    'voltage': (['amplifier', 'gain'], ['lead', 'gear']),
    'pressure': (['chambers'], []),
    'pressure_difference': (['area'], []),
}
_OF_KIND = {
    'prismatic': ('force', 'torque', 'current', 'voltage', 'pressure', 'pressure_difference'),
    'revolute': ('torque', 'current', 'voltage'),
}
_HYDRAULIC = ('pressure', 'pressure_difference')


def measured_quantity(section: Section, machine: Machine) -> str:
    """What is in the efforts of a driver, by its section ``effort``."""
    allowed = _OF_KIND[machine.actuated_joints[0].kind]
    return choice(section, 'quantity', allowed, allowed[0])


def read_effort(section: Section, machine: Machine, names: tuple[str, ...], sign: Array) -> EffortConversion:
    """Read the section ``effort`` of a driver.

    Parameters
    ----------
    section : the section itself
    names : (A) the driver's names of the joints, by drive
    sign : (A,) direction of the driver's positions, in which it is taken to count forces, too

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    quantity = measured_quantity(section, machine)
    needed, optional = _NEEDS[quantity]
    section.expect_keys(needed, [*optional, 'quantity', 'unit', 'scale', 'sign', 'offset', 'entry'])
    offset = per_drive(section, 'offset', machine, 0.0)
    if quantity == 'pressure':
        channels = _chambers(section, machine, names, signs(section, machine, np.ones(len(names))))
    else:
        scale = _force_per_unit(section, machine, quantity, sign)
        channels = (Channel(entries(section, 'entry', machine, names), scale),)
    return EffortConversion(channels, offset, quantity)


def read_command(
    section: Section, machine: Machine, names: tuple[str, ...], order: tuple[int, ...], sign: Array
) -> tuple[CommandConversion, str]:
    """Read the section ``command`` of a driver, and its topic.

    Parameters
    ----------
    names, order : the driver's names by drive, and the drives in the order of the driver
    sign : (A,) direction of the driver's positions

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    quantity = measured_quantity(section, machine)
    if quantity in _HYDRAULIC:
        raise section.error(
            'quantity', quantity, 'give force, torque, current or voltage; valves need their own controller'
        )
    needed, optional = _NEEDS[quantity]
    section.expect_keys(needed, [*optional, 'quantity', 'unit', 'scale', 'sign', 'order', 'topic'])
    if 'order' in section.content:
        wanted = texts(section, 'order')
        if sorted(wanted) != sorted(names):
            raise section.error('order', list(wanted), f'must have each of {", ".join(names)} once')
        order = tuple(names.index(name) for name in wanted)
    scale = _force_per_unit(section, machine, quantity, sign)
    return CommandConversion(scale, order, quantity), topic(section, 'topic', COMMAND_TOPIC)


def entries(section: Section, key: str, machine: Machine, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names (A) of entries of the joint state at ``key``: leg: name, or one text with ``{name}`` for the joint's."""
    if key not in section.content:
        return names
    value = section.content[key]
    if isinstance(value, str) and '{name}' in value:
        return tuple(value.replace('{name}', name) for name in names)
    if not isinstance(value, dict):
        raise section.error(
            key, value, "must be a text with {name} for the joint's name, e.g. '{name}_current', or a mapping leg: name"
        )
    by_leg = section.section(key)
    by_leg.expect_keys(machine.drive_labels)
    return tuple(by_leg.text(label) for label in machine.drive_labels)


def _force_per_unit(section: Section, machine: Machine, quantity: str, sign: Array) -> Array:
    """N or N m of the joint per unit of the driver (A,)."""
    scale = scales(section, machine, EFFORT[quantity], next(iter(EFFORT[quantity]))) * signs(section, machine, sign)
    if quantity == 'voltage':  # in proportion to which the amplifier of the drive sets a current
        scale = scale * per_drive(section, 'amplifier', machine, above=0.0)
    if quantity in ('current', 'voltage'):
        scale = scale * per_drive(section, 'gain', machine, above=0.0)
    if quantity == 'pressure_difference':
        scale = scale * per_drive(section, 'area', machine, above=0.0)
    return scale * _transmission(section, machine, quantity)


def _transmission(section: Section, machine: Machine, quantity: str) -> Array:
    """Force or torque of the joint (A,) per torque of the motor, by gear and screw."""
    ratio = per_drive(section, 'gear', machine, 1.0, above=0.0)
    if machine.actuated_joints[0].kind == 'revolute':
        if 'lead' in section.content:
            raise section.error('lead', section.content['lead'], 'is of a screw; the drives of this machine turn')
        return ratio
    if 'lead' in section.content:
        result: Array = ratio * 2.0 * np.pi / per_drive(section, 'lead', machine, above=0.0)
        return result
    if quantity == 'torque' or 'gear' in section.content:
        raise section.error(
            'lead', None, 'is missing: a torque becomes a force by the lead of the screw, m per turn, e.g. lead: 0.005'
        )
    return ratio


def _chambers(
    section: Section, machine: Machine, names: tuple[str, ...], sign: Array
) -> tuple[Channel, ...]:
    """Channels of the two chambers: pressure times area, extending and retracting the leg."""
    if 'entry' in section.content:
        raise section.error('entry', section.content['entry'], 'is given for each chamber, e.g. in chambers.extend')
    size = scales(section, machine, EFFORT['pressure'], 'Pa')
    both = section.section('chambers')
    both.expect_keys(['extend', 'retract'])
    channels = []
    for key, direction in (('extend', 1.0), ('retract', -1.0)):
        chamber = both.section(key)
        chamber.expect_keys(['area', 'entry'])
        area = per_drive(chamber, 'area', machine, above=0.0)
        channels.append(Channel(entries(chamber, 'entry', machine, names), direction * sign * size * area))
    return tuple(channels)
