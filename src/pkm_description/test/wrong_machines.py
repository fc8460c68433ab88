"""Machine files with mistakes, and what their errors must say."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.errors import MachineFileError
from pkm_description.loading import load_machine, machine_file
from pkm_description.loading.yaml_reader import as_lists, by_name

CONTENT = {
    name: by_name(machine_file(name), bounded_file(machine_file(name)))
    for name in ('srs', 'palida', 'khalifa_3prr', 'valencia_3rps')
}


class _Missing:
    def __repr__(self):
        return 'missing'


MISSING = _Missing()


def put(content: dict[str, Any], dotted: str, value: object) -> None:
    """Replace or add (or with MISSING remove) an entry; numbers in the key are places in lists."""
    *parents, last = [int(part) if part.isdigit() else part for part in dotted.split('.')]
    place: Any = content
    for parent in parents:
        place = place[parent]
    if value is MISSING:
        del place[last]
    else:
        place[last] = value


def refused(path: Path, overlay: Path | None = None) -> MachineFileError:
    """Error with which a file is refused."""
    with pytest.raises(MachineFileError) as caught:
        load_machine(path, overlay)
    return caught.value


def check(error: MachineFileError, path: Path, key: str, value: object, words: str) -> None:
    """The error names file, key and value (MISSING: any), and has these parts, separated by `` ... ``."""
    assert (error.path, error.key) == (path, key), error
    if value is not MISSING:
        shown = np.asarray(error.value).tolist() if isinstance(error.value, np.ndarray) else error.value
        assert shown == value or (value != value and shown != shown), error
        assert repr(error.value) in str(error)
    for part in (str(path), key, *words.split(' ... ')):
        assert part in str(error), error


def changed(machine: str, changes: dict[str, object]) -> dict[str, Any]:
    """Content of a machine of the package, without provenance and with some entries changed."""
    content = copy.deepcopy(CONTENT[machine])
    content.pop('provenance')
    for dotted, value in changes.items():
        put(content, dotted, value)
    return content


def written(folder: Path, content: dict[str, Any]) -> Path:
    """Write a machine file."""
    path = folder / 'machine.yaml'
    path.write_text(yaml.safe_dump(as_lists(content), sort_keys=False))
    return path
