"""A hexapod whose legs differ in everything that may differ: what an exporter forgets shows here."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
from wrong_machines import CONTENT, written


def write_uneven_machine(folder: Path) -> Path:
    """Write the machine file, with turned frames and a tilted, turned home."""
    content = copy.deepcopy(CONTENT['palida'])
    content['name'] = 'uneven'
    chain = content['leg_chain']
    spread = np.linspace(0.9, 1.15, 6)
    for joint in chain.values():
        body = joint['body']
        body['mass'] = (body['mass'] * spread).tolist()
        body['center_of_mass'] = [(0.001 + part * spread[::-1]).tolist() for part in body['center_of_mass']]
        for key, value in body['inertia'].items():
            body['inertia'][key] = (value * spread).tolist()
        joint['limits']['lower'] = (joint['limits']['lower'] - 0.01 * spread).tolist()
        joint['limits']['upper'] = (joint['limits']['upper'] + 0.01 * spread).tolist()
        joint['limits']['velocity'] = (joint['limits']['velocity'] * spread).tolist()
    chain['prismatic']['limits']['effort'] = (200.0 * spread).tolist()
    chain['universal_1']['origin']['rpy'] = [0.1, -0.2, 0.15]
    chain['prismatic']['origin']['xyz'] = [0.0, 0.0, (0.6 * spread).tolist()]
    content['leg_tip'] = [0.0, 0.0, (0.01 * spread[::-1]).tolist()]
    for number, leg in enumerate(content['legs'].values()):
        leg['base_rpy'] = [0.05 * number, -0.1, leg['base_rpy'][2]]
        leg['platform_point'][2] = 0.01 * number
    content['platform']['home'] = {'xyz': [0.02, -0.03, 0.75], 'rpy': [0.05, -0.04, 0.1]}
    content['sensors']['imu']['rpy'] = [0.3, -0.2, 0.1]
    return written(folder, content)
