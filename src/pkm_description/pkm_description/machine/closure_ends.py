"""Names of the frames and links that exported models have where loops are closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkm_description.arrays import Array
from pkm_description.machine.parts import Closure, Leg

if TYPE_CHECKING:
    from pkm_description.machine.machine import Machine


@dataclass(frozen=True)
class ClosureEnd:
    """One closure and the names of its frames.

    Attributes
    ----------
    leg : that has the closure
    closure : see the class
    tip, anchor : names of the closure's frames on ``closure.body`` and on ``closure.other``; on a closed machine their
        origins coincide
    link : name of the small link by which SDF closes the loop
    """

    leg: Leg
    closure: Closure
    tip: str
    anchor: str
    link: str


def closure_ends(machine: Machine) -> tuple[ClosureEnd, ...]:
    """Closures of all legs, leg by leg.

    A leg that ends at one point of the platform has ``legN_tip``, ``platform_anchorN`` and ``legN_ball``; where there
    is more than one closure, or another end, the frames are named after the closure.
    """
    ends = []
    closures = {closure.name for leg in machine.legs for closure in leg.closures}
    for number, leg in enumerate(machine.legs, start=1):
        for closure in leg.closures:
            if len(leg.closures) == 1 and closure.other == machine.platform.name:
                names = f'{leg.name}_tip', f'platform_anchor{number}', f'{leg.name}_ball'
            else:
                names = f'{closure.name}_tip', f'{closure.name}_anchor', f'{closure.name}_ball'
            if names[2] in closures:  # a closure may be called so
                names = *names[:2], f'{closure.name}_link'
            ends.append(ClosureEnd(leg, closure, *names))
    return tuple(ends)


def closure_points(leg: Leg, body: str) -> list[Array]:
    """Points (3,) m at which closures of a leg hold one of its bodies, in the body's frame."""
    points = [closure.point for closure in leg.closures if closure.body == body]
    return points + [closure.other_point for closure in leg.closures if closure.other == body]
