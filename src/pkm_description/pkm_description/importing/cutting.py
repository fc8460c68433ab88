"""Cut a mechanism at its platform into legs: a tree of joints from the base for each, and closures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.graph import BASE, Graph, Link, Mechanism, frame_along, reachable, walk
from pkm_description.importing.selection import Selection
from pkm_description.machine import Closure, Joint, JointFriction, Leg, Pose, RigidBody
from pkm_description.machine.parts import HERE, Placement

#: what is cheapest to have as a closure comes last
_ORDER = ('revolute', 'universal', 'ball', 'fixed')

#: share of a body's mass that a part of it takes that is joined to it rigidly
_SHARE = 0.1


def cut(selection: Selection) -> Mechanism:
    """Legs and closures of a mechanism; the joints where they are at the start, loops not yet closed."""
    graph, platform = _with_parts(selection.graph, selection.platform), selection.platform
    ends = {graph.base, platform}
    legs: list[Leg] = []
    springs: dict[str, float] = {}
    bodies: dict[str, tuple[str, Placement]] = {}
    seen: set[str] = set()
    for body in graph.bodies:
        if body not in ends and body not in seen:
            group = reachable(graph.links, body, ends)
            seen |= group
            leg = _Leg(graph, selection, group, springs)
            legs.append(leg.cut(f'leg{len(legs) + 1}'))
            bodies.update(leg.bodies)
    place = graph.places[platform] @ selection.frame
    return Mechanism(
        name=graph.name, source=graph.source, gravity=graph.gravity, notes=graph.notes, legs=tuple(legs),
        platform=replace(graph.bodies[platform].moved(selection.frame.inverse), name=selection.link),
        home=Pose(place.position, place.rotation), bodies=bodies, springs=springs,
        freedom='planar' if selection.planar else 'free',
    )  # fmt: skip


def _must_stand(link: Link) -> bool:
    """Whether a link must be a joint of a leg, not a closure: closures have no drive, friction or rotor."""
    values = link.values
    resists = values.viscous > 0.0 or values.coulomb > 0.0 or values.rotor_inertia > 0.0
    return link.driven or link.kind == 'prismatic' or (link.kind == 'revolute' and resists)


def _with_parts(graph: Graph, platform: str) -> Graph:
    """Return the graph in which no joint that must stand in a leg ends at the platform: it ends at a part of it."""
    for link in graph.links:
        direct = {link.first, link.second} == {graph.base, platform}
        if platform in (link.first, link.second) and (_must_stand(link) or direct):
            graph = _parted(graph, link, platform)
    return graph


def _parted(graph: Graph, link: Link, body: str) -> Graph:
    """Split a part off a body, at which a link ends in its place; the part is rigidly connected with the rest."""
    part, whole = f'{body}_at_{link.name}', graph.bodies[body]
    bodies = {
        **graph.bodies,
        part: replace(whole, name=part, mass=_SHARE * whole.mass, inertia=_SHARE * whole.inertia),
        body: replace(whole, mass=(1.0 - _SHARE) * whole.mass, inertia=(1.0 - _SHARE) * whole.inertia),
    }
    ended = replace(link, first=part) if link.first == body else replace(link, second=part)
    links = tuple(ended if one is link else one for one in graph.links)
    return replace(
        graph,
        bodies=bodies,
        places={**graph.places, part: graph.places[body]},
        links=(*links, Link(f'{part}_mount', 'fixed', part, body, is_loop=True)),
    )


class _Leg:
    """Cut one leg: bodies of ``group`` between base and platform."""

    def __init__(self, graph: Graph, selection: Selection, group: set[str], springs: dict[str, float]) -> None:
        self._graph, self._selection, self._group, self._springs = graph, selection, group, springs
        # the frame of a body of a machine is its joint's: its pose in the body of the file
        self._frames = {graph.base: HERE, selection.platform: selection.frame}
        self._names = {graph.base: BASE, selection.platform: selection.link}

    @property
    def bodies(self) -> dict[str, tuple[str, Placement]]:
        """Bodies of the file -> bodies of the leg, and their frames there."""
        return {body: (self._names[body], frame.inverse) for body, frame in self._frames.items()}

    def cut(self, name: str) -> Leg:
        """Joints and closures of the leg."""
        tree, loops = self._tree()
        joints: list[Joint] = []
        for link in walk(tree, self._graph.base, by_branch=True):
            joints += self._joints(link)
        return Leg(name, tuple(joints), tuple(self._closure(link) for link in loops))

    def _tree(self) -> tuple[list[Link], list[Link]]:
        """Links that make a tree over base and bodies, and those that close it."""
        platform = self._selection.platform
        tree: list[Link] = []
        loops: list[Link] = []
        groups = {body: {body} for body in (*self._group, self._graph.base)}
        for link in sorted((one for one in self._graph.links if self._group & {one.first, one.second}), key=_rank):
            if platform in (link.first, link.second):
                loops.append(link)
            elif link.kind != 'fixed' and groups[link.first] is not groups[link.second]:
                merged = groups[link.first] | groups[link.second]
                groups.update(dict.fromkeys(merged, merged))
                tree.append(link)
            elif _must_stand(link):
                body = link.second if link.second != self._graph.base else link.first
                self._graph = _parted(self._graph, link, body)
                tree.append(next(one for one in self._graph.links if one.name == link.name))
                loops.append(self._graph.links[-1])
            else:
                loops.append(link)
        return tree, loops

    def _joints(self, link: Link) -> list[Joint]:
        """Joints of one degree of freedom in the place of a link of the tree, massless between them."""
        graph, first, second = self._graph, link.first, link.second
        relative = (graph.places[second] @ link.second_frame).seen_from(graph.places[first] @ link.first_frame)
        towards = link.second_frame.inverse.point(self._far_end(second, link))
        turns, start, along = turns_of(link, relative, towards)
        self._frames[second], self._names[second] = link.second_frame @ along, second
        frame, parent = self._frames[first].inverse @ link.first_frame @ start, self._names[first]
        body, values = graph.bodies[second].moved(self._frames[second].inverse), link.values
        if values.stiffness > 0.0:
            self._springs[link.name] = values.stiffness
        numbers = [''] if len(turns) == 1 else [f'_{number}' for number in range(1, len(turns) + 1)]
        names = [f'{link.name}{number}' for number in numbers]
        bodies = [*(RigidBody(f'{name}_cross') for name in names[:-1]), body]
        joints = []
        for name, own, (axis, home) in zip(names, bodies, turns, strict=True):
            joints.append(
                Joint(
                    name, 'prismatic' if link.kind == 'prismatic' else 'revolute', axis, frame.position, frame.rotation,
                    link.driven and len(turns) == 1,
                    values, JointFriction.viscous_coulomb(values.viscous, values.coulomb), own, home,
                    values.rotor_inertia, parent, link.name if len(turns) > 1 else '',
                )
            )  # fmt: skip
            parent, frame = own.name, HERE
        return joints

    def _far_end(self, body: str, link: Link) -> Array:
        """Return a point (3,) m of a body far from a joint: its farthest other joint, or its centre of mass."""
        here = link.second_frame.position
        ends = [one.from_side(body).first_frame.position for one in self._graph.links_of(body)]
        ends.append(self._graph.bodies[body].center_of_mass)
        return max(ends, key=lambda point: float(np.linalg.norm(point - here)))

    def _closure(self, link: Link) -> Closure:
        """Closure in the place of a link, from a body of the leg to the other one."""
        if link.first not in self._names or link.first in (self._selection.platform, self._graph.base):
            link = link.from_side(link.second)
        first = self._frames[link.first].inverse @ link.first_frame
        second = self._frames[link.second].inverse @ link.second_frame
        kind, turn = link.as_closure
        if self._selection.planar and kind == 'ball':  # the plane holds what a pin would
            kind, turn = 'pin', Placement(rotation=(self._graph.places[link.first] @ link.first_frame).rotation.T)
            there = (self._graph.places[link.second] @ link.second_frame).rotation.T
            second = second @ Placement(rotation=there @ turn.rotation.T)
        first, second = first @ turn, second @ turn
        return Closure(
            link.name, kind, self._names[link.first], first.position, self._names[link.second], second.position,
            first.rotation, second.rotation,
        )  # fmt: skip


def _rank(link: Link) -> tuple[int, bool]:
    return (0 if _must_stand(link) else 1 + _ORDER.index(link.kind)), link.is_loop


def turns_of(link: Link, relative: Placement, towards: Array) -> tuple[list[tuple[Array, float]], Placement, Placement]:
    """Joints of one degree of freedom that stand for one of the file.

    A ball is turns about x, y and z of a frame whose z axis points along the second body, all zero at the start.

    Parameters
    ----------
    relative : pose of the second frame in the first one at the start
    towards : (3,) m in the second frame, a point far along the second body

    Returns
    -------
    axes (3,) and positions [rad, m] at the start of the joints; their frame in the link's first one, and in its second
    """
    if link.kind == 'ball':
        along = frame_along(towards if np.linalg.norm(towards) > 1e-6 else np.array([0.0, 0.0, 1.0]))
        return [(axis, 0.0) for axis in np.eye(3)], Placement(rotation=relative.rotation @ along.rotation), along
    positions = link.positions(relative, (link.position, 0.0))  # whole turns as in the file
    return list(zip((link.axis, link.second_axis), positions, strict=False)), HERE, HERE
