"""Which bodies share a block of ten columns of a regressor: legs that are alike, and any other groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pkm_description.machine import Leg, Machine

#: name of a set of bodies -> names or patterns of its bodies
Groups = Mapping[str, Sequence[str]]

#: blocks of machines whose bodies are all apart, and of those with identical legs
_KNOWN: WeakKeyDictionary[Machine, dict[bool, tuple[NDArray[np.int64], int]]] = WeakKeyDictionary()


def alike_legs(machine: Machine) -> list[list[int]]:
    """Legs, by place, that are built alike: joints of the same kinds in the same tree, the same ones driven."""
    found: dict[object, list[int]] = {}
    for place, leg in enumerate(machine.legs):
        found.setdefault(_structure(leg), []).append(place)
    return list(found.values())


def _structure(leg: Leg) -> object:
    joints = tuple((joint.kind, joint.actuated) for joint in leg.joints)
    bodies = {joint.body.name: place for place, joint in enumerate(leg.joints)}
    closures = tuple(
        (closure.kind, bodies.get(closure.body, -1), bodies.get(closure.other, -1)) for closure in leg.closures
    )
    return joints, tuple(leg.parents), closures


def shared_name(machine: Machine, alike: Sequence[int], name: str) -> str:
    """Name for all legs of a group, of a joint or body of its first leg: ``leg1_rod`` becomes ``leg_rod``.

    With several groups of more than one leg the first leg's own name stands for its group.
    """
    groups = [group for group in alike_legs(machine) if len(group) > 1]
    whole = len(alike) == machine.leg_count
    if not whole and (len(alike) == 1 or len(groups) > 1):
        return name
    return f'leg_{name.removeprefix(machine.legs[alike[0]].name + "_")}'


def identical_leg_groups(machine: Machine) -> dict[str, list[str]]:
    """Groups for :func:`sharing_matrix`: each body of a leg shares with its counterparts, ``leg_rod`` and so on."""
    groups = {}
    for alike in alike_legs(machine):
        if len(alike) == 1 and machine.leg_count > 1:
            continue
        for place, joint in enumerate(machine.legs[alike[0]].joints):
            name = shared_name(machine, alike, joint.body.name)
            groups[name] = [machine.legs[leg].joints[place].body.name for leg in alike]
    return groups


def body_names(machine: Machine) -> list[str]:
    """Names of all bodies in the order of parameters: the platform, then leg by leg from base to platform."""
    platform = [machine.platform.name] if machine.has_platform else []
    return platform + [joint.body.name for joint in machine.joints]


def owners(bodies: Sequence[str], groups: Groups) -> list[str]:
    """Name of the set that each body belongs to; its own name where no group holds it.

    Raises
    ------
    ValueError
        If a pattern matches no body, a body belongs to two sets, or a set has the name of another body.
    """
    owner: dict[str, str] = {}
    for name, patterns in groups.items():
        for pattern in patterns:
            found = [body for body in bodies if fnmatchcase(body, pattern)]
            if not found:
                raise ValueError(f'group {name}: {pattern!r} matches no body; there are {", ".join(bodies)}')
            for body in found:
                if owner.setdefault(body, name) != name:
                    raise ValueError(f'{body} belongs to two groups, {owner[body]} and {name}')
    alone = [body for body in bodies if body not in owner]
    clash = [name for name in groups if name in alone]
    if clash:
        raise ValueError(f'group {clash[0]} has the name of a body outside of it; choose another name')
    return [owner.get(body, body) for body in bodies]


def body_blocks(
    machine: Machine, identical_legs: bool = True, groups: Groups | None = None
) -> tuple[NDArray[np.int64], int]:
    """Block of columns of each body for the kernels (J + 1,), the platform last, and the number of blocks.

    Parameters
    ----------
    identical_legs, groups : as in :func:`pkm_description.dynamics.rigid_body_regressor`
    """
    if groups is not None:
        return _blocks(machine, groups)
    known = _KNOWN.setdefault(machine, {})
    if identical_legs not in known:
        known[identical_legs] = _blocks(machine, identical_leg_groups(machine) if identical_legs else {})
    return known[identical_legs]


def _blocks(machine: Machine, groups: Groups) -> tuple[NDArray[np.int64], int]:
    names = owners(body_names(machine), groups)
    sets = list(dict.fromkeys(names))
    block = [sets.index(name) for name in names]
    if not machine.has_platform:
        return np.array([*block, -1], dtype=np.int64), len(sets)
    return np.array([*block[1:], block[0]], dtype=np.int64), len(sets)
