"""Names that URDF and MJCF take and SDF refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.loading import load_machine, machine_file
from pkm_description.loading.yaml_reader import as_lists, by_name

from verification.engines.sdf_reader import SdfModel, shared_names

LOOPS = ['detachable', 'native']


@pytest.mark.parametrize('loop', LOOPS)
@pytest.mark.parametrize('changes', [
    {'prismatic': 'prismatic'},
    {'universal_1': 'prismatic', 'universal_2': 'prismatic_link', 'prismatic': 'universal_2'},
    {'prismatic': 'ball', 'universal_2': 'ball_link'},
    {'prismatic': 'closure', 'universal_2': 'universal_2'},
    {'imu': 'bar1', 'name': 'sun'},
    {'imu': 'leg1_bar', 'name': 'dart'},
])  # fmt: skip
def test_names_that_only_sdf_refuses_are_made_unique(changes: dict[str, str], loop: str, tmp_path: Path) -> None:
    """Bodies called like joints, small links, the light of the world: joints keep their names."""
    content = by_name(machine_file('palida'), yaml.safe_load(machine_file('palida').read_text()))
    del content['provenance']
    for key, name in changes.items():
        if key == 'imu':
            content['sensors']['imu']['link'] = name
        elif key == 'name':
            content['name'] = name
        else:
            content['leg_chain'][key]['body']['name'] = name
    path = tmp_path / 'machine.yaml'
    path.write_text(yaml.safe_dump(as_lists(content), sort_keys=False))
    sdf, plain = (
        SdfModel(sdf_text(machine, SdfOptions(loop=loop, world=True)))
        for machine in (load_machine(path), load_machine('palida'))
    )
    assert shared_names(sdf.root) == []
    assert list(sdf.joints) == list(plain.joints)
    assert len(sdf.links) == len(plain.links)
    # links still stand where they stood, in the same tree
    for link, other in zip(sdf.links, plain.links, strict=True):
        np.testing.assert_array_equal(sdf.pose(link)[0], plain.pose(other)[0])
    order, plain_order = list(sdf.links), list(plain.links)
    for joint in list(sdf.joints)[1:]:
        ends = [order.index(end) for end in sdf.ends(joint)]
        assert ends == [plain_order.index(end) for end in plain.ends(joint)]
    for weld in sdf.plugins('DetachableJoint'):
        assert weld.findtext('child_link') in sdf.links
