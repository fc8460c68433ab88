"""From a file to a machine file, and to the comparison of both."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.bounded_yaml import bounded_file
from pkm_description.importing.cutting import cut
from pkm_description.importing.freedoms import settled
from pkm_description.importing.graph import Graph, ImportMachineError, Link
from pkm_description.importing.machine_text import machine_text
from pkm_description.importing.masses import with_masses
from pkm_description.importing.mechanism import Mechanism
from pkm_description.importing.mjcf import mjcf_graph, start
from pkm_description.importing.mjcf_model import compiled
from pkm_description.importing.proof import Comparison, Figures
from pkm_description.importing.sdf import sdf_graph
from pkm_description.importing.selection import Choice, Selection, selected
from pkm_description.importing.urdf import urdf_graph
from pkm_description.importing.xml_values import xml_root
from pkm_description.loading import load_machine

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
    """

    path: Path
    kind: str
    keyframe: str | None
    graph: Graph
    selection: Selection
    mechanism: Mechanism
    text: str


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
            f'{path}: its root is <{root.tag}>; known are <robot> (URDF; expand xacro first), <mujoco> (MJCF) and <sdf>'
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
    selection = selected(graph, choice or Choice())
    _require_uncoupled(selection.graph)
    mechanism = with_masses(settled(cut(selection)))
    return Imported(path, kind, keyframe, graph, selection, mechanism, machine_text(mechanism))


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


def _require_uncoupled(graph: Graph) -> None:
    names = {link.name for link in graph.links}
    for one, other in graph.couplings:
        if {one, other} & names:
            raise ImportMachineError(
                f'{graph.source}: the position of {one!r} is tied to {other!r} (mimic or joint equality), which a '
                'machine file cannot say; hold one of them (--hold), or model what ties them by loops'
            )


def compared(result: Imported, machine_file: Path, samples: int = 20) -> Figures | str:
    """Compare the written machine file with its source in the source's own engine.

    Returns
    -------
    The figures; or, where the engine is not installed, a sentence that says so.
    """
    package = 'mujoco' if result.kind == 'MJCF' else 'pinocchio'
    if importlib.util.find_spec(package) is None:
        wheel = 'mujoco' if package == 'mujoco' else 'pin'
        return f'not compared with the source: {package} is not installed (pip install {wheel})'
    machine = load_machine(machine_file)
    if result.kind == 'MJCF':
        from pkm_description.importing.mujoco_engine import MujocoEngine

        configuration, _ = start(compiled(result.path), result.path, result.keyframe)
        mujoco = MujocoEngine(result.path, configuration)
        return Comparison(machine, result.mechanism, result.selection, mujoco).figures(samples)
    from pkm_description.importing.pinocchio_engine import PinocchioEngine

    engine = PinocchioEngine(result.graph, result.path if result.kind == 'URDF' else None)
    return Comparison(machine, result.mechanism, result.selection, engine).figures(samples)


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
