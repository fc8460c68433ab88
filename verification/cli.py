"""Command: checks against papers, laws of mechanics and other engines, and of the estimator's consistency."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pkm_description.errors import PkmError
from pkm_description.loading import load_machine
from pkm_description.report.words import text_table

from verification.catalogue import FOR_ANY_MACHINE, SUITES
from verification.pages import committed, write_pages
from verification.run import Processes, Progress, Run, run_all
from verification.suite import Request, Suite
from verification.table import check_lines, header, last_line, suite_lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run suites and print their tables.

    Returns
    -------
    0 if something ran and nothing but what is accepted is not met, 1 if not, 2 for wrong usage, 130 when interrupted.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        print(_list_of_suites())
        return 0
    if options.jobs < 1:
        parser.error(f'-j {options.jobs}: must be at least 1')
    commit = ''
    try:
        suites = chosen_suites(options.suites, options.machine_file)
        if options.mutants:
            return _judge_mutants([suite.name for suite in suites])
        settings = settings_of(suites, options.quick, options.set)
        if options.pages is not None:
            if options.quick:
                raise ValueError('--pages: they show full runs; leave --quick out')
            commit = committed()
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    # one thread per process: the matrices are small
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # also where a script has started this in the background, which ignores Ctrl-C
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    machines = tuple(options.machine_file)
    runs: list[Run] = []
    done: list[Run] = []
    lines = [header()]
    try:
        with Processes(options.jobs) as workers:
            for suite in suites:
                request = Request(machines, options.quick, settings.get(suite.name))
                runs.append(Run(suite, request, suite.plan(request, workers)))
            progress = Progress(sum(len(run.plan.parts) for run in runs))
            print(header())
            for run in run_all(runs, workers, progress.show):
                progress.clear()
                done.append(run)
                lines += [*suite_lines(run), last_line(run)]
                print(*suite_lines(run), last_line(run), sep='\n', flush=True)
            command = shlex.join(['./pkm', 'verify', *arguments])
            if options.pages is not None:
                for path in write_pages(done, options.pages, command, commit):
                    print(f'wrote {path}', file=sys.stderr)
            if options.output is not None:
                # draws: the processes that only measure do not need it
                from verification.report import write_report

                for path in write_report(done, options.output, lines, command, progress.seconds):
                    print(f'wrote {path}', file=sys.stderr)
    except KeyboardInterrupt:
        begun = [run for run in runs if run not in done and run.checks]
        for run in begun:
            print(*suite_lines(run), sep='\n')
        print('\ninterrupted', file=sys.stderr)
        return 130
    checks = [check for run in runs for check in run.checks]
    return 0 if checks and not any(check.failed for check in checks) else 1


def _judge_mutants(suites: Sequence[str]) -> int:
    # imports what all suites check
    from verification.mutants import mutant_checks

    survivors = 0
    print(header())
    for check in mutant_checks(suites):
        survivors += check.failed
        print(*check_lines([check]), sep='\n', flush=True)
    print(f'mutants that no check catches: {survivors}')
    return min(survivors, 1)


def chosen_suites(names: Sequence[str], machines: Sequence[str]) -> list[Suite]:
    """Suites by name or unambiguous beginning, in the order of the catalogue.

    Parameters
    ----------
    names : none: all, or with machine files those that judge any machine
    machines : names or files

    Raises
    ------
    ValueError
        For a name that fits no suite or several, and for a suite that has no check for a machine.
    """
    chosen = {_full_name(name) for name in names or (FOR_ANY_MACHINE if machines else SUITES)}
    suites = [suite for name, suite in SUITES.items() if name in chosen]
    for suite in suites:
        for machine in machines if suite.machines else ():
            _require_own_machine(suite, machine)
    return suites


def _full_name(name: str) -> str:
    fitting = [name] if name in SUITES else [full for full in SUITES if full.startswith(name)]
    if len(fitting) != 1:
        what = f'may be {" or ".join(fitting)}' if fitting else 'is no suite'
        raise ValueError(f'{name} {what}; there are: {", ".join(SUITES)}')
    return fitting[0]


def _require_own_machine(suite: Suite, source: str) -> None:
    try:
        name = load_machine(source).name
    except PkmError:
        return  # that is a line of the table
    if not suite.takes_files or name not in suite.machines:
        raise ValueError(
            f'{suite.name} compares figures of its own machines ({", ".join(suite.machines)}), not of {name}; '
            f'for any machine: {", ".join(FOR_ANY_MACHINE)}'
        )


def settings_of(suites: Sequence[Suite], quick: bool, assignments: Sequence[str]) -> dict[str, Any]:
    """Settings of each suite that has any: its defaults, changed by ``key=value`` texts.

    Values have the type of the default; those of a tuple are separated by commas.

    Raises
    ------
    ValueError
        For a key that no suite has, and for a value of the wrong form.
    """
    result = {
        suite.name: suite.quick_settings if quick else suite.settings for suite in suites if suite.settings is not None
    }
    for assignment in assignments:
        key, equals, text = assignment.partition('=')
        owners = [name for name, settings in result.items() if key in _keys(settings)]
        if not (equals and owners):
            there = '; '.join(f'{name}: {", ".join(_keys(settings))}' for name, settings in result.items())
            raise ValueError(f'--set {assignment}: must be KEY=VALUE; keys of these suites: {there or "none"}')
        for name in owners:
            result[name] = _changed(result[name], key, text)
    return result


def _keys(settings: Any) -> list[str]:
    return [field.name for field in fields(settings)]


def _changed(settings: Any, key: str, text: str) -> Any:
    kind = type(getattr(settings, key))
    try:
        value = tuple(text.split(',')) if kind is tuple else kind(text)
    except ValueError:
        raise ValueError(f'--set {key}={text}: must be {"a whole number" if kind is int else "a number"}') from None
    try:
        return replace(settings, **{key: value})
    except ValueError as error:
        raise ValueError(f'--set {error}') from None


def _list_of_suites() -> str:
    rows = [[suite.name, ', '.join(suite.machines) or 'any', suite.title] for suite in SUITES.values()]
    return text_table(['name', 'machines', 'about'], rows, numbers=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='./pkm verify', description=__doc__)
    parser.add_argument(
        'suites', nargs='*', metavar='NAME',
        help=f'suite, or the beginning of its name: {", ".join(SUITES)}; default: all',
    )  # fmt: skip
    parser.add_argument(
        '--machine-file', action='append', default=[], metavar='FILE',
        help=f'judge this machine (file, or name of one of the suite); without NAME by {" and ".join(FOR_ANY_MACHINE)}',
    )  # fmt: skip
    parser.add_argument('--quick', action='store_true', help='fewer samples, seeds and steps, the same limits')
    parser.add_argument(
        '-o', '--output', type=Path, metavar='DIR', help='folder for report.html, table.txt and the figures'
    )
    parser.add_argument(
        '--pages', type=Path, metavar='DIR',
        help='folder for a page of the documentation per paper: docs/reproduction in this project',
    )  # fmt: skip
    parser.add_argument(
        '-j', '--jobs', type=int, default=os.cpu_count() or 1, metavar='N', help='processes (default: %(default)s)'
    )
    parser.add_argument(
        '--set', action='append', default=[], metavar='KEY=VALUE',
        help='setting of consistency or soak, e.g. seeds=50, sections=nees,legs, steps=1000000',
    )  # fmt: skip
    parser.add_argument(
        '--mutants', action='store_true', help='spoil formulas, filters and machines: the checks must catch each'
    )
    parser.add_argument('--list', action='store_true', help='list the suites and end')
    return parser
