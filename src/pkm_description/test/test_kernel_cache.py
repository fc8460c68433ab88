"""Compiled code on the disk: found by every process, never stale, never mixed up, never needed for an import."""

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from pkm_description.kernels import cache, sources
from pkm_description.kernels.jit import COMPILED, kernel, structure

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
from pkm_description.kernels import cache
print(json.dumps([{calls}, sorted(cache.compiled), sorted(cache.loaded)]))
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
    """Results of its calls, names of what it compiled and loaded, its messages."""
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    *results, compiled, loaded = json.loads(out)
    return results, compiled, loaded, err


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
        for function in (sources.digest_at_import, cache.folders_of):
            function.cache_clear()

    def call(package='lower', between=lambda: None, boundscheck=None, chosen=''):
        forget()
        with monkeypatch.context() as changed:
            changed.setattr(cache, 'compiled', [])
            changed.setattr(cache, 'loaded', [])
            changed.setattr(cache, '_said', set())
            changed.setattr(numba.config, 'BOUNDSCHECK', boundscheck)
            if chosen:
                changed.setenv('NUMBA_CACHE_DIR', chosen)
            scaled = importlib.import_module(f'{package}.kernels.high').scaled
            between()
            return [scaled(10.0)], sorted(cache.compiled), sorted(cache.loaded), capsys.readouterr().err

    yield call
    forget()


def files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob('*') if path.is_file()}


#: what Python calls; the code of `factor` is inside
ENTRY = ['lower.kernels.high.scaled']


def test_second_process_compiles_nothing_and_says_nothing(folder, run):
    results, compiled, loaded, messages = run()
    assert (results, compiled, loaded) == ([20.0], ENTRY, [])
    assert messages.count('\n') == 1 and 'compiling the kernels of lower: this was not done yet' in messages
    before = files(folder)
    assert len(before) == 5 and not (folder / 'user').exists()
    # as in an installation that is read-only: nothing is written
    home = str(folder / 'site/lower/kernels/__pycache__/compiled')
    for path, _, _ in os.walk(home):
        os.chmod(path, 0o555)
    assert run(chosen='/proc/nowhere') == ([20.0], [], ENTRY, '')
    assert files(folder) == before


@pytest.mark.parametrize('moved', [False, True], ids=['same folder', 'installed anew'])
def test_caller_follows_change_in_another_file(folder, run, moved):
    """The trap: the file of the caller is as before; size and time of the other one, too."""
    assert run()[0] == [20.0]
    write_package(folder / 'site', factor=3)
    if moved:
        shutil.copytree(folder / 'site', folder / 'next')
        shutil.rmtree(folder / 'site')
        (folder / 'next').rename(folder / 'site')
    results, compiled, _, messages = run()
    assert (results, compiled) == ([30.0], ENTRY)
    assert 'sources, numba, NumPy or Python are others than when this was done' in messages
    write_package(folder / 'site', factor=2)
    assert run()[:2] == ([20.0], []), 'the state before is still there'


def test_caller_follows_change_in_another_package(folder, run):
    write_package(folder / 'site', name='upper')
    assert run('upper')[0] == [20.0]
    write_package(folder / 'site', factor=3)
    results, compiled, _, _ = run('upper')
    assert (results, compiled) == ([30.0], ['upper.kernels.high.scaled'])


def test_code_for_any_processor_is_used_by_this_one(folder, run):
    assert finish(start(folder, NUMBA_CPU_NAME='generic'))[1] == ENTRY
    assert run()[:2] == ([20.0], [])


def test_code_for_another_processor_is_not(folder, run):
    assert run()[1] == ENTRY
    other = 'x86-64-v2' if os.uname().machine == 'x86_64' else 'cortex-a53'
    _, compiled, _, messages = finish(start(folder, NUMBA_CPU_NAME=other, NUMBA_CPU_FEATURES=''))
    assert compiled == ENTRY and 'what is there is for another processor' in messages


