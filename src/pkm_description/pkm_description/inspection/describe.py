"""Summary of a machine in lines of text, as inspect_machine prints it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics import (
    BaseParameters,
    base_parameters,
    gravity_forces,
    machine_parameters,
    rigid_body_parameters,
)
from pkm_description.errors import KinematicsError
from pkm_description.inspection.joint_lines import drive_lines, figure, passive_joint_lines, table
from pkm_description.joint_states import DriverStreams
from pkm_description.kinematics import leg_lengths
from pkm_description.kinematics.closed_legs import ClosedLegs, close_legs
from pkm_description.kinematics.drive_map import overall_jacobian, scaled_condition
from pkm_description.kinematics.workspace import single_axis_limits
from pkm_description.machine import Leg, Machine
from pkm_description.viewing.posing import Poser

#: kinds of origin in the order in which they are listed
ORIGINS = ('printed', 'derived', 'assumed', 'overlay', 'other', 'not stated')

#: keys whose content is no number of the machine
_NOT_COUNTED = ('schema', 'provenance')
_AXES = ('x', 'y', 'z', 'about x', 'about y', 'about z')
_FREEDOM = {
    'free': 'free platform',
    'planar': 'planar platform on pins: x, y and about z',
    'none': 'open chain, no platform',
}


def describe(machine: Machine, content: Mapping[str, Any] | None = None) -> list[str]:
    """Lines of text about a machine of any kind.

    Parameters
    ----------
    machine : to be described
    content : its file as read, for the count of origins

    What cannot be computed, because random states do not close or home is singular, is named with the reason.
    """
    lines = [f'{machine.name}: {machine.description}']
    facts: list[tuple[str, str]] = [('file', str(machine.path)), *_structure(machine), *_masses(machine)]
    facts.append(('tolerances', str(machine.tolerances)))
    positions, forces = machine.home_positions, None
    if machine.has_platform:
        pose = machine.home.position[None], machine.home.rotation_base_platform[None]
        legs = close_legs(machine, *pose)
        positions = legs.positions[0]
        try:
            forces = gravity_forces(machine, *pose)[0]
        except KinematicsError as error:
            facts.append(('forces at home', _not_computed(error)))
        if machine.model.closed_form.all():
            facts.append(('leg lengths at home', _range(leg_lengths(machine, *pose)[0], 'm')))
        facts.append(('condition at home', _condition(legs)))
    try:
        facts += _base_parameters(machine)
    except KinematicsError as error:
        facts.append(('base parameters', _not_computed(error)))
    facts += _sensors(machine)
    if content is not None:
        counts = count_origins(content, machine.provenance)
        parts = ', '.join(f'{count} {origin}' for origin, count in counts.items())
        facts.append(('provenance', f'{sum(counts.values())} numbers: {parts}'))
    lines += [f'{name:<20}{text}' for name, text in facts]
    lines += ['', *drive_lines(machine, positions, forces), '', *passive_joint_lines(machine, positions)]
    if not machine.driver.is_standard:
        lines += ['', *driver_lines(machine, positions[machine.drive_columns])]
    if machine.has_platform:
        try:
            lines += ['', *workspace_lines(machine)]
        except KinematicsError as error:
            lines += [f'{"workspace":<20}{_not_computed(error)}']
    return lines


def _not_computed(error: KinematicsError) -> str:
    return f'could not be computed: {error}'


def base_parameter_lines(machine: Machine) -> list[str]:
    """Base parameters of the rigid bodies with their values, and what no force shows.

    Bodies of different legs share their parameters where the file gives them the same.
    """
    groups: dict[str, list[str]] | None = None
    try:
        full = machine_parameters(machine)
    except ValueError:
        groups, full = {}, machine_parameters(machine, {})
    base = base_parameters(machine, groups)
    values = base.values(full)
    lines = [f'{len(base)} base parameters (kg, kg m, kg m^2) of {len(full)} parameters']
    lines += [f'{value:14.6g}  {text}' for value, text in zip(values, base.texts(6), strict=True)]
    silent = [base.full_names[index] for index in base.absent]
    lines += ['', f'{len(base.dependent)} changes that no force shows']
    lines += [f'  {text}' for text in base.null_texts(6)[len(silent) :]]
    wrapped = textwrap.wrap(', '.join(silent), 118, initial_indent='  ', subsequent_indent='  ')
    return [*lines, '', f'{len(silent)} parameters without any force', *wrapped]


def _structure(machine: Machine) -> list[tuple[str, str]]:
    freedoms = int(machine.model.degrees_of_freedom[0])
    redundant = ', redundant' if machine.actuated_count > freedoms else ''
    drives = machine.actuated_count
    freedom = f'{freedoms}, {drives} drive{"" if drives == 1 else "s"}{redundant}'
    chains = [_chain(leg, machine) for leg in machine.legs]
    counted = [f'{chains.count(chain)} of {chain}' for chain in dict.fromkeys(chains)]
    return [
        ('kind', _FREEDOM[machine.freedom]),
        ('legs' if machine.has_platform else 'chains', '; '.join(counted)),
        ('degrees of freedom', freedom),
        ('gravity', f'{_vector(machine.gravity)} m/s^2'),
    ]


def _chain(leg: Leg, machine: Machine) -> str:
    """Joints of a leg from base to platform, and its closures where they are not what every platform has."""
    text = ' - '.join(f'{joint.kind} (driven)' if joint.actuated else joint.kind for joint in leg.joints)
    kinds = [closure.kind for closure in leg.closures]
    if not machine.has_platform or (leg.ends_at_platform and kinds == ['pin' if machine.planar else 'ball']):
        return text
    loops = len(kinds) - len(leg.platform_closures)
    ends = [f'{kinds.count(kind)} {kind}' if kinds.count(kind) > 1 else kind for kind in dict.fromkeys(kinds)]
    return f'{text}, closed by {" and ".join(ends)}' + (f' ({loops} inside the leg)' if loops else '')


def _masses(machine: Machine) -> list[tuple[str, str]]:
    bodies = [joint.body for joint in machine.joints]
    alike: dict[str, list[float]] = {}
    for leg in machine.legs:
        for joint in leg.joints:
            alike.setdefault(joint.body.name.removeprefix(f'{leg.name}_'), []).append(joint.body.mass)
    parts = [f'{name} {_range(np.array(masses), "kg")}' for name, masses in alike.items() if any(masses)]
    if machine.has_platform:
        parts.insert(0, f'{machine.platform.name.removesuffix("_link")} {machine.platform.mass:.6g} kg')
        bodies = [machine.platform, *bodies]
    total = sum(body.mass for body in bodies)
    each = ' (leg bodies: each)' if len(machine.legs) > 1 else ''
    return [('bodies', f'{len(bodies)}, {total:.6g} kg; {", ".join(parts)}{each}')]


def _condition(legs: ClosedLegs) -> str:
    matrix = legs.drive_map[0][:, [0, 1, 5]] if legs.machine.planar else overall_jacobian(legs)[0]
    rows = 'drives and constraints' if legs.constraints.size else 'drives'
    scaled = float(scaled_condition(legs)[0])
    return f'{np.linalg.cond(matrix):.4g} (Jacobian of the {rows}, m and rad), {scaled:.4g} (turns by platform radius)'


def _base_parameters(machine: Machine) -> list[tuple[str, str]]:
    if not machine.has_platform and machine.leg_count == 1:
        return [('base parameters', _count(base_parameters(machine, {}), 'rigid bodies'))]
    try:
        rigid_body_parameters(machine, identical_legs=True)
        alike = 'legs alike, as in this file'
    except ValueError:
        alike = 'if legs were alike; in this file they are not'
    friction = base_parameters(machine, {}, friction='all', rotors=True)
    return [
        ('base parameters', _count(base_parameters(machine), alike)),
        ('', _count(base_parameters(machine, {}), 'each leg its own')),
        ('', _count(friction, 'each leg its own, with friction of all joints and rotors')),
    ]


def _count(base: BaseParameters, what: str) -> str:
    certain = '' if base.gap > 1e4 else f'; uncertain, gap of singular values only {base.gap:.3g}'
    return f'{len(base)} of {len(base.full_names)} ({what}{certain})'


def _sensors(machine: Machine) -> list[tuple[str, str]]:
    facts = []
    if machine.has_imu:
        imu = machine.imu
        place = _vector(imu.position)
        text = (
            f'{imu.frame} at {place} m, {imu.rate:g} Hz; noise {_range(imu.accelerometer_noise, "m/s^2")}, '
            f'{_range(imu.gyroscope_noise, "rad/s")}'
        )
        if min(imu.accelerometer_range, imu.gyroscope_range) < inf:
            text += f'; ranges {imu.accelerometer_range:g} m/s^2, {imu.gyroscope_range:g} rad/s'
        facts.append(('imu', text))
    if not machine.has_leg_sensors:
        return facts
    sensors = machine.leg_sensors
    units = ('m', 'm/s', 'N') if machine.actuated_joints[0].kind == 'prismatic' else ('rad', 'rad/s', 'N m')
    text = (
        f'{sensors.rate:g} Hz; noise {_range(sensors.position_noise, units[0])}, '
        f'{_range(sensors.velocity_noise, units[1])}, {_range(sensors.effort_noise, units[2])}'
    )
    return [*facts, ('sensors of drives', text)]


def _range(values: Array, unit: str) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f'{low:.6g} {unit}' if high - low <= 1e-9 * abs(high) else f'{low:.6g} to {high:.6g} {unit}'


def _vector(values: Array) -> str:
    return f'[{", ".join(f"{value:.6g}" for value in values)}]'


def workspace_lines(machine: Machine) -> list[str]:
    """Excursions of the platform along single axes; where the legs couple these, of as many coordinates as are free."""
    lines = ['one axis at a time, from home']
    reaches = {_AXES[axis]: (limits, axis >= 3) for axis, limits in single_axis_limits(machine).items()}
    if not reaches:
        lines = ['one coordinate at a time, from home; the legs determine those that are not named']
        reaches = {
            slider.coordinate: (np.array([slider.lower, slider.upper]), slider.kind == 'revolute')
            for slider in Poser(machine).sliders()
        }
    for name, (limits, turns) in reaches.items():
        lines.append(f'{name:<8} {_from_to(np.degrees(limits), "deg") if turns else _from_to(limits, "m")}')
    return lines


def _from_to(limits: Array, unit: str) -> str:
    """Two excursions (2,) with their signs."""
    low, high = (figure(value, '+') for value in limits)
    return f'{low:>8} to {high:>8} {unit}'


def count_origins(content: Mapping[str, Any], provenance: Mapping[str, str]) -> dict[str, int]:
    """How many numbers of a machine file have which origin.

    Parameters
    ----------
    content : machine file as read
    provenance : dotted key -> ``printed: ...`` / ``derived: ...`` / ``assumed: ...``; the longest key that holds a
        number's key wins

    Returns
    -------
    dict
        Origins that occur, in the order of :data:`ORIGINS`.
    """
    counted: Counter[str] = Counter()
    for key in _number_keys(content, ''):
        counted[_origin(key, provenance)] += 1
    return {origin: counted[origin] for origin in ORIGINS if counted[origin]}


def _number_keys(content: object, place: str) -> Iterator[str]:
    """Dotted key of every number; of numbers in lists the key of the list."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            if place or key not in _NOT_COUNTED:
                yield from _number_keys(value, f'{place}.{key}' if place else str(key))
    elif isinstance(content, list):
        for value in content:
            yield from _number_keys(value, place)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield place


def _origin(key: str, provenance: Mapping[str, str]) -> str:
    parts = key.split('.')
    for length in range(len(parts), 0, -1):
        text = provenance.get('.'.join(parts[:length]))
        if text is not None:
            word = text.split(':')[0].strip().lower()
            return word if word in ORIGINS else 'other'
    return 'not stated'


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
        f'{"joint states":<20}{driver.joint_topic}{", without " * bool(driver.ignore)}{", ".join(driver.ignore)}',
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
    own = (machine.driver.joint_names or machine.actuated_joint_names)[drive]
    names = ['x' if channel.names[drive] == own else channel.names[drive] for channel in effort.channels]
    terms = [f'{channel.scale[drive]:.6g} {name}' for channel, name in zip(effort.channels, names, strict=True)]
    return ' + '.join(terms).replace('+ -', '- ') + _offset(effort.offset[drive])


def _offset(value: float) -> str:
    return f' {"-" if value < 0.0 else "+"} {abs(value):.6g}' if value else ''
