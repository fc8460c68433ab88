"""Cut loops of a URDF in a YAML file, as example-parallel-robots and toolbox-parallel-robots write them.

``closed_loop`` has pairs of frames, links or joints of the URDF; ``type`` is ``6d`` where their poses coincide and
``3d`` where only their origins do; ``name_mot`` names the driven joints. ``joint_name`` and ``joint_type`` put other
joints in the place of revolute ones: ``SPHERICAL``, ``UJOINT_XY`` (about x, then y of the joint frame), ``FIXED``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.bounded_yaml import bounded_file
from pkm_description.importing.graph import Graph, ImportMachineError, Link

_KINDS = {'6d': 'fixed', '3d': 'ball'}
_KEYS = ('closed_loop', 'type', 'name_mot', 'joint_name', 'joint_type')


def with_loops_of(graph: Graph, path: Path) -> Graph:
    """Return the tree of a URDF with the loops, motors and other joints of a YAML file.

    Raises
    ------
    ImportMachineError
        The file does not have that form, or names what the URDF does not have.
    """
    content = _content(path)
    pairs, kinds = content.get('closed_loop') or [], content.get('type') or []
    kinds = kinds or ['6d'] * len(pairs)
    if len(kinds) != len(pairs):
        raise ImportMachineError(f'{path}: closed_loop has {len(pairs)} pairs, but type has {len(kinds)} entries')
    loops = [
        _loop(graph, path, number, pair, kind) for number, (pair, kind) in enumerate(zip(pairs, kinds, strict=True), 1)
    ]
    motors = set(content.get('name_mot') or [])
    names, others = content.get('joint_name') or [], content.get('joint_type') or []
    if len(names) != len(others):
        raise ImportMachineError(f'{path}: joint_name has {len(names)} entries, but joint_type has {len(others)}')
    for name in [*motors, *names]:
        graph.link(name)
    types = dict(zip(names, others, strict=True))
    links = tuple(
        _retyped(replace(link, driven=link.name in motors if motors else link.driven), types.get(link.name), path)
        for link in graph.links
    )
    return replace(graph, links=(*links, *loops))


def _content(path: Path) -> dict[str, Any]:
    try:
        content = bounded_file(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ImportMachineError(f'{path}: cannot be read: {error}') from None
    if not isinstance(content, dict) or not set(content) & set(_KEYS):
        raise ImportMachineError(f'{path}: expected a mapping with {", ".join(_KEYS)}')
    for key in _KEYS:
        if not isinstance(content.get(key) or [], list):
            raise ImportMachineError(f'{path}: {key} = {content[key]!r}: expected a list')
    return content


def _loop(graph: Graph, path: Path, number: int, pair: object, kind: object) -> Link:
    if not isinstance(pair, list) or len(pair) != 2:
        raise ImportMachineError(f'{path}: closed_loop: {pair!r}: expected a pair of frames')
    if str(kind).lower() not in _KINDS:
        raise ImportMachineError(f'{path}: type: {kind!r} cannot be imported; known: 3d, 6d')
    (first, first_frame), (second, second_frame) = graph.frame(str(pair[0])), graph.frame(str(pair[1]))
    return Link(f'loop{number}', _KINDS[str(kind).lower()], first, second, first_frame, second_frame, is_loop=True)


def _retyped(link: Link, kind: str | None, path: Path) -> Link:
    if kind is None:
        return link
    if kind == 'SPHERICAL':
        return replace(link, kind='ball')
    if kind == 'FIXED':
        return replace(link, kind='fixed')
    if kind.startswith('UJOINT_') and len(kind) == 9 and set(kind[-2:]) <= set('XYZ') and kind[-1] != kind[-2]:
        first, second = (np.eye(3)['XYZ'.index(letter)] for letter in kind[-2:])
        return replace(link, kind='universal', axis=first, second_axis=second)
    raise ImportMachineError(
        f'{path}: joint_type: {kind!r} cannot be imported; known: SPHERICAL, FIXED, UJOINT_XY and the like'
    )
