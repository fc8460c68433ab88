"""Read MJCF through MuJoCo itself: a compiled model has all defaults, angles and inertias resolved.

Meshes are needed only where bodies take their mass from them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.formats.urdf import tree_places
from pkm_description.importing.graph import Graph, ImportMachineError, JointValues, Link, frame_along, motion_of, turned
from pkm_description.machine import RigidBody
from pkm_description.machine.parts import HERE, Placement

_CONNECT, _WELD, _JOINT = 0, 1, 2

#: m; connections of two bodies that are nearer to each other are the same point
_SAME_POINT = 1e-6
_KINDS = ('free', 'ball', 'prismatic', 'revolute')


def mjcf_graph(path: Path, keyframe: str | None = None) -> Graph:
    """Bodies, joints and equality constraints of an MJCF.

    Parameters
    ----------
    keyframe : name of the keyframe that is the start; None: ``home`` where there is one, or the file's zero

    Raises
    ------
    ImportMachineError
        MuJoCo is missing or refuses the file, or there is no such keyframe.
    """
    model = compiled(path)
    configuration, notes = start(model, path, keyframe)
    world = name_of(model, 'body', 0)
    bodies = {world: RigidBody(world)}
    links: list[Link] = []
    for index in range(1, model.nbody):
        body = _body(model, index)
        bodies[body.name] = body
        for link in _joints(model, index, configuration):
            bodies.setdefault(link.second, RigidBody(link.second))
            links.append(link)
    driven, lost = _driven(model)
    notes += [*lost, *_lost_of_balls(model)]
    links = [replace(link, driven=link.name in driven) for link in links]
    places = tree_places([_at_start(model, link, configuration) for link in links], world)
    loops, couplings, more = loops_and_couplings(model, path)
    frames = {name: (name, HERE) for name in bodies}
    for site in range(model.nsite):
        frames.setdefault(name_of(model, 'site', site), _site(model, site))
    return Graph(
        name=model.names.split(b'\0')[0].decode() or path.stem, source=path.name, bodies=bodies, base=world,
        places=places, links=(*links, *loops), frames=frames, link_frames=frozenset(frames), couplings=couplings,
        gravity=np.array(model.opt.gravity), notes=(*notes, *more),
    )  # fmt: skip


def start(model: Any, path: Path, keyframe: str | None) -> tuple[Any, list[str]]:
    """Configuration of MuJoCo's model (nq,) at the start, and notes on it."""
    names = [name_of(model, 'key', key) for key in range(model.nkey)]
    if keyframe is not None:
        if keyframe not in names:
            raise ImportMachineError(f'{path}: no keyframe {keyframe!r}; keyframes: {", ".join(names) or "none"}')
        return np.array(model.key_qpos[names.index(keyframe)]), []
    if 'home' in names:
        return np.array(model.key_qpos[names.index('home')]), ["home starts from the keyframe 'home'"]
    return np.array(model.qpos0), []


def _body(model: Any, index: int) -> RigidBody:
    name = name_of(model, 'body', index)
    own = RigidBody(name, float(model.body_mass[index]), np.zeros(3), np.diag(model.body_inertia[index]))
    return own.moved(placement(model.body_ipos[index], model.body_iquat[index]))


def _joints(model: Any, index: int, configuration: Any) -> list[Link]:
    """Joints between a body and its parent, one after the other; bodies without mass between them."""
    name = name_of(model, 'body', index)
    first = name_of(model, 'body', int(model.body_parentid[index]))
    before = placement(model.body_pos[index], model.body_quat[index])
    joints = range(int(model.body_jntadr[index]), int(model.body_jntadr[index]) + int(model.body_jntnum[index]))
    if not joints:
        return [Link(f'{name}_mount', 'fixed', first, name, before)]
    floating = _floating(model, list(joints), before)
    if floating:
        at, turn = Placement(before.position), Placement(rotation=before.rotation.T)
        if int(model.jnt_type[joints[0]]) == 0:  # its positions are the pose of the body itself
            at, turn = HERE, HERE
        return [Link(name_of(model, 'joint', joints[0]), floating, first, name, at, turn)]
    links = []
    for joint in joints:
        second = name if joint == joints[-1] else f'{name}_{joint - joints[0] + 1}'
        kind, address = _KINDS[int(model.jnt_type[joint])], int(model.jnt_qposadr[joint])
        anchor = Placement(np.array(model.jnt_pos[joint])) if kind in ('revolute', 'ball') else HERE
        axis = np.array(model.jnt_axis[joint])
        # a joint at its reference stands where the body's pose says
        reference = motion_of(kind, axis, -float(model.qpos0[address]))
        position = float(configuration[address]) if kind in ('revolute', 'prismatic') else 0.0
        links.append(
            Link(
                name_of(model, 'joint', joint), kind, first, second, before @ anchor @ reference, anchor, axis,
                position=position, values=_values(model, joint, kind),
            )
        )  # fmt: skip
        first, before = second, HERE
    return links


