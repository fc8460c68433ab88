"""What programs import before they begin, and that none of them compiles what compile_kernels should have compiled."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

PACKAGES = ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup')


def test_no_program_imports_numba_before_it_computes() -> None:
    """Half a second, for ``--help`` and for programs that need no kernel."""
    modules = [
        entry.attr.removeprefix('start.')
        for package in PACKAGES
        for entry in importlib.metadata.distribution(package.replace('_', '-')).entry_points
        if entry.group == 'console_scripts'
    ]
    assert len(modules) > 20
    code = (
        f'import importlib, sys\nfor name in {modules}:\n    importlib.import_module(name)\n'
        '    assert "numba" not in sys.modules, name\n'
        'assert "pkm_description.kernels.jit" in sys.modules'
    )
    subprocess.run([sys.executable, '-c', code], check=True, timeout=120)
