"""Runs the checks of a machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from pkm_description.machine import Machine

from verification.catalogue import CATALOGUE, CheckGroup
from verification.check import Check


def verify(
    machine: Machine, quick: bool = False, catalogue: Sequence[CheckGroup] = CATALOGUE
) -> Iterator[tuple[CheckGroup, list[Check]]]:
    """Yield every group that applies to the machine with its checks, as soon as they are done."""
    for group in catalogue:
        if group.applies(machine):
            yield group, run_group(machine, group, quick)


def run_group(machine: Machine, group: CheckGroup, quick: bool = False) -> list[Check]:
    """Run one group; an error inside it is a failed check and does not hide the checks before it."""
    done: list[Check] = []
    try:
        done.extend(dataclasses.replace(check, machine=machine.name) for check in group.checks(machine, quick))
    except Exception as error:
        text = ' '.join(f'{type(error).__name__}: {error}'.split())
        done.append(Check('error', f'checks from "{group.source}" run to their end', 'no error', text, 'failed'))
        done[-1] = dataclasses.replace(done[-1], machine=machine.name)
    if not done:
        done.append(Check('empty', f'"{group.source}" checks something', '>= 1', '0', 'failed', machine.name))
    return done
