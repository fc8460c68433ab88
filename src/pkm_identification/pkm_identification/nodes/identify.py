"""Program ``identify BAG``: identification of recordings, with the node's own code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pkm_description.errors import PkmError
from pkm_description.loading import load_machine
from pkm_description.loading.arguments import add_driver_arguments, machine_of_options

from pkm_identification.compare import ComparisonRow, compare_physical_with_truth, compare_with_truth
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.judgement.identifiability import IDENTIFIED, NOT_EXCITED, WEAK
from pkm_identification.nodes.node_settings import load_config
from pkm_identification.pipeline import identify
from pkm_identification.recording.bag_recordings import parse_split, read_recordings
from pkm_identification.report.files import write_result
from pkm_identification.result import INFEASIBLE, INSUFFICIENT, IdentificationResult


def main(args: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, 1 after an error, 2 if the identified bodies are infeasible (report is written)."""
    options = _parser().parse_args(args)
    try:
        return _run(options)
    except (PkmError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='identify',
        description='Identify masses, inertias and friction from a recording (MCAP or sqlite3) of joint_states '
        'with efforts.',
    )
    parser.add_argument('bag', help='folder or file of the recording')
    held_out = parser.add_mutually_exclusive_group()
    held_out.add_argument('--validation', help='another recording, on which the forces are checked')
    held_out.add_argument(
        '--split', metavar='START:END[,START:END]',
        help='seconds of the bag for identification and, after the comma, for validation',
    )  # fmt: skip
    parser.add_argument(
        '-o', '--output', type=Path, default=Path('identification'), help='folder to write (default: ./identification)'
    )
    parser.add_argument(
        '--machine', default='srs', help='nominal machine: name or path of a machine file (default: srs)'
    )
    parser.add_argument('--overlay', type=Path, help='parameter overlay for the nominal machine')
    add_driver_arguments(parser)
    parser.add_argument('--config', type=Path, help="settings: a YAML file as for the node's parameters")
    parser.add_argument('--namespace', default='', help='namespace of the recorded topics')
    parser.add_argument(
        '--truth', help='machine that was simulated (name or path): print errors against its parameters'
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    machine = machine_of_options(options)
    config = load_config(options.config) if options.config else IdentificationConfig()
    intervals = parse_split(options.split) if options.split else []
    recordings = read_recordings(machine, options.bag, intervals[:2], options.namespace)
    if options.validation:
        recordings += read_recordings(machine, options.validation, (), options.namespace)
    validation = recordings[1] if len(recordings) > 1 else None
    result = identify(machine, recordings[0], validation, config, progress=lambda line: print(f'  {line}', flush=True))
    files = write_result(result, options.output)
    print_result(result)
    if options.truth:
        print_truth(result, options.truth)
    print(f'wrote {files}')
    return {INFEASIBLE: 2, INSUFFICIENT: 3}.get(result.status, 0)


def print_result(result: IdentificationResult) -> None:
    """Table of the base parameters, warnings and summary."""
    print(f'{"base parameter":<70s} {"value":>12s} {"std. dev.":>10s}')
    rows = zip(
        result.base.names,
        result.estimate.parameters,
        result.estimate.std,
        result.classification,
        strict=True,
    )
    for name, value, std, status in rows:
        note = '' if status == IDENTIFIED else f'  {status}'
        print(f'{name:<70s} {value:12.5g} {std:10.3g}{note}')
    for name in result.not_excited:
        print(f'{name:<70s} {"-":>12s} {"-":>10s}  {NOT_EXCITED}')
    for warning in result.warnings:
        print(f'warning: {warning}')
    print(result.summary)


def print_truth(result: IdentificationResult, truth: str) -> None:
    """Errors against the true machine: base parameters, platform mass, friction."""
    machine = load_machine(truth)
    physical = [
        row for row in compare_physical_with_truth(result, machine)
        if row.name == 'platform_link.m' or row.name.endswith(('.viscous', '.coulomb'))
    ]  # fmt: skip
    for title, rows in (('base parameters', compare_with_truth(result, machine)), ('machine file', physical)):
        print(f'{title} against {machine.name}: identified, true, error in standard deviations')
        for row in rows:
            print(_truth_line(row))


def _truth_line(row: ComparisonRow) -> str:
    note = '' if row.status != WEAK else f'  {WEAK}'
    return f'{row.name:<70s} {row.identified:12.5g} {row.truth:12.5g} {row.standardised_error:6.2f}{note}'


if __name__ == '__main__':
    sys.exit(main())
