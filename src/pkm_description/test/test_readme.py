"""README and pages of the documentation: every key is explained, programs run, the hexapod can be written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.urdf import urdf_text
from pkm_description.loading import load_machine, machine_file, machine_names
from pkm_description.loading.yaml_reader import by_name
from pkm_description.nodes import inspect_machine, new_machine

README = Path(__file__).parents[1] / 'README.md'
DOCS = Path(__file__).parents[3] / 'docs'
MACHINE_FILE = DOCS / 'reference' / 'machine_file.md'
OWN_MACHINE = DOCS / 'tutorials' / 'my_own_machine.md'
BASE_PARAMETERS = DOCS / 'mathematics' / 'base_parameters.md'


def _blocks(page: Path, language: str) -> list[str]:
    indented = re.findall(rf'^( *)```{language}\n(.*?)^ *```', page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [re.sub(rf'^{spaces}', '', block, flags=re.MULTILINE) for spaces, block in indented]


def _keys(content: Any) -> Iterator[str]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from _keys(value)


@pytest.mark.parametrize('name', machine_names())
def test_every_key_of_a_machine_file_is_explained(name: str) -> None:
    explained = set(re.findall(r'\w+', ' '.join(re.findall(r'`([^`\n]+)`', MACHINE_FILE.read_text()))))
    content = by_name(machine_file(name), yaml.safe_load(machine_file(name).read_text()))
    chains = [content['leg_chain']] if 'leg_chain' in content else content['leg_chains'].values()
    parts = [chain.get(key, {}) for chain in chains for key in ('joints', 'closures')] + [*chains]
    own_names = {*content.get('leg_chains', {}), *content['legs'], *(name for part in parts for name in part)}
    del content['provenance']
    assert set(_keys(content)) - own_names - explained == set()


def test_hexapod_of_the_ten_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command of the tutorial, with its numbers."""
    command = next(line for line in OWN_MACHINE.read_text().splitlines() if 'new_machine --kind 6ups' in line)
    path = tmp_path / 'desk.yaml'
    arguments = command.split('new_machine')[1].replace('desk.yaml', str(path)).split()
    assert new_machine.main(arguments) == 0
    assert inspect_machine.main([str(path)]) == 0
    length = re.search(r'leg lengths at home +([0-9.]+)', capsys.readouterr().out)
    assert length is not None
    assert float(length[1]) == pytest.approx(0.4530, abs=5e-5)
    assert 'leg6_prismatic' in urdf_text(load_machine(path))
    assert 'leg6_prismatic' in mjcf_text(load_machine(path))


def test_library_example() -> None:
    names: dict[str, Any] = {}
    exec(_blocks(README, 'python')[0], names)
    assert names['forces'].shape == (10001, 6)


def test_base_parameter_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Combinations as in table 1 of Mata et al. 2008."""
    names: dict[str, Any] = {}
    exec(_blocks(BASE_PARAMETERS, 'python')[0], names)
    printed = capsys.readouterr().out
    assert printed.startswith('25 ')
    for combination in (
        'leg3_rod.m + 2.531 platform_link.my',
        'leg2_rod.m + platform_link.m - 2.531 platform_link.my + leg1_rod.m',
        'platform_link.mx - 0.4563 platform_link.m + 0.5774 platform_link.my - 0.4563 leg1_rod.m',
        'leg3_cylinder.Izz + leg3_rod.Iyy',
    ):
        assert combination in names['base'].texts(digits=4)
        assert combination in printed


def test_overlay_example(tmp_path: Path) -> None:
    path = tmp_path / 'overlay.yaml'
    path.write_text(next(block for block in _blocks(MACHINE_FILE, 'yaml') if block.startswith('overlay:')))
    machine = load_machine('palida', path)
    assert machine.platform.mass == 8.12
    assert machine.actuated_joints[5].friction.viscous == 19.2
