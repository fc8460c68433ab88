"""Settings that no machine and no recording can fulfil are refused, with what is allowed and the file."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace

import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.ros import parameters
from pkm_description.settings import default_of, settings_of
from pkm_estimation.nodes.estimate import main
from pkm_estimation.nodes.node_settings import EstimatorNodeSettings, load_config
from pkm_estimation.stream.pipeline import EstimatorPipeline

from pkm_estimation.config import EstimatorConfig


def test_more_legs_than_the_machine_has_are_refused(tmp_path, capsys):
    file = tmp_path / 'settings.yaml'
    file.write_text('minimum_legs: 99\n')
    reason = r'minimum_legs = 99: must be a whole number from 1 to 6, the legs of srs'
    with pytest.raises(ConfigurationError, match=f'^{file}: {reason}'):
        EstimatorPipeline(load_machine('srs'), load_config(file))
    with pytest.raises(ConfigurationError, match=f'^{reason}'):
        EstimatorPipeline(load_machine('srs'), EstimatorConfig(minimum_legs=99))
    for machine, legs in (('srs', 6), ('five_bar', 2)):
        EstimatorPipeline(load_machine(machine), EstimatorConfig(minimum_legs=legs))


def test_error_for_a_setting_names_its_file(tmp_path, capsys):
    file = tmp_path / 'settings.yaml'
    for text in ('minimum_legs: 1000', 'q_scale: -1.0', 'reference_point: [1.0e+9, 0.0, 0.0]'):
        file.write_text(text)
        assert main([str(tmp_path), '--config', str(file)]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f'error: {file}: {text.partition(":")[0]} = ')
        assert 'from' in said
        assert said.count('\n') == 1


def test_node_names_the_parameter_file(tmp_path, monkeypatch):
    for name in ('first', 'second', 'launch_params_x'):
        (tmp_path / name).write_text('/**:\n  ros__parameters:\n    q_scale: -1.0\n')
    given = ('first', 'second', 'launch_params_x')
    files = [part for name in given for part in ('--params-file', str(tmp_path / name))]
    monkeypatch.setattr(sys, 'argv', ['estimator', '--ros-args', *files])
    node = SimpleNamespace(get_name=lambda: 'estimator')
    assert parameters.file_with(node, ['q_scale']) == f'{tmp_path / "second"}: '
    assert parameters.file_with(node, ['r_scale']) == ''


@pytest.mark.parametrize('kind', [EstimatorConfig, EstimatorNodeSettings])
def test_every_number_has_a_range(kind):
    for name, entry in settings_of(kind).items():
        default = default_of(entry)
        sample = default[0] if isinstance(default, tuple) and default else default
        if isinstance(sample, int | float) and not isinstance(sample, bool):
            low, high = entry.metadata['low'], entry.metadata['high']
            assert low < high, name
            above = int(high + abs(high) + 1)
            beyond = [above] * len(default) if isinstance(default, tuple) else above
            with pytest.raises(ConfigurationError, match=f'^{name} = .* from '):
                dataclasses.replace(kind(), **{name: beyond})
