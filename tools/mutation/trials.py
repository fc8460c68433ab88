"""Trials: one mutant, the tests that execute the changed line, the fastest first, until one fails."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mutation.call_graph import names_at, reaching
from mutation.footprint import Footprints
from mutation.modules import ROOT
from mutation.mutants import Mutant
from mutation.session import BROKEN, FAILED, PASSED, Keep, Session, fork
from mutation.statements import statements
from mutation.transplant import compile_anew, transplant

#: s of the processor, for the tests of a trial together, without a change; for compiling kernels
BUDGET, COMPILING = 10.0, 240.0


@dataclass
class Outcome:
    """What became of a mutant.

    Attributes
    ----------
    name : of the mutant
    fate : ``killed`` or ``survived``
    by : test and error, or why
    tests : number of tests that were to run
    left_out : tests that execute the line, too, but for which the budget did not suffice
    seconds : of the processor
    """

    name: str
    fate: str
    by: str
    tests: int
    left_out: int
    seconds: float


def candidates(mutant: Mutant, footprints: Footprints) -> list[str]:
    """Tests that may notice a mutant, the fastest first."""
    path = ROOT / mutant.path
    named = statements(path)
    kernels = reaching(names_at(path, mutant.line)) if '/kernels/' in mutant.path else set()
    found = footprints.of_kernels(kernels) | footprints.of_lines(mutant.path, named.names(mutant.line))
    if not found and (function := named.function(mutant.line)):  # its first line, with defaults
        found = footprints.of_lines(mutant.path, named.names_of_function(function))
    if not found:
        found = footprints.of_file(mutant.path)
    if not found:  # all of it is executed at import
        found = set().union(*(footprints.of_file(other) for other in importers(mutant.module)))
    return sorted(found, key=lambda test: footprints.together([test]))


@cache
def importers(module: str) -> tuple[str, ...]:
    """Files that import a module, or names of it, from the root of the repository."""
    pattern = re.compile(rf'^\s*(?:from {re.escape(module)} import|import {re.escape(module)}\b)', re.MULTILINE)
    files = (ROOT / 'src').glob('pkm_*/pkm_*/**/*.py')
    return tuple(sorted(
        path.relative_to(ROOT).as_posix() for path in files if pattern.search(path.read_text(encoding='utf-8'))
    ))  # fmt: skip


def within(budget: float, tests: Iterable[str], footprints: Footprints) -> list[str]:
    """As many of the tests as fit into a time of the processor, at least the first."""
    chosen: list[str] = []
    for test in tests:
        if chosen and footprints.together([*chosen, test]) > budget:
            break
        chosen.append(test)
    return chosen


def trial(mutant: Mutant, session: Session, footprints: Footprints, budget: float = BUDGET) -> Outcome:
    """Run the tests that execute the changed line."""
    possible = [name for name in candidates(mutant, footprints) if name in session.items]
    chosen = within(budget, possible, footprints)
    is_kernel = '/kernels/' in mutant.path
    if not chosen:
        return Outcome(mutant.name, 'survived', 'no test executes it', 0, 0, 0.0)

    def work(_: Keep) -> tuple[int, dict[str, Any]]:
        source = mutant.source()
        if is_kernel:
            compile_anew(reaching(names_at(ROOT / mutant.path, mutant.line)))
        transplant(mutant.module, source)
        return session.run(chosen)

    expected = footprints.together(chosen)
    ended = fork(work, 20.0 + 3.0 * expected + (COMPILING if is_kernel else 0.0))
    fate, by = 'killed', ended.content.get('by', '')
    if ended.code == PASSED:
        fate = 'survived'
    elif ended.code == BROKEN:
        by = ended.content.get('error', 'broken')
    elif ended.code in (-signal.SIGXCPU, -signal.SIGKILL):
        by = 'endless'
    elif ended.code != FAILED:
        by = f'ended with {ended.code}'
    return Outcome(mutant.name, fate, by, len(chosen), len(possible) - len(chosen), round(ended.seconds, 2))


class Results:
    """Outcomes on the disk, one line each; the last one of a mutant counts.

    Parameters
    ----------
    path : of the file
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.outcomes: dict[str, Outcome] = {}
        if path.exists():
            for line in path.read_text(encoding='utf-8').splitlines():
                outcome = Outcome(**json.loads(line))
                self.outcomes[outcome.name] = outcome

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome."""
        self.outcomes[outcome.name] = outcome
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open('a', encoding='utf-8') as file:
            file.write(json.dumps(asdict(outcome)) + '\n')
