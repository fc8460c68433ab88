"""Parts of the suite: the machines asked for, and machines drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from verification.engines import random_checks
from verification.machine_groups import CheckGroup, machine_plan
from verification.suite import Part, Plan, Request, Workers

#: random machines, quick and in full
_QUICK, _FULL = 20, 240


def plan(groups: Sequence[CheckGroup], request: Request, workers: Workers) -> Plan:
    """Checks of every machine; where no machine is named, random ones, too."""
    whole = machine_plan(groups, request, workers)
    if request.machines:
        return whole
    count = _QUICK if request.quick else _FULL
    part = Part(f'{count} random machines', partial(random_checks.checks, count))
    return replace(whole, parts=(*whole.parts, part))
