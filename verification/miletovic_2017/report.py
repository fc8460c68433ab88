"""The table of requirements as text, and its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from verification.check import Check, Status
from verification.miletovic_2017.requirements import REQUIREMENTS
from verification.report import table


def statuses(checks: Sequence[Check]) -> dict[str, Status]:
    """Status of each requirement: failed if one of its checks is; not reachable if one of them could not be judged.

    A requirement without any check is failed.
    """
    result: dict[str, Status] = {}
    for id in REQUIREMENTS:
        own = {check.status for check in checks if check.id == id}
        if 'failed' in own or not own:
            result[id] = 'failed'
        else:
            result[id] = 'not reachable' if 'not reachable' in own else 'met'
    return result


def lines(checks: Sequence[Check]) -> list[str]:
    """Checks by requirement, each below its heading, in the order of the requirements."""
    result = []
    verdicts = statuses(checks)
    for id, title in REQUIREMENTS.items():
        own = [check for check in checks if check.id == id]
        if own:
            result += ['', f'{id} {title}: {verdicts[id]}', *table(own)]
    return result


def verdict(checks: Sequence[Check]) -> str:
    """Last line of the program: how many of the requirements have which status."""
    count = Counter(statuses(checks).values())
    return f'Miletovic 2017: {count["met"]} met, {count["failed"]} failed, {count["not reachable"]} not reachable'
