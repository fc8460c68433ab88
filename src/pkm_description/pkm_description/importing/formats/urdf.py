"""Read the tree of a URDF, and the loops that constraint elements close.

The elements ``<constraint>`` are those proposed for urdfdom_headers (pull request 108): like joints, with an origin
and an axis on either side; types ``link`` (the two frames coincide: a cut link), ``revolute`` (free about the parent's
axis), ``spherical`` and ``universal``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.graph import Graph, ImportMachineError, JointValues, Link, frame_along, motion_of
from pkm_description.machine import RigidBody
from pkm_description.machine.parts import HERE, INERTIA_ENTRIES, Placement, inertia_tensor

_KINDS = {
    'revolute': 'revolute', 'continuous': 'revolute', 'prismatic': 'prismatic', 'fixed': 'fixed', 'floating': 'free',
    'spherical': 'ball', 'ball': 'ball',
}  # fmt: skip
_LOOP_KINDS = {'link': 'fixed', 'fixed': 'fixed', 'revolute': 'revolute', 'spherical': 'ball', 'universal': 'universal'}
#: namespace of xacro, in any of its spellings
_XACRO = 'ros.org/'
_DRAKE = 'https://drake.mit.edu'

_X_AXIS = np.array([1.0, 0.0, 0.0])

#: m/s^2; a URDF says nothing of gravity
EARTH = np.array([0.0, 0.0, -9.81])


def urdf_graph(root: Element, path: Path) -> Graph:
    """Bodies, joints and loops of a URDF.

    Raises
    ------
    ImportMachineError
        Not a tree, or an element that cannot be read.
    """
    bodies = {body.name: body for body in (_body(element, path) for element in root.findall('link'))}
    links = [joint_of(element, path) for element in root.findall('joint')]
    start, driven, rotors = _start(root, path), driven_joints(root), _rotor_inertias(root, path)
    links = [
        replace(
            link, position=start.get(link.name, 0.0), driven=link.name in driven,
            values=replace(link.values, rotor_inertia=rotors.get(link.name, 0.0)),
        )
        for link in links
    ]  # fmt: skip
    _require_known(links, bodies, path)
    base = _root_of(links, bodies, path)
    frames = {name: (name, HERE) for name in bodies}
    for link in links:
        frames.setdefault(link.name, (link.second, HERE))
    loops = [_constraint(element, path) for element in root.findall('constraint')]
    _require_known(loops, bodies, path)
    couplings = tuple(
        (joint.get('name', ''), mimic.get('joint', ''))
        for joint in root.findall('joint')
        if (mimic := joint.find('mimic')) is not None
    )
    return Graph(
        name=root.get('name', path.stem), source=path.name, bodies=bodies, base=base, places=tree_places(links, base),
        links=(*links, *loops), frames=frames, link_frames=frozenset(bodies), couplings=couplings, gravity=EARTH,
        notes=('gravity is assumed to be 9.81 m/s^2 along -z of the base: a URDF does not say it',),
    )  # fmt: skip


def driven_joints(root: Element) -> set[str]:
    """Joints that ``<ros2_control>`` commands; where there is none, that a ``<transmission>`` drives."""
    commanded = {
        joint.get('name', '')
        for control in root.findall('ros2_control')
        for joint in control.findall('joint')
        if joint.find('command_interface') is not None
    }
    if commanded:
        return commanded
    return {
        joint.get('name', '')
        for transmission in root.findall('transmission')
        if transmission.find('actuator') is not None
        for joint in transmission.findall('joint')
    }


def tree_places(links: list[Link], base: str) -> dict[str, Placement]:
    """Poses in the base of all bodies of a tree, its joints where their positions say, balls and the like at zero."""
    places = {base: HERE}
    waiting = list(links)
    while ready := [link for link in waiting if link.first in places]:
        for link in ready:
            motion = motion_of(link.kind, link.axis, link.position)
            places[link.second] = places[link.first] @ link.first_frame @ motion @ link.second_frame.inverse
            waiting.remove(link)
    return places


def _start(root: Element, path: Path) -> dict[str, float]:
    """Joint positions at the start that ``<ros2_control>`` gives as initial values."""
    return {
        joint.get('name', ''): number((parameter.text or '').strip(), f'{path}: initial_value of {joint.get("name")!r}')
        for joint in root.iterfind('ros2_control/joint')
        for state in joint.findall('state_interface')
        for parameter in state.findall('param')
        if state.get('name') == 'position' and parameter.get('name') == 'initial_value'
    }


def _rotor_inertias(root: Element, path: Path) -> dict[str, float]:
    """Rotor inertias of joints, reflected to them, in Drake's words: inertia of the rotor, and gear ratio."""
    found = {}
    for transmission in root.findall('transmission'):
        joint, actuator = transmission.find('joint'), transmission.find('actuator')
        inertia = None if actuator is None else actuator.find(f'{{{_DRAKE}}}rotor_inertia')
        if joint is not None and actuator is not None and inertia is not None:
            where = f'{path}: transmission of {joint.get("name")!r}'
            ratio = number(attribute(actuator.find(f'{{{_DRAKE}}}gear_ratio'), 'value'), f'{where}: gear_ratio', 1.0)
            found[joint.get('name', '')] = ratio**2 * number(inertia.get('value'), f'{where}: rotor_inertia')
    return found


