"""Program ``identify BAG``: identification of recordings, with the node's own code."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pkm_description.loading import load_machine
from pkm_description.program import program

from pkm_identification.compare import compare_physical_with_truth, compare_with_truth
from pkm_identification.judgement.significance import IDENTIFIED, NOT_EXCITED, WEAK
from pkm_identification.nodes.recording_options import add_recording_options, read_inputs
from pkm_identification.pipeline import identify
from pkm_identification.report.files import write_result
from pkm_identification.result import INFEASIBLE, INSUFFICIENT, IdentificationResult
from pkm_identification.validation.held_out import FAILED

#: what the program returns; from 2 on all files are written that can be
EXIT_CODES = {
    0: 'done, and no declared limit is broken',
    1: 'an error, which is printed; nothing is written',
    2: 'infeasible: no machine that can exist has these values, so there is no overlay',
    3: 'model insufficient: the model lacks a force, nothing is identified',
    4: 'the force error of the delivered machine breaks a declared limit, or is 1.2 times that of the fit',
}

#: s
BEAT = 4.0


@program
def main(args: Sequence[str] | None = None) -> int:
    """Run the program; returns a number of :data:`EXIT_CODES`."""
    return _run(_parser().parse_args(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='identify',
        description='Identify masses, inertias and friction from a recording (MCAP or sqlite3) of joint_states '
        'with efforts.',
        epilog='Exit codes: ' + '; '.join(f'{code}: {text}' for code, text in EXIT_CODES.items()) + '.',
    )
    parser.add_argument('bag', help='folder or file of the recording')
    parser.add_argument(
        '-o', '--output', type=Path, default=Path('identification'), help='folder to write (default: ./identification)'
    )
    add_recording_options(parser)
    parser.add_argument(
        '--truth', help='machine that was simulated (name or path): print errors against its parameters'
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    machine, config, recording, validation = read_inputs(options)
    with printed_progress() as say:
        result = identify(machine, recording, validation, config, say)
        say('writing report and overlay')
        files = write_result(result, options.output)
    print_result(result)
    if options.truth:
        print_truth(result, options.truth)
    print(f'wrote {files}')
    return exit_code(result)


@contextmanager
def printed_progress() -> Iterator[Callable[[str], None]]:
    """What prints a line for each stage; while it goes on, its time is printed every :data:`BEAT` seconds."""
    stage, over, begin = [''], threading.Event(), time.monotonic()

    def say(line: str) -> None:
        stage[0] = line
        print(f'  {line}', flush=True)

    def beat() -> None:
        while not over.wait(BEAT):
            print(f'  {time.monotonic() - begin:.0f} s: {stage[0]} ...', flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield say
    finally:
        over.set()
        thread.join()


def exit_code(result: IdentificationResult) -> int:
    """Return the number of :data:`EXIT_CODES` for a result; the gravest matter counts."""
    return {INFEASIBLE: 2, INSUFFICIENT: 3}.get(result.status, 4 if result.verdict.status == FAILED else 0)


def print_result(result: IdentificationResult) -> None:
    """Table of the base parameters, warnings and summary."""
    print(f'{"base parameter":<70s} {"value":>12s} {"std. dev.":>10s}')
    rows = zip(result.base.names, result.estimate.parameters, result.estimate.std, result.classification, strict=True)
    for name, value, std, status in rows:
        note = '' if status == IDENTIFIED else f'  {status}'
        print(f'{name:<70s} {value:12.5g} {std:10.3g}{note}')
    for name, value, std in zip(result.shape.names, result.shape.values, result.shape.std, strict=True):
        print(f'{name:<70s} {value:12.5g} {std:10.3g}')
    for name in result.not_excited:
        print(f'{name:<70s} {"-":>12s} {"-":>10s}  {NOT_EXCITED}')
    for warning in result.warnings:
        print(f'warning: {warning}')
    print(result.summary)
    print(result.verdict)
    for part in (result.noise_floor, result.direct):
        if part is not None:
            print(part)


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
            note = '' if row.status != WEAK else f'  {WEAK}'
            print(f'{row.name:<70s} {row.identified:12.5g} {row.truth:12.5g} {row.standardised_error:6.2f}{note}')


if __name__ == '__main__':
    sys.exit(main())
