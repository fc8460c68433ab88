"""A run of check_robot: what was heard, what was found of it, the driver file that grows with it, and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import yaml
from pkm_description.arrays import Array
from pkm_description.errors import Finding, State
from pkm_description.loading.read_driver import read_driver
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Machine
from pkm_description.writing import write_text

from pkm_bringup.robot_check.expected import ExpectedMotion
from pkm_bringup.robot_check.recorded import Flags, Observation
from pkm_bringup.robot_check.signals import Lag, Signal, Stream
from pkm_bringup.robot_check.table import Row

OK, WRONG, SUSPICIOUS, CANNOT_TELL = State.OK, State.WRONG, State.SUSPICIOUS, State.CANNOT_TELL
#: s of message time that are listened to
DURATION = 10.0
#: the worst last: that is what a terminal shows
_ORDER = OK, CANNOT_TELL, SUSPICIOUS, WRONG


@dataclass
class Wiring:
    """State of a run.

    Attributes
    ----------
    machine, seen : what it should be, what was heard
    joints, imu : streams as the suite reads them (through the machine's driver, if it has one)
    aligned_by : what the times of both have in common: ``stamps``, ``reception`` or ``start``
    patch : section ``driver`` of the proposed file, grows with the findings
    columns : (A) entry of the joint states that belongs to each drive by the names; None while unknown
    named : whether the names tell the drives; False: the entries are a guess by numbers, or in order
    numbered : whether the guess stands on numbers in the names
    specific_force, angular_rate : (K, 3) at the IMU's times, m/s^2 and the driver's unit; None where they say nothing
    gravity_felt : False where gravity is not in the specific force
    judged : ``positions``, ``velocities``, ``efforts``, where their numbers can be judged
    delay : s by which the IMU's times are late and are shifted
    shift : how both clocks differ, as far as motion tells
    best, motion, prediction : the row that explains most, the drives under it, and its poses
    unexplained : part of what the IMU shows that the best row leaves, if that is too much to propose what it says
    alternatives : driver files of rows that explain the same and are as likely
    findings, mended : so far, and codes of those that a driver file mends
    """

    machine: Machine
    seen: Observation
    joints: Stream
    imu: Stream
    aligned_by: str
    patch: dict[str, Any] = field(default_factory=dict)
    columns: list[int] | None = None
    named: bool = True
    numbered: bool = False
    specific_force: Array | None = None
    angular_rate: Array | None = None
    gravity_felt: bool = True
    judged: set[str] = field(default_factory=set)
    delay: float = 0.0
    shift: Lag | None = None
    best: Row | None = None
    motion: Signal | None = None
    prediction: ExpectedMotion | None = None
    unexplained: float = 0.0
    alternatives: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    mended: set[str] = field(default_factory=set)

    def say(
        self,
        holds: object,
        state: State,
        code: str,
        sentence: str,
        remedy: str = '',
        figures: Mapping[str, float | str] | None = None,
        mends: Mapping[str, Any] | None = None,
    ) -> bool:
        """Add a finding if it ``holds``, and say whether it does.

        Parameters
        ----------
        state, code, sentence, remedy, figures : of the finding; the remedy of what cannot be told is the motion that
            would
        mends : keys ``section.key`` of a driver file that mend it, with their values; they go into the proposed one
        """
        if holds:
            lines = self._driver_lines(dict(mends)) if mends else ''
            self.mended |= {code} if mends else set()
            self.findings.append(Finding(code, state, (), sentence, remedy + lines, figures or {}))
        return bool(holds)

    def about(self, stream: Stream) -> Callable[..., bool]:
        """:meth:`say` about a stream: its kind stands before the code, its topic before the sentence."""

        def say(holds: object, state: State, code: str, sentence: str, *rest: Any) -> bool:
            return self.say(holds, state, f'{stream.which}_{code}', f'{stream.topic}: {sentence}', *rest)

        return say

    @property
    def imu_time(self) -> Array:
        """Times (K,) s of usable IMU messages, less the delay found."""
        return self.imu.time - self.delay

    def published(self, quantity: str) -> Array:
        """Usable samples (K, A) of ``positions``, ``velocities`` or ``efforts``, by entry; by drive of the best row."""
        values: Array = getattr(self.joints.log, quantity)[self.joints.rows][:, self.columns]
        return values if self.best is None else values[:, list(self.best.order)]

    def names_of(self, order: Sequence[int]) -> list[str]:
        """Names in the joint states, in the order of the drives."""
        assert self.columns is not None
        return [self.joints.names[self.columns[entry]] for entry in order]

    def named_drives(self, chosen: Flags) -> str:
        """Names of the chosen drives (A,), for a sentence."""
        if chosen.all():
            return 'all drives'
        return ', '.join(name for name, yes in zip(self.machine.actuated_joint_names, chosen, strict=True) if yes)

    def by_leg(self, values: Array) -> Any:
        """One number if all drives have the same, else leg: number; for a driver file."""
        short = [float(f'{value:.6g}') for value in np.asarray(values, dtype=float)]
        numbers = [int(value) if abs(value) == 1.0 else value for value in short]
        if len(set(numbers)) == 1:
            return numbers[0]
        return dict(zip(self.machine.drive_labels, numbers, strict=True))

    @property
    def turns_efforts(self) -> bool:
        """Whether the proposed file would turn efforts with the positions, which it gives a sign and them none."""
        turned = 'sign' in self.patch.get('position', {}) and 'sign' not in self.patch.get('effort', {})
        return turned and self.machine.driver.effort is None

    def _driver_lines(self, entries: dict[str, Any]) -> str:
        """Remedy by keys of a driver file; on top of what the machine's own file does with them."""
        section, own = next(iter(entries)).partition('.')[0], self.machine.driver
        if {'effort': own.effort, 'position': own.position, 'velocity': own.position}.get(section) is not None:
            listed = ', '.join(f'{key}: {value}' for key, value in entries.items())
            return f'change in {own.path}, on top of what stands there: {listed}'
        if section == 'effort' and self.turns_efforts:
            entries = {'effort.sign': 1, **entries}
        put(self.patch, entries)
        return 'in a driver file (--driver, driver:=)\n' + driver_file(self.machine, put({}, entries))


def put(content: dict[str, Any], entries: Mapping[str, Any]) -> dict[str, Any]:
    """Section ``driver`` with values by key (dotted for a key inside a section)."""
    for key, value in entries.items():
        section, _, name = key.rpartition('.')
        (content.setdefault(section, {}) if section else content)[name] = value
    return content


def driver_file(machine: Machine, content: Mapping[str, Any]) -> str:
    """Text of a driver file; empty without content."""
    section = {'driver': {'machine': machine.name, **content}}
    return yaml.safe_dump(section, sort_keys=False, default_flow_style=None, width=110).rstrip() if content else ''


def with_driver(machine: Machine, text: str) -> Machine:
    """The machine with a driver file that is given as text; without text with its own.

    Raises
    ------
    MachineFileError
        The text is no such file.
    """
    if not text:
        return machine
    section = Section(Path('driver file'), '', yaml.safe_load(text)).section('driver')
    return replace(machine, driver=read_driver(machine, section))


@dataclass(frozen=True)
class Report:
    """All findings of a run.

    Attributes
    ----------
    machine : its name
    source : where the streams came from
    findings : in the order of the checks
    listened : False if there was nothing to look at
    driver_file : settings file of a driver that mends what such a file can mend, proved on what was heard; empty if
        there is nothing of that kind, or it is not proved
    alternatives : such files of which this motion, names and mounting do not tell the right one
    """

    machine: str
    source: str
    findings: tuple[Finding, ...]
    listened: bool = True
    driver_file: str = ''
    alternatives: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What is wrong, then what is suspicious."""
        return self._of(State.WRONG) + self._of(State.SUSPICIOUS)

    @property
    def exit_code(self) -> int:
        """0 if all is well, 1 if something is wrong or suspicious, 2 if there was nothing to listen to."""
        return int(bool(self.faults)) if self.listened else 2

    @property
    def verdict(self) -> str:
        """One sentence."""
        well, unknown, odd, wrong = (len(self._of(state)) for state in _ORDER)
        rest = f'; {unknown} could not be told, see above' if unknown else ''
        if not self.listened:
            return 'nothing to listen to'
        return f'{wrong} wrong, {odd} suspicious{rest}' if self.faults else f'all is well ({well} checks{rest})'

    def _of(self, state: State) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.state is state)

    def text(self) -> str:
        """Report for the terminal: what could not be told and what is well first, faults with their remedies last."""
        lines = [f'{self.machine}: {self.source}', '']
        for state in _ORDER:
            for finding in self._of(state):
                lines += _lines(finding)
        if self.driver_file and self.faults:
            lines += ['', 'driver file that mends what such a file can (--write-driver FILE):', self.driver_file]
        if self.alternatives:
            lines += ['', f'no driver file is proposed: these {len(self.alternatives)} explain the same', '']
            lines += ['\n\n'.join(text or '(none: names, units and signs as they are)' for text in self.alternatives)]
        return '\n'.join([*lines, '', self.verdict])

    def as_json(self) -> str:
        """The same for programs."""
        shown = ('machine', 'source', 'verdict', 'exit_code', 'driver_file', 'alternatives')
        content = {name: getattr(self, name) for name in shown}
        parts = ('code', 'state', 'sentence', 'evidence', 'remedy')
        content['findings'] = [{name: getattr(one, name) for name in parts} for one in self.findings]
        return json.dumps(content, indent=2, default=lambda state: state.value) + '\n'


def _lines(finding: Finding) -> list[str]:
    label = finding.state.value.upper() if finding.is_fault else finding.state.value
    lines = [f'{label:11s} {finding.code}: {finding.sentence}']
    if finding.is_fault and finding.evidence:
        shown = {name: value if isinstance(value, str) else f'{value:.4g}' for name, value in finding.evidence.items()}
        figures = ', '.join(map(' '.join, shown.items()))
        lines.append(f'{"":11s}   figures: {figures}')
    if finding.remedy and finding.state is not State.OK:
        first, *more = finding.remedy.splitlines()
        lines.append(f'{"":11s}   {"tells it" if finding.state is State.CANNOT_TELL else "remedy"}: {first}')
        lines += [indent(line, ' ' * 16) for line in more]
    return lines


def tell(report: Report, json_file: Path | None, driver_file: Path | None) -> int:
    """Print a report, write what is asked for, and return the exit code."""
    print(report.text(), flush=True)
    if json_file is not None:
        write_text(json_file, report.as_json())
    if driver_file is not None and report.driver_file:
        write_text(driver_file, report.driver_file + '\n', exclusive=True)  # what somebody wrote is not replaced
        print(f'wrote {driver_file}')
    return report.exit_code
