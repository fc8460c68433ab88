"""Command line: ``python tools/mutation {measure,run,table,show}``; see docs/mutation_testing.md."""

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


def measure(files: Sequence[str]) -> None:
    """Write down what the tests of these files execute, where that was not done."""
    missing = [name for name in files if not file_of(name).exists()]

    def all_of_them(session: Session) -> None:
        for name in missing:
            ended = session.measure(name)
            failed = [test for test, facts in ended.content.get('tests', {}).items() if not facts['passed']]
            print(f'{name}: {ended.seconds:.0f} s, {len(failed)} failed, code {ended.code}', *failed, flush=True)

    if missing:
        collect(missing, all_of_them)


def run(mutants: Sequence[Mutant], results: Results, budget: float) -> None:
    """Try mutants, and print each outcome."""
    footprints = Footprints(test_files())

    def all_of_them(session: Session) -> None:
        for number, mutant in enumerate(mutants, 1):
            outcome = trial(mutant, session, footprints, budget)
            results.add(outcome)
            place = f'{mutant.path}:{mutant.line}'
            print(f'{number}/{len(mutants)} {mutant.name} {outcome.fate} {outcome.seconds:.1f} s {place} {outcome.by}')
            if outcome.fate == 'survived':
                print(mutant.difference())
            sys.stdout.flush()

    collect([name for name in test_files() if file_of(name).exists()], all_of_them)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, or 1 if the score is below what is required."""
    parser = argparse.ArgumentParser(prog='mutation', description='Do the tests notice small changes of the code?')
    parser.add_argument('what', choices=('measure', 'run', 'table', 'show'))
    parser.add_argument('names', nargs='*', help='mutants (run, show) or test files (measure)')
    parser.add_argument('--count', type=int, default=500, help='size of the sample')
    parser.add_argument('--seed', type=int, default=1, help='decides which mutants are drawn')
    parser.add_argument('--group', action='append', default=[], help='only this row of the table; may be repeated')
    parser.add_argument('--budget', type=float, default=BUDGET, help='s of the processor for the tests of a mutant')
    parser.add_argument('--survivors', action='store_true', help='run: those again that survived')
    options = parser.parse_args(arguments)
    results = Results(RESULTS)
    if options.what == 'measure':
        measure([name for name in test_files() if not options.names or name in options.names])
        return 0
    names = set(options.names)
    drawn = [m for m in every_mutant() if m.name in names] if names else sample(options.count, options.seed, options.group)
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

        run([mutant for mutant in drawn if wanted(mutant) and mutant.name not in equivalents()], results, options.budget)
    print(table(drawn, results.outcomes))
    return 0


if __name__ == '__main__':
    sys.exit(main())
