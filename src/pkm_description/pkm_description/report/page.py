"""HTML reports in one file without external links, with figures as inline SVG or PNG."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from pkm_description.writing import make_folder, write_text

#: colours that colour-blind readers can tell apart (Okabe and Ito)
MEASURED, PREDICTED, RESIDUAL, NOMINAL = '#000000', '#0072B2', '#D55E00', '#999999'

#: of x, y, z: the same source
AXIS_COLOURS = ('#D55E00', '#009E73', '#0072B2')

#: no fonts or dates inside the SVG: smaller, and the same data give the same file
STYLE: Any = {'svg.fonttype': 'path', 'svg.hashsalt': 'pkm', 'font.size': 8, 'axes.grid': True, 'grid.alpha': 0.3}


def render(package: str, template: str, **values: object) -> str:
    """HTML text of a package's template, ``templates/<template>``, which may extend our ``page.html.j2``."""
    # by the programs that write pages alone: figures need none
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader('pkm_description.report')]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters.update(
        number=lambda value, digits=5: f'{value:.{digits}g}',
        percent=lambda value: f'{100.0 * value:.3g} %' if abs(value) < 1e4 else '-',
    )
    return environment.get_template(template).render(**values)


def write_page(text: str, path: str | Path) -> Path:
    """Write a page and return its path."""
    path = Path(path)
    make_folder(path.parent)
    return write_text(path, text)


class Margins(NamedTuple):
    """Room around axes and between them, inches."""

    left: float
    right: float
    bottom: float
    top: float
    between_columns: float
    between_rows: float


def new_figure(
    width: float, height: float, rows: int, columns: int, margins: Margins | None = None
) -> tuple[Figure, list]:
    """Figure of ``width`` x ``height`` inches and its axes, row by row.

    Without ``margins`` Matplotlib measures all texts to find room for them, which takes half of the time of a figure
    with many axes.
    """
    # without pyplot: no backend, no global state
    figure = Figure(figsize=(width, height), layout=None if margins else 'constrained')
    axes = figure.subplots(rows, columns, squeeze=False, sharex=rows > 1 or columns > 1)
    if margins:
        wide = width - margins.left - margins.right - (columns - 1) * margins.between_columns
        high = height - margins.bottom - margins.top - (rows - 1) * margins.between_rows
        figure.subplots_adjust(
            margins.left / width, margins.bottom / height, 1.0 - margins.right / width, 1.0 - margins.top / height,
            columns * margins.between_columns / wide, rows * margins.between_rows / high,
        )  # fmt: skip
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
