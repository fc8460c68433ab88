"""Rosyid & El-Khasawneh (2020), R2-21 to R2-25 and R2-31 to R2-47: what shares the same simulated recordings."""

from __future__ import annotations

from collections.abc import Iterator

from pkm_description.machine import Machine

from verification.check import Check
from verification.rosyid_2020 import comparison, figures, recording, searches


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Searches, comparison of models, recordings, figures."""
    yield from searches.checks(machine, quick)
    yield from comparison.checks(machine, quick)
    yield from recording.checks(machine, quick)
    yield from figures.checks(machine, quick)
