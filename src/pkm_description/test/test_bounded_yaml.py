"""YAML that would fill the memory, never end or crash is refused in one sentence, by every reader of users' files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pkm_description.bounded_yaml import UnreadableYamlError, bounded_yaml
from pkm_description.errors import PkmError
from pkm_description.export.ros2_control import read_hardware_parameters
from pkm_description.importing.importer import with_loops_of
from pkm_description.loading import load_machine
from pkm_description.settings import Settings

#: nine lists in each other, of nine each: 9^9 values in 400 characters
BOMB = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 9)}]\n' for k in range(1, 9)
)
TEXTS = {
    'values, by aliases': BOMB,
    'contains itself': 'q_scale: &a\n  inside: *a\n',
    'inside each other': 'a: ' + '[' * 5000 + ']' * 5000,
    'too many brackets': '- ' * 5000 + 'x',
    'characters, at most': 'a: ' + 'x' * 5_000_000,
}


@pytest.mark.parametrize('words', TEXTS)
def test_what_cannot_be_read_is_refused(words: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableYamlError, match=words):
        bounded_yaml(TEXTS[words])
    path = tmp_path / 'own.yaml'
    path.write_text(TEXTS[words])
    for read in (
        load_machine,
        lambda one: load_machine('srs', one),
        lambda one: load_machine('srs', driver=one),
        lambda one: Settings.from_file(one, 'estimator'),
        lambda one: read_hardware_parameters(str(one)),
        lambda one: with_loops_of(None, one),  # type: ignore[arg-type]
    ):
        with pytest.raises(PkmError, match=words) as refused:
            read(path)
        assert str(path) in str(refused.value)
        assert len(str(refused.value)) < 500


def test_what_is_usual_is_read() -> None:
    text = 'base: &base {a: 1}\nboth: [*base, *base]\nmerged: {<<: *base, b: 2}\n# 0 < x <= 1 in (0, 1] [m]\n'
    assert bounded_yaml(text)['merged'] == {'a': 1, 'b': 2}
    assert bounded_yaml('') is None
    rows = yaml.safe_dump([[1.0, 2.0]] * 1000, default_flow_style=True)
    assert len(bounded_yaml(rows)) == 1000
    assert bounded_yaml('a: "' + '[' * 200 + '"') == {'a': '[' * 200}
    with pytest.raises(yaml.YAMLError):
        bounded_yaml('a: [1')
