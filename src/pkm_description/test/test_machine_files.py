"""The machine files that come with the package, and how machine files are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pkm_description.errors import MachineFileError
from pkm_description.kinematics import joint_positions
from pkm_description.loading import load_machine, machine_file, machine_names
from pkm_description.loading.yaml_reader import by_name
from pkm_description.nodes import convert_machine
from pkm_description.nodes.convert_machine import with_lists
from pkm_description.skeleton.kinds import hexapod_layout
from wrong_machines import written

#: universal joint, strut, ball joint
HEXAPODS = ['ford', 'msi', 'palida', 'snl', 'srs', 'uf']
MACHINES = sorted(
    [
        *HEXAPODS, 'double_pendulum', 'hexaglide_6pus', 'khalifa_3prr', 'valencia_3rps',
        'delta', 'five_bar', 'tricept', 'three_upu', 'octopod_8ups', 'four_rrr',
    ]
)  # fmt: skip

#: paper's axes (z down) to those of the machine file
FLIP = np.diag([1.0, -1.0, -1.0])


def _content(name: str) -> dict[str, Any]:
    return by_name(machine_file(name), yaml.safe_load(machine_file(name).read_text()))


def _numbers(content: Any, place: str = '') -> Iterator[tuple[str, float]]:
    """Every number of a file with its dotted key."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _numbers(value, f'{place}.{key}' if place else key)
    elif isinstance(content, list):
        for value in content:
            yield from _numbers(value, place)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield place, content


def _source(provenance: dict[str, str], key: str) -> str:
    """Entry of the longest prefix of the key, whole parts only; empty if there is none."""
    parts = key.split('.')
    prefixes = ['.'.join(parts[:count]) for count in range(len(parts), 0, -1)]
    return next((provenance[prefix] for prefix in prefixes if prefix in provenance), '')


def test_the_machines_of_the_package() -> None:
    assert machine_names() == MACHINES


@pytest.mark.parametrize('name', HEXAPODS)
def test_hexapod_is_complete(name: str) -> None:
    machine = load_machine(name)
    assert (machine.name, machine.path) == (name, machine_file(name))
    assert [leg.name for leg in machine.legs] == [f'leg{i}' for i in range(1, 7)]
    assert machine.joint_names[:3] == ('leg1_universal_1', 'leg1_universal_2', 'leg1_prismatic')
    assert [joint.body.name for joint in machine.legs[5].joints] == ['leg6_cross', 'leg6_cylinder', 'leg6_rod']
    assert [joint.name for joint in machine.actuated_joints] == [f'leg{i}_prismatic' for i in range(1, 7)]
    assert (machine.platform.name, machine.imu.frame) == ('platform_link', 'imu_link')
    # legs differ in friction, so that an identification that mixes them up is seen
    assert len({joint.friction.coulomb for joint in machine.actuated_joints}) == 6
    assert machine.leg_count == 6


@pytest.mark.parametrize('name', HEXAPODS)
def test_platform_origin_is_the_centroid_of_its_joints(name: str) -> None:
    machine = load_machine(name)
    assert machine.platform_points.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert machine.home.rotation_base_platform == pytest.approx(np.eye(3), abs=0.0)


@pytest.mark.parametrize('name', MACHINES)
def test_every_number_has_a_provenance(name: str) -> None:
    content = _content(name)
    provenance = content.pop('provenance')
    numbers = [(key, value) for key, value in _numbers(content) if key != 'schema']
    assert len(numbers) > 60
    assert load_machine(name).provenance == provenance
    # zeros and units that only say "parallel to the frame" count as numbers, too
    assert [key for key, _ in numbers if not _source(provenance, key)] == []
    assert {text.partition(':')[0] for text in provenance.values()} <= {'printed', 'derived', 'assumed'}
    assert all(text.partition(': ')[2] for text in provenance.values())
    assert [key for key in provenance if not any(_source({key: 'it'}, place) for place, _ in numbers)] == []


