"""Picture of identified parameters with their standard deviations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.viewer.diagnosis import Parameter

#: inches per row; width; dots per inch
_ROW, _WIDTH, _DPI = 0.2, 6.2, 110


def parameter_image(parameters: Sequence[Parameter]) -> NDArray[np.uint8]:
    """Picture (H, W, 3): each parameter relative to its value before, bars of two standard deviations."""
    if not parameters:
        return np.full((1, 1, 3), 255, dtype=np.uint8)
    # not needed before something is identified, and slow to import
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from pkm_description.report.figures import NOMINAL, PREDICTED, STYLE

    value, std, nominal = np.array([one[1:] for one in parameters]).T
    # parameters that are nominally zero are compared with their own uncertainty
    scale = np.maximum(np.abs(nominal), 2.0 * std)
    place = np.arange(len(parameters))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, _ROW * len(parameters) + 0.9), layout='constrained', dpi=_DPI)
        canvas = FigureCanvasAgg(figure)
        axis = figure.subplots()
        axis.plot(nominal / scale, place, '|', color=NOMINAL, ms=9, mew=2, label='before')
        bars = 2.0 * std / scale
        axis.errorbar(value / scale, place, xerr=bars, fmt='o', ms=3, lw=1, capsize=2, color=PREDICTED,
                      label='identified, two standard deviations')  # fmt: skip
        axis.set_yticks(place, [one.name if len(one.name) < 40 else f'{one.name[:38]}…' for one in parameters])
        axis.set_ylim(len(parameters) - 0.5, -0.5)
        axis.set_xlabel('value / max(|before|, two standard deviations)')
        figure.legend(loc='outside upper center', ncols=2, frameon=False)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()
