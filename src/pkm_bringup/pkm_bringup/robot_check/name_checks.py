"""Names of the joints: missing, unknown, twice; and which entry may belong to which leg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from pkm_description.errors import Finding

from pkm_bringup.robot_check.findings import ok, wrong
from pkm_bringup.robot_check.wiring import Wiring


def name_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the names; sets ``columns`` where every drive has an entry, or a guess."""
    log = wiring.joints
    if log is None:
        return
    names, wanted = log.names, wiring.drive_names
    if not names:
        yield wrong(
            'joint_names',
            'joint states have no names; entries cannot be told apart',
            'fill JointState.name in the driver, in the order of its numbers: ' + ', '.join(wanted),
        )
        wiring.columns, wiring.names_guessed = None, False
        return
    doubled = sorted({name for name in names if names.count(name) > 1})
    missing = [name for name in wanted if name not in names]
    if doubled and set(doubled) & set(wanted):
        yield wrong(
            'joint_names_doubled',
            f'{", ".join(doubled)} stands more than once in one joint state; such messages are rejected'
            + (f', and {", ".join(missing)} is missing' if missing else ''),
            'give every joint its own name in the driver' + (f' ({", ".join(missing)} is not used)' if missing else ''),
        )
        if missing:
            return
    if not missing:
        wiring.columns = [names.index(name) for name in wanted]
        others = [name for name in names if name not in wiring.machine.joint_names and not _ignored(wiring, name)]
        note = f'; {", ".join(others)} is not of this machine and is ignored' if others else ''
        if not doubled:
            yield ok('joint_names', f'all {len(wanted)} drives are there by name{note}')
        return
    free = [name for name in names if name not in wanted and name not in wiring.machine.joint_names]
    guess = guessed_map(wanted, names)
    if guess is None:
        rest = f'; the others are {", ".join(free)}' if free else ''
        elsewhere = {name for layout in log.other_layouts for name in layout} & set(missing)
        split = f' ({", ".join(sorted(elsewhere))} comes in messages of its own)' if elsewhere else ''
        yield wrong(
            'joint_names',
            f'no entry for {", ".join(missing)}{split}{rest}',
            'publish all drives in one message, e.g. by one joint_state_broadcaster; or name them in a driver file:\n'
            + wiring.patch.add('joints', {f'NAME_OF_{label}': label for label in wiring.machine.drive_labels}),
        )
        wiring.patch.content.pop('joints')
        return
    wiring.columns, wiring.names_guessed = [names.index(name) for name in guess], True


def guessed_map(wanted: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Entry that may belong to each wanted joint: by its own name, else by the numbers in the names, else in order.

    Returns
    -------
    Names in the order of the wanted joints; None if there are too few, or it cannot be told which belong to drives
    """
    known = [name for name in wanted if name in names]
    missing = [name for name in wanted if name not in names]
    free = [name for name in dict.fromkeys(names) if name not in wanted]
    # names that differ in their numbers only belong together; a gripper does not
    families: dict[str, list[str]] = {}
    for name in free:
        families.setdefault(re.sub(r'\d+', '#', name), []).append(name)
    fitting = [family for family in families.values() if len(family) == len(missing)]
    if len(fitting) == 1:
        free = fitting[0]
    if len(free) != len(missing):
        return None
    numbers = [_number(name) for name in free]
    if len(set(numbers)) == len(free) and None not in numbers:
        free = [name for _, name in sorted(zip(numbers, free, strict=True), key=lambda pair: pair[0] or 0)]
        missing = sorted(missing, key=lambda name: _number(name) or 0)
    chosen = dict(zip(missing, free, strict=True)) | {name: name for name in known}
    return [chosen[name] for name in wanted]


def _number(name: str) -> int | None:
    found = re.findall(r'\d+', name)
    return int(found[-1] if len(found) == 1 else found[0]) if found else None


def _ignored(wiring: Wiring, name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in wiring.machine.driver.ignore)
