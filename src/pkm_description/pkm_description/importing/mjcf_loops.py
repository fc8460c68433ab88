"""Equality constraints of MuJoCo as loops of a mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.importing.graph import ImportMachineError, Link
from pkm_description.importing.mjcf_model import name_of, placement
from pkm_description.importing.placement import Placement, frame_along

_CONNECT, _WELD, _JOINT = 0, 1, 2

#: m; connections of two bodies that are nearer to each other are the same point
_SAME_POINT = 1e-6


def loops_and_couplings(model: Any, path: Path) -> tuple[list[Link], tuple[tuple[str, str], ...], list[str]]:
    """Loops of ``connect`` and ``weld``, joints that ``joint`` ties to each other, and notes.

    Two connections between the same two bodies are a hinge through both points, three a rigid connection.
    """
    connected: dict[tuple[str, str], list[tuple[str, Placement, Placement]]] = {}
    loops: list[Link] = []
    couplings: list[tuple[str, str]] = []
    notes = []
    for index in range(model.neq):
        name, kind = name_of(model, 'equality', index), int(model.eq_type[index])
        if not model.eq_active0[index]:
            notes.append(f'equality {name} is not active and is left out')
        elif kind == _CONNECT:
            (first, at_first), (second, at_second) = _anchors(model, index)
            connected.setdefault((first, second), []).append((name, at_first, at_second))
        elif kind == _WELD:
            loops.append(_weld(model, index, name))
        elif kind == _JOINT:
            ties = [
                name_of(model, 'joint', int(ids[index]))
                for ids in (model.eq_obj1id, model.eq_obj2id)
                if ids[index] >= 0
            ]
            couplings.append((ties[0], ties[-1]))
        else:
            raise ImportMachineError(
                f'{path}: equality {name!r} is of a type that cannot be imported; known: connect, weld, joint'
            )
    for (first, second), points in connected.items():
        loops.append(_joined(first, second, points))
    return loops, tuple(couplings), notes


def _anchors(model: Any, index: int) -> tuple[tuple[str, Placement], tuple[str, Placement]]:
    """Both bodies of a connection, and its point in their frames."""
    import mujoco

    ends = (int(model.eq_obj1id[index]), int(model.eq_obj2id[index]))
    if int(model.eq_objtype[index]) == int(mujoco.mjtObj.mjOBJ_SITE):
        return _site(model, ends[0]), _site(model, ends[1])
    data = np.array(model.eq_data[index])
    return (
        (name_of(model, 'body', ends[0]), Placement(data[0:3])),
        (name_of(model, 'body', ends[1]), Placement(data[3:6])),
    )


def _site(model: Any, site: int) -> tuple[str, Placement]:
    place = placement(model.site_pos[site], model.site_quat[site])
    return name_of(model, 'body', int(model.site_bodyid[site])), place


def _weld(model: Any, index: int, name: str) -> Link:
    import mujoco

    ends = (int(model.eq_obj1id[index]), int(model.eq_obj2id[index]))
    if int(model.eq_objtype[index]) == int(mujoco.mjtObj.mjOBJ_SITE):
        (first, at_first), (second, at_second) = _site(model, ends[0]), _site(model, ends[1])
    else:
        # points that coincide in both bodies, and the second body's axes in the first
        data = np.array(model.eq_data[index])
        first, second = (name_of(model, 'body', end) for end in ends)
        at_first, at_second = placement(data[3:6], data[6:10]), Placement(data[0:3])
    return Link(name, 'fixed', first, second, at_first, at_second, is_loop=True)


def _joined(first: str, second: str, points: list[tuple[str, Placement, Placement]]) -> Link:
    """One joint for all connections of two bodies: a ball, a hinge, or a rigid connection."""
    name = points[0][0]
    kept = [points[0]]
    for point in points[1:]:
        if np.linalg.norm(point[1].position - kept[0][1].position) > _SAME_POINT:
            kept.append(point)
    origin, other_origin = Placement(kept[0][1].position), Placement(kept[0][2].position)
    if len(kept) == 1:
        return Link(name, 'ball', first, second, origin, other_origin, is_loop=True)
    frames = [_through(kept, side) for side in (1, 2)]
    arms = [point[1].position - kept[0][1].position for point in kept[1:]]
    flat = all(np.linalg.norm(np.cross(arms[0], arm)) < _SAME_POINT for arm in arms[1:])
    return Link(name, 'revolute' if flat else 'fixed', first, second, frames[0], frames[1], is_loop=True)


def _through(points: list[tuple[Any, ...]], side: int) -> Placement:
    """Frame at the first point, z towards the second, x towards the third where there is one off the line."""
    origin = points[0][side].position
    arms = [point[side].position - origin for point in points[1:]]
    frame = frame_along(arms[0], origin)
    for arm in arms[1:]:
        across = np.cross(frame.rotation[:, 2], arm)
        if np.linalg.norm(across) > _SAME_POINT:
            y = across / np.linalg.norm(across)
            z = frame.rotation[:, 2]
            return Placement(origin, np.column_stack([np.cross(y, z), y, z]))
    return frame
