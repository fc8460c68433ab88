"""Write machines that tests build in code as machine files, for what starts from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pkm_description.loading.yaml_reader import as_lists
from pkm_description.machine import Joint, Machine, RigidBody
from scipy.spatial.transform import Rotation


def write_machine(machine: Machine, folder: Path) -> Path:
    """Machine file; the first joint's frame goes into the leg's base frame, missing limits get wide ones."""
    first = machine.legs[0]
    chain = {}
    for place, joint in enumerate(first.joints):
        alike = [leg.joints[place] for leg in machine.legs]
        chain[joint.name.removeprefix(f'{first.name}_')] = _chain_joint(first.name, alike, at_base=place == 0)
    legs: dict[str, Any] = {}
    for leg in machine.legs:
        start = leg.joints[0]
        legs[leg.name] = {'base_point': start.translation.tolist(), 'base_rpy': _rpy(start.rotation_parent_joint)}
        if machine.has_platform:
            legs[leg.name]['platform_point'] = leg.platform_point.tolist()
    sensors = machine.leg_sensors
    content: dict[str, Any] = {
        'schema': 1,
        'name': ''.join(letter if letter.isalnum() else '_' for letter in f'm{machine.name}'),
        'description': 'written by a test',
        'gravity': machine.gravity.tolist(),
        'leg_chain': chain,
        'legs': legs,
        'sensors': {
            'legs': {
                'rate': sensors.rate,
                'position_noise': 0.0,
                'velocity_noise': 0.0,
                'effort_noise': 0.0,
            }
        },
        'servo': {'stiffness': 1e4, 'damping': 1e2},
    }
    if machine.has_platform:
        home = machine.home
        content['platform'] = {
            'link': 'platform_link',
            'freedom': machine.freedom,
            'home': {'xyz': home.position.tolist(), 'rpy': _rpy(home.rotation_base_platform)},
            'body': _body([machine.platform]),
        }
        content['leg_tip'] = _per_leg(np.array([leg.tip for leg in machine.legs]))
        still = {'noise': [0.0, 0.0, 0.0], 'bias': [0.0, 0.0, 0.0]}
        content['sensors']['imu'] = {
            'link': 'imu_link', 'xyz': [0.01, 0.02, 0.03], 'rpy': [0.1, 0.2, 0.3], 'rate': 100.0,
            'accelerometer': still, 'gyroscope': still,
        }  # fmt: skip
    path = folder / 'machine.yaml'
    path.write_text(yaml.safe_dump(as_lists(content), sort_keys=False))
    return path


def _chain_joint(leg: str, joints: list[Joint], at_base: bool) -> dict[str, Any]:
    first = joints[0]
    origin: dict[str, Any] = {'xyz': [0.0, 0.0, 0.0], 'rpy': [0.0, 0.0, 0.0]}
    if not at_base:
        origin['xyz'] = _per_leg(np.array([joint.translation for joint in joints]))
        origin['rpy'] = _rpy(first.rotation_parent_joint)
    return {
        'type': first.kind,
        'axis': first.axis.tolist(),
        'origin': origin,
        'actuated': first.actuated,
        'limits': {'lower': -3.0, 'upper': 3.0, 'velocity': 10.0, 'effort': 5000.0},
        'friction': {key: [float(getattr(joint.friction, key)) for joint in joints] for key in ('viscous', 'coulomb')},
        'home': [float(joint.home) for joint in joints],
        'rotor_inertia': [float(joint.rotor_inertia) for joint in joints],
        'body': {'name': first.body.name.removeprefix(f'{leg}_'), **_body([joint.body for joint in joints])},
    }


def _body(bodies: list[RigidBody]) -> dict[str, Any]:
    pick = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}
    inertia: dict[str, Any] = {key: [float(body.inertia[at]) for body in bodies] for key, at in pick.items()}
    mass: Any = [float(body.mass) for body in bodies]
    center = _per_leg(np.array([body.center_of_mass for body in bodies]))
    if len(bodies) == 1:  # the platform's values are plain numbers
        mass, center = mass[0], bodies[0].center_of_mass.tolist()
        inertia = {key: value[0] for key, value in inertia.items()}
    return {'mass': mass, 'center_of_mass': center, 'inertia': inertia}


def _per_leg(vectors: np.ndarray) -> list[list[float]]:
    """Vectors (L, 3) as three components with one entry per leg each."""
    return vectors.T.astype(float).tolist()


def _rpy(rotation: np.ndarray) -> list[float]:
    return Rotation.from_matrix(rotation).as_euler('xyz').tolist()
