"""Rows of the closures: which gaps along base axes, and which directions stay perpendicular."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine.parts import Closure, Leg

#: axes (0 x, 1 y, 2 z) of the closure frame on the body and on the other body that a closure keeps perpendicular
_PERPENDICULAR: Mapping[str, tuple[tuple[int, int], ...]] = {
    'ball': (),
    'universal': ((0, 1),),
    'pin': ((2, 0), (2, 1)),
    'fixed': ((2, 0), (2, 1), (0, 1)),
}

#: the same in a plane, where z axes stay what they are
_PERPENDICULAR_IN_PLANE: Mapping[str, tuple[tuple[int, int], ...]] = {'ball': (), 'pin': (), 'fixed': ((0, 1),)}


@dataclass(frozen=True)
class ClosureRows:
    """Closures of all legs as :class:`pkm_description.kernels.model.ModelData` has them, which see."""

    closure_start: NDArray[np.int64]
    row_start: NDArray[np.int64]
    closure_body: NDArray[np.int64]
    closure_other: NDArray[np.int64]
    closure_point: Array
    closure_other_point: Array
    position_rows: NDArray[np.int64]
    orientation_start: NDArray[np.int64]
    orientation_axis: Array
    orientation_other_axis: Array


def closure_rows(legs: Sequence[Leg], platform: str, planar: bool) -> ClosureRows:
    """Rows of the closures of all legs.

    Parameters
    ----------
    platform : link name
    planar : whether the machine moves in x and y and about z only

    Raises
    ------
    KinematicsError
        A closure of an unknown kind, or between bodies that it cannot join.
    """
    joint_count = sum(len(leg.joints) for leg in legs)
    perpendicular = _PERPENDICULAR_IN_PLANE if planar else _PERPENDICULAR
    closure_start, row_start, orientation_start = [0], [0], [0]
    bodies, others, own_axes, other_axes = [], [], [], []
    first = 0
    for leg in legs:
        places = {joint.body.name: first + place for place, joint in enumerate(leg.joints)}
        places |= {platform: joint_count, 'base_link': joint_count + 1}
        for closure in leg.closures:
            _check(leg, closure, places, perpendicular, planar)
            bodies.append(places[closure.body])
            others.append(places[closure.other])
            for own, other in perpendicular[closure.kind]:
                own_axes.append(closure.rotation_body[:, own])
                other_axes.append(closure.rotation_other[:, other])
            orientation_start.append(len(own_axes))
            row_start.append(row_start[-1] + (2 if planar else 3) + len(perpendicular[closure.kind]))
        closure_start.append(len(bodies))
        first += len(leg.joints)
    closures = [closure for leg in legs for closure in leg.closures]
    return ClosureRows(
        closure_start=np.array(closure_start),
        row_start=np.array(row_start),
        closure_body=np.array(bodies, dtype=np.int64),
        closure_other=np.array(others, dtype=np.int64),
        closure_point=vectors([closure.point for closure in closures]),
        closure_other_point=vectors([closure.other_point for closure in closures]),
        position_rows=np.full(len(closures), 2 if planar else 3, dtype=np.int64),
        orientation_start=np.array(orientation_start),
        orientation_axis=vectors(own_axes),
        orientation_other_axis=vectors(other_axes),
    )


def _check(
    leg: Leg, closure: Closure, places: Mapping[str, int], kinds: Mapping[str, object], planar: bool
) -> None:  # fmt: skip
    if closure.kind not in kinds:
        where = 'in a planar machine ' if planar else ''
        raise KinematicsError(f'{closure.name}: kind {closure.kind!r}; {where}choose one of {", ".join(kinds)}')
    for what, body in (('body', closure.body), ('other', closure.other)):
        if body not in places:
            raise KinematicsError(
                f'{closure.name}: {what} {body!r} is neither the platform, nor base_link, nor a body of {leg.name}: '
                f'{", ".join(places)}'
            )
    if closure.body == closure.other:
        raise KinematicsError(f'{closure.name}: joins {closure.body} to itself')


def vectors(rows: Sequence[Array]) -> Array:
    """Stack vectors to (N, 3), also where there are none."""
    return np.ascontiguousarray(np.array(rows, dtype=float).reshape(-1, 3))
