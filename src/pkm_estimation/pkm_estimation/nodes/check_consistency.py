"""Command: is the default filter as good as it claims, and does it find its way from far-off starts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pkm_description.verification.check import Check, count
from pkm_description.verification.report import header, table

from pkm_estimation.consistency.checks import all_checks


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 0 if all requirements hold, else 1."""
    parser = argparse.ArgumentParser(prog='check_consistency', description=__doc__)
    parser.add_argument('--seeds', type=int, default=50, help='runs of each machine and motion (default: 50)')
    parser.add_argument('--starts', type=int, default=100, help='starts of each kind (default: 100)')
    duration_help = 'of each run, half of it for machines of other kinds [s] (default: 15)'
    parser.add_argument('--duration', type=float, default=15.0, help=duration_help)
    parser.add_argument('--quick', action='store_true', help='8 seeds, 20 starts, 6 s; the same limits')
    options = parser.parse_args(arguments)
    if min(options.seeds, options.starts) < 1 or not options.duration >= 4.0:
        parser.error('needs at least one seed, one start and 4 s')
    seeds, starts, duration = (8, 20, 6.0) if options.quick else (options.seeds, options.starts, options.duration)
    try:
        checks = run_and_print(seeds, starts, duration)
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
    numbers = count(checks)
    print(f'\nconsistency: {numbers["met"]} met, {numbers["failed"]} failed')
    return 1 if numbers['failed'] or not checks else 0


def run_and_print(seeds: int, starts: int, duration: float) -> list[Check]:
    """Print each group of checks as soon as it is done, and return them all."""
    checks: list[Check] = []
    print(header())

    def report(text: str) -> None:
        print(text, '...', file=sys.stderr, flush=True)

    for title, done in all_checks(seeds, starts, duration, report):
        checks += done
        print(f'\n{title}', *table(done), sep='\n', flush=True)
    return checks


if __name__ == '__main__':
    sys.exit(main())
