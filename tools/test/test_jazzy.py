"""The suite with the rclpy of ROS 2 Jazzy, from wheels in an environment of its own (``tools/setup/wheels.sh``)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JAZZY = ROOT / '.venv' / 'jazzy'
PYTHON = JAZZY / 'bin' / 'python'
PACKAGES = ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup')
#: imports every module, and runs the tests of a file
PROGRAM = """
import importlib, pkgutil, sys
import pytest, rclpy
assert rclpy.__file__.startswith(sys.prefix), rclpy.__file__
file, *packages = sys.argv[1:]
count = 0
for name in packages:
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f'{name}.'):
        importlib.import_module(module.name)
        count += 1
print(count, 'modules', flush=True)
sys.exit(pytest.main(['-q', '-x', '-p', 'no:cacheprovider', file]))
"""

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason='a ROS 2 is installed: this one is not set up beside it')


def _in_front(folders: list[Path], variable: str) -> str:
    """Paths of a variable without those of the other ROS, behind some folders."""
    others = [path for path in os.environ.get(variable, '').split(os.pathsep) if path and '.venv' not in path]
    return os.pathsep.join([*map(str, folders), *others])


def _run(*arguments: str) -> str:
    """Output of Jazzy's Python; what the present environment has of another ROS is not seen."""
    version = f'python{sys.version_info.major}.{sys.version_info.minor}'
    # the wheels set the path of their libraries once, at the start of the first Python
    left_out = ('CMAKE_PREFIX_PATH', 'ROS_DOMAIN_ID', '_ROS_WHEELS_BOOTSTRAP_COMPLETE')
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    underlay, tools = JAZZY / 'underlay', ROOT / 'tools'
    modules = [underlay / 'lib' / version / 'site-packages', tools / 'launch_runner' / 'look_alikes', tools]
    environment |= {
        'AMENT_PREFIX_PATH': _in_front([underlay, JAZZY], 'AMENT_PREFIX_PATH'),
        'PYTHONPATH': _in_front(modules, 'PYTHONPATH'),
        'LD_LIBRARY_PATH': str(underlay / 'lib'),
        'PATH': f'{JAZZY / "bin"}{os.pathsep}{os.environ["PATH"]}',
    }
    ended = subprocess.run(
        [str(PYTHON), *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_every_module_imports_and_the_estimator_node_works() -> None:
    tests = ROOT / 'src' / 'pkm_estimation' / 'test' / 'test_estimator_node.py'
    output = _run('-c', PROGRAM, str(tests), *PACKAGES)
    assert int(output.partition(' modules')[0]) > 100
    assert ' passed' in output
