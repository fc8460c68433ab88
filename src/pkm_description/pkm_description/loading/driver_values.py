"""Values of a driver section: one for all drives or one per drive, signs, units, names and topics."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from pkm_description.arrays import Array
from pkm_description.driver import (
    Channel,
    CommandConversion,
    EffortConversion,
    LinearConversion,
    PeriodicError,
    PositionConversion,
)
from pkm_description.driver.driver import COMMAND_TOPIC, EFFORT, POSITION, VELOCITY
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Leg, Machine

#: what each quantity needs and may have beside the keys of all. What it needs are its factors to a force or torque (in
#: proportion to a voltage the amplifier sets a current), but for pressures, which have an area in each chamber;
#: hydraulics push along a line
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
_KEYS = ('quantity', 'unit', 'scale', 'sign', 'offset', 'periodic_error', 'resolution')
_VELOCITY_KEYS = ('unit', 'scale', 'sign', 'offset')
#: a topic without ~ and substitutions
_TOPIC = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def topic(section: Section, key: str, default: str) -> str:
    """Name of a topic at ``key``."""
    value = section.text(key, default)
    if not _TOPIC.fullmatch(value):
        raise section.error(key, value, 'is no name of a topic; use letters, digits, _ and /, e.g. drives/state')
    return value


def texts(section: Section, key: str) -> tuple[str, ...]:
    """List of texts at ``key``, empty without it."""
    value = section.content.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise section.error(key, value, 'must be a list of names, e.g. [gripper]')
    return tuple(value)


def per_drive(
    section: Section,
    key: str,
    machine: Machine,
    default: float | None = None,
    above: float | None = None,
    least: float | None = None,
) -> Array:
    """Numbers (A,) at ``key``: one for all drives, a list in the order of the drives, or leg: number.

    Drives are named by their legs; where a leg has several, by their joints.
    """
    value = section.content.get(key)
    if not isinstance(value, dict):
        return section.per_leg(key, machine.actuated_count, default, above, least)
    by_drive = section.section(key)
    by_drive.expect_keys(machine.drive_labels)
    return np.array([by_drive.number(name, above=above, least=least) for name in machine.drive_labels])


def signs(section: Section, machine: Machine, default: Array) -> Array:
    """Signs (A,) at ``sign``: 1 or -1."""
    if 'sign' not in section.content:
        return np.asarray(default, dtype=float)
    values = per_drive(section, 'sign', machine)
    if not np.isin(values, (1.0, -1.0)).all():
        raise section.error('sign', section.content['sign'], 'must be 1 or -1, for all drives or one per leg')
    return values


def scales(
    section: Section, machine: Machine, units: Mapping[str, float], default: Array | str, foreign: str = ''
) -> Array:
    """Magnitudes (A,) of one unit of the driver in SI: of ``unit``, or of ``scale``, or the default.

    Parameters
    ----------
    units : unit -> SI
    default : where neither key is there
    foreign : unit without a size of its own, which needs ``scale``
    """
    si = next(iter(units))
    if foreign and section.content.get('unit') == foreign:
        if 'scale' not in section.content:
            raise section.error('scale', None, f'is missing: how many {si} is one of the {foreign}, e.g. 1.0e-6?')
    elif 'unit' in section.content:
        size = units[section.choice('unit', [*units, *([foreign] if foreign else [])])]
        if 'scale' in section.content:
            raise section.error('scale', section.content['scale'], 'says what unit says already; leave one of them out')
        return np.full(machine.actuated_count, size)
    if 'scale' not in section.content:
        return np.full(machine.actuated_count, units[default]) if isinstance(default, str) else default
    values = per_drive(section, 'scale', machine)
    if not (values > 0.0).all():
        raise section.error(
            'scale', section.content['scale'],
            f'must be greater than 0: {si} per unit of the driver; where the driver counts backwards give sign: -1',
        )  # fmt: skip
    return values


def read_position(section: Section, machine: Machine) -> PositionConversion:
    """Read ``position`` and ``velocity`` of a driver section; either may be missing.

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    position = section.section('position') if 'position' in section.content else Section(section.path, '', {})
    position.expect_keys([], _KEYS)
    kind = machine.actuated_joints[0].kind
    ones = np.ones(machine.actuated_count)
    sign = signs(position, machine, ones)
    scale = sign * scales(position, machine, POSITION[kind], ones, foreign='counts')
    offset = per_drive(position, 'offset', machine, 0.0) - _length_at_zero(position, machine, kind)
    resolution = per_drive(position, 'resolution', machine, 0.0, least=0.0)
    velocity = LinearConversion(scale, np.zeros_like(scale))
    if 'velocity' in section.content:
        speed = section.section('velocity')
        speed.expect_keys([], _VELOCITY_KEYS)
        factor = scales(speed, machine, VELOCITY[kind], np.abs(scale), foreign='counts')
        velocity = LinearConversion(factor * signs(speed, machine, sign), per_drive(speed, 'offset', machine, 0.0))
    return PositionConversion(
        linear=LinearConversion(scale, offset),
        velocity=velocity,
        periodic_error=_read_periodic_error(position, machine),
        velocity_is_of_sensor='velocity' not in section.content,
        resolution=resolution,
    )


