"""Checks of rendered pictures; test_pictures.py runs them in a process of their own."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine


def studio(name: str) -> object:
    try:
        from pictures.studio import Studio

        return Studio(load_machine(name), (160, 140))
    except Exception as error:  # MuJoCo says it in its own words, whatever library is missing
        pytest.skip(f'MuJoCo cannot render without a screen here: {error}')


@pytest.mark.parametrize('name', ['palida', 'khalifa_3prr', 'double_pendulum'])
def test_machine_stands_on_a_white_floor(name: str) -> None:
    from pictures.studio import DrawnBody

    with studio(name) as one:
        image = np.asarray(one.take([DrawnBody(one.shapes.bars, one.shapes.home())]).convert('L'))
        empty = np.asarray(one.take([]).convert('L'))
    assert empty.min() > 200
    dark = image < 150
    rows, columns = np.nonzero(dark)
    assert dark.mean() > 0.005
    # it is in the picture as a whole, about the middle
    assert min(rows.min(), columns.min()) > 1 and rows.max() < 138 and columns.max() < 158
    assert abs(columns.mean() - 80.0) < 25.0


def test_what_one_looks_through_shows_what_is_behind() -> None:
    from pictures.studio import DrawnBody

    with studio('srs') as one:
        shapes, home = one.shapes.bars, one.shapes.home()
        red = np.tile([1.0, 0.0, 0.0], (len(shapes), 1))
        solid, glass, nothing = (
            np.asarray(one.take(bodies), dtype=float)
            for bodies in ([DrawnBody(shapes, home, red)], [DrawnBody(shapes, home, red, 0.3)], [])
        )
    lost = [np.abs(picture - nothing)[..., 1].sum() for picture in (solid, glass)]
    assert 0.1 * lost[0] < lost[1] < 0.75 * lost[0]
