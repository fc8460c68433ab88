"""Read how a driver measures positions and velocities."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.driver import LinearConversion, PeriodicError, PositionConversion
from pkm_description.driver.units import POSITION, VELOCITY
from pkm_description.loading.driver_values import choice, per_drive, scales, signs
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Leg, Machine

_KEYS = ('quantity', 'unit', 'scale', 'sign', 'offset', 'periodic_error', 'resolution')
_VELOCITY_KEYS = ('unit', 'scale', 'sign', 'offset')


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
    quantity = choice(position, 'quantity', allowed, allowed[0])
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
        entries = Section(section.path, section.place, {f'{key}[{i}]': item for i, item in enumerate(value)})
        parts.append(np.array([per_drive(entries, entry, machine) for entry in entries.content]))
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
