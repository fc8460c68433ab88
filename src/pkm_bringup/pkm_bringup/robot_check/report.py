"""The report of a run, in words and for programs; findings are listed in docs/reference/check_robot.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from pkm_description.errors import Finding, State
from pkm_description.writing import write_text

#: s of message time that are listened to
DURATION = 10.0
#: the worst last: that is what a terminal shows
_ORDER = (State.OK, State.CANNOT_TELL, State.SUSPICIOUS, State.WRONG)


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
