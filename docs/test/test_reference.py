"""The generated reference has every node, program, launch file, parameter, argument and key."""

from __future__ import annotations

import numpy_docstrings
import pytest
import reference_tables
from pkm_bringup.nodes.recorder import RecorderSettings
from pkm_bringup.nodes.simulator import SimulatorSettings
from pkm_description.settings import settings_of
from pkm_identification.configuration import IdentificationConfig
from suite_contents import asked_elsewhere, launch_files, programs

from pkm_estimation.config import EstimatorConfig


def _section(text: str, name: str) -> str:
    return text.split(f'## `{name}`\n')[1].split('\n## ')[0]


def test_every_program_is_either_a_node_or_has_its_help() -> None:
    nodes, others = reference_tables.nodes(), reference_tables.programs()
    for program in programs():
        assert (f'## `{program.name}`' in nodes) != (f'## `{program.name}`' in others), program
    assert 'usage: inspect_machine' in _section(others, 'inspect_machine')
    assert 'imu/data_raw` (sensor_msgs/msg/Imu)' in _section(nodes, 'estimator')


@pytest.mark.parametrize(
    ('node', 'settings'),
    [
        ('estimator', EstimatorConfig),
        ('identification', IdentificationConfig),
        ('recorder', RecorderSettings),
        ('simulator', SimulatorSettings),
    ],
)
def test_every_setting_of_a_node_is_listed(node: str, settings: type) -> None:
    section = _section(reference_tables.nodes(), node)
    for name, entry in settings_of(settings).items():
        assert f'| `{name}` |' in section
        assert entry.metadata['description'].replace('|', '\\|') in section


def test_ranges_choices_and_defaults() -> None:
    section = _section(reference_tables.nodes(), 'estimator')
    assert '| `view_rate` | number | `100.0` | 0 to 10000 |' in section
    assert '`best_effort`, `reliable`' in section


def test_every_launch_file_with_its_arguments() -> None:
    text = reference_tables.launch_files()
    for _, path in launch_files():
        machines = '| `robots` | `left:srs right:palida` |' if 'several' in path.name else '| `machine` | `srs` |'
        assert machines in _section(text, path.name)


def test_keys_of_the_machine_file() -> None:
    rows = {row['place']: row for row in asked_elsewhere('ask_programs.py')['machine_files']['keys']}
    assert rows['legs.<leg>']['needed'] == ['base_point', 'base_rpy', 'platform_point']
    assert 'rotor_inertia' in rows['leg_chain.<joint>']['optional']
    assert not set(rows['leg_chain.<joint>']['needed']) & set(rows['leg_chain.<joint>']['optional'])


def test_descriptions_stand_below_the_names() -> None:
    docstring = ['Do it.', '', 'Parameters', '----------', 'a, b : m, |a| <= 1', '', 'Returns', '-------', 'x : y']
    assert list(numpy_docstrings.rewritten(docstring))[4:6] == ['a, b', '    m, \\|a\\| <= 1']
    assert list(numpy_docstrings.rewritten(docstring))[-1] == 'x : y'