def _body(element: Element, path: Path) -> RigidBody:
    name, inertial = element.get('name', ''), element.find('inertial')
    if inertial is None:
        return RigidBody(name)
    where = f'{path}: link {name!r}'
    mass = number(attribute(inertial.find('mass'), 'value'), f'{where}: mass')
    moments = inertial.find('inertia')
    tensor = inertia_tensor(number(attribute(moments, key), f'{where}: {key}') for key in INERTIA_ENTRIES)
    return RigidBody(name, mass, np.zeros(3), tensor).moved(_origin(inertial.find('origin'), where))


def _origin(element: Element | None, where: str) -> Placement:
    zero = np.zeros(3)
    return rpy_placement(
        numbers(attribute(element, 'xyz'), 3, f'{where}: xyz', zero),
        numbers(attribute(element, 'rpy'), 3, f'{where}: rpy', zero),
    )


def joint_of(element: Element, path: Path | str) -> Link:
    """Joint of the tree.

    Raises
    ------
    ImportMachineError
        Its type cannot be imported, or a part of it cannot be read.
    """
    name, kind = element.get('name', ''), element.get('type', '')
    where = f'{path}: joint {name!r}'
    if kind not in _KINDS:
        raise ImportMachineError(f'{where}: type {kind!r} cannot be imported; known: {", ".join(_KINDS)}')
    parent, child = _ends(element, where)
    has_axis = kind in ('revolute', 'continuous', 'prismatic')
    axis = _axis(element, 'axis', where) if has_axis else np.array([0.0, 0.0, 1.0])
    origin = _origin(element.find('origin'), where)
    return Link(name, _KINDS[kind], parent, child, origin, HERE, axis, values=_values(element, where))


def _axis(element: Element, key: str, where: str) -> Array:
    """Axis (3,) of a joint or constraint; that of x where it says nothing."""
    return unit(numbers(attribute(element.find(key), 'xyz'), 3, f'{where}: {key}', _X_AXIS), where)


def _ends(element: Element, where: str) -> tuple[str, str]:
    """Names of the links that a joint or constraint joins."""
    parent, child = (attribute(element.find(key), 'link') for key in ('parent', 'child'))
    if parent is None or child is None:
        raise ImportMachineError(f'{where}: has no parent or no child')
    return parent, child


def _values(element: Element, where: str) -> JointValues:
    limit, dynamics = element.find('limit'), element.find('dynamics')
    bounded = element.get('type') in ('revolute', 'prismatic')

    def value(part: Element | None, key: str, default: float) -> float:
        return number(attribute(part, key), f'{where}: {key}', default) if attribute(part, key) else default

    # zero is what exporters write for 'not known'
    return JointValues(
        lower=value(limit, 'lower', -np.inf) if bounded else -np.inf,
        upper=value(limit, 'upper', np.inf) if bounded else np.inf,
        velocity=value(limit, 'velocity', 0.0) or np.inf,
        effort=value(limit, 'effort', 0.0) or np.inf,
        viscous=value(dynamics, 'damping', 0.0),
        coulomb=value(dynamics, 'friction', 0.0),
    )


