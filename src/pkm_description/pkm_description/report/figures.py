"""Matplotlib figures as inline SVG or PNG for HTML pages."""

from __future__ import annotations

import base64
import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

#: colours that colour-blind readers can tell apart (Okabe and Ito)
MEASURED, PREDICTED, RESIDUAL, NOMINAL = '#000000', '#0072B2', '#D55E00', '#999999'

#: of x, y, z: the same source
AXIS_COLOURS = ('#D55E00', '#009E73', '#0072B2')

#: no fonts or dates inside the SVG: smaller, and the same data give the same file
STYLE: Any = {'svg.fonttype': 'path', 'svg.hashsalt': 'pkm', 'font.size': 8, 'axes.grid': True, 'grid.alpha': 0.3}


def new_figure(width: float, height: float, rows: int, columns: int) -> tuple[Figure, list]:
    """Figure of ``width`` x ``height`` inches and its axes, row by row."""
    figure = Figure(figsize=(width, height), layout='constrained')  # without pyplot: no backend, no global state
    axes = figure.subplots(rows, columns, squeeze=False, sharex=rows > 1 or columns > 1)
    return figure, list(axes.ravel())


def inline(figure: Figure, vector: bool = False, dots_per_inch: int = 110) -> str:
    """Data URI; PNG for curves of thousands of samples, SVG for small drawings.

    By the canvas, which gives the bytes of ``Figure.savefig`` in three quarters of its time: that draws twice, first
    only to arrange the axes.
    """
    stream = io.BytesIO()
    if vector:
        FigureCanvasSVG(figure).print_svg(stream, metadata={'Date': None})
    else:
        figure.dpi = dots_per_inch
        FigureCanvasAgg(figure).print_png(stream, metadata={'Software': None})
    kind = 'svg+xml' if vector else 'png'
    return f'data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}'
