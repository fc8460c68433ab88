"""What the reports of the other packages share: inline figures and the page around them.

Needs matplotlib and jinja2, which nothing else of this package does.
"""

from pkm_description.report.figures import MEASURED, NOMINAL, PREDICTED, RESIDUAL, STYLE, inline, new_figure
from pkm_description.report.page import render, write_page

__all__ = [
    'MEASURED',
    'NOMINAL',
    'PREDICTED',
    'RESIDUAL',
    'STYLE',
    'inline',
    'new_figure',
    'render',
    'write_page',
]
