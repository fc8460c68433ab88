"""Command: simulate a public data set for identification, with its truth."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from pkm_description.errors import PkmError

from verification.identification_data.cases import CASES
from verification.identification_data.dataset import DURATIONS, MOTIONS, STEP, generate
from verification.identification_data.files import require_room, write_dataset


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(arguments)
    command = shlex.join(['./pkm', 'dataset', *arguments])
    try:
        case = CASES[options.case].changed(options.set)
        require_room(options.output)
        durations, motions = tuple(options.durations), MOTIONS[options.motion]
        data = generate(options.machine, case, options.seed, durations, options.step, motions)
        for path in write_dataset(data, options.output, command):
            print(path)
    except (PkmError, ValueError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='./pkm dataset', description=__doc__)
    parser.add_argument('machine', help='name of a machine, or path of a machine file')
    parser.add_argument('-o', '--output', required=True, type=Path, metavar='DIR', help='folder to write')
    parser.add_argument('--case', choices=sorted(CASES), default='plain', help='default: %(default)s')
    parser.add_argument('--seed', type=int, default=0, help='of everything that is drawn (default: 0)')
    parser.add_argument(
        '--set', action='append', default=[], metavar='NAME=VALUE',
        help='amount of the case, e.g. axial=0.02, delay=0.004',
    )  # fmt: skip
    parser.add_argument(
        '--durations', type=float, nargs=2, default=DURATIONS, metavar='S',
        help='of training and validation (default: 25 15)',
    )  # fmt: skip
    parser.add_argument(
        '--motion', choices=MOTIONS, default='excitation',
        help='of the training; fast_and_slow has a second half at 15 %% of the size, for Stribeck friction '
        '(default: %(default)s)',
    )  # fmt: skip
    parser.add_argument('--step', type=float, default=STEP, metavar='S', help='of physics and samples (default: 0.001)')
    return parser
