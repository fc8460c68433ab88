"""Comparison of models over one recording, and of results on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from known_machines import known_machine
from pkm_identification.compare import parameter_differences
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.nodes.compare import main
from pkm_identification.validation.other_motions import ladder_table, model_ladder
from synthetic import clean_signals, recording


@pytest.mark.parametrize(
    ('name', 'profiles'),
    [
        ('palida', ('fourier', 'fourier_validation')),
        pytest.param('valencia_3rps', ('drives', 'drives'), marks=pytest.mark.campaign),
    ],
)
def test_ladder(name: str, profiles: tuple[str, str]) -> None:
    """Each model has fewer parameters and more training error; the true nominal machine predicts as well as any."""
    machine = known_machine(name)
    signals = [clean_signals(machine, one, 15.0, 100.0, seed) for seed, one in enumerate(profiles)]
    runs = [recording(machine, one, seed) for seed, one in enumerate(signals)]
    rungs = {rung.name: rung for rung in model_ladder(machine, *runs)}
    whole, few = rungs['all base parameters'], rungs['significant ones, others nominal']
    assert 0 < few.parameters < whole.parameters and few.identified == few.parameters
    assert few.condition < whole.condition
    assert few.training.relative >= 0.95 * whole.training.relative
    # the nominal machine is the true one: parameters held there cost nothing, those that are fitted cost noise
    assert few.held_out.relative < 1.02 * whole.held_out.relative
    assert rungs['nominal machine'].held_out.relative < 1.02 * whole.held_out.relative
    assert rungs['nominal machine'].parameters == 0
    light = rungs['legs without mass']
    assert light.parameters == rungs['legs nominal'].parameters and light.feasible is None
    assert light.held_out.relative > rungs['legs nominal'].held_out.relative
    header, rows = ladder_table(list(rungs.values()))
    assert all(len(row) == len(header) for row in rows)


def test_results_on_disk(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for name in ('first', 'second'):
        shutil.copytree(written, tmp_path / name)
    file = tmp_path / 'second' / 'parameters.yaml'
    content = yaml.safe_load(file.read_text())
    moved = content['base_parameters'][3]
    moved['value'] += 5.0 * moved['std']
    content['force_error']['validation']['fit']['below_cutoff']['relative_to_force_rms'] = 1e-5
    file.write_text(yaml.safe_dump(content))
    assert main([str(tmp_path / 'first'), str(file), '--differences', '2']) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[2].split()[0] == 'second' and lines[3].split()[0] == 'first'  # the better one stands above
    assert f'{5.0 / np.sqrt(2.0):.2f}' in text and moved['name'] in text
    original = yaml.safe_load((tmp_path / 'first' / 'parameters.yaml').read_text())
    found = parameter_differences(original, content)
    assert found[0].name == moved['name'] and found[0].sigmas == pytest.approx(5.0 / np.sqrt(2.0))
    assert found[1].sigmas == 0.0
    content['force_error']['validation']['source'] = 'another run'
    file.write_text(yaml.safe_dump(content))
    assert main([str(tmp_path / 'first'), str(file)]) == 0
    assert 'judged on different held-out data (another run, held-out run)' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ([], 'give folders of results, or --bag'),
        (['nowhere'], 'cannot be read'),
        (['{folder}/empty.yaml'], 'is not a parameters.yaml'),
        (['--bag', 'nowhere'], 'nowhere'),
    ],
)
def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture, arguments: list[str], words: str) -> None:
    (tmp_path / 'empty.yaml').write_text('{}')
    assert main([one.format(folder=tmp_path) for one in arguments]) == 1
    text = capsys.readouterr().err
    assert text.startswith('error: ') and words in text


def test_settings_decide_the_first_model() -> None:
    machine = known_machine('palida')
    runs = [recording(machine, clean_signals(machine, 'fourier', 12.0, 100.0, seed), seed) for seed in range(2)]
    held = IdentificationConfig.from_mapping({'columns.fixed': ('leg_*',)})
    rungs = model_ladder(machine, *runs, held)
    assert rungs[0].parameters == 22