def test_simona_sensors_are_the_papers() -> None:
    """Table 4, Table 5 and Eq. 27, turned from z down to z up."""
    machine = load_machine('srs')
    imu = machine.imu
    assert imu.position == pytest.approx(FLIP @ [-0.305, 0.0, -0.0105], abs=0.0)
    assert imu.accelerometer_bias == pytest.approx(FLIP @ [4.898e-1, -9.023e-3, -1.894e-1], abs=0.0)
    assert imu.gyroscope_bias == pytest.approx(FLIP @ [-1.822e-2, -5.067e-3, -2.159e-2], abs=0.0)
    assert imu.accelerometer_noise == pytest.approx([6.680e-4, 8.578e-4, 6.915e-4], abs=0.0)
    assert imu.gyroscope_noise == pytest.approx([1.545e-4, 1.770e-4, 1.791e-4], abs=0.0)
    length_noise = [1.093e-5, 1.132e-5, 5.741e-6, 1.482e-5, 1.054e-5, 9.770e-6]
    assert machine.leg_sensors.position_noise == pytest.approx(length_noise, abs=0.0)
    assert (imu.rate, machine.leg_sensors.rate) == (100.0, 100.0)


def test_palida_drives_are_the_papers() -> None:
    machine = load_machine('palida')
    assert {joint.limits.effort for joint in machine.actuated_joints} == {200.0}
    assert machine.leg_sensors.position_noise == pytest.approx(np.full(6, 2e-5), abs=0.0)


