"""Look of the figures: colours that colour-blind readers can tell apart (Okabe and Ito), light background."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from pkm_description.report import page
from pkm_description.writing import make_folder, replacing

BLUE, ORANGE, GREEN, GREY, BLACK = '#0072B2', '#D55E00', '#009E73', '#999999', '#000000'
AXES = (BLUE, ORANGE, GREEN)

STYLE: Any = page.STYLE | {
    'font.size': 10, 'axes.spines.top': False, 'axes.spines.right': False, 'legend.frameon': False,
    'axes.titlesize': 11, 'axes.titleweight': 'bold', 'axes.titlelocation': 'left',
}  # fmt: skip


def save(figure: Figure, path: Path, dpi: int = 130) -> None:
    """Write a figure as PNG, the same bytes for the same data."""
    make_folder(path.parent)
    with replacing(path) as beside:
        figure.savefig(beside, dpi=dpi, facecolor='white', metadata={'Software': None})
