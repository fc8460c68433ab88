"""Runs of check_robot on seeded faults: hits, misses, false alarms, and whether the remedy mends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pkm_bringup.robot_check import Report, check_robot
from pkm_bringup.robot_check.wiring import with_driver

from verification.wiring.faults import Fault
from verification.wiring.scenarios import Scenario


@dataclass(frozen=True)
class Outcome:
    """One run.

    Attributes
    ----------
    missed : seeded faults that no finding names
    alarms : codes of findings about what was not seeded
    unmended : codes of what is left with the driver file that check_robot proposed
    report : all that it said
    """

    missed: tuple[str, ...]
    alarms: tuple[str, ...]
    unmended: tuple[str, ...]
    report: Report


def run(scenario: Scenario, faults: Sequence[Fault] = ()) -> Outcome:
    """Seed faults and judge what check_robot says."""
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
        mended = check_robot(with_driver(machine, report.driver_file), streams.observation())
        unmended = tuple(finding.code for finding in mended.faults)
    return Outcome(missed, tuple(sorted(found - known)), unmended, report)
