"""Plots of the page: curves over the last seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pkm_description.arrays import Array

from pkm_bringup.viewer.history import History

#: colours that colour-blind readers can tell apart (Okabe and Ito)
XYZ_COLORS = ('#0072B2', '#D55E00', '#009E73')
LEG_COLORS = ('#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#000000', '#999999')
_HEIGHT = 170


class Plot:
    """Curves over time in the page's panel; hidden as long as there are no values.

    Parameters
    ----------
    gui : of viser
    title : with the unit, if it is not in the labels
    labels, colors : of the curves; colours repeat

    Attributes
    ----------
    ticks : how many values have been added
    """

    def __init__(self, gui: Any, title: str, labels: Sequence[str], colors: Sequence[str]) -> None:
        from viser import uplot

        self._history = History(len(labels))
        self.ticks = 0
        self._shown = 0
        curves = [
            uplot.Series(label=label, stroke=colors[number % len(colors)], width=1.5)
            for number, label in enumerate(labels)
        ]
        self._handle = gui.add_uplot(
            data=self._history.columns(),
            series=(uplot.Series(label='t [s]'), *curves),
            title=title,
            scales={'x': uplot.Scale(time=False), 'y': uplot.Scale(auto=True)},
            height=_HEIGHT,
            visible=False,
        )

    def add(self, time: float, values: Array) -> None:
        """Add values (K,) at a time [s]."""
        if not np.isnan(values).all():
            self._history.add(time, values)
            self.ticks += 1

    def refresh(self) -> None:
        """Send what is new."""
        if self.ticks != self._shown and len(self._history) > 1:
            self._shown = self.ticks
            self._handle.data = self._history.columns()
            self._handle.visible = True
