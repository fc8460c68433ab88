"""Settings: types, ranges and choices from one description, out of mappings and YAML files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.settings import Settings, section, setting, settings_of


@dataclass(frozen=True)
class Example(Settings):
    """One setting of each type."""

    rate: float = setting(10.0, 'how often [Hz]', 1.0, 100.0)
    count: int = setting(3, 'how many', 1, 5)
    law: str = setting('viscous', 'which law', choices=('viscous', 'coulomb'))
    on: bool = setting(True, 'whether at all')
    point: tuple[float, ...] = setting([0.0, 0.0, 1.0], 'where [m]')
    names: tuple[str, ...] = setting([], 'which ones', choices=('a', 'b'))
    patterns: tuple[str, ...] = setting([], 'patterns', commas=True)


@dataclass(frozen=True)
class Other(Settings):
    """Settings of the same node."""

    machine: str = setting('srs', 'name')


def test_metadata_describe_every_field() -> None:
    assert [entry.metadata['description'] for entry in fields(Example)][:2] == ['how often [Hz]', 'how many']
    assert Example().point == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'rate': 0.5}, 'rate = 0.5: must be a number from 1 to 100'),
        ({'rate': True}, 'rate = True: must be a number'),
        ({'rate': float('nan')}, 'rate = nan: must be a number'),
        ({'count': 2.5}, 'count = 2.5: must be a whole number from 1 to 5'),
        ({'count': None}, 'count = None: must be a whole number'),
        ({'law': 'dry'}, "law = 'dry': choose one of viscous, coulomb"),
        ({'on': 1}, 'on = 1: must be true or false'),
        ({'point': [0.0, 1.0]}, r'point = \(0.0, 1.0\): needs 3 numbers'),
        ({'point': [0.0, 1.0, 'x']}, "'x' must be a number"),
        ({'point': 1.0}, 'point = 1.0: needs a list'),
        ({'names': ['c']}, "'c' is not one of a, b"),
        ({'names': 'a'}, "names = 'a': needs a list of any of a, b"),
        ({'patterns': [1]}, '1 must be a text'),
        ({'raet': 10.0}, "unknown setting 'raet'; there are count, law"),
    ],
)
def test_wrong_values_are_named(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Example.from_mapping(values)


def test_lists_come_as_lists_or_with_commas() -> None:
    made = Example.from_mapping({'point': [1, 2, 3], 'names': ['b'], 'patterns': 'leg_*, cross ,'})
    assert (made.point, made.names, made.patterns) == ((1, 2, 3), ('b',), ('leg_*', 'cross'))


@pytest.mark.parametrize(
    ('text', 'rate'),
    [
        ('rate: 20.0', 20.0),
        ('', 10.0),
        ('/**: {ros__parameters: {rate: 20.0, machine: palida, use_sim_time: true}}', 20.0),
        ('/left/example: {ros__parameters: {rate: 20.0}}\n/left/another: {ros__parameters: {speed: 1.0}}', 20.0),
        ('left: {example: {ros__parameters: {rate: 20.0}}}', 20.0),
        ('whatever: {ros__parameters: {rate: 20.0}}', 20.0),
        ('/**: {ros__parameters: {rate: 30.0}}\nexample: {ros__parameters: {rate: 20.0}}', 20.0),
    ],
)
def test_files_with_plain_names_or_of_nodes(tmp_path: Path, text: str, rate: float) -> None:
    path = tmp_path / 'settings.yaml'
    path.write_text(text)
    assert Example.from_file(path, 'example', (Other,)) == Example(rate=rate)


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('rate: [', 'cannot be read'),
        ('- rate', 'expected names and values of settings'),
        ('example: {ros__parameters: 5}', 'expected names and values of settings'),
        ('/**: {ros__parameters: {raet: 20.0}}', "unknown setting 'raet'"),
        ('/**: {ros__parameters: {rate: 500.0}}', 'settings.yaml: rate = 500.0: must be a number from 1 to 100'),
    ],
)
def test_files_that_are_wrong_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / 'settings.yaml'
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        Example.from_file(path, 'example', (Other,))
    with pytest.raises(ConfigurationError, match='nowhere.yaml: cannot be read'):
        Example.from_file(tmp_path / 'nowhere.yaml', 'example')


@dataclass(frozen=True)
class Staged(Settings):
    """Settings with a section."""

    first: Example = section(Example)  # noqa: RUF009
    name: str = setting('a', 'which')


@pytest.mark.parametrize(
    'values',
    [
        {'first.rate': 20.0, 'first.names': ['a'], 'name': 'b'},
        {'first': {'rate': 20.0, 'names': ('a',)}, 'name': 'b'},
        {'first': Example(rate=20.0, names=('a',)).mapping(), 'name': 'b'},
    ],
)
def test_sections_by_dots_or_as_mappings(values: dict[str, Any]) -> None:
    made = Staged.from_mapping(values)
    assert made == Staged(Example(rate=20.0, names=('a',)), 'b')
    assert Staged.from_mapping(made.mapping()) == made
    assert made.mapping()['first']['names'] == ['a']
    assert list(settings_of(Staged)) == [*(f'first.{entry.name}' for entry in fields(Example)), 'name']


def test_sections_of_a_parameter_file(tmp_path: Path) -> None:
    path = tmp_path / 'settings.yaml'
    path.write_text('/**: {ros__parameters: {first: {rate: 20.0}}}\nme: {ros__parameters: {first.count: 4}}')
    assert Staged.from_file(path, 'me', (Other,)) == Staged(Example(rate=20.0, count=4))
    path.write_text('first: {rate: 500.0}')
    with pytest.raises(ConfigurationError, match=r'first\.rate = 500.0: must be a number from 1 to 100'):
        Staged.from_file(path, 'me')


def test_what_is_no_section_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="name = 'x'.*is no section|unknown setting 'name.x'"):
        Staged.from_mapping({'name': {'x': 1}})
    with pytest.raises(ConfigurationError, match='first = 5: needs Example'):
        Staged(5)  # type: ignore[arg-type]
