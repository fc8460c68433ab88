from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from pkm_bringup.pictures.cli import main
from pkm_bringup.viewer.force_colors import LIMIT, NEUTRAL, PULL, PUSH, ForceColors
from pkm_description.loading import load_machine

os.environ.setdefault('MUJOCO_GL', 'egl')
MACHINE = load_machine('srs')


def studio(name: str) -> object:
    try:
        from pkm_bringup.pictures.studio import Studio

        return Studio(load_machine(name), (160, 140))
    except Exception as error:  # MuJoCo says it in its own words, whatever library is missing
        pytest.skip(f'MuJoCo cannot render without a screen here: {error}')


@pytest.mark.parametrize('name', ['palida', 'khalifa_3prr', 'double_pendulum'])
def test_machine_stands_on_a_white_floor(name: str) -> None:
    from pkm_bringup.pictures.studio import Body

    with studio(name) as one:
        image = np.asarray(one.take([Body(one.shapes.shapes, one.shapes.home())]).convert('L'))
        empty = np.asarray(one.take([]).convert('L'))
    assert empty.min() > 200
    dark = image < 150
    rows, columns = np.nonzero(dark)
    assert dark.mean() > 0.005
    # it is in the picture as a whole, about the middle
    assert min(rows.min(), columns.min()) > 1 and rows.max() < 138 and columns.max() < 158
    assert abs(columns.mean() - 80.0) < 25.0


def test_what_one_looks_through_shows_what_is_behind() -> None:
    from pkm_bringup.pictures.studio import Body

    with studio('srs') as one:
        shapes, home = one.shapes.shapes, one.shapes.home()
        red = np.tile([1.0, 0.0, 0.0], (len(shapes), 1))
        solid, glass, nothing = (
            np.asarray(one.take(bodies), dtype=float)
            for bodies in ([Body(shapes, home, red)], [Body(shapes, home, red, 0.3)], [])
        )
    lost = [np.abs(picture - nothing)[..., 1].sum() for picture in (solid, glass)]
    assert 0.1 * lost[0] < lost[1] < 0.75 * lost[0]


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
