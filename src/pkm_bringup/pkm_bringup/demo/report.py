"""Last page of the demo: table of results, paths of files, further commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pkm_description.report.words import text_table
from pkm_description.writing import make_folder, unwritable

from pkm_bringup.demo.criteria import Criterion, IdentificationFigures


class DemoOutcome(NamedTuple):
    """Everything that the last page says.

    Attributes
    ----------
    machine : name
    groups : criteria by subject
    figures : of the identification
    bag : directory
    notes : anything that the user should know
    machine_file : path, where the machine is not one of the suite
    namespace : of the nodes
    """

    machine: str
    groups: Mapping[str, Sequence[Criterion]]
    figures: IdentificationFigures
    bag: Path
    notes: tuple[str, ...] = ()
    machine_file: str = ''
    namespace: str = ''

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """All limits."""
        return tuple(chain.from_iterable(self.groups.values()))

    @property
    def failed(self) -> list[Criterion]:
        """Limits that are broken."""
        return [criterion for criterion in self.criteria if criterion.failed]


def last_page(outcome: DemoOutcome) -> str:
    """Format the outcome for terminal and log file."""
    lines = ['', f'=== {outcome.machine}: result ===', '', _criteria_table(outcome), '']
    lines += [_parameter_table(outcome.figures), '']
    lines += [f'  note: {note}' for note in outcome.notes]
    lines += _places(outcome)
    lines += ['', '  try next:', *(f'    {command}' for command in _next_commands(outcome)), '']
    lines.append(_verdict(outcome))
    return '\n'.join(lines)


def verdict_json(outcome: DemoOutcome) -> str:
    """Format the outcome for programs: ``passed`` and every limit with its figure in SI units."""
    limits = [
        {'name': item.what, **{key: getattr(item, key) for key in ('value', 'limit', 'verdict', 'baseline')}}
        for item in outcome.criteria
    ]
    return json.dumps({'passed': not outcome.failed, 'machine': outcome.machine, 'limits': limits}, indent=2) + '\n'


def _criteria_table(outcome: DemoOutcome) -> str:
    rows: list[list[str]] = []
    for heading, criteria in outcome.groups.items():
        rows.append([heading, '', '', '', ''])
        rows += [
            [f'  {item.what}', item.shown(item.value), item.shown(item.baseline), item.required, item.verdict]
            for item in criteria
        ]
    return text_table(['', 'value', 'baseline', 'limit', ''], rows)


def _parameter_table(figures: IdentificationFigures) -> str:
    base = {row.name for row in figures.base}
    shown = [*figures.base, *(row for row in figures.physical_rows('platform_link.m') if row.name not in base)]
    rows = [
        [row.name, f'{row.identified:.6g}', f'{row.std:.2g}', f'{row.truth:.6g}', f'{abs(row.standardised_error):.2f}']
        for row in shown
    ]
    return text_table(['parameter', 'identified', 'std', 'true', 'error [std]'], rows)


def _places(outcome: DemoOutcome) -> list[str]:
    report, overlay = outcome.figures.report, outcome.figures.overlay
    places = ('bag', str(outcome.bag)), ('report', report), ('identified parameters', overlay)
    return [f'  {name + ":":<24}{place}' for name, place in places if place]


def _next_commands(outcome: DemoOutcome) -> list[str]:
    overlay, name = outcome.figures.overlay, outcome.machine_file or outcome.machine
    machine = f'machine_file:={name}' if outcome.machine_file else f'machine:={name}'
    namespace = outcome.namespace.strip('/')
    for_launch = f' namespace:={namespace}' if namespace else ''
    for_program = f' --namespace {namespace}' if namespace else ''
    return [
        f'./pkm launch pkm_bringup replay.launch.py bag:={outcome.bag} {machine}{for_launch}',
        f'./pkm run pkm_estimation estimate {outcome.bag} --machine {name} --compare-live{for_program}',
        f'./pkm launch pkm_bringup simulation.launch.py {machine} overlay:={overlay}'
        if overlay
        else f'./pkm run pkm_description inspect_machine {name}',
    ]


def _verdict(outcome: DemoOutcome) -> str:
    judged = [criterion for criterion in outcome.criteria if not criterion.excuse]
    left_out = len(outcome.criteria) - len(judged)
    reasons = '; '.join(dict.fromkeys(criterion.excuse for criterion in outcome.criteria if criterion.excuse))
    rest = f' ({left_out} not judged: {reasons})' if left_out else ''
    if outcome.failed:
        failures = '; '.join(
            f'{item.what} = {item.shown(item.value)}, limit {item.required}' for item in outcome.failed
        )
        return f'FAILED: {failures}{rest}'
    return f'PASSED: all {len(judged)} limits hold{rest}'


class Journal:
    """Prints lines at once and appends them to a file.

    Parameters
    ----------
    path : log file, its directory is made; None prints only
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        if path is not None:
            make_folder(path.parent)

    def say(self, text: str = '') -> None:
        """Print and log; a terminal that went away, or a full disk, does not stop the run."""
        if self._path is not None:
            try:
                with self._path.open('a', encoding='utf-8') as file:
                    file.write(text + '\n')
            except OSError as error:  # the run is worth more than its log
                text = f'{text}\nno log from here on: {unwritable(self._path, error)}'
                self._path = None
        with suppress(OSError):
            print(text, flush=True)
