"""Skeletons of all kinds: they load, move, weigh what Pinocchio says, and say which leg is which."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_description.errors import MachineFileError
from pkm_description.inspection.describe import count_origins
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.loading.yaml_reader import by_name
from pkm_description.nodes import inspect_machine, new_machine
from pkm_description.skeleton import KINDS, SkeletonError, inertia_from_cad, skeleton_text
from warm_programs import run_program

from verification.engines.checks import closed_machine_checks

FREEDOM = {'6': 6, '3': 3}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def _written(kind: str, folder: Path, **sizes: float) -> Path:
    path = folder / 'machine.yaml'
    path.write_text(skeleton_text(kind, sizes=sizes))
    return path


def test_every_kind_loads_and_can_be_inspected(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / 'mine.yaml'
    assert new_machine.main(['--kind', kind, '-o', str(path), '--name', 'mine']) == 0
    machine = load_machine(path)
    assert machine.name == 'mine'
    assert machine.actuated_count == machine.degrees_of_freedom == FREEDOM[kind[0]]
    letters = {'revolute': 'r', 'prismatic': 'p'}
    kinds = ''.join(letters[joint.kind] for joint in machine.legs[0].joints)
    assert kinds == kind[1:].replace('u', 'rr')[:-1]
    assert machine.planar == (not kind.endswith('s'))
    assert inspect_machine.main([str(path)]) == 0
    assert 'mine: ' in capsys.readouterr().out


def test_it_moves_and_pinocchio_agrees(kind: str, tmp_path: Path) -> None:
    machine = load_machine(_written(kind, tmp_path))
    assert len(random_states(machine, 50, seed=1)) == 50
    checks = list(closed_machine_checks(machine, 'Pinocchio', 1e-9, 10))
    assert 'inverse dynamics, relative' in {check.what for check in checks}
    assert [str(check) for check in checks if check.status != 'met'] == []


def test_legs_count_counter_clockwise_from_x_seen_from_above(kind: str, tmp_path: Path) -> None:
    machine = load_machine(_written(kind, tmp_path))
    azimuths = np.arctan2(machine.base_points[:, 1], machine.base_points[:, 0]) % (2.0 * np.pi)
    assert [leg.name for leg in machine.legs] == [f'leg{number}' for number in range(1, len(azimuths) + 1)]
    assert (np.diff(azimuths) > 0.1).all()
    # and the frames stand as the file says: x outward, z up
    legs = yaml.safe_load(skeleton_text(kind))['legs']
    for leg, azimuth in zip(legs, azimuths, strict=True):
        assert leg['base_rpy'] == pytest.approx([0.0, 0.0, azimuth], abs=1e-12)


def test_every_assumed_number_is_to_be_measured(kind: str) -> None:
    content = by_name(Path('new'), yaml.safe_load(skeleton_text(kind)))
    origins = count_origins(content, content['provenance'])
    assert set(origins) == {'derived', 'assumed'}
    others = {key for key, text in content['provenance'].items() if text.startswith('assumed')}
    assert {key for key in others if content['provenance'][key] != 'assumed: to be measured'} == {'gravity', 'servo'}


def test_lengths_are_as_given_and_in_proportion(tmp_path: Path) -> None:
    machine = load_machine(_written('6rus', tmp_path, base_radius=0.6, platform_radius=0.35, crank=0.25))
    assert np.linalg.norm(machine.base_points, axis=1) == pytest.approx(0.6)
    assert np.linalg.norm(machine.platform_points, axis=1) == pytest.approx(0.35)
    assert machine.legs[0].joints[1].translation.tolist() == [0.25, 0.0, 0.0]
    assert machine.home.position.tolist() == [0.0, 0.0, 1.0]  # twice the default, as the base
    longer = load_machine(_written('6rus', tmp_path, rod=0.62))
    assert longer.legs[0].tip.tolist() == [0.0, 0.0, 0.62]
    assert longer.home.position.tolist() == [0.0, 0.0, 0.5]
    # longer rods, lower cranks
    assert longer.home_positions.reshape(longer.leg_count, -1)[:, 0].max() < -0.1


@pytest.mark.parametrize(
    ('kind', 'sizes', 'words'),
    [
        ('4rrr', {}, 'is not known'),
        ('3rps', {'crank': 0.1}, 'a 3rps has no such length'),
        ('6ups', {'rod': 0.1}, 'a 6ups has no such length'),
        ('3prr', {'height': 0.1}, 'a 3prr has no such length'),
        ('6ups', {'stroke': -0.1}, 'stroke = -0.1'),
        ('6ups', {'height': 350.0}, 'height = 350'),
        ('6ups', {'base_pair_distance': 0.7}, 'base: a pair at 0.7 m does not fit'),
        ('6ups', {'stroke': 5.0}, 'give a shorter one'),
        ('3rrr', {'crank': 0.1}, 'do not reach over the 0.3 m'),
        ('6pus', {'height': 0.1}, 'too low over sliders'),
    ],
)
def test_lengths_that_make_no_machine(kind: str, sizes: dict[str, float], words: str) -> None:
    with pytest.raises(SkeletonError, match=words):
        skeleton_text(kind, sizes=sizes)


def test_a_name_that_cannot_be_part_of_links() -> None:
    with pytest.raises(MachineFileError, match="name = 'my machine'"):
        skeleton_text('6ups', 'my machine')


def test_a_file_is_not_replaced_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / 'mine.yaml'
    path.write_text('precious')
    assert new_machine.main(['--kind', '6ups', '-o', str(path)]) == 1
    assert path.read_text() == 'precious'
    assert capsys.readouterr().err == f'error: {path} exists; give another file, or --force to replace it\n'
    assert new_machine.main(['--kind', '6ups', '-o', str(path), '--force']) == 0
    assert load_machine(path).name == 'my_6ups'


def test_as_a_program(tmp_path: Path) -> None:
    command = [sys.executable, '-c', 'import sys; from pkm_description.nodes.new_machine import main; sys.exit(main())']
    done = run_program([*command, '--kind', '3rps', '--height', '0.7'])
    assert done.stdout == skeleton_text('3rps', sizes={'height': 0.7})
    refused = run_program([*command, '--kind', '3rps', '--drives', '1'])
    assert (refused.returncode, refused.stdout) == (2, '')
    assert '--drives has no meaning with --kind' in refused.stderr


def test_inertia_of_a_cad_program() -> None:
    """Point masses in g and mm, printed about the CAD model's origin with +sum m x y, and about the centre of mass."""
    random = np.random.default_rng(3)
    masses, points = random.uniform(10.0, 50.0, 20), random.uniform(-80.0, 120.0, (20, 3))
    center = masses @ points / masses.sum()
    expected = _tensor(1e-3 * masses, 1e-3 * (points - center))

    def printed(about: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tensor = _tensor(masses, points - about)
        return np.diag(tensor), -tensor[np.triu_indices(3, 1)]

    for about in (np.zeros(3), center):
        found = inertia_from_cad(*printed(about), masses.sum(), center - about, kilogram=1e3, metre=1e3)
        assert list(found) == ['ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz']
        assert list(found.values()) == pytest.approx(expected[np.triu_indices(3)].tolist(), rel=1e-12)
    moments, products = printed(center)
    in_tensor = inertia_from_cad(moments, -products, masses.sum(), positive_products=False, kilogram=1e3, metre=1e3)
    assert in_tensor['ixy'] == pytest.approx(expected[0, 1], rel=1e-12)
    # the recipe in the file's head
    cx, cy, cz = center
    moments, products = printed(np.zeros(3))
    mass, xy = masses.sum(), -products[0]
    assert 1e-9 * (moments[0] - mass * (cy**2 + cz**2)) == pytest.approx(expected[0, 0], rel=1e-12)
    assert 1e-9 * (xy + mass * cx * cy) == pytest.approx(expected[0, 1], rel=1e-12)
    with pytest.raises(ValueError, match='moments has shape'):
        inertia_from_cad([1.0, 2.0], [0.0] * 3, 1.0)


def _tensor(masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    squares = np.sum(points * points, axis=1)
    return np.einsum('n,nij->ij', masses, squares[:, None, None] * np.eye(3) - points[:, :, None] * points[:, None, :])
