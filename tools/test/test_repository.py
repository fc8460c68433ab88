"""Workflows, containers, citation, hooks: what they name is there, and versions are in step."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / '.github' / 'workflows').glob('*.yml'))


def _requirements(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text().splitlines()
    return {match[1]: match[2] for line in lines if (match := re.match(r'([\w.-]+)==([\w.]+)', line))}


@pytest.mark.parametrize('path', WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_has_triggers_and_jobs_with_steps(path: Path) -> None:
    content: dict[Any, Any] = yaml.safe_load(path.read_text())
    # YAML 1.1 reads the key `on` as true
    assert {'pull_request', 'push'} <= set(content[True])
    assert content['permissions'] == {'contents': 'read'}
    for job in content['jobs'].values():
        assert 'runs-on' in job
        assert 'timeout-minutes' in job
        assert job['steps'][0]['uses'].startswith('actions/checkout@')
        for step in job['steps']:
            assert ('uses' in step) != ('run' in step)


def test_own_ci_runs_the_commands_of_the_readme() -> None:
    texts = {path.stem: path.read_text() for path in WORKFLOWS}
    assert 'run: ./pkm test --yes' in texts['tests']
    assert 'run: ./pkm docs --yes' in texts['documentation']
    script = (ROOT / 'pkm').read_text()
    assert '    docs)' in script
    assert '    test)' in script


def test_every_distribution_of_the_readme_is_tested() -> None:
    content = yaml.safe_load((ROOT / '.github' / 'workflows' / 'industrial_ci.yml').read_text())
    tested = content['jobs']['industrial_ci']['strategy']['matrix']['distribution']
    (heading,) = re.findall(r'^### On a machine with ROS 2 (.*)$', (ROOT / 'README.md').read_text(), flags=re.MULTILINE)
    assert re.findall(r'\w+', heading.replace(' or ', ' ').lower()) == tested


@pytest.mark.parametrize('file', ['.github/workflows/industrial_ci.yml', '.devcontainer/Dockerfile'])
def test_containers_take_what_has_no_rosdep_key_from_the_requirements(file: str) -> None:
    (names,) = re.findall(r"grep -h?E '\^\((.*)\)\[=>\]='", (ROOT / file).read_text())
    text = (ROOT / 'requirements.txt').read_text().partition('without a rosdep key')[2]
    assert names.split('|') == re.findall(r'^([\w-]+)[=>]=', text, flags=re.MULTILINE)


def test_devcontainer_builds_the_dockerfile_beside_it() -> None:
    folder = ROOT / '.devcontainer'
    content = json.loads((folder / 'devcontainer.json').read_text())
    assert (folder / content['build']['dockerfile']).is_file()
    assert (folder / content['build']['context']).resolve() == ROOT
    copied = re.findall(r'^COPY (.*) \S+$', (folder / 'Dockerfile').read_text(), flags=re.MULTILINE)
    assert all((ROOT / name).exists() for names in copied for name in names.split())


def test_hooks_have_the_versions_of_the_test_requirements() -> None:
    hooks = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())
    versions = {entry['repo'].rpartition('/')[2]: entry['rev'] for entry in hooks['repos']}
    assert versions['ruff-pre-commit'] == f'v{_requirements("requirements-test.txt")["ruff"]}'


def test_citation_has_what_the_format_demands_and_our_version() -> None:
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    assert {'cff-version', 'message', 'title', 'authors'} <= set(citation)
    assert citation['cff-version'] == '1.2.0'
    manifest = (ROOT / 'src' / 'pkm_bringup' / 'package.xml').read_text()
    assert f'<version>{citation["version"]}</version>' in manifest
    assert f'<license>{citation["license"]}</license>' in manifest
    for reference in citation['references']:
        assert {'type', 'title', 'authors'} <= set(reference)
