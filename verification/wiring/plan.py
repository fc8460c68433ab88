"""Seeded faults of wiring on machines, motions and seeds: what check_robot names, misses, makes up and mends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from pkm_bringup.robot_check import Report, check_robot
from pkm_bringup.robot_check.wiring import with_driver
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.skeleton import KINDS, skeleton_text

from verification.check import Check, equal
from verification.suite import Part, Plan, Request, Workers
from verification.wiring import foreign
from verification.wiring.faults import FAULTS, Fault
from verification.wiring.scenarios import MOTIONS, Scenario

#: machines of the package, and what new_machine writes
MACHINES = ('srs', 'palida', 'valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus', *KINDS)
#: faults that are seeded two at a time
PAIRED = (
    'absolute lengths in mm', 'names of another convention, reversed, and a gripper', 'two legs swapped',
    'sign of all efforts', 'currents for forces', 'IMU upside down', 'accelerometer sign', 'acceleration in g',
    'rates in deg/s', 'stamps zero', 'IMU 80 ms late', 'velocities in mm/s', 'a quarter of the rate', 'IMU frame',
)  # fmt: skip
#: rates [Hz] of joints and IMU (0: of the machine file) and factors on the noise, of good systems
DRIVERS = ((0.0, 0.0, 1.0), (500.0, 0.0, 1.0), (0.0, 400.0, 3.0), (250.0, 160.0, 0.0))


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    seeds : of each machine, motion and fault
    pairs : of two faults at once, of each machine
    duration : s, of each run
    motions : of :data:`verification.wiring.scenarios.MOTIONS`
    foreign : recordings of each machine of :data:`verification.wiring.foreign.MACHINES` with everything unknown
    """

    seeds: int = 3
    pairs: int = 20
    duration: float = 12.0
    motions: tuple[str, ...] = MOTIONS
    foreign: int = 6

    def __post_init__(self) -> None:
        unknown = [name for name in self.motions if name not in MOTIONS]
        if unknown or not self.motions:
            raise ValueError(f'motions = {",".join(self.motions)}: must be some of {",".join(MOTIONS)}')
        if self.seeds < 1 or self.pairs < 0 or not self.duration >= 6.0:
            raise ValueError('seeds must be at least 1, pairs at least 0, duration at least 6 s')


FULL = Extent()
QUICK = Extent(seeds=1, pairs=4, motions=('rest', 'drives'), foreign=1)


def plan(request: Request, workers: Workers) -> Plan:
    """Make a part of every machine and motion."""
    extent: Extent = request.settings
    parts = []
    for machine in request.machines or MACHINES:
        name = Path(machine).stem
        for motion in extent.motions:
            parts.append(Part(f'{name}, {motion}, good systems', partial(good_checks, machine, motion, extent)))
            parts.append(Part(f'{name}, {motion}, faults', partial(fault_checks, machine, motion, extent)))
        if extent.pairs:
            parts.append(Part(f'{name}, two faults at once', partial(pair_checks, machine, extent)))
    for machine in request.machines or foreign.MACHINES:
        if extent.foreign and machine in foreign.MACHINES:
            parts.append(Part(f'{machine}, wired by others', partial(foreign_checks, machine, extent)))
    return Plan(tuple(parts))


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


def good_checks(source: str, motion: str, extent: Extent) -> Iterator[Check]:
    """False alarms on well-wired robots, with rates and noise of their own."""
    machine = _machine(source)
    outcomes = [
        run(Scenario(machine, motion, seed, extent.duration, *driver))
        for seed in range(extent.seeds)
        for driver in DRIVERS
    ]
    name, runs = Path(source).stem, len(outcomes)
    yield equal(
        f'{name}-{motion}-good', f'false alarms on {runs} good systems{_alarms(outcomes)}', 0, _alarm_count(outcomes)
    )


def fault_checks(source: str, motion: str, extent: Extent) -> Iterator[Check]:
    """Seeded faults, one at a time."""
    machine = _machine(source)
    suited = [fault for fault in FAULTS if fault.suits(machine, motion)]
    outcomes = [
        run(Scenario(machine, motion, seed, extent.duration), [fault])
        for seed in range(extent.seeds)
        for fault in suited
    ]
    yield from _judged(f'{Path(source).stem}-{motion}', f'of {len(suited)} faults, {len(outcomes)} runs', outcomes)


def pair_checks(source: str, extent: Extent) -> Iterator[Check]:
    """Two faults at once, drawn by chance."""
    random = np.random.default_rng(42)
    machine = _machine(source)
    able = [fault for fault in FAULTS if fault.name in PAIRED and fault.suits(machine, 'drives')]
    outcomes = []
    for seed in range(extent.pairs):
        first, second = random.choice(len(able), 2, replace=False).tolist()
        faults = _in_order([able[first], able[second]])
        outcomes.append(run(Scenario(machine, 'drives', seed % 3, extent.duration), faults))
    yield from _judged(f'{Path(source).stem}-pairs', f'of two faults at once, {len(outcomes)} runs', outcomes)


def foreign_checks(name: str, extent: Extent) -> Iterator[Check]:
    """Everything about the driver unknown at once: the right file or all that explain the same, never a wrong one."""
    machine = load_machine(name)
    kinds = [foreign.verdict(machine, seed) for seed in range(extent.foreign)]
    yield equal(
        f'{name}-foreign-right', f'right files ({kinds.count("file")}) or symmetric sets ({kinds.count("set")})',
        extent.foreign, kinds.count('file') + kinds.count('set'),
    )  # fmt: skip
    yield equal(f'{name}-foreign-wrong', 'wrong files proposed', 0, kinds.count('wrong'))


def _in_order(faults: Sequence[Fault]) -> list[Fault]:
    """Faults of values before those of order and names, as a driver makes them."""
    return sorted(faults, key=lambda fault: PAIRED.index(fault.name))


def _judged(id: str, what: str, outcomes: Sequence[Outcome]) -> Iterator[Check]:
    missed = [text for one in outcomes for text in one.missed]
    yield equal(f'{id}-missed', f'missed {what}{_told(missed)}', 0, len(missed))
    yield equal(f'{id}-alarms', f'runs with false alarms {what}{_alarms(outcomes)}', 0, _alarm_count(outcomes))
    left = [text for one in outcomes for text in one.unmended]
    yield equal(f'{id}-mended', f'findings left with the proposed driver file {what}{_told(left)}', 0, len(left))


def _alarm_count(outcomes: Iterable[Outcome]) -> int:
    return sum(bool(one.alarms) for one in outcomes)


def _alarms(outcomes: Iterable[Outcome]) -> str:
    return _told([code for one in outcomes for code in one.alarms])


def _told(texts: Sequence[str]) -> str:
    return f' ({", ".join(sorted(set(texts)))})' if texts else ''


def _machine(source: str) -> Machine:
    """Machine of a path or name, or of a kind that new_machine writes."""
    if source not in KINDS:
        return load_machine(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f'{source}.yaml'
        path.write_text(skeleton_text(source, f'my_{source}', {}), encoding='utf-8')
        return load_machine(path)
