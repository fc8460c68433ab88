"""compile_kernels reaches every kernel that the packages call: nobody waits for the compiler in the midst of work."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pkm_description.kernels.jit import COMPILED

#: called for models of users only, written in Python
FOR_USERS = {'predict_from_points'}
CHILD = """
import contextlib, importlib, json, pkgutil
from importlib.metadata import entry_points
from pkm_description.kernels.jit import Kernel

for entry in {entry.value: entry for entry in entry_points(group='pkm.first_calls')}.values():
    for call in entry.load()():
        call()
missing, seen = set(), 0
for package in ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup'):
    folder = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(folder, f'{package}.'):
        if '.kernels.' not in module.name:  # kernels call each other without Python
            with contextlib.suppress(ImportError):  # of an optional package
                for value in vars(importlib.import_module(module.name)).values():
                    if isinstance(value, Kernel):
                        seen += 1
                        if value.called is None:
                            missing.add(value.__name__)
print(json.dumps([seen, sorted(missing)]))
"""


@pytest.mark.skipif(not COMPILED, reason='NUMBA_DISABLE_JIT: nothing is compiled')
def test_first_calls_reach_every_kernel_that_python_calls() -> None:
    done = subprocess.run([sys.executable, '-c', CHILD], capture_output=True, text=True, check=True)
    seen, missing = json.loads(done.stdout)
    assert seen > 50
    assert set(missing) <= FOR_USERS
