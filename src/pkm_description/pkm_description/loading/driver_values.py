"""Values of a driver section: one for all drives or one per drive, signs, units, names and topics."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

import numpy as np

from pkm_description.arrays import Array
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Machine

#: a topic without ~ and substitutions
_TOPIC = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def choice(section: Section, key: str, allowed: Iterable[str], default: str | None = None) -> str:
    """Text at ``key`` that is one of ``allowed``."""
    if key not in section.content and default is not None:
        return default
    value, known = section.content[key], list(allowed)
    if value not in known:
        near = difflib.get_close_matches(str(value), known, n=1)
        hint = f'did you mean {near[0]!r}?' if near else 'choose one'
        raise section.error(key, value, f'must be one of {", ".join(known)}; {hint}')
    return str(value)


def topic(section: Section, key: str, default: str) -> str:
    """Name of a topic at ``key``."""
    if key not in section.content:
        return default
    value = section.text(key)
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
        size = units[choice(section, 'unit', [*units, *([foreign] if foreign else [])])]
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
