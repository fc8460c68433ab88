"""Command line: ``python tools/mutation {run,table,show}``; see docs/mutation_testing.md."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == '__main__':
    # run as a directory: the package's parent has to be on the path
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    # before NumPy is loaded: threads do not survive a fork, and one core is enough
    os.environ.update(dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'NUMBA_NUM_THREADS'), '1'))

from mutation.footprint import Footprints, file_of
from mutation.modules import ROOT, test_files
from mutation.mutants import Mutant, every_mutant, sample
from mutation.session import Session, collect
from mutation.table import equivalents, table
from mutation.trials import BUDGET, Results, trial

RESULTS = ROOT / 'results' / 'mutation' / 'outcomes.jsonl'


def measure(session: Session, files: Sequence[str]) -> None:
    """Write down what the tests of these files execute, where that was not done for the present content."""
    for name in files:
        if not file_of(name).exists():
            ended = session.measure(name)
            facts = ended.content.get('tests', {})
            failed = [test.partition('::')[2] for test, one in facts.items() if not one['passed']]
            left_out = ', '.join(failed) or '-'
            print(f'\n{name}: {ended.seconds:.0f} s, {len(facts)} tests, not used: {left_out}', flush=True)


def run(mutants: Sequence[Mutant], files: Sequence[str], results: Results, budget: float) -> None:
    """Try mutants, and print each outcome."""

    def all_of_them(session: Session) -> None:
        measure(session, files)
        footprints = Footprints(files)
        for number, mutant in enumerate(mutants, 1):
            outcome = trial(mutant, session, footprints, budget)
            results.add(outcome)
            what = f'{mutant.name} {outcome.fate} {outcome.seconds:.1f} s {mutant.path}:{mutant.line} {outcome.by}'
            print(f'\n{number}/{len(mutants)} {what}')
            if outcome.fate == 'survived':
                print(mutant.difference())
            sys.stdout.flush()

    collect(files, all_of_them)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, or 1 if the score is below what is required."""
    parser = argparse.ArgumentParser(prog='mutation', description='Do the tests notice small changes of the code?')
    parser.add_argument('what', choices=('run', 'table', 'show'))
    parser.add_argument('names', nargs='*', help='mutants; default: a sample')
    parser.add_argument('--count', type=int, default=500, help='size of the sample')
    parser.add_argument('--seed', type=int, default=1, help='decides which mutants are drawn')
    parser.add_argument('--group', action='append', default=[], help='only this row of the table; may be repeated')
    parser.add_argument('--budget', type=float, default=BUDGET, help='s of the processor for the tests of a mutant')
    parser.add_argument('--survivors', action='store_true', help='run: those again that survived')
    parser.add_argument('--tests', action='append', default=[], help='only test files with this in their path')
    options = parser.parse_args(arguments)
    results = Results(RESULTS)
    names = set(options.names)
    drawn = sample(options.count, options.seed, options.group)
    if names:
        drawn = [mutant for mutant in every_mutant() if mutant.name in names]
    if options.what == 'show':
        for mutant in drawn:
            print(f'{mutant.name} {mutant.path}:{mutant.line} {mutant.operator}\n{mutant.difference()}')
            print(results.outcomes.get(mutant.name, ''))
        return 0
    if options.what == 'run':
        def wanted(mutant: Mutant) -> bool:
            outcome = results.outcomes.get(mutant.name)
            again = options.survivors and outcome is not None and outcome.fate == 'survived'
            return bool(names) or outcome is None or again

        wanted_ones = [mutant for mutant in drawn if wanted(mutant) and mutant.name not in equivalents()]
        files = [name for name in test_files() if not options.tests or any(part in name for part in options.tests)]
        run(wanted_ones, files, results, options.budget)
    print(table(drawn, results.outcomes))
    return 0


if __name__ == '__main__':
    sys.exit(main())