def _floating(model: Any, joints: list[int], before: Placement) -> str:
    """Kind of a link that holds a body nowhere, or in a plane: a free joint, or slides along all axes with a turn.

    Empty where the joints of the body are something else.
    """
    kinds = [_KINDS[int(model.jnt_type[joint])] for joint in joints]
    if kinds == ['free']:
        return 'free'
    axes = np.array([before.rotation @ model.jnt_axis[joint] for joint in joints])
    zero = [float(model.qpos0[int(model.jnt_qposadr[joint])]) for joint in joints[:3]]
    if np.any(zero) or np.any([model.jnt_pos[joint] for joint in joints]):
        return ''
    if kinds == ['prismatic'] * 3 + ['ball'] and np.allclose(axes[:3], np.eye(3), atol=1e-12):
        return 'free' if np.allclose(before.rotation, np.eye(3), atol=1e-12) else ''
    planar = kinds == ['prismatic', 'prismatic', 'revolute'] and np.allclose(axes, np.eye(3), atol=1e-12)
    return 'planar' if planar else ''


def _at_start(model: Any, link: Link, configuration: Any) -> Link:
    """Balls and free bodies as they are at the start: their motion put into the first frame."""
    if link.kind not in ('ball', 'free', 'planar'):
        return link
    names = [name_of(model, 'joint', joint) for joint in range(model.njnt)]
    address = int(model.jnt_qposadr[names.index(link.name)])
    own = np.array(configuration[address : address + 7])
    if link.kind == 'ball':
        motion = placement(np.zeros(3), own[:4])
    elif link.kind == 'free':
        motion = placement(own[:3], own[3:])
    else:
        motion = Placement(np.array([own[0], own[1], 0.0]), turned(link.axis, own[2]).rotation)
    return replace(link, first_frame=link.first_frame @ motion)


def _values(model: Any, joint: int, kind: str) -> JointValues:
    column = int(model.jnt_dofadr[joint])
    limited = bool(model.jnt_limited[joint]) and kind in ('revolute', 'prismatic')
    lower, upper = (float(bound) for bound in model.jnt_range[joint])
    force = float(model.jnt_actfrcrange[joint][1]) if model.jnt_actfrclimited[joint] else np.inf
    turning = 1.0 if kind in ('revolute', 'prismatic') else 0.0
    return JointValues(
        *((lower, upper) if limited else (-np.inf, np.inf)),
        effort=min(force, _largest_force(model, joint)),
        viscous=turning * float(np.ravel(model.dof_damping[column])[0]),
        coulomb=turning * float(model.dof_frictionloss[column]),
        rotor_inertia=turning * float(model.dof_armature[column]),
        stiffness=float(np.ravel(model.jnt_stiffness[joint])[0]),
    )


def _largest_force(model: Any, joint: int) -> float:
    """Largest force of the actuators at a joint, through their gears."""
    force = np.inf
    for actuator in range(model.nu):
        if int(model.actuator_trntype[actuator]) in (0, 1) and int(model.actuator_trnid[actuator][0]) == joint:
            gear = abs(float(model.actuator_gear[actuator][0]))
            if model.actuator_forcelimited[actuator]:
                force = gear * float(np.abs(model.actuator_forcerange[actuator]).max())
            elif model.actuator_ctrllimited[actuator] and int(model.actuator_biastype[actuator]) == 0:
                gain = float(model.actuator_gainprm[actuator][0])
                force = gear * gain * float(np.abs(model.actuator_ctrlrange[actuator]).max())
    return force if force > 0.0 else np.inf


def _lost_of_balls(model: Any) -> list[str]:
    """Notes on friction and armature of ball joints, which a machine file cannot say."""
    resisting = model.dof_damping, model.dof_frictionloss, model.dof_armature
    lost = [
        name_of(model, 'joint', joint)
        for joint, (kind, column) in enumerate(zip(model.jnt_type, model.jnt_dofadr, strict=True))
        if _KINDS[kind] == 'ball' and any(np.ravel(values[column])[0] > 0.0 for values in resisting)
    ]
    return [f'friction and armature of ball joints are lost: {", ".join(lost)}'] if lost else []


