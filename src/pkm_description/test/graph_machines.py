"""Machines with legs of any kind, for tests."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from pkm_description.bounded_yaml import bounded_file
from pkm_description.errors import MachineFileError
from pkm_description.loading.load import machine_of_content
from pkm_description.loading.yaml_reader import as_lists, by_name
from pkm_description.machine import Machine
from wrong_machines import put

FOLDER = Path(__file__).parents[1] / 'config'
NAMES = ('delta', 'five_bar', 'tricept', 'three_upu', 'octopod_8ups', 'four_rrr')
CONTENT = {
    name: by_name(FOLDER / name, bounded_file(FOLDER / name / 'machine.yaml')) for name in NAMES
}


def changed(name: str, **changes: object) -> Machine:
    """Machine of the folder with entries changed; dots in keys are written as ``__``."""
    return from_content(name, {key.replace('__', '.'): value for key, value in changes.items()})


def from_content(name: str, changes: dict[str, object]) -> Machine:
    """Machine of the folder with entries changed, by dotted key."""
    content = copy.deepcopy(CONTENT[name])
    content.pop('provenance')
    for dotted, value in changes.items():
        put(content, dotted, value)
    return machine_of_content(FOLDER / name / 'machine.yaml', content)


def refusal(name: str, changes: dict[str, object]) -> MachineFileError:
    """Error with which a changed machine is refused."""
    try:
        machine = from_content(name, changes)
    except MachineFileError as error:
        return error
    raise AssertionError(f'{machine} loads')


def agile_eye(**changes: object) -> dict[str, Any]:
    """Content of a spherical 3-RRR (Gosselin and Hamel 1994): nine axes through one point, all link angles 90 degrees.

    Each leg holds the three translations, so they are held three times.
    """
    joint: dict[str, Any] = {
        'type': 'revolute',
        'axis': [0.0, 0.0, 1.0],
        'body': {
            'name': 'link', 'mass': 0.2, 'center_of_mass': [0.0, 0.05, 0.0],
            'inertia': {'ixx': 2e-4, 'ixy': 0.0, 'ixz': 0.0, 'iyy': 2e-4, 'iyz': 0.0, 'izz': 2e-4},
        },
    }  # fmt: skip
    quarter = 1.5707963267948966
    first = joint | {
        'origin': {'xyz': [0.0, 0.0, 0.0], 'rpy': [0.0, 0.0, 0.0]},
        'actuated': True,
        'limits': {'lower': -1.5, 'upper': 1.5, 'velocity': 10.0, 'effort': 10.0},
    }
    second = joint | {
        'origin': {'xyz': [0.0, 0.0, 0.0], 'rpy': [quarter, 0.0, 0.0]},
        'body': joint['body'] | {'name': 'outer'},
    }
    content: dict[str, Any] = {
        'schema': 1,
        'name': 'agile_eye',
        'description': 'spherical 3-RRR',
        'gravity': [0.0, 0.0, -9.81],
        'platform': {
            'link': 'platform_link',
            'home': {'xyz': [0.0, 0.0, 0.0], 'rpy': [0.0, 0.0, 0.0]},
            'body': {
                'mass': 0.5, 'center_of_mass': [0.0, 0.0, 0.02],
                'inertia': {'ixx': 5e-4, 'ixy': 0.0, 'ixz': 0.0, 'iyy': 5e-4, 'iyz': 0.0, 'izz': 5e-4},
            },
        },
        'leg_chains': {
            'arm': {
                'joints': {'drive': first, 'middle': second},
                # the third axis lies across the second one; the pin is 0.1 m out on it
                'closures': {'pin': {'type': 'pin', 'xyz': [0.1, 0.0, 0.0], 'rpy': [0.0, quarter, 0.0]}},
            }
        },
        'legs': {},
    }  # fmt: skip
    # drives along x, y, z; with all joints at zero the pin of a leg lies along x of its base frame
    for number, base in enumerate(([quarter, 0.0, quarter], [-quarter, -quarter, 0.0], [0.0, 0.0, 0.0])):
        content['legs'][f'leg{number + 1}'] = {
            'chain': 'arm', 'base_point': [0.0, 0.0, 0.0], 'base_rpy': base, 'platform_point': [0.0, 0.0, 0.0],
            'platform_rpy': base,
        }  # fmt: skip
    content['leg_chains']['arm']['closures']['pin'] |= {'to_xyz': [0.1, 0.0, 0.0], 'to_rpy': [0.0, quarter, 0.0]}
    for dotted, value in changes.items():
        put(content, dotted.replace('__', '.'), value)
    return as_lists(content)