def _length_at_zero(position: Section, machine: Machine, kind: str) -> Array:
    """Length (A,) to take off absolute lengths; zeros for extensions and angles."""
    allowed = ('extension', 'length') if kind == 'prismatic' else ('angle',)
    quantity = position.choice('quantity', allowed, allowed[0])
    if quantity != 'length':
        return np.zeros(machine.actuated_count)
    lengths = []
    for leg in machine.legs:
        for place, joint in enumerate(leg.joints):
            if not joint.actuated:
                continue
            if not _is_along_leg(leg, place):
                raise position.error(
                    'quantity', quantity,
                    f'the length of {leg.name} is not joint position plus a constant: its drive does not lie on the '
                    'line from base joint to platform joint; use quantity: extension and an offset',
                )  # fmt: skip
            lengths.append(leg.length_at_zero)
    return np.array(lengths)


def _is_along_leg(leg: Leg, drive: int) -> bool:
    """Whether the joint at place ``drive`` is the leg's last, and pushes along the line from base joint to tip."""
    if drive != len(leg.joints) - 1 or not leg.ends_at_platform:
        return False
    joint = leg.joints[drive]
    start = np.zeros(3) if drive == 0 else joint.translation  # from the base joint, whose place is the leg's
    straight = start + joint.rotation_parent_joint @ (leg.tip - leg.length_at_zero * joint.axis)
    passive = [own.translation for own in leg.joints[1:drive]]
    return bool(max(np.abs(place).max() for place in [straight, *passive]) < 1e-9)


def _read_periodic_error(position: Section, machine: Machine) -> PeriodicError | None:
    """Harmonics of a sensor's periodic error: one number or one per leg for each."""
    if 'periodic_error' not in position.content:
        return None
    section = position.section('periodic_error')
    section.expect_keys(['pitch', 'cosine', 'sine'])
    pitch = per_drive(section, 'pitch', machine, above=0.0)
    parts = []
    for key in ('cosine', 'sine'):
        value = section.content[key]
        if not isinstance(value, list) or not value:
            raise section.error(key, value, 'must be a list with one entry per harmonic: a number, or one per leg')
        harmonics = section.entries(key, len(value), 'numbers')
        parts.append(np.array([per_drive(harmonics, one, machine) for one in harmonics.content]))
    cosine, sine = parts
    if cosine.shape != sine.shape:
        raise section.error('sine', section.content['sine'], f'has {len(sine)} harmonics, cosine has {len(cosine)}')
    error = PeriodicError(pitch, cosine, sine)
    if error.steepest.max() >= 1.0:
        raise section.error(
            'pitch', section.content['pitch'],
            f'with these harmonics the error changes by up to {error.steepest.max():.3g} m per m: two positions would '
            'have the same reading; give pitch, cosine and sine in m (rad for revolute drives)',
        )  # fmt: skip
    return error


def measured_quantity(section: Section, machine: Machine) -> str:
    """What is in the efforts of a driver, by its section ``effort``."""
    allowed = _OF_KIND[machine.actuated_joints[0].kind]
    return section.choice('quantity', allowed, allowed[0])


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
    for factor in _NEEDS[quantity][0]:
        scale = scale * per_drive(section, factor, machine, above=0.0)
    return scale * _transmission(section, machine, quantity)


def _transmission(section: Section, machine: Machine, quantity: str) -> Array:
    """Force or torque of the joint (A,) per torque of the motor, by gear and screw."""
    ratio = per_drive(section, 'gear', machine, 1.0, above=0.0)
    if machine.actuated_joints[0].kind == 'revolute':
        if 'lead' in section.content:
            raise section.error('lead', section.content['lead'], 'is of a screw; the drives of this machine turn')
        return ratio
    if 'lead' in section.content:
        return ratio * 2.0 * np.pi / per_drive(section, 'lead', machine, above=0.0)
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
