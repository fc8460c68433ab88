"""From a file to a machine file, and to the comparison of both."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_file, bounded_yaml
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import PkmError
from pkm_description.importing.closing import Configuration, Loops, independent_drives, random_configurations, settled
from pkm_description.importing.cutting import cut
from pkm_description.importing.engine import MujocoEngine, SourceEngine, SourceMotion, TurnRow, closed, drive_forces
from pkm_description.importing.formats.mjcf import compiled, mjcf_graph, start
from pkm_description.importing.formats.sdf import sdf_graph
from pkm_description.importing.formats.urdf import urdf_graph
from pkm_description.importing.formats.xml_values import xml_root
from pkm_description.importing.graph import Graph, ImportMachineError, Link, Mechanism, Placement
from pkm_description.importing.machine_text import machine_text
from pkm_description.importing.pinocchio_engine import PinocchioEngine
from pkm_description.importing.rigid import with_masses
from pkm_description.importing.selection import Choice, Selection, selected
from pkm_description.kinematics import forward_kinematics_sequence, motion_from_drives
from pkm_description.loading.load import machine_of_content
from pkm_description.machine import Machine

#: change of the drives from home, rad or shares of the machine's size
_SIZE = 0.1

#: steps from home to a configuration
_WAY = 8
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


def compared(result: Imported, samples: int = 20) -> Figures | str:
    """Compare the machine file with its source in the source's own engine.

    Returns
    -------
    The figures; or, where the engine is not installed, a sentence that says so.
    """
    package = 'mujoco' if result.kind == 'MJCF' else 'pinocchio'
    if importlib.util.find_spec(package) is None:
        wheel = 'mujoco' if package == 'mujoco' else 'pin'
        return f'not compared with the source: {package} is not installed (pip install {wheel})'
    machine = machine_of_content(result.path.with_suffix('.yaml'), bounded_yaml(result.text))
    engine: SourceEngine
    if result.kind == 'MJCF':
        configuration, _ = start(compiled(result.path), result.path, result.keyframe)
        engine = MujocoEngine(result.path, configuration)
    else:
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


@dataclass(frozen=True)
class Figures:
    """How well machine and source agree, over home and random configurations and drive motions.

    Attributes
    ----------
    engine : name
    samples : number
    machine_gap, source_gap : largest gap [m, 1] of the loops
    position, rotation : largest difference of the platform's pose [m, rad]
    joints : largest difference of joint positions [rad, m] that both have
    force : largest difference of drive forces, relative to the largest force
    """

    engine: str
    samples: int
    machine_gap: float
    source_gap: float
    position: float
    rotation: float
    joints: float
    force: float

    @property
    def text(self) -> str:
        """Figures as lines of text."""
        return (
            f'compared with {self.engine} on the source, {self.samples} configurations and motions:\n'
            f'  gaps of the loops: machine {self.machine_gap:.2g}, source {self.source_gap:.2g} m\n'
            f'  platform pose: {self.position:.2g} m, {self.rotation:.2g} rad; joints {self.joints:.2g}\n'
            f'  drive forces: {self.force:.2g} of the largest'
        )


class Comparison:
    """A machine and its source side by side.

    Parameters
    ----------
    machine : read from the written file
    mechanism, selection : of which it was written
    engine : with the source
    """

    def __init__(self, machine: Machine, mechanism: Mechanism, selection: Selection, engine: SourceEngine) -> None:
        self._machine, self._mechanism, self._selection, self._engine = machine, mechanism, selection, engine
        self._loops = Loops(mechanism)
        self._independent = independent_drives(self._loops)
        held = mechanism.held
        self._links = [link for link in (*selection.graph.links, *selection.floating) if not link.is_loop]
        self._moving_joints = [link.name for link in self._links if link.name not in held]
        self._moving = [column for name in self._moving_joints for column in engine.columns(name)]
        self._drives = [self._column(mechanism.joints[drive].name) for drive in self._independent]
        self._engine.turn_rows = tuple(self._turn_row(name) for name in held if not engine.columns(name))

    def _column(self, joint: str) -> int:
        column = self._engine.column(joint)
        if column is None:
            raise PkmError(f'{self._engine.name} has no joint {joint!r}')
        return column

    def _turn_row(self, part: str) -> TurnRow:
        """What holds one of the three turns of a ball: the axes of the two others stay perpendicular."""
        ball, _, axis = part.rpartition('_')
        frames = self._mechanism.balls[ball]
        first, second = {'x': (1, 2), 'y': (0, 2), 'z': (0, 1)}[axis]
        return TurnRow(
            frames.first, frames.first_frame.rotation[:, first], frames.second, frames.second_frame.rotation[:, second]
        )

    def figures(self, samples: int = 20, seed: int = 0) -> Figures:
        """Compare at home and at random configurations, for random rates and accelerations of the drives."""
        random, drives = np.random.default_rng(seed), list(self._mechanism.drive_columns)
        configurations = [self._loops.home, *random_configurations(self._loops, samples - 1, seed + 10, _SIZE)]
        worst = np.zeros(5)
        needed, wanted = [], []
        for configuration in configurations:
            # from home by small steps, as the machine would go
            home = self._loops.home.positions[drives]
            way = home + np.linspace(0.0, 1.0, _WAY)[:, None] * (configuration.positions[drives] - home)
            result = forward_kinematics_sequence(self._machine, way)
            found = np.ravel(result.joint_positions[-1])
            pose = result.position[-1], result.rotation_base_platform[-1]
            source = closed(self._engine, self._start(configuration), self._moving, self._drives)
            own_gap = np.abs(self._loops.gaps(Configuration(found, Placement(*pose)))).max()
            place = self._platform(source)
            away = np.linalg.norm(place.position - pose[0])
            turn = np.linalg.norm(Rotation.from_matrix(place.rotation.T @ pose[1]).as_rotvec())
            worst = np.maximum(worst, [own_gap, source.gap, away, turn, self._joint_difference(source, found)])
            rates, accelerations = random.uniform(-1.0, 1.0, (2, len(self._independent))) * [[1.0], [3.0]]
            wanted.append(drive_forces(self._engine, source, self._moving, self._drives, rates, accelerations))
            needed.append(self._own_forces(source, configuration.positions[drives], rates, accelerations))
        force = float(np.abs(np.array(needed) - wanted).max() / np.abs(wanted).max())
        own_gap, gap, position, rotation, joints = worst.tolist()
        return Figures(self._engine.name, len(configurations), own_gap, gap, position, rotation, joints, force)

    def _start(self, wanted: Configuration) -> Array:
        """Configuration of the engine in which the file's bodies are where the mechanism has them."""
        own = self._loops.places(wanted)
        places = {name: own[body] @ frame for name, (body, frame) in self._mechanism.bodies.items()}
        configuration = self._engine.start
        for name, value in self._mechanism.held.items():
            if self._engine.column(name) is not None:
                configuration = self._engine.with_position(configuration, name, value)
        for link in self._links:
            if link.name not in self._mechanism.held and {link.first, link.second} <= set(places):
                first = places[link.first] @ link.first_frame
                motion = (places[link.second] @ link.second_frame).seen_from(first)
                configuration = self._engine.with_motion(configuration, link, motion)
        return configuration

    def _platform(self, source: SourceMotion) -> Placement:
        body, frame = self._selection.base
        base = self._engine.place(source.configuration, body) @ frame
        return (self._engine.place(source.configuration, self._selection.platform) @ self._selection.frame).seen_from(
            base
        )

    def _joint_difference(self, source: SourceMotion, found: Array) -> float:
        largest = 0.0
        for joint, value in zip(self._mechanism.joints, found.tolist(), strict=True):
            if self._engine.column(joint.name) is not None and joint.name in self._moving_joints:
                difference = self._engine.position(source.configuration, joint.name) - value
                if joint.kind == 'revolute':
                    difference = (difference + np.pi) % (2.0 * np.pi) - np.pi
                largest = max(largest, abs(difference))
        return largest

    def _own_forces(self, source: SourceMotion, positions: Array, rates: Array, accelerations: Array) -> Array:
        """Forces of the machine's drives for rates and accelerations of the independent ones, on these."""
        columns = [self._column(name) for name in self._mechanism.actuated_joint_names]
        share = source.per_drive[columns]
        if len(columns) > len(self._independent):
            raise PkmError('forces of redundant drives are compared elsewhere')
        motion = motion_from_drives(
            self._machine, np.zeros(1), positions[None], (share @ rates)[None], (share @ accelerations)[None]
        )
        forces = inverse_dynamics(self._machine, motion)[0]
        own: Array = share.T @ forces
        return own
