"""Compiled code on the disk: found by every process, never stale, never mixed up, never needed for an import."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from pkm_description.kernels import jit
from pkm_description.kernels.jit import COMPILED, kernel, package_of
from pkm_description.kernels.structures import structure

pytestmark = pytest.mark.skipif(not COMPILED, reason='NUMBA_DISABLE_JIT: nothing is compiled')
ROOT = Path(__file__).resolve().parents[3]
LOW = """
from pkm_description.kernels.jit import kernel

@kernel
def factor():
    return {factor}
"""
HIGH = """
from pkm_description.kernels.jit import kernel
from {package}.kernels.low import factor

@kernel
def scaled(value):
    return factor() * value
"""
CHILD = """
import json
from lower.kernels.high import scaled
from pkm_description.kernels.jit import compiled_kernels
print(json.dumps([{calls}, sorted(compiled_kernels())]))
"""


def write_package(folder, name='lower', factor=2, low='lower'):
    """A package of kernels: `scaled` of its file high.py calls `factor` of the file low.py of the package `low`."""
    kernels = folder / name / 'kernels'
    kernels.mkdir(parents=True, exist_ok=True)
    for init in (folder / name / '__init__.py', kernels / '__init__.py'):
        init.touch()
    (kernels / 'high.py').write_text(HIGH.format(package=low))
    if low == name:
        (kernels / 'low.py').write_text(LOW.format(factor=factor))
        os.utime(kernels / 'low.py', (1e9, 1e9))  # Python itself and Numba look at time and size


@pytest.fixture
def folder(tmp_path):
    write_package(tmp_path / 'site')
    return tmp_path


def start(folder, calls='scaled(10.0)', **environment):
    """A process that calls a kernel; its user has an own folder for caches below `folder`."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith('NUMBA_')}
    variables['XDG_CACHE_HOME'] = str(folder / 'user')
    variables['PYTHONPATH'] = os.pathsep.join([str(folder / 'site'), str(ROOT / 'src/pkm_description')])
    command, pipe = [sys.executable, '-B', '-c', CHILD.format(calls=calls)], subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=variables | environment)


def finish(process):
    """Results of its calls, names of what it compiled, its messages."""
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    *results, compiled = json.loads(out)
    return results, compiled, err


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Import the package as a process of its own would, and call a kernel: as :func:`finish`, in less time."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'user'))
    monkeypatch.syspath_prepend(tmp_path / 'site')
    monkeypatch.setattr(sys, 'dont_write_bytecode', True)
    monkeypatch.delenv('NUMBA_CACHE_DIR', raising=False)

    def forget():
        for name in [name for name in sys.modules if name.partition('.')[0] in {'lower', 'upper'}]:
            del sys.modules[name]
        importlib.invalidate_caches()
        for function in (jit.sources_digest, jit.cache_folder):
            function.cache_clear()

    def call(package='lower', between=lambda: None, boundscheck=None, chosen=''):
        forget()
        with monkeypatch.context() as changed:
            changed.setattr(jit, '_kept', [])
            changed.setattr(numba.config, 'BOUNDSCHECK', boundscheck)
            if chosen:
                changed.setenv('NUMBA_CACHE_DIR', chosen)
            scaled = importlib.import_module(f'{package}.kernels.high').scaled
            between()
            return [scaled(10.0)], sorted(jit.compiled_kernels()), capsys.readouterr().err

    yield call
    forget()


def compiled_below(folder):
    return sorted(path.name.split('-')[0] for path in folder.rglob('*.nbc'))


BOTH = ['factor', 'scaled']


def test_second_process_compiles_nothing_and_says_nothing(folder, run):
    results, compiled, messages = run()
    assert (results, compiled) == ([20.0], BOTH)
    assert messages.count('\n') == 1 and 'compiling kernels' in messages
    assert compiled_below(folder / 'site') == ['high.scaled', 'low.factor'] and not (folder / 'user').exists()
    assert run() == ([20.0], [], '')
    assert finish(start(folder)) == ([20.0], [], '')


def test_what_was_compiled_from_the_sources_is_found_through_a_link_to_them(folder, run):
    """As `colcon build --symlink-install` makes it."""
    assert run()[1] == BOTH
    (folder / 'linked').symlink_to(folder / 'site')
    path = os.pathsep.join([str(folder / 'linked'), str(ROOT / 'src/pkm_description')])
    assert finish(start(folder, PYTHONPATH=path)) == ([20.0], [], '')


@pytest.mark.parametrize('package', ['lower', 'upper'])
def test_caller_follows_change_in_another_file(folder, run, package):
    """The trap: the file of the caller is as before; size and time of the other one, too."""
    write_package(folder / 'site', name='upper')
    assert run(package)[0] == [20.0]
    write_package(folder / 'site', factor=3)
    assert run(package)[:2] == ([30.0], BOTH)
    write_package(folder / 'site', factor=2)
    assert run(package)[:2] == ([20.0], []), 'the state before is still there'


