"""Mata et al. (2008), M21, M22, M30 to M39 and M42: what shares the same simulated recordings, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from pkm_description.machine import Machine

from verification.check import Check
from verification.mata_2008 import figures, ladder, prediction, processing


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Measurements, models 1 to 4, predicted forces, figures."""
    yield from processing.checks(machine, quick)
    yield from ladder.checks(machine, quick)
    yield from prediction.checks(machine, quick)
    yield from figures.checks(machine, quick)
