"""From a file with closed loops to a machine file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.bounded_yaml import bounded_file, bounded_yaml
from pkm_description.errors import PkmError
from pkm_description.importing.closing import settled
from pkm_description.importing.cutting import cut
from pkm_description.importing.formats.mjcf import mjcf_graph
from pkm_description.importing.formats.sdf import sdf_graph
from pkm_description.importing.formats.urdf import urdf_graph, xml_root
from pkm_description.importing.graph import Graph, ImportMachineError, Link, Mechanism
from pkm_description.importing.machine_text import machine_text, names_of_source
from pkm_description.importing.rigid import with_masses
from pkm_description.importing.selection import Choice, Selection, selected, serial_joints
from pkm_description.loading.load import machine_of_content
from pkm_description.machine import Machine

_KINDS = {'6d': 'fixed', '3d': 'ball'}
_KEYS = ('closed_loop', 'type', 'name_mot', 'joint_name', 'joint_type')
_FORMATS = {'robot': 'URDF', 'mujoco': 'MJCF', 'sdf': 'SDF'}


@dataclass(frozen=True)
class Imported:
    """A file that became a machine.

    Attributes
    ----------
    path, kind : the file, and its format
    keyframe : that it starts from
    graph : what the file says
    selection : the mechanism in it
    mechanism : the same, cut into legs
    text : of the machine file
    machine : as the machine file loads
    """

    path: Path
    kind: str
    keyframe: str | None
    graph: Graph
    selection: Selection
    mechanism: Mechanism
    text: str
    machine: Machine


def imported(
    path: Path, loops: Path | None = None, choice: Choice | None = None, keyframe: str | None = None
) -> Imported:
    """Make a machine of a URDF, MJCF or SDF with closed loops.

    Parameters
    ----------
    loops : YAML file with the cut loops of a URDF; None: one of the same folder, if there is one
    choice : platform, base, drives and held joints
    keyframe : of an MJCF, where it starts

    Raises
    ------
    ImportMachineError
        What is wrong with the file, and what to do.
    """
    if not path.is_file():
        raise ImportMachineError(f'{path}: no such file')
    root = xml_root(path)
    if root.tag not in _FORMATS:
        raise ImportMachineError(
            f'{path}: its root is <{root.tag}>; known are <robot> (URDF, xacro), <mujoco> (MJCF) and <sdf>'
        )
    kind = _FORMATS[root.tag]
    if loops is not None and kind != 'URDF':
        raise ImportMachineError(f'{loops}: loops in a file of their own belong to a URDF; {path} is {kind}')
    if kind == 'MJCF':
        graph = mjcf_graph(path, keyframe)
    elif kind == 'SDF':
        graph = sdf_graph(root, path)
    else:
        graph = urdf_graph(root, path)
        loops = loops or (None if root.find('constraint') is not None else _loops_beside(path))
        if loops is not None:
            graph = with_loops_of(graph, loops).noting(f'loops and motors from {loops.name}')
    choice = choice or Choice()
    try:
        made = _made(graph, choice)
    except ImportMachineError:
        serial = serial_joints(graph, choice)
        if not serial:
            raise
        held = replace(choice, held=(*choice.held, *serial))
        made = _made(graph.noting('a joint on which everything else stands is taken as fixed'), held)
    return Imported(path, kind, keyframe, graph, *made)


def _made(graph: Graph, choice: Choice) -> tuple[Selection, Mechanism, str, Machine]:
    """Mechanism and machine file of a graph.

    Raises
    ------
    ImportMachineError
        There is none, or the machine file would not load: the reason in the names of the source.
    """
    selection = selected(graph, choice)
    mechanism = with_masses(settled(cut(selection)))
    text = machine_text(mechanism)
    try:
        machine = machine_of_content(Path(graph.source).with_suffix('.yaml'), bounded_yaml(text))
    except PkmError as error:
        names = names_of_source(mechanism)
        reason = re.sub(r'\bleg\d+_\w+', lambda word: names.get(word[0], word[0]), str(error))
        raise ImportMachineError(
            f'{graph.source}: no machine file can be made of it: {reason}. Hold joints (--hold), or choose another '
            'base or platform (--base, --platform)'
        ) from None
    return selection, mechanism, text, machine


def _loops_beside(path: Path) -> Path | None:
    """Return the YAML file with loops in the folder of a URDF."""
    for candidate in (path.with_suffix('.yaml'), path.with_name('robot.yaml'), *sorted(path.parent.glob('*.yaml'))):
        if not candidate.is_file():
            continue
        try:
            content = bounded_file(candidate)
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue
        if isinstance(content, dict) and 'closed_loop' in content:
            return candidate
    return None


# Cut loops of a URDF in a YAML file, as example-parallel-robots and toolbox-parallel-robots write them.
#
# ``closed_loop`` has pairs of frames, links or joints of the URDF; ``type`` is ``6d`` where their poses coincide and
# ``3d`` where only their origins do; ``name_mot`` names the driven joints. ``joint_name`` and ``joint_type`` put other
# joints in the place of revolute ones: ``SPHERICAL``, ``UJOINT_XY`` (about x, then y of the joint frame), ``FIXED``.
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
    if kind in ('SPHERICAL', 'FIXED'):
        return replace(link, kind='ball' if kind == 'SPHERICAL' else 'fixed')
    if kind.startswith('UJOINT_') and len(kind) == 9 and set(kind[-2:]) <= set('XYZ') and kind[-1] != kind[-2]:
        first, second = (np.eye(3)['XYZ'.index(letter)] for letter in kind[-2:])
        return replace(link, kind='universal', axis=first, second_axis=second)
    raise ImportMachineError(
        f'{path}: joint_type: {kind!r} cannot be imported; known: SPHERICAL, FIXED, UJOINT_XY and the like'
    )