def _driven(model: Any) -> tuple[set[str], list[str]]:
    """Joints that actuators move, and notes on other actuators."""
    driven, lost = set(), []
    for actuator in range(model.nu):
        if int(model.actuator_trntype[actuator]) in (0, 1):
            driven.add(name_of(model, 'joint', int(model.actuator_trnid[actuator][0])))
        else:
            lost.append(f'actuator {name_of(model, "actuator", actuator)} does not act on a joint and is left out')
    return driven, lost


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
            (first, at_first), (second, at_second) = _ends(model, index)
            connected.setdefault((first, second), []).append((name, at_first, at_second))
        elif kind == _WELD:
            (first, at_first), (second, at_second) = _ends(model, index)
            loops.append(Link(name, 'fixed', first, second, at_first, at_second, is_loop=True))
        elif kind == _JOINT:
            tied = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
            ties = [name_of(model, 'joint', joint) for joint in tied if joint >= 0]
            couplings.append((ties[0], ties[-1]))
        else:
            raise ImportMachineError(
                f'{path}: equality {name!r} is of a type that cannot be imported; known: connect, weld, joint'
            )
    loops += [_joined(*ends, points) for ends, points in connected.items()]
    return loops, tuple(couplings), notes


def _ends(model: Any, index: int) -> list[tuple[str, Placement]]:
    """Both bodies of a connection or weld, and its frame in them."""
    import mujoco

    ends = (int(model.eq_obj1id[index]), int(model.eq_obj2id[index]))
    if int(model.eq_objtype[index]) == int(mujoco.mjtObj.mjOBJ_SITE):
        return [_site(model, end) for end in ends]
    data = np.array(model.eq_data[index])
    places = Placement(data[0:3]), Placement(data[3:6])
    if int(model.eq_type[index]) == _WELD:  # points that coincide, and the second body's axes in the first
        places = placement(data[3:6], data[6:10]), Placement(data[0:3])
    return [(name_of(model, 'body', end), place) for end, place in zip(ends, places, strict=True)]


def _site(model: Any, site: int) -> tuple[str, Placement]:
    place = placement(model.site_pos[site], model.site_quat[site])
    return name_of(model, 'body', int(model.site_bodyid[site])), place


def _joined(first: str, second: str, points: list[tuple[str, Placement, Placement]]) -> Link:
    """One joint for all connections of two bodies: a ball, a hinge, or a rigid connection."""
    name, here, there = points[0]
    apart = [point for point in points[1:] if np.linalg.norm(point[1].position - here.position) > _SAME_POINT]
    kept, origin, other_origin = [points[0], *apart], Placement(here.position), Placement(there.position)
    if not apart:
        return Link(name, 'ball', first, second, origin, other_origin, is_loop=True)
    frames = [_through(kept, side) for side in (1, 2)]
    arms = [point[1].position - here.position for point in apart]
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


def compiled(path: Path) -> Any:
    """Return MuJoCo's model of a file; without shapes where files of meshes or textures are missing.

    Raises
    ------
    ImportMachineError
        MuJoCo is not installed, does not take the file, or a body takes its mass from a mesh that is missing.
    """
    try:
        import mujoco
    except ImportError:
        raise ImportMachineError(
            f'{path}: reading MJCF needs MuJoCo, which is not installed here: pip install mujoco'
        ) from None
    try:
        return mujoco.MjSpec.from_file(str(path)).compile()
    except ValueError as error:
        whole = str(error)
    try:
        return _without_shapes(mujoco, path).compile()
    except ValueError as error:
        raise ImportMachineError(f'{path}: MuJoCo does not take it: {whole}; without shapes: {error}') from None


def _without_shapes(mujoco: Any, path: Path) -> Any:
    """Return the specification without what files beside it hold."""
    spec = mujoco.MjSpec.from_file(str(path))
    for body in spec.bodies[1:]:
        meshes = [geom for geom in body.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH]
        if meshes and not body.explicitinertial:
            raise ImportMachineError(
                f'{path}: body {body.name!r} takes its mass from the mesh {meshes[0].meshname!r}, whose file is '
                'missing: put the meshes where the file expects them, or give the body an <inertial>'
            )
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH or geom.hfieldname:
            spec.delete(geom)
        else:
            geom.material = ''
    for kind in ('skins', 'meshes', 'hfields', 'materials', 'textures'):
        for element in list(getattr(spec, kind)):
            spec.delete(element)
    return spec


def name_of(model: Any, kind: str, index: int) -> str:
    """Name of an object of MuJoCo's model; an object without one is named by its number."""
    name = getattr(model, kind)(index).name
    return name or f'{kind}{index}'


def placement(position: Array, quaternion: Array) -> Placement:
    """Placement of a position (3,) m and a quaternion (4,), real part first."""
    return Placement(np.array(position), Rotation.from_quat(np.roll(quaternion, -1)).as_matrix())
