"""Command: are the filter's claims true: from far-off starts, with late IMUs, failing legs, unknown constants."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container, Sequence

from verification.check import Check, count
from verification.consistency.checks import QUICK, SECTIONS, Extent, all_checks
from verification.consistency.delay_checks import SETTLING
from verification.report import header, table

#: options that say how much is run
_EXTENT = {
    'seeds': 'nees: runs of each machine and motion',
    'starts': 'starts: of each kind',
    'duration': 'nees and starts: of each run, half of it for machines of other kinds [s]',
    'delay_seeds': 'delay: runs of each machine, motion and delay',
    'leg_seeds': 'legs: runs of each machine, fault and leg',
    'constant_seeds': 'constants: runs of each motion and group of constants',
    'fault_duration': 'delay and legs: of each run, or of each fault [s]',
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 0 if all requirements hold, else 1."""
    parser = argparse.ArgumentParser(prog='check_consistency', description=__doc__)
    parser.add_argument(
        '--only', nargs='+', choices=SECTIONS, default=tuple(SECTIONS), help='parts to run (default: all)'
    )
    for name, what in _EXTENT.items():
        default = getattr(Extent, name)
        option = f'--{name.replace("_", "-")}'
        parser.add_argument(option, type=type(default), default=default, help=f'{what} (default: {default:g})')
    parser.add_argument('--quick', action='store_true', help='three minutes: few seeds, short runs; the same limits')
    options = parser.parse_args(arguments)
    extent = QUICK if options.quick else Extent(**{name: getattr(options, name) for name in _EXTENT})
    if min(extent.seeds, extent.starts, extent.delay_seeds, extent.leg_seeds, extent.constant_seeds) < 1:
        parser.error('needs at least one seed and one start')
    if not (extent.duration >= 4.0 and extent.fault_duration > SETTLING):
        parser.error(f'needs runs of at least 4 s, and with faults of more than {SETTLING:g} s')
    try:
        checks = run_and_print(options.only, extent)
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
    numbers = count(checks)
    print(f'\nconsistency: {numbers["met"]} met, {numbers["failed"]} failed')
    return 1 if numbers['failed'] or not checks else 0


def run_and_print(sections: Container[str], extent: Extent) -> list[Check]:
    """Print each group of checks as soon as it is done, and return them all."""
    checks: list[Check] = []
    print(header())

    def report(text: str) -> None:
        print(text, '...', file=sys.stderr, flush=True)

    for title, done in all_checks(sections, extent, report):
        checks += done
        print(f'\n{title}', *table(done), sep='\n', flush=True)
    return checks


if __name__ == '__main__':
    sys.exit(main())
