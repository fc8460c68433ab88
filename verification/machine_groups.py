"""Checks of machines: which machine has which checks, and the parts of a suite made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from pkm_description.errors import PkmError
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine import Machine

from verification.check import Check, holds
from verification.suite import Figure, Part, Plan, Request, Workers

#: judges a machine; ``quick`` asks for fewer samples, never for other limits
CheckFunction = Callable[[Machine, bool], Iterable[Check]]


def every_machine(machine: Machine) -> bool:
    """Applies to all."""
    return True


def with_platform(machine: Machine) -> bool:
    """Applies to closed machines."""
    return machine.has_platform


def open_chain(machine: Machine) -> bool:
    """Applies to open chains, without a platform."""
    return not machine.has_platform


def hexapod(machine: Machine) -> bool:
    """Applies to hexapods with U-P legs."""
    kinds = {tuple(joint.kind for joint in leg.joints) for leg in machine.legs}
    return machine.has_platform and len(machine.legs) == 6 and kinds == {('revolute', 'revolute', 'prismatic')}


def in_turn(*functions: CheckFunction) -> CheckFunction:
    """Checks of several functions in one process, where they share what takes long."""
    return partial(_in_turn, functions)


def _in_turn(functions: Sequence[CheckFunction], machine: Machine, quick: bool) -> Iterator[Check]:
    for function in functions:
        yield from function(machine, quick)


@dataclass(frozen=True)
class CheckGroup:
    """Checks of one subject.

    Attributes
    ----------
    source : what they are about, in a few words
    checks : yields the checks of a machine
    applies : says whether the group has checks for a machine
    names : machines whose printed numbers it compares; empty: any
    """

    source: str
    checks: CheckFunction
    applies: Callable[[Machine], bool] = every_machine
    names: tuple[str, ...] = ()

    def is_for(self, machine: Machine) -> bool:
        """Whether the group judges a machine."""
        return self.applies(machine) and (not self.names or machine.name in self.names)


def machines_of(groups: Sequence[CheckGroup]) -> tuple[str, ...]:
    """Names of the machines that the groups are about; empty if one of them is about any machine."""
    if not all(group.names for group in groups):
        return ()
    return tuple(dict.fromkeys(name for group in groups for name in group.names))


def machine_plan(
    groups: Sequence[CheckGroup], request: Request, workers: Workers, figures: Callable[[], tuple[Figure, ...]] = tuple
) -> Plan:
    """Make parts: machine by machine, every group that applies; figures only of the suite's own machines."""
    parts: list[Part] = []
    for source in request.machines or machines_of(groups) or machine_names():
        try:
            machine = _loaded(source)
        except PkmError as error:
            parts.append(Part(source, partial(_not_loaded, str(error)), source))
            continue
        parts += [
            Part(f'{machine.name}: {group.source}', partial(_checks, group.checks, source, request.quick), machine.name)
            for group in groups
            if group.is_for(machine)
        ]
    return Plan(tuple(parts), figures=() if request.machines else figures())


@cache
def _loaded(source: str) -> Machine:
    return load_machine(source)


def _checks(checks: CheckFunction, source: str, quick: bool) -> Iterator[Check]:
    yield from checks(_loaded(source), quick)


def _not_loaded(error: str) -> Iterator[Check]:
    yield holds('file', 'the machine file loads', 'no error', error, False)
