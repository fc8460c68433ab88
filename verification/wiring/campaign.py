"""Runs of check_robot on seeded faults: hits, misses, false alarms, and whether the remedy mends."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pkm_bringup.robot_check import Report, check_robot
from pkm_description.loading import load_machine
from pkm_description.machine import Machine

from verification.wiring.faults import Fault
from verification.wiring.scenarios import Scenario, Streams


@dataclass(frozen=True)
class Outcome:
    """One run.

    Attributes
    ----------
    faults : names of what was seeded; empty for a good system
    missed : seeded faults that no finding names
    alarms : codes of findings about what was not seeded
    unmended : codes of what is left with the driver file that check_robot proposed
    report : all that it said
    """

    machine: str
    motion: str
    seed: int
    faults: tuple[str, ...]
    missed: tuple[str, ...]
    alarms: tuple[str, ...]
    unmended: tuple[str, ...]
    report: Report


def run(scenario: Scenario, faults: Sequence[Fault] = (), path: str | Path | None = None) -> Outcome:
    """Seed faults and judge what check_robot says.

    Parameters
    ----------
    path : machine file, where the name does not tell it; needed to load the proposed driver file
    """
    machine = scenario.machine
    streams = scenario.streams()
    for place, fault in enumerate(faults):
        fault.spoil(streams, machine, np.random.default_rng([scenario.seed, 7 + place]))
    report = check_robot(machine, streams.observation())
    found = {finding.code for finding in report.faults}
    missed = tuple(fault.name for fault in faults if not found & set(fault.codes))
    known = {code for fault in faults for code in (*fault.codes, *fault.also)}
    unmended: tuple[str, ...] = ()
    if faults and not missed and all(fault.driver_mends for fault in faults):
        unmended = _left(machine, streams, report, path or machine.path)
    return Outcome(
        machine.name,
        scenario.motion,
        scenario.seed,
        tuple(fault.name for fault in faults),
        missed,
        tuple(sorted(found - known)),
        unmended,
        report,
    )


def _left(machine: Machine, streams: Streams, report: Report, path: str | Path) -> tuple[str, ...]:
    """Faults that are left with the proposed driver file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'driver.yaml'
        file.write_text(report.driver_file or f'driver: {{machine: {machine.name}}}', encoding='utf-8')
        mended = load_machine(path, driver=file)
        return tuple(finding.code for finding in check_robot(mended, streams.observation()).faults)
