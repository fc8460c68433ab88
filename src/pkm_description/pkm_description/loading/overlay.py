"""Parameter overlays: replace values of a machine file, e.g. by identified ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.errors import MachineFileError
from pkm_description.loading.yaml_reader import Section, dotted_keys, read_yaml
from pkm_description.writing import write_text

#: keys of an overlay that are not machine data
_HEADER = ('overlay', 'standard_deviations')

#: sections that a machine file may lack and an overlay then adds
_OPTIONAL = ('sensors', 'sensors.imu', 'sensors.legs', 'servo')

#: values that it may lack
_VALUES = (
    'tolerances', 'sensors.legs.effort_delay', 'sensors.legs.effort_lag', 'sensors.imu.accelerometer.matrix',
    'sensors.imu.gyroscope.matrix',
)  # fmt: skip

#: the same of joints, beside friction
_OPTIONAL_OF_JOINTS = ('rotor_inertia',)

#: keys of a machine file that no overlay replaces
_FIXED = ('schema', 'name', 'provenance')


def apply_overlay(content: dict[str, Any], name: str, overlay_path: Path) -> tuple[dict[str, Any], list[str]]:
    """Copy machine data with the overlay's values in place of its own.

    The provenance of every replaced value becomes the overlay's.

    Parameters
    ----------
    content : machine file as read
    name : machine name; the overlay must be for this machine
    overlay_path : overlay file

    Returns
    -------
    merged content, dotted keys of the replaced values

    Raises
    ------
    MachineFileError
        The overlay is for another machine, or has a key that the machine file does not have.
    """
    overlay = read_yaml(overlay_path)
    if 'overlay' not in overlay:
        raise MachineFileError(
            overlay_path, 'overlay', None, 'is missing; an overlay begins with overlay: {machine: ...}'
        )
    header = Section(overlay_path, 'overlay', overlay['overlay'])
    header.expect_keys(['machine'], ['date', 'data', 'method'])
    if header.text('machine') != name:
        raise header.error('machine', header.text('machine'), f'the machine that is being loaded is {name!r}')
    values = {key: value for key, value in overlay.items() if key not in _HEADER}
    for key in _FIXED:
        if key in values:
            raise MachineFileError(overlay_path, key, values[key], 'an overlay cannot replace this; leave it out')
    merged = copy.deepcopy(content)
    keys = list(_merge(merged, values, overlay_path, ''))
    _check_std(overlay.get('standard_deviations', {}), merged, overlay_path)
    origin = ', '.join(str(header.content[key]) for key in ('method', 'data', 'date') if key in header.content)
    # another friction law takes the parameters of the old one away, and with them what was said of their origin
    gone = set(dotted_keys(content, '')) - set(dotted_keys(merged, ''))
    merged['provenance'] = {
        **{key: text for key, text in (content.get('provenance') or {}).items() if key not in gone},
        **dict.fromkeys(keys, f'overlay: {overlay_path.name}' + (f' ({origin})' if origin else '')),
    }
    return merged, keys


def blame_overlay(error: MachineFileError, overlay_path: Path, keys: list[str]) -> MachineFileError:
    """Name the overlay in an error of a machine that was read with it."""
    place = error.key.partition('[')[0]
    for key in keys:
        if place == key or key.startswith(f'{place}.'):
            return MachineFileError(overlay_path, error.key, error.value, error.reason)
    return MachineFileError(error.path, error.key, error.value, f'{error.reason} (with the overlay {overlay_path})')


def _merge(target: dict[str, Any], values: dict[str, Any], path: Path, place: str) -> Iterator[str]:
    """Replace values in ``target``; yields their dotted keys."""
    for key, value in values.items():
        where = f'{place}.{key}' if place else str(key)
        if key not in target and _may_be_added(where, value):
            target[key] = copy.deepcopy(value)
            yield from dotted_keys(value, where) if isinstance(value, dict) else [where]
            continue
        if key not in target:
            known = ', '.join(map(str, target))
            raise MachineFileError(path, where, value, f'is not in the machine file; there it can be: {known}')
        if isinstance(target[key], dict):
            if _is_friction(key) and isinstance(value, dict) and 'law' in value:
                # another law has other parameters: it replaces the whole
                target[key] = copy.deepcopy(value)
                yield from dotted_keys(value, where)
                continue
            if not isinstance(value, dict):
                raise MachineFileError(path, where, value, 'must be a mapping, as in the machine file')
            yield from _merge(target[key], value, path, where)
        elif isinstance(value, dict) and where not in _VALUES:
            raise MachineFileError(path, where, value, 'must be a value, as in the machine file')
        else:
            target[key] = value
            yield where


def _may_be_added(where: str, value: object) -> bool:
    """Whether a machine file may lack a key."""
    chain, _, key = where.rpartition('.')
    if chain.startswith(('leg_chain.', 'leg_chains.')) and (_is_friction(key) or key in _OPTIONAL_OF_JOINTS):
        return isinstance(value, dict) == _is_friction(key)
    return where in _VALUES or chain == 'tolerances' or (where in _OPTIONAL and isinstance(value, dict))


def _is_friction(key: object) -> bool:
    """Whether a key of a joint is its friction, or that of one of its axes (``friction_1``)."""
    return str(key).partition('_')[0] == 'friction'


def _check_std(deviations: object, content: dict[str, Any], path: Path) -> None:
    """Every standard deviation is a number >= 0 of a value (or of one component or leg of it) of the machine."""
    if not isinstance(deviations, dict):
        raise MachineFileError(path, 'standard_deviations', deviations, 'must be a mapping of dotted keys to numbers')
    section = Section(path, 'standard_deviations', deviations)
    for dotted in deviations:
        place: Any = content
        for part in str(dotted).split('.'):
            if not isinstance(place, dict):
                break  # a component or a leg of the value
            if part not in place:
                raise section.error(str(dotted), deviations[dotted], f'{part!r} is not in the machine file')
            place = place[part]
        section.number(dotted, least=0.0)


def write_overlay(
    path: str | Path,
    machine: str,
    values: Mapping[str, object],
    *,
    date: str,
    data: str,
    method: str,
    standard_deviations: Mapping[str, float] | None = None,
) -> Path:
    """Write an overlay that :func:`pkm_description.loading.load_machine` takes.

    Parameters
    ----------
    path : file to write; an existing file is not replaced
    machine : name of the machine
    values : dotted key -> number, word or list, e.g. ``{'platform.body.mass': 3012.4}``; where a friction law is
        named, it replaces all that the file says of that joint's friction
    date, data, method : when, from which recording and how the values were found
    standard_deviations : dotted key -> standard deviation

    Raises
    ------
    FileExistsError
        If the file is there already.
    UnwritableError
        It cannot be written.
    """
    nested: dict[str, Any] = {}
    for dotted, value in values.items():
        *parents, last = dotted.split('.')
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = _plain(value)
    content: dict[str, Any] = {'overlay': {'machine': machine, 'date': date, 'data': data, 'method': method}}
    content |= nested
    if standard_deviations:
        content['standard_deviations'] = {key: float(value) for key, value in standard_deviations.items()}
    return write_text(
        path, yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=110), exclusive=True
    )


def _plain(value: object) -> object:
    """Numbers, words and (nested, uneven) lists as YAML writes them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return np.asarray(value, dtype=float).tolist()
