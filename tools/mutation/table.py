"""The table: mutants, killed, survived, equivalent and score by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from mutation.mutants import Mutant
from mutation.trials import Outcome

#: mutants that change nothing that anybody could see, each with the reason
EQUIVALENT = Path(__file__).with_name('equivalent.yaml')
COLUMNS = ('mutants', 'killed', 'survived', 'equivalent', 'not tried', 'score')


@cache
def equivalents() -> dict[str, str]:
    """Reason by name of a mutant."""
    content = yaml.safe_load(EQUIVALENT.read_text(encoding='utf-8')) or []
    return {entry['mutant']: entry['reason'] for entry in content}


def fate_of(mutant: Mutant, outcomes: Mapping[str, Outcome]) -> str:
    """Column in which a mutant is counted."""
    if mutant.name in equivalents():
        return 'equivalent'
    return outcomes[mutant.name].fate if mutant.name in outcomes else 'not tried'


def table(mutants: Sequence[Mutant], outcomes: Mapping[str, Outcome]) -> str:
    """Lines of the table, by group and in total."""
    groups = list(dict.fromkeys(mutant.group for mutant in mutants))
    lines = [f'{"group":22}' + ''.join(f'{name:>11}' for name in COLUMNS)]
    for group in [*groups, 'total']:
        fates = [fate_of(mutant, outcomes) for mutant in mutants if group in (mutant.group, 'total')]
        counts = {name: fates.count(name) for name in COLUMNS[1:5]}
        judged = counts['killed'] + counts['survived']
        score = f'{100.0 * counts["killed"] / judged:.0f} %' if judged else '-'
        numbers = ''.join(f'{count:11}' for count in (len(fates), *counts.values()))
        lines.append(f'{group:22}{numbers}{score:>11}')
    return '\n'.join(lines)
