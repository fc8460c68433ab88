"""Bodies that are joined rigidly become one; joints that are held become rigid; masses for bodies without."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.graph import BASE, HERE, Graph, ImportMachineError, Link, Mechanism, Placement
from pkm_description.loading.checks import densest_ball
from pkm_description.machine import Joint, Leg, RigidBody
from pkm_description.machine.machine import joined

#: kg, the lightest body of a machine file, with some room
_LIGHTEST = 1.001e-3

#: kg m^2 of such a body: a ball of heavy metal
_BALL = 2e-11

#: share of the inertia of a ball of osmium that every body has
_POINT_LIKE = 0.0101
#: m and rad; rigid connections that close a ring must agree to this
_AGREE = 1e-5


def with_held(graph: Graph, names: Iterable[str], why: str) -> Graph:
    """Return the graph with joints held where they are at the start; ``why`` is noted."""
    held = set(names)
    if not held:
        return graph
    for name in held:
        graph.link(name)
    links = tuple(_held(graph, link) if link.name in held else link for link in graph.links)
    return replace(graph, links=links).noting(f'{why}: {", ".join(sorted(held))}')


def _held(graph: Graph, link: Link) -> Link:
    """Return the link as a rigid connection between where its two bodies are."""
    between = graph.places[link.second].seen_from(graph.places[link.first])
    return replace(link, kind='fixed', first_frame=between, second_frame=HERE, driven=False)


def lumped(graph: Graph) -> Graph:
    """Return the graph without rigid connections: each group of connected bodies is one body, named by its first.

    Raises
    ------
    ImportMachineError
        Rigid connections that contradict each other.
    """
    group: dict[str, tuple[str, Placement]] = {}
    for name in [graph.base, *graph.bodies]:
        if name not in group:
            _spread(graph, name, group)
    bodies = {}
    for name in dict.fromkeys(first for first, _ in group.values()):
        others = [graph.bodies[other].moved(place) for other, (first, place) in group.items() if first == name != other]
        bodies[name] = joined(graph.bodies[name], *others)
    links = []
    for link in graph.links:
        (first, at_first), (second, at_second) = group[link.first], group[link.second]
        if first != second:
            links.append(
                replace(
                    link,
                    first=first,
                    second=second,
                    first_frame=at_first @ link.first_frame,
                    second_frame=at_second @ link.second_frame,
                )
            )
    frames = {name: (group[body][0], group[body][1] @ place) for name, (body, place) in graph.frames.items()}
    places = {name: graph.places[name] for name in bodies}
    return replace(graph, bodies=bodies, links=tuple(links), frames=frames, places=places)


def _spread(graph: Graph, name: str, group: dict[str, tuple[str, Placement]]) -> None:
    """Find all bodies that are rigidly connected with one, and their poses in it."""
    group[name] = (name, HERE)
    waiting = [name]
    while waiting:
        body = waiting.pop()
        for link in graph.links_of(body):
            if link.kind != 'fixed':
                continue
            there = link.from_side(body)
            place = group[body][1] @ there.first_frame @ there.second_frame.inverse
            if there.second not in group:
                group[there.second] = (name, place)
                waiting.append(there.second)
            else:
                _require_same(graph, link, group[there.second][1], place)


def _require_same(graph: Graph, link: Link, one: Placement, other: Placement) -> None:
    distance = float(np.linalg.norm(one.position - other.position))
    turn = float(np.linalg.norm(one.rotation - other.rotation))
    if max(distance, turn) > _AGREE:
        raise ImportMachineError(
            f'{graph.source}: {link.name!r} joins {link.first!r} and {link.second!r} rigidly, but other rigid '
            f'connections have them {distance:.3g} m and {turn:.3g} rad elsewhere'
        )


def with_bases_fixed(graph: Graph) -> Graph:
    """Return the graph with floating bodies fixed to the base that nothing else connects with it."""
    reached = reachable(graph, graph.base, [link for link in graph.links if link.kind != 'free'])
    links = list(graph.links)
    notes = []
    for place, link in enumerate(links):
        if link.kind == 'free' and link.first in reached and link.second not in reached:
            links[place] = _held(graph, link)
            reached |= reachable(graph, link.second, [other for other in links if other.kind != 'free'])
            notes.append(f'the floating body {link.second!r} is fixed where it is: it is taken as the base')
    return replace(graph, links=tuple(link for link in links if link.kind != 'free')).noting(*notes)


def reachable(graph: Graph, start: str, links: list[Link], without: frozenset[str] = frozenset()) -> set[str]:
    """Return the bodies that links connect with one, not passing the bodies of ``without``."""
    neighbours: dict[str, list[str]] = {}
    for link in links:
        neighbours.setdefault(link.first, []).append(link.second)
        neighbours.setdefault(link.second, []).append(link.first)
    reached, waiting = {start}, [start]
    while waiting:
        for name in neighbours.get(waiting.pop(), []):
            if name not in reached and name not in without:
                reached.add(name)
                waiting.append(name)
    return reached


def with_masses(mechanism: Mechanism) -> Mechanism:
    """Return the same mechanism, in which every body has mass and inertia; it moves and pushes as before.

    A body that is too light takes a point mass on its revolute joint's axis from the body before it; of the base it
    may take any.

    Raises
    ------
    ImportMachineError
        A light body on a prismatic joint, or one that has no neighbour with enough mass.
    """
    lent: list[str] = []
    raised: list[str] = []
    legs = tuple(_leg(leg, mechanism, lent, raised) for leg in mechanism.legs)
    notes = []
    if lent:
        notes.append(f'too light for a machine file, so 1 g of a neighbour counts to it: {", ".join(lent)}')
    if raised:
        notes.append(f'inertia raised to what a body of that mass can have: {", ".join(raised)}')
    platform = mechanism.platform
    if platform.mass < _LIGHTEST:
        raise ImportMachineError(
            f'{mechanism.source}: the platform {platform.name!r} has {platform.mass:.3g} kg; machine files take 0.001 '
            'kg and more: choose another link of the mechanism (--platform)'
        )
    return replace(mechanism, legs=legs, platform=_with_inertia(platform)).noting(*notes)


def _leg(leg: Leg, mechanism: Mechanism, lent: list[str], raised: list[str]) -> Leg:
    joints = list(leg.joints)
    # towards the base first, and what is left to lend by the bodies behind, from there on
    behind = {place: child for place, child in _children(leg).items() if _heavier_behind(leg, place)}
    for place in [*reversed([one for one in range(len(joints)) if one not in behind]), *sorted(behind)]:
        joint = joints[place]
        need = _LIGHTEST - joint.body.mass
        if need <= 0.0:
            continue
        lent.append(joint.body.name)
        if place in behind:
            child = behind[place]
            joints[place] = _with_point(joint, need, joints[child].place.position)
            joints[child] = _with_point(joints[child], -need, np.zeros(3))
            continue
        if joint.kind == 'prismatic' and joint.parent != BASE:
            raise ImportMachineError(
                f'{mechanism.source}: {joint.body.name!r}, which {joint.name!r} moves, has {joint.body.mass:.3g} kg; '
                'machine files take 0.001 kg and more: give it a mass in the source'
            )
        joints[place] = _with_point(joint, need, np.zeros(3))
        if joint.parent != BASE:
            lender = next(one for one in range(place) if joints[one].body.name == joint.parent)
            joints[lender] = _with_point(joints[lender], -need, joint.place.position)
    return replace(leg, joints=tuple(_checked(joint, mechanism, raised) for joint in joints))


def _with_point(joint: Joint, mass: float, point: Array) -> Joint:
    """Return the joint with a point mass added to its body, at a point (3,) m of it."""
    return replace(joint, body=joined(joint.body, RigidBody('', mass, point)))


def _children(leg: Leg) -> dict[int, int]:
    """Joint -> the only joint that its body carries, where that turns."""
    children: dict[int, int] = {}
    for place, joint in enumerate(leg.joints):
        own = [one for one, other in enumerate(leg.joints) if other.parent == joint.body.name]
        if len(own) == 1 and leg.joints[own[0]].kind == 'revolute':
            children[place] = own[0]
    return children


def _heavier_behind(leg: Leg, place: int) -> bool:
    """Whether the first body with mass behind a light one is heavier than the first before it."""
    children, bodies = _children(leg), {joint.body.name: joint for joint in leg.joints}
    behind, before = place, leg.joints[place].parent
    while behind in children and leg.joints[behind].body.mass < _LIGHTEST:
        behind = children[behind]
    while before != BASE and bodies[before].body.mass < _LIGHTEST:
        if bodies[before].kind != 'revolute':
            return True
        before = bodies[before].parent
    lender = leg.joints[behind].body.mass
    return before != BASE and lender >= _LIGHTEST and lender > bodies[before].body.mass


def _checked(joint: Joint, mechanism: Mechanism, raised: list[str]) -> Joint:
    body = _with_inertia(joint.body)
    if float(np.abs(body.inertia - joint.body.inertia).max()) > 2.0 * _BALL:
        raised.append(body.name)
    moments = np.linalg.eigvalsh(body.inertia)
    if body.mass < 1e-3 or moments[0] <= 0.0:
        raise ImportMachineError(
            f'{mechanism.source}: {body.name!r} has {body.mass:.3g} kg and principal moments of inertia '
            f'{np.array2string(moments, precision=3)} kg m^2, lighter neighbours counted to it; give it, or the bodies '
            'beside it, a possible mass and inertia in the source'
        )
    return replace(joint, body=body)


def _with_inertia(body: RigidBody) -> RigidBody:
    """Return the body with at least the inertia of a heavy ball of a gram, or of a point of its mass."""
    least = max(_POINT_LIKE * densest_ball(body.mass), _BALL)
    moments = np.linalg.eigvalsh(body.inertia)
    if moments[-1] > least and moments[0] > 0.0 and moments[0] + moments[1] >= moments[2] * (1.0 - 1e-9):
        return body
    # what lacks to a possible body, the same about all axes
    lack = max(least - moments[0], moments[2] - moments[0] - moments[1], 0.0)
    return replace(body, inertia=body.inertia + lack * np.eye(3))
