"""Names that would make the URDF invalid, and inertias in the units of CAD programs, are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pkm_description.loading import load_machine
from wrong_machines import CONTENT, changed, refused, written


def _renamed(mapping: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in mapping.items()}


@pytest.mark.parametrize(
    ('joints', 'legs', 'key', 'name'),
    [
        ({'universal_1': 'mount'}, {}, 'leg_chain.mount', 'leg1_mount'),
        ({'prismatic': 'end'}, {}, 'leg_chain.end', 'leg1_end'),
        ({'universal_1': 'b_prismatic'}, {'leg1': 'a', 'leg2': 'a_b'}, 'leg_chain.prismatic', 'a_b_prismatic'),
    ],
)
def test_two_joints_of_one_name(
    tmp_path: Path, joints: dict[str, str], legs: dict[str, str], key: str, name: str
) -> None:
    """Fixed joints of the URDF count, too; all of these made a URDF that no reader takes."""
    content = changed('palida', {})
    content['leg_chain'] = _renamed(content['leg_chain'], joints)
    content['legs'] = _renamed(content['legs'], legs)
    error = refused(written(tmp_path, content))
    assert (error.key, error.value) == (key, name)
    assert 'two joints have this name; rename one' in str(error)


@pytest.mark.parametrize(
    ('joint', 'leg', 'name'),
    [
        ('tip', 'leg1', 'leg1_tip'),
        ('ball', 'leg1', 'leg1_ball'),
        ('closure', 'leg1', 'leg1_closure'),
        ('link', 'imu', 'imu_link'),
        ('x', 'platform', 'platform_x'),
        ('mount_link', 'base', ''),
    ],
)
def test_joints_called_like_links_and_frames_of_exports(tmp_path: Path, joint: str, leg: str, name: str) -> None:
    """SDF has one set of names for links, joints and frames; MJCF has joints of the platform."""
    content = changed('palida', {})
    content['leg_chain'] = _renamed(content['leg_chain'], {'universal_2': joint})
    content['legs'] = _renamed(content['legs'], {'leg1': leg})
    path = written(tmp_path, content)
    if not name:
        assert load_machine(path).joint_names[1] == 'base_mount_link'
        return
    error = refused(path)
    assert (error.key, error.value) == (f'leg_chain.{joint}', name)
    assert 'would clash with a link, frame or joint of the exported models; rename it' in str(error)


@pytest.mark.parametrize(('key', 'name'), [('name', 'world'), ('platform.link', 'world'), ('platform.link', '__pkm__')])
def test_names_that_simulators_keep(tmp_path: Path, key: str, name: str) -> None:
    error = refused(written(tmp_path, changed('palida', {key: name})))
    assert (error.key, error.value) == (key, name)
    assert 'keep this name for themselves' in str(error)


@pytest.mark.parametrize('factor', [1e3, 1e6, 1e9], ids=['g m^2', 'kg mm^2', 'g mm^2'])
@pytest.mark.parametrize('place', ['platform', 'leg_chain.universal_2', 'leg_chain.prismatic'])
@pytest.mark.parametrize('name', ['palida', 'srs'])
def test_inertia_in_units_of_a_drawing(tmp_path: Path, name: str, place: str, factor: float) -> None:
    """Of bodies about as long as their legs; the unit of compact ones (snl's ball nuts) does not show."""
    body: Any = CONTENT[name]
    for part in f'{place}.body'.split('.'):
        body = body[part]
    inertia = {key: factor * value for key, value in body['inertia'].items()}
    error = refused(written(tmp_path, changed(name, {f'{place}.body.inertia': inertia})))
    assert error.key == f'{place}.body.inertia'
    assert f'with {body["mass"]:.6g} kg the radius of gyration is' in str(error)
    assert 'give kg m^2' in str(error)
