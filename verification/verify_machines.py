"""Command: every check of every machine, with required and measured figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pkm_description.errors import PkmError
from pkm_description.loading import load_machine, machine_names

from verification.check import Check
from verification.report import header, table, verdict
from verification.run import verify


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 0 if no check fails, else 1."""
    parser = argparse.ArgumentParser(prog='verify_machines', description=__doc__)
    parser.add_argument(
        'machines',
        nargs='*',
        metavar='NAME',
        help=f'machine file, or one of: {", ".join(machine_names())}; all of these by default',
    )
    parser.add_argument('--quick', action='store_true', help='fewer samples, the same limits')
    options = parser.parse_args(arguments)
    try:
        checks = run_and_print(options.machines or machine_names(), options.quick)
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
    failed = [check for check in checks if check.status == 'failed']
    if failed:
        print('\nfailed:', *(f'  {check.machine}: {check.id}: {check.what}' for check in failed), sep='\n')
    print(f'\n{verdict(checks)}')
    return 1 if failed or not checks else 0


def run_and_print(names: Sequence[str], quick: bool) -> list[Check]:
    """Run all checks of some machines, print each group as soon as it is done, and return them all."""
    checks: list[Check] = []
    print(header())
    for name in names:
        try:
            machine = load_machine(name)
        except PkmError as error:
            checks.append(Check('file', 'the machine file loads', 'no error', str(error), 'failed', name))
            print(f'\n{name}', *table(checks[-1:]), sep='\n', flush=True)
            continue
        for group, done in verify(machine, quick):
            checks += done
            print(f'\n{machine.name}: {group.source}', *table(done), sep='\n', flush=True)
    return checks


if __name__ == '__main__':
    sys.exit(main())
