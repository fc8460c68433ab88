"""Findings of the checks by their state, and all findings of a run; codes stand in docs/reference/check_robot.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from pkm_description.errors import Finding, State
from pkm_description.writing import write_text

#: s of message time that are listened to
DURATION = 10.0


def ok(code: str, sentence: str, **evidence: float | str) -> Finding:
    """All is well."""
    return Finding(code, State.OK, (), sentence, '', evidence)


def wrong(code: str, sentence: str, remedy: str, **evidence: float | str) -> Finding:
    """Something that cannot work as it is."""
    return Finding(code, State.WRONG, (), sentence, remedy, evidence)


def suspicious(code: str, sentence: str, remedy: str, **evidence: float | str) -> Finding:
    """Something that is unusual, or whose cause is not certain."""
    return Finding(code, State.SUSPICIOUS, (), sentence, remedy, evidence)


def cannot_tell(code: str, sentence: str, remedy: str = '', **evidence: float | str) -> Finding:
    """Not enough data or motion; the remedy is the motion or the topic that would tell."""
    return Finding(code, State.CANNOT_TELL, (), sentence, remedy, evidence)


@dataclass(frozen=True)
class Report:
    """All findings of a run.

    Attributes
    ----------
    machine : its name
    source : where the streams came from
    findings : in the order of the checks
    listened : False if there was nothing to look at
    driver_file : settings file of a driver that mends what such a file can mend; empty if there is nothing of that kind
    """

    machine: str
    source: str
    findings: tuple[Finding, ...]
    listened: bool = True
    driver_file: str = ''

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What is wrong, then what is suspicious."""
        return self._of(State.WRONG) + self._of(State.SUSPICIOUS)

    @property
    def exit_code(self) -> int:
        """0 if all is well, 1 if something is wrong or suspicious, 2 if there was nothing to listen to."""
        if not self.listened:
            return 2
        return 1 if self.faults else 0

    @property
    def verdict(self) -> str:
        """One sentence."""
        unknown = len(self._of(State.CANNOT_TELL))
        rest = f'; {unknown} could not be told, see above' if unknown else ''
        if not self.listened:
            return 'nothing to listen to'
        if not self.faults:
            return f'all is well ({len(self._of(State.OK))} checks{rest})'
        wrong_count, odd_count = len(self._of(State.WRONG)), len(self._of(State.SUSPICIOUS))
        return f'{wrong_count} wrong, {odd_count} suspicious{rest}'

    def _of(self, state: State) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.state is state)

    def text(self) -> str:
        """Report for the terminal: what could not be told and what is well first, faults with their remedies last."""
        lines = [f'{self.machine}: {self.source}', '']
        for state in (State.OK, State.CANNOT_TELL, State.SUSPICIOUS, State.WRONG):
            for finding in self._of(state):
                lines += _lines(finding)
        if self.driver_file and self.faults:
            lines += ['', 'driver file that mends what such a file can (--write-driver FILE):', self.driver_file]
        return '\n'.join([*lines, '', self.verdict])

    def as_json(self) -> str:
        """The same for programs."""
        content = {
            'machine': self.machine,
            'source': self.source,
            'verdict': self.verdict,
            'exit_code': self.exit_code,
            'driver_file': self.driver_file,
            'findings': [
                {
                    'code': one.code,
                    'state': one.state.value,
                    'sentence': one.sentence,
                    'evidence': dict(one.evidence),
                    'remedy': one.remedy,
                }
                for one in self.findings
            ],
        }
        return json.dumps(content, indent=2) + '\n'


def _lines(finding: Finding) -> list[str]:
    label = finding.state.value.upper() if finding.is_fault else finding.state.value
    lines = [f'{label:11s} {finding.code}: {finding.sentence}']
    if finding.is_fault and finding.evidence:
        figures = ', '.join(f'{name} {_figure(value)}' for name, value in finding.evidence.items())
        lines.append(f'{"":11s}   figures: {figures}')
    if finding.remedy and finding.state is not State.OK:
        first, *more = finding.remedy.splitlines()
        lines.append(f'{"":11s}   {"tells it" if finding.state is State.CANNOT_TELL else "remedy"}: {first}')
        lines += [indent(line, ' ' * 16) for line in more]
    return lines


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f'{value:.4g}'


def tell(report: Report, json_file: Path | None, driver_file: Path | None) -> int:
    """Print a report, write what is asked for, and return the exit code."""
    print(report.text(), flush=True)
    if json_file is not None:
        write_text(json_file, report.as_json())
    if driver_file is not None and report.driver_file:
        write_text(driver_file, report.driver_file + '\n', exclusive=True)  # what somebody wrote is not replaced
        print(f'wrote {driver_file}')
    return report.exit_code