def _constraint(element: Element, path: Path) -> Link:
    name, kind = element.get('name', ''), element.get('type', '').lower()
    where = f'{path}: constraint {name!r}'
    if kind not in _LOOP_KINDS:
        raise ImportMachineError(f'{where}: type {kind!r} cannot be imported; known: {", ".join(_LOOP_KINDS)}')
    parent, child = _ends(element, where)
    first, second = (_origin(element.find(f'{side}_origin'), where) for side in ('parent', 'child'))
    axes = [_X_AXIS, _X_AXIS]
    if kind in ('revolute', 'universal'):
        axes = [_axis(element, f'{side}_axis', where) for side in ('parent', 'child')]
    if kind == 'universal':
        second, axes[1] = _perpendicular(second, axes[0], axes[1])
    return Link(name, _LOOP_KINDS[kind], parent, child, first, second, axes[0], axes[1], is_loop=True)


def _perpendicular(second: Placement, axis: Array, second_axis: Array) -> tuple[Placement, Array]:
    """Turn the second frame of a universal joint so that its axis is perpendicular to the first one's."""
    across = frame_along(axis).rotation[:, 0]
    turn = frame_along(second_axis).rotation @ frame_along(across).rotation.T
    return Placement(second.position, second.rotation @ turn), across


def _require_known(links: list[Link], bodies: dict[str, RigidBody], path: Path) -> None:
    for link in links:
        for name in (link.first, link.second):
            if name not in bodies:
                raise ImportMachineError(f'{path}: {link.name!r} names a link {name!r} that the file does not have')


def _root_of(links: list[Link], bodies: dict[str, RigidBody], path: Path) -> str:
    children = [link.second for link in links]
    twice = {name for name in children if children.count(name) > 1}
    if twice:
        raise ImportMachineError(
            f'{path}: {", ".join(sorted(twice))} has several parents; a URDF is a tree: close loops by <constraint> '
            'elements or by a YAML file (option --loops)'
        )
    roots = [name for name in bodies if name not in children]
    if len(roots) != 1:
        raise ImportMachineError(f'{path}: expected one link without a parent, found {len(roots)}: {", ".join(roots)}')
    return roots[0]


def xml_root(path: Path) -> Element:
    """Root element of a file; xacro is expanded, with the defaults of its arguments.

    Raises
    ------
    ImportMachineError
        It is no XML, cannot be read, or xacro does not take it.
    """
    try:
        text = path.read_text(encoding='utf-8-sig')
    except (OSError, UnicodeDecodeError) as error:
        raise ImportMachineError(f'{path}: cannot be read: {error}') from None
    root = parsed(text, path)
    return parsed(_expanded(path), path) if _XACRO in text else root


def _expanded(path: Path) -> str:
    """Text of a xacro file with its macros expanded."""
    try:
        import xacro
    except ImportError:
        raise ImportMachineError(f'{path}: reading xacro needs the package xacro of ROS: pip install xacro') from None
    try:
        text: str = xacro.process_file(str(path)).toxml()
    except Exception as error:  # xacro raises what the expressions inside raise
        raise ImportMachineError(f'{path}: xacro does not take it: {error}') from None
    return text


def parsed(text: str, source: Path | str) -> Element:
    """Root element of a text; ``source`` is what messages name."""
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ImportMachineError(f'{source}: is not XML: {error}') from None


def numbers(text: str | None, count: int, where: str, default: Array | None = None) -> Array:
    """Numbers of a text.

    Parameters
    ----------
    count : how many there must be
    where : file, element and attribute, for the message
    default : what stands for a missing text; None: it must not be missing

    Raises
    ------
    ImportMachineError
        Missing, not numbers, or another number of them.
    """
    if text is None:
        if default is None:
            raise ImportMachineError(f'{where} is missing')
        return default
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not np.isfinite(values).all():
        raise ImportMachineError(f'{where} = {text!r}: expected {count} number{"s" if count > 1 else ""}')
    return values


def number(text: str | None, where: str, default: float | None = None) -> float:
    """Return one number of a text; see :func:`numbers`."""
    return float(numbers(text, 1, where, None if default is None else np.array([default]))[0])


def attribute(element: Element | None, key: str) -> str | None:
    """Return the attribute of an element that may be missing itself."""
    return None if element is None else element.get(key)


def rpy_placement(position: Array, rpy: Array) -> Placement:
    """Placement of a position (3,) m and roll, pitch, yaw (3,) rad, as URDF and SDF have them."""
    return Placement(position, Rotation.from_euler('xyz', rpy).as_matrix())


def unit(axis: Array, where: str) -> Array:
    """Return an axis (3,) with length one.

    Raises
    ------
    ImportMachineError
        It has no length.
    """
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise ImportMachineError(f'{where} = {axis.tolist()}: an axis needs a direction')
    return axis / length
