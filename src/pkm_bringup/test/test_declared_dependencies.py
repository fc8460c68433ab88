"""Every import of a package stands in its package.xml, launch files and tests included."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

SOURCE = Path(__file__).resolve().parents[2]
PACKAGES = sorted(path.parent.name for path in SOURCE.glob('*/package.xml'))

#: rosdep keys of modules that are not called like their package
KEYS = {
    'PIL': 'python3-pil',
    'hypothesis': 'python3-hypothesis',
    'jinja2': 'python3-jinja2',
    'matplotlib': 'python3-matplotlib',
    'numpy': 'python3-numpy',
    'pytest': 'python3-pytest',
    'scipy': 'python3-scipy',
    'yaml': 'python3-yaml',
}

#: modules that no package.xml names, and why
WITHOUT_KEY = {
    'distributed': 'design_excitation --dask says so where it is not installed',
    'mujoco': 'no rosdep key; requirements.txt',
    'llvmlite': 'comes with numba',
    'lz4': 'comes with rosbags',
    'numba': 'the rosdep key python3-numba names a package that Ubuntu 24.04 does not have; requirements.txt',
    'rosbags': 'no rosdep key; requirements.txt',
    'pinocchio': 'import_machine compares its result with it where it is installed, and says so where it is not',
    'viser': 'no rosdep key; requirements.txt',
}
WITHOUT_KEY_IN_TESTS = WITHOUT_KEY | {
    'benchmarks': 'folder of this repository, no ROS package',
    'clarabel': 'no rosdep key; the solver of cvxpy; requirements-test.txt',
    'cvxpy': 'no rosdep key; only a peer in the tests; requirements-test.txt',
    'verification': 'folder of this repository, no ROS package',
    'pkm_bringup': 'needs the packages that test against its simulator: declared, it would close a circle',
}


def imported(files: Iterable[Path]) -> set[str]:
    """Top-level modules that files import, anywhere in them; without the standard library and the files themselves."""
    modules, local = set(), set()
    for file in files:
        local.add(file.stem)
        for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition('.')[0])
    return modules - local - set(sys.stdlib_module_names)


def declared(package: str, *kinds: str) -> set[str]:
    """Dependencies of these kinds in a package.xml."""
    root = ElementTree.parse(SOURCE / package / 'package.xml').getroot()
    return {str(entry.text) for kind in kinds for entry in root.iter(kind)}


def missing(package: str, modules: set[str], keys: set[str], exempt: dict[str, str]) -> list[str]:
    """Modules that neither are the package itself nor stand among the keys."""
    wanted = modules - {package} - set(exempt)
    return sorted(module for module in wanted if KEYS.get(module, module) not in keys)


def test_undeclared_imports_are_found(tmp_path: Path) -> None:
    file = tmp_path / 'some.py'
    file.write_text('import os, some\n\ndef work():\n    from scipy.linalg import qr\n    import nowhere.at_all\n')
    assert missing('own', imported([file]), {'python3-scipy'}, {}) == ['nowhere']
    assert missing('own', imported([file]), {'rclpy'}, {}) == ['nowhere', 'scipy']


@pytest.mark.parametrize('package', PACKAGES)
def test_imports_are_declared(package: str) -> None:
    folder = SOURCE / package
    modules = imported([*(folder / package).rglob('*.py'), *(folder / 'launch').glob('*.py')])
    assert 'numpy' in modules
    assert missing(package, modules, declared(package, 'depend', 'exec_depend'), WITHOUT_KEY) == []


@pytest.mark.parametrize('package', PACKAGES)
def test_imports_of_tests_are_declared(package: str) -> None:
    helpers = {file.stem for file in SOURCE.glob('*/test/*.py')}  # of all packages: on the path of pytest
    modules = imported((SOURCE / package / 'test').glob('*.py')) - helpers
    assert 'pytest' in modules
    keys = declared(package, 'depend', 'exec_depend', 'test_depend')
    assert missing(package, modules, keys, WITHOUT_KEY_IN_TESTS) == []


@pytest.mark.parametrize('package', PACKAGES)
def test_package_says_whose_it_is_and_what_changed(package: str) -> None:
    root = ElementTree.parse(SOURCE / package / 'package.xml').getroot()
    assert root.get('format') == '3'
    assert {entry.get('type') for entry in root.iter('url')} == {'website', 'repository', 'bugtracker'}
    assert root.find('author') is not None
    changes = (SOURCE / package / 'CHANGELOG.rst').read_text(encoding='utf-8')
    title = f'Changelog for package {package}'
    line = '^' * len(title)
    assert changes.startswith(f'{line}\n{title}\n{line}\n')
    assert 'Forthcoming\n-----------\n' in changes