def test_another_processor_and_other_options_have_code_of_their_own(folder, run):
    assert run()[1] == BOTH
    assert run(boundscheck=1)[1] == BOTH
    assert finish(start(folder, NUMBA_CPU_NAME='generic'))[1] == BOTH


def test_read_only_installation_is_used_from_the_folder_of_the_user(folder, run, monkeypatch):
    assert run()[1] == BOTH
    temporary_file = jit.tempfile.TemporaryFile

    def refuse(dir):
        if Path(dir).is_relative_to(folder / 'site'):
            raise PermissionError(f'{dir} is read-only')
        return temporary_file(dir=dir)

    monkeypatch.setattr(jit.tempfile, 'TemporaryFile', refuse)
    assert run() == ([20.0], [], '')
    assert compiled_below(folder / 'user/pkm/lower.kernels') == ['high.scaled', 'low.factor']


def test_user_folder_where_package_cannot_be_written(folder, run):
    (folder / 'site/lower/kernels/__pycache__').touch()
    assert run()[1] == BOTH
    assert compiled_below(folder / 'user/pkm/lower.kernels') == ['high.scaled', 'low.factor']
    assert run() == ([20.0], [], '')


def test_import_and_result_where_nothing_can_be_written(folder, run):
    (folder / 'site/lower/kernels/__pycache__').touch()
    results, _, messages = run(chosen='/proc/nowhere')
    assert results == [20.0]
    assert messages.count('cannot be kept') == 1 and '/proc/nowhere' in messages


def test_processes_that_compile_at_the_same_time(folder):
    """The same kernel with two signatures: Numba's own cache can then return the code of the other one."""
    calls = {'scaled(10.0)': 20.0, 'scaled(10)': 20}
    together = [(start(folder, call), result) for call, result in calls.items()]
    for process, result in together:
        (value,), *_ = finish(process)
        assert value == result and type(value) is type(result)
    results, compiled, _ = finish(start(folder, ', '.join(calls)))
    assert (results, compiled) == ([20.0, 20], []) and type(results[1]) is int


def test_code_of_sources_that_have_changed_meanwhile_is_kept_for_the_old_ones(folder, run):
    path = folder / 'site/lower/kernels/low.py'
    assert run(between=lambda: path.write_text(LOW.format(factor=3)))[0] == [20.0]
    assert run()[:2] == ([30.0], BOTH)


def test_plain_python(folder):
    calls = 'scaled(10.0), type(scaled).__name__'
    assert finish(start(folder, calls, NUMBA_DISABLE_JIT='1')) == ([20.0, 'function'], [], '')
    assert not (folder / 'site/lower/kernels/__pycache__').exists()


def test_folders_used_last_remain(folder, run):
    home = folder / 'site/lower/kernels/__pycache__/compiled'
    for age, name in enumerate(['e', 'a', 'd', 'b', 'c']):
        (home / name).mkdir(parents=True)
        os.utime(home / name, (1e9 - age, 1e9 - age))
    run()
    assert sorted(path.name for path in home.iterdir() if len(path.name) == 1) == ['a', 'd', 'e']


def test_package_of():
    assert package_of('a.kernels.b.c') == package_of('a.kernels') == 'a.kernels'
    assert package_of('a.kernels_of_b') == package_of('__main__') == ''


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_fingerprint_covers_what_kernels_are_made_of():
    """A constant of another module would be compiled in, but not be seen when it changes."""
    paths = sorted(path for path in ROOT.glob('src/*/*/**/*.py') if 'kernels' in path.parts)
    assert len(paths) > 5
    for path in paths:
        own = {name for name in imported_modules(path) if name.startswith('pkm_')}
        outside = {name for name in own if not package_of(name)} - {'pkm_description.arrays'}
        assert not outside, f'{path} imports {outside}'


def test_kernels_stand_in_packages_of_kernels():
    for path in ROOT.glob('src/*/pkm_*/**/*.py'):
        if 'kernels' not in path.parts:
            assert '@kernel' not in path.read_text(), f'{path}: nothing of it is kept on the disk'


class Numbers(NamedTuple):
    """What a kernel reads and writes."""

    table: np.ndarray
    count: int
    factor: float


@kernel
def multiply(numbers: Numbers) -> float:
    """A row at a time, and the last column changes what is read."""
    total = 0.0
    for i in range(numbers.count):
        for k in range(numbers.table.shape[1]):
            total += numbers.factor * numbers.table[i, k]
        numbers.table[i, 0] = total
    return total


def test_structure_shares_its_arrays_and_gives_the_results_of_the_tuple():
    table = np.arange(6.0).reshape(2, 3)
    numbers = Numbers(table, 2, 0.5)
    expected = multiply.py_func(numbers._replace(table=table.copy()))
    assert multiply(structure(numbers)) == expected == 7.5
    assert table[:, 0].tolist() == [1.5, 7.5]


@pytest.mark.parametrize('table', [np.ones((3, 2)).T, np.ones((2, 3), dtype=np.float32)])
def test_structure_of_other_arrays_reads_them_as_they_are(table):
    assert multiply(structure(Numbers(table.copy('K'), 2, 0.5))) == 3.0
