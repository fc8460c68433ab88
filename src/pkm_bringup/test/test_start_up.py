"""No program compiles what compile_kernels should have compiled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pkm_description.kernels.jit import COMPILED
from pkm_description.nodes.compile_kernels import main

pytest.importorskip('rclpy')

from benchmarks.bench_start_up import NODES, start

#: called for models of users only, written in Python
FOR_USERS = {'predict_from_points'}
FIRST_CALLS = """
import contextlib, importlib, json, pkgutil
from numba.core.dispatcher import Dispatcher
from pkm_description.nodes.compile_kernels import compile_share

compile_share(0)
missing, seen = set(), 0
for package in ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup'):
    folder = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(folder, f'{package}.'):
        if '.kernels.' not in module.name:  # kernels call each other without Python
            with contextlib.suppress(ImportError):  # of an optional package
                for value in vars(importlib.import_module(module.name)).values():
                    if isinstance(value, Dispatcher):
                        seen += 1
                        if not value.signatures:
                            missing.add(value.__name__)
print(json.dumps([seen, sorted(missing)]))
"""


@pytest.fixture(scope='module')
def compiled() -> tuple[int, set[str]]:
    """Kernels that Python calls: how many, and those that compile_kernels does not reach. All are on the disk then."""
    done = subprocess.run([sys.executable, '-c', FIRST_CALLS], timeout=900, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen, missing = json.loads(done.stdout)
    return seen, set(missing)


@pytest.mark.skipif(not COMPILED, reason='NUMBA_DISABLE_JIT: nothing is compiled')
@pytest.mark.timeout(1000)
def test_first_calls_reach_every_kernel_that_python_calls(compiled: tuple[int, set[str]]) -> None:
    """Nobody waits for the compiler in the midst of work."""
    seen, missing = compiled
    assert seen > 50
    assert missing <= FOR_USERS


def test_packages_that_are_not_there_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['pkm_nothing']) == 1
    assert 'pkm_nothing' in capsys.readouterr().err


def test_the_set_up_compiles_all_packages_that_have_kernels() -> None:
    sources = Path(__file__).resolve().parents[2]
    packages = sorted(path.parent.name for path in sources.glob('*/*/first_calls.py'))
    if packages:  # in a checkout
        assert f'packages=({" ".join(packages)})' in (sources.parent / 'tools/setup/workspace.sh').read_text()


@pytest.mark.campaign
def test_named_packages_need_not_be_installed(compiled: tuple[int, set[str]]) -> None:
    """As the set-up does it, which these tests have behind them."""
    program = [sys.executable, '-m', 'pkm_description.nodes.compile_kernels']
    arguments = ['--processes', '1', 'pkm_description', 'pkm_identification']
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert 'pkm_description: 0 compiled' in done.stdout and 'pkm_identification: 0 compiled' in done.stdout


USE = """
import numpy as np
from pkm_description import *
from pkm_description.kernels.jit import compiled_kernels
from pkm_description.kinematics import assembly_modes
from pkm_estimation import estimate, measure

for name in {machines}:
    machine = load_machine(name)
    motion = profile('drives', machine, duration=2.0, rate=50)
    q = drive_positions(machine, motion)
    poses = forward_kinematics(machine, q).require()
    forces = inverse_dynamics(machine, motion)
    forward_dynamics(machine, motion.position, motion.rotation_base_platform, motion.twist, forces)
    rigid_body_regressor(machine, motion[3:7]), base_parameters(machine)
    gravity_forces(machine, machine.home.position, machine.home.rotation_base_platform)
    estimate(machine, measure(machine, motion))
    # arrays of other layouts: read-only, with gaps, column by column
    one = np.broadcast_to(q[0], (3, 6)), np.repeat(q[:3], 2, axis=1)[:, ::2], np.asfortranarray(q[:3])
    for drives in one:
        found = forward_kinematics(machine, drives).require()
        gravity_forces(machine, found.position[::-1], found.rotation_base_platform[::-1])
    assembly_modes(machine, one[0][0], quiet_batches=1)
    check_motion(machine, motion)
    for joint in machine.joints:
        joint.friction.law.force(np.broadcast_to(0.1, 2), np.broadcast_to(1.0, 2))
assert not compiled_kernels(), compiled_kernels()
"""


@pytest.mark.timeout(1000)
def test_public_functions_compile_nothing(compiled: tuple[int, set[str]]) -> None:
    """On a machine that compile_kernels has not seen: kernels are the same for all."""
    code = USE.format(machines=('palida',))
    done = subprocess.run([sys.executable, '-c', code], timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ''


@pytest.mark.timeout(1000)
@pytest.mark.parametrize(('package', 'program'), NODES)
def test_nodes_compile_nothing(compiled: tuple[int, set[str]], package: str, program: str) -> None:
    """Until their first output."""
    _, _, printed = start(package, program, 'palida')
    assert 'compiling' not in printed
