"""Parameter overlays: a few values of a machine file replaced, e.g. by an identification."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.errors import MachineFileError
from pkm_description.machine.yaml_reader import Section, read_yaml

#: keys of an overlay that are not machine data
_HEADER = ('overlay', 'standard_deviations')


def apply_overlay(content: dict[str, Any], name: str, overlay_path: Path) -> dict[str, Any]:
    """Copy machine data with the overlay's values in place of its own.

    Parameters
    ----------
    content : machine file as read
    name : machine name; the overlay must be for this machine
    overlay_path : overlay file

    Raises
    ------
    MachineFileError
        The overlay is for another machine, or has a key that the machine file does not have.
    """
    overlay = read_yaml(overlay_path)
    if 'overlay' not in overlay:
        raise MachineFileError(overlay_path, 'overlay', None, 'is missing; an overlay starts with overlay: {machine: ...}')
    header = Section(overlay_path, 'overlay', overlay['overlay'])
    header.expect_keys(['machine'], ['date', 'data', 'method'])
    if header.text('machine') != name:
        raise header.error('machine', header.text('machine'), f'is not the machine {name!r} that is being loaded')
    values = {key: value for key, value in overlay.items() if key not in _HEADER}
    merged = copy.deepcopy(content)
    _merge(merged, values, overlay_path, '')
    return merged


def _merge(target: dict[str, Any], values: dict[str, Any], path: Path, place: str) -> None:
    for key, value in values.items():
        where = f'{place}.{key}' if place else str(key)
        if key not in target:
            known = ', '.join(map(str, target))
            raise MachineFileError(path, where, value, f'is not in the machine file; there it can be: {known}')
        if isinstance(target[key], dict):
            if not isinstance(value, dict):
                raise MachineFileError(path, where, value, 'must be a mapping of keys to values, as in the machine file')
            _merge(target[key], value, path, where)
        elif isinstance(value, dict):
            raise MachineFileError(path, where, value, 'must be a value, as in the machine file')
        else:
            target[key] = value


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
    """Write an overlay that :func:`pkm_description.machine.load_machine` takes.

    Parameters
    ----------
    path : file to write; an existing file is not replaced
    machine : name of the machine
    values : dotted key -> number or list, e.g. ``{'platform.body.mass': 3012.4}``
    date, data, method : when, from which recording and how the values were found
    standard_deviations : dotted key -> standard deviation

    Raises
    ------
    FileExistsError
        If the file is there already.
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
    path = Path(path)
    with path.open('x', encoding='utf-8') as file:
        yaml.safe_dump(content, file, sort_keys=False, default_flow_style=None, width=110)
    return path


def _plain(value: object) -> object:
    """Lists and floats of numpy's, as YAML writes them."""
    return np.asarray(value, dtype=float).tolist()
