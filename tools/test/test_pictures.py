from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pictures.cli import main
from pkm_bringup.viewer.moment import LIMIT, NEUTRAL, PULL, PUSH, ForceColors
from pkm_description.loading import load_machine

MACHINE = load_machine('srs')


def test_rendered_pictures() -> None:
    """In a process of its own: MuJoCo takes MUJOCO_GL when it is imported, and ends the process if OpenGL fails."""
    checks = Path(__file__).with_name('rendered_pictures.py')
    environment = os.environ | {'MUJOCO_GL': os.environ.get('MUJOCO_GL', 'egl')}
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(checks)],
        env=environment, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    if done.returncode < 0 or 'cannot render without a screen' in done.stdout:
        pytest.skip(f'MuJoCo cannot render without a screen here: {done.stdout[-300:]}')
    assert done.returncode == 0, done.stdout


def test_forces_have_the_colours_of_their_direction_and_limit() -> None:
    colors = ForceColors(MACHINE)
    assert np.isfinite(colors.limits).all()
    strong = 0.9 * colors.limits[0]
    shown = colors(np.array([0.0, strong, -strong, colors.limits[0], -colors.limits[0], np.nan]))
    np.testing.assert_allclose(shown, [NEUTRAL, PUSH, PULL, LIMIT, LIMIT, NEUTRAL])
    weak = colors(np.full(6, 1000.0))[0]
    assert NEUTRAL[2] > weak[2] > PUSH[2]


def test_drives_without_limit_have_colours() -> None:
    machine = load_machine('khalifa_3prr')
    assert np.isfinite(ForceColors(machine)(np.array([1.0, -1.0, 0.0]))).all()


def test_unknown_picture_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(['-o', str(tmp_path), 'galery'])
    assert refused.value.code == 2
    assert 'no picture galery; there are gallery, ' in capsys.readouterr().err


def test_picture_of_a_demo_needs_a_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['-o', str(tmp_path), 'demo']) == 0
    assert 'left out: give --demo DIRECTORY' in capsys.readouterr().out
    assert main(['-o', str(tmp_path), 'demo', '--demo', str(tmp_path / 'nowhere')]) == 1
    assert str(tmp_path / 'nowhere') in capsys.readouterr().err