@pytest.mark.parametrize('name', ['msi', 'palida', 'srs'])
def test_first_universal_axis_is_tangential(name: str) -> None:
    machine = load_machine(name)
    for leg in machine.legs:
        first = leg.joints[0].rotation_parent_joint @ leg.joints[0].axis
        outward = leg.base_point / np.linalg.norm(leg.base_point)
        assert first @ outward == pytest.approx(0.0, abs=1e-12)
        assert first[2] == pytest.approx(0.0, abs=1e-12)
        # the zero position of the strut points up, so that angles stay small
        assert leg.joints[0].rotation_parent_joint[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize(
    ('radii', 'distances', 'name'),
    [((1.0, 1.0), (2.0, 0.1), 'base'), ((1.0, 1.0), (0.1, -0.1), 'platform'), ((0.0, 1.0), (0.0, 0.1), 'base')],
)
def test_layout_refuses_pairs_that_do_not_fit(
    radii: tuple[float, float], distances: tuple[float, float], name: str
) -> None:
    with pytest.raises(ValueError, match=f'^{name}: a pair at '):
        hexapod_layout(*radii, *distances)


def test_a_file_is_found_by_name_path_folder_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / 'mine' / 'machine.yaml'
    copy.parent.mkdir()
    copy.write_text(machine_file('palida').read_text())
    monkeypatch.setenv('HOME', str(tmp_path))
    for given in (copy, str(copy), copy.parent, '~/mine/machine.yaml'):
        assert load_machine(given).path == copy
        assert load_machine(given).platform.mass == load_machine('palida').platform.mass


def test_one_value_may_differ_from_leg_to_leg(tmp_path: Path) -> None:
    content = _content('palida')
    chain = content['leg_chain']
    chain['prismatic']['body']['mass'] = [2.0, 2.1, 2.2, 2.3, 2.4, 2.5]
    chain['prismatic']['body']['center_of_mass'][2] = [-0.30, -0.31, -0.32, -0.33, -0.34, -0.35]
    chain['universal_2']['body']['inertia']['ixx'] = [0.090, 0.091, 0.092, 0.093, 0.094, 0.095]
    chain['prismatic']['limits']['effort'] = [200.0, 210.0, 220.0, 230.0, 240.0, 250.0]
    chain['prismatic']['origin']['xyz'][2] = [0.600, 0.601, 0.602, 0.603, 0.604, 0.605]
    content['leg_tip'] = [0.0, 0.0, [0.00, 0.01, 0.02, 0.03, 0.04, 0.05]]
    content['sensors']['legs']['effort_noise'] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    path = written(tmp_path, content)
    machine = load_machine(path)
    rods = [leg.joints[2].body for leg in machine.legs]
    assert [rod.mass for rod in rods] == [2.0, 2.1, 2.2, 2.3, 2.4, 2.5]
    assert [rod.center_of_mass.tolist() for rod in rods][3] == [5e-4, 1e-3, -0.33]
    assert [leg.joints[1].body.inertia[0, 0] for leg in machine.legs][4] == 0.094
    assert [joint.limits.effort for joint in machine.actuated_joints][5] == 250.0
    assert machine.lengths_at_zero == pytest.approx([0.600, 0.611, 0.622, 0.633, 0.644, 0.655], abs=1e-15)
    home = machine.home.position[None], machine.home.rotation_base_platform[None]
    lengths = np.linalg.norm(home[0] + machine.platform_points - machine.base_points, axis=1)
    drives = joint_positions(machine, *home)[0, machine.drive_columns]
    assert drives == pytest.approx(lengths - machine.lengths_at_zero, abs=1e-14)
    assert machine.leg_sensors.effort_noise.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_yaml_anchors_and_merge_keys_are_understood(tmp_path: Path) -> None:
    text = machine_file('palida').read_text()
    limits = 'limits: {lower: -1.3, upper: 1.3, velocity: 12.0}'
    text = text.replace(limits, limits.replace('{', '&swivel {'), 1)
    text = text.replace(limits, 'limits: {<<: *swivel, velocity: 10.0}', 1)
    path = tmp_path / 'machine.yaml'
    path.write_text(text)
    read = [joint.limits for joint in load_machine(path).legs[0].joints[:2]]
    assert [(one.lower, one.upper, one.velocity) for one in read] == [(-1.3, 1.3, 12.0), (-1.3, 1.3, 10.0)]


@pytest.mark.parametrize('name', machine_names())
def test_the_order_of_keys_does_not_count(name: str, tmp_path: Path) -> None:
    """A tool that rewrites YAML sorts the keys of mappings."""
    machine, path = load_machine(name), tmp_path / 'machine.yaml'
    path.write_text(yaml.safe_dump(yaml.safe_load(machine.path.read_text())))
    other = load_machine(path)
    assert other.drive_labels == machine.drive_labels
    assert other.joint_names == machine.joint_names
    for mine, theirs in zip(machine.model, other.model, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def _plain(value: Any) -> Any:
    """Content with mappings in place of lists, as files had them once."""
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize('name', ['srs', 'delta'])
@pytest.mark.parametrize('flow', [False, True, None])
def test_the_old_form_is_refused_in_a_sentence_and_converted(name: str, flow: bool | None, tmp_path: Path) -> None:
    old, new = tmp_path / 'old.yaml', tmp_path / 'new.yaml'
    old.write_text('# a comment\n' + yaml.safe_dump(_plain(_content(name)), sort_keys=False, default_flow_style=flow))
    with pytest.raises(MachineFileError, match="must be a list: write '- name: .*convert_machine does it"):
        load_machine(old)
    assert convert_machine.main([str(old), '-o', str(new)]) == 0
    assert new.read_text().startswith('# a comment')
    for mine, theirs in zip(load_machine(name).model, load_machine(new).model, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert with_lists(new) == new.read_text()
    assert convert_machine.main([str(old), '-o', str(new)]) == 1


@pytest.mark.parametrize(
    ('wrong', 'words'),
    [
        ([{'axis': 1}], r'leg_chain\[0\].name = None'),
        ([3], r'leg_chain\[0\].name = None'),
        ([{'name': 'a'}, {'name': 'a'}], 'stands here twice'),
        ('universal', 'must be a list of entries'),
    ],
)
def test_entries_need_names_of_their_own(wrong: object, words: str, tmp_path: Path) -> None:
    path = tmp_path / 'machine.yaml'
    path.write_text(yaml.safe_dump(yaml.safe_load(machine_file('srs').read_text()) | {'leg_chain': wrong}))
    with pytest.raises(MachineFileError, match=words):
        load_machine(path)
