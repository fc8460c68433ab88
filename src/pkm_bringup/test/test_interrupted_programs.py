"""Ctrl-C while a program still imports its modules: it ends, and says nothing."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import signal
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from node_processes import NodeProcess, wait_for
from pkm_description.program import LazyProgram, start

PACKAGES = ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup')
ENTRIES = {
    (package, entry.name): entry
    for package in PACKAGES
    for entry in importlib.metadata.distribution(package.replace('_', '-')).entry_points
    if entry.group == 'console_scripts'
}


@pytest.mark.parametrize(('package', 'name'), ENTRIES)
def test_finding_a_program_imports_nothing_heavy(package: str, name: str) -> None:
    """What the script does first, with nothing installed for SIGINT, is over at once."""
    entry = ENTRIES[package, name]
    assert entry.module == 'pkm_description.program', 'its setup.py should pass it through lazy_programs'
    assert isinstance(entry.load(), LazyProgram)
    package_file = importlib.import_module(package).__file__
    assert package_file is not None
    module = Path(package_file).parents[1] / entry.attr.removeprefix('start.').replace('.', '/')
    assert module.with_suffix('.py').is_file()


@pytest.mark.parametrize('library', ['_multiarray_umath', '_rclpy_pybind11|_ufuncs|_yaml'])
@pytest.mark.parametrize(
    ('package', 'program'),
    [
        ('pkm_description', 'state_publisher'), ('pkm_description', 'inspect_machine'),
        ('pkm_estimation', 'estimator'), ('pkm_identification', 'identify'), ('pkm_bringup', 'simulator'),
    ],
)  # fmt: skip
def test_interrupted_while_importing(package: str, program: str, library: str) -> None:
    """When the first of its libraries are loaded."""
    with NodeProcess(package, program, [] if program != 'identify' else ['/nowhere', '--machine', 'srs']) as process:
        maps = Path(f'/proc/{process.process.pid}/maps')
        wait_for(lambda: process.returncode is not None or bool(re.search(library, maps.read_text())), library)
        if process.returncode is None:
            process.process.send_signal(signal.SIGINT)
            process.wait()
            assert process.returncode in (0, 130), process.output
        assert 'Traceback' not in process.output and 'KeyboardInterrupt' not in process.output, process.output


def test_program_keeps_what_its_main_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of it is 130, as in a shell."""
    module = importlib.import_module('pkm_description.nodes.new_machine')
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    results = iter([3, None])
    monkeypatch.setattr(module, 'main', lambda: next(results))
    assert start.pkm_description.nodes.new_machine() == 3
    assert start.pkm_description.nodes.new_machine() == 0

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module, 'main', interrupted)
    assert start.pkm_description.nodes.new_machine() == 130
    signal.signal(signal.SIGINT, before)
