"""Command: everything of Miletovic et al. (2017) measured again, requirement by requirement, and its figures drawn."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from verification.check import Check
from verification.miletovic_2017.catalogue import CATALOGUE, run_group
from verification.miletovic_2017.figures import draw
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.report import lines, statuses, verdict
from verification.report import header


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 0 if no requirement fails, else 1."""
    parser = argparse.ArgumentParser(prog='reproduce_miletovic', description=__doc__)
    parser.add_argument('--quick', action='store_true', help='fewer seeds and shorter runs, the same limits')
    parser.add_argument('-o', '--output', type=Path, metavar='OUTDIR', help='folder for the figures and the table')
    parser.add_argument(
        '--jobs', type=int, default=min(2, os.cpu_count() or 1), metavar='N', help='processes (default: %(default)s)'
    )
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f'--jobs {options.jobs}: at least 1')
    began = time.monotonic()
    lab = Laboratory(options.quick, options.jobs)
    if lab.quick:
        print(f'quick: {len(lab.seeds)} seeds of {lab.duration:g} s instead of 20 of 70 s, {lab.starts} starts, not 40')
    try:
        checks = _measure(lab, began)
        text = [header(), *lines(checks)]
        print(*text, sep='\n')
        if options.output is not None:
            for path in draw(lab, options.output):
                print(f'wrote {path}')
            (options.output / 'table.txt').write_text('\n'.join([*text, '', verdict(checks), '']))
    finally:
        lab.close()
    failed = [id for id, status in statuses(checks).items() if status == 'failed']
    print(f'\n{len(checks)} checks, {lab.steps} filter steps, {time.monotonic() - began:.0f} s')
    if failed:
        print(f'failed: {", ".join(failed)}')
    print(verdict(checks))
    return 1 if failed else 0


def _measure(lab: Laboratory, began: float) -> list[Check]:
    """All checks, with a line of progress for each group."""
    checks: list[Check] = []
    for group in CATALOGUE:
        print(f'{time.monotonic() - began:4.0f} s: {group.ids[0]} ...', file=sys.stderr, flush=True)
        checks += run_group(group, lab)
    return checks


if __name__ == '__main__':
    sys.exit(main())
