"""Read bodies, poses and the platform of a machine file."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.loading.checks import check_inertia
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Freedom, Pose, RigidBody

BODY_KEYS = ('mass', 'center_of_mass', 'inertia')
_INERTIA_KEYS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')

#: rad; what is larger was meant in degrees
LARGEST_ANGLE = 2.0 * np.pi


def read_platform(top: Section) -> tuple[Freedom, Pose, RigidBody]:
    """Freedom, home and body of the platform; of an open chain, which has none, a body without mass."""
    if 'platform' not in top.content:
        return 'none', Pose(np.zeros(3), np.eye(3)), RigidBody('', 0.0, np.zeros(3), np.zeros((3, 3)))
    platform = top.section('platform')
    platform.expect_keys(['link', 'home', 'body'], ['freedom'])
    freedom = platform.text('freedom') if 'freedom' in platform.content else 'free'
    if freedom not in ('free', 'planar'):
        raise platform.error('freedom', freedom, "choose 'free' or 'planar'")
    body = platform.section('body')
    body.expect_keys(BODY_KEYS)
    home = Pose(*_pose(platform.section('home')))
    return cast(Freedom, freedom), home, read_body(body, platform.identifier('link'), 0, 1)


def read_body(section: Section, name: str, index: int, count: int) -> RigidBody:
    """Body of one leg (or the platform: index 0 of 1); a number may be a list with one entry per leg."""
    inertia = section.section('inertia')
    inertia.expect_keys(_INERTIA_KEYS)
    xx, xy, xz, yy, yz, zz = (float(inertia.per_leg(key, count)[index]) for key in _INERTIA_KEYS)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    check_inertia(section, tensor)
    # lighter bodies are dropped or refused by simulators that read the exports
    mass = float(section.per_leg('mass', count, least=1e-3)[index])
    return RigidBody(name, mass, section.vector_per_leg('center_of_mass', 3, count)[index], tensor)


def _pose(section: Section) -> tuple[Array, Array]:
    section.expect_keys(['xyz', 'rpy'])
    return section.vector('xyz', 3), read_rotation(section, 'rpy')


def read_rotation(section: Section, key: str) -> Array:
    """Rotation matrix (3, 3) of roll, pitch and yaw at ``key``."""
    angles = section.vector(key, 3)
    if np.abs(angles).max() > LARGEST_ANGLE:
        raise section.error(key, angles.tolist(), 'looks like degrees; roll, pitch, yaw are given in rad')
    # not rotation_from_rpy (transforms3d): its last bits differ, and with them those of all recorded estimates
    rotation: Array = Rotation.from_euler('xyz', angles).as_matrix()
    return rotation