def test_other_compiler_options_have_code_of_their_own(folder, run):
    assert run()[1] == ENTRY
    assert run(boundscheck=1)[1] == ENTRY


def test_user_folder_where_package_cannot_be_written(folder, run):
    (folder / 'site/lower/kernels/__pycache__').touch()
    assert run()[1] == ENTRY
    assert len(files(folder / 'user/pkm/lower.kernels')) == 1
    assert run() == ([20.0], [], ENTRY, '')


def test_import_and_result_where_nothing_can_be_written(folder, run):
    (folder / 'site/lower/kernels/__pycache__').touch()
    results, compiled, _, messages = run(chosen='/proc/nowhere')
    assert (results, compiled) == ([20.0], ENTRY)
    assert messages.count('cannot be kept') == 1 and '/proc/nowhere' in messages and 'XDG_CACHE_HOME' in messages


def test_damaged_files_are_compiled_again(folder, run):
    run()
    for path in files(folder / 'site/lower/kernels/__pycache__/compiled'):
        path.write_bytes(path.read_bytes()[:-100])
    assert run()[:2] == ([20.0], ENTRY)
    assert run()[:2] == ([20.0], [])


def test_processes_that_compile_at_the_same_time(folder):
    """The same kernel with two signatures: Numba's own cache can then return the code of the other one."""
    calls = {'scaled(10.0)': 20.0, 'scaled(10)': 20}
    together = [(start(folder, call), result) for call, result in calls.items()]
    for process, result in together:
        (value,), *_ = finish(process)
        assert value == result and type(value) is type(result)
    results, compiled, _, _ = finish(start(folder, ', '.join(calls)))
    assert (results, compiled) == ([20.0, 20], []) and type(results[1]) is int
    assert not [path for path in files(folder) if path.name.count('.') > 5], 'temporary files'


def test_code_of_sources_that_have_changed_meanwhile_is_not_kept(folder, run):
    path = folder / 'site/lower/kernels/low.py'
    assert run(between=lambda: path.write_text(LOW.format(factor=3)))[:2] == ([20.0], ENTRY)
    assert not (folder / 'site/lower/kernels/__pycache__').exists()


def test_plain_python(folder):
    calls = 'scaled(10.0), type(scaled).__name__'
    assert finish(start(folder, calls, NUMBA_DISABLE_JIT='1')) == ([20.0, 'function'], [], [], '')
    assert not (folder / 'site/lower/kernels/__pycache__').exists()


def test_states_used_last_remain(tmp_path):
    for age, name in enumerate(['e', 'a', 'd', 'b', 'c', 'f']):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    cache.remove_old(tmp_path / 'f')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['a', 'd', 'e', 'f']


def test_kernel_with_variables_of_another_function_is_refused():
    offset = 1.0

    def shifted(value):
        return value + offset

    assert kernel(shifted)(1.0) == 2.0, 'outside of packages of kernels nothing is kept, so this is no fault'
    shifted.__module__ = 'pkm_description.kernels.example'
    with pytest.raises(TypeError, match='shifted depends on offset of the function around it: make it an argument'):
        kernel(shifted)


def test_package_of():
    assert sources.package_of('a.kernels.b.c') == sources.package_of('a.kernels') == 'a.kernels'
    assert sources.package_of('a.kernels_of_b') is None and sources.package_of('__main__') is None


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
        outside = {name for name in own if sources.package_of(name) is None} - {'pkm_description.arrays'}
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


@pytest.mark.parametrize('table', [np.zeros((3, 2)).T, np.zeros((2, 3), dtype=np.float32), np.zeros((2, 3), bool)])
def test_structure_refuses_arrays_that_it_would_misread(table):
    with pytest.raises(TypeError, match=f'table: kernels take C-contiguous arrays .*, not {table.dtype}'):
        structure(Numbers(table, 2, 0.5))


def test_structure_refuses_what_is_no_number():
    with pytest.raises(TypeError, match='factor: kernels take .*, not str'):
        structure(Numbers(np.zeros((2, 3)), 2, 'half'))
