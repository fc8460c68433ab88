"""Bodies that are joined rigidly become one; joints that are held become rigid; masses for bodies without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.graph import BASE, Graph, ImportMachineError, Link, Mechanism, motion_of, reachable, walk
from pkm_description.loading.checks import densest_ball
from pkm_description.machine import Closure, Joint, Leg, RigidBody
from pkm_description.machine.machine import joined, with_joints
from pkm_description.machine.parts import HERE, Placement

#: kinds of links that leave a body to the loops
FLOATING = ('free', 'planar')

#: kg, the lightest body of a machine file; what lighter ones get has some room
_LEAST_MASS, _ROOM = 1e-3, 1.001

#: radius of gyration of a body, relative to the largest distance in the machine
_GYRATION = 2.5

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
    rigid = [link for link in graph.links if link.kind == 'fixed']
    for name in [graph.base, *graph.bodies]:
        if name not in group:
            group[name] = (name, HERE)
            for link in walk(rigid, name):
                group[link.second] = (name, group[link.first][1] @ link.first_frame @ link.second_frame.inverse)
    for link in rigid:
        one = group[link.second][1]
        other = group[link.first][1] @ link.first_frame @ link.second_frame.inverse
        distance = float(np.linalg.norm(one.position - other.position))
        turn = float(np.linalg.norm(one.rotation - other.rotation))
        if max(distance, turn) > _AGREE:
            raise ImportMachineError(
                f'{graph.source}: {link.name!r} joins {link.first!r} and {link.second!r} rigidly, but other rigid '
                f'connections have them {distance:.3g} m and {turn:.3g} rad elsewhere'
            )
    bodies = {}
    for name in dict.fromkeys(first for first, _ in group.values()):
        others = [graph.bodies[other].moved(place) for other, (first, place) in group.items() if first == name != other]
        bodies[name] = joined(graph.bodies[name], *others)
    links = [link_of_groups(link, group) for link in graph.links if group[link.first][0] != group[link.second][0]]
    frames = {name: (group[body][0], group[body][1] @ place) for name, (body, place) in graph.frames.items()}
    places = {name: graph.places[name] for name in bodies}
    return replace(graph, bodies=bodies, links=tuple(links), frames=frames, places=places)


def link_of_groups(link: Link, groups: dict[str, tuple[str, Placement]]) -> Link:
    """Return a link between the bodies into which those that it names were lumped: body -> group, and place there."""
    (first, at_first), (second, at_second) = groups[link.first], groups[link.second]
    first_frame, second_frame = at_first @ link.first_frame, at_second @ link.second_frame
    return replace(link, first=first, second=second, first_frame=first_frame, second_frame=second_frame)


def without_joint(mechanism: Mechanism, name: str, why: str) -> Mechanism:
    """Return the mechanism with one joint held at home; its body and the one before it become one."""
    gone = next(joint for joint in mechanism.joints if joint.name == name)
    at = gone.place @ motion_of(gone.kind, gone.axis, gone.home)
    before = next((joint.body for joint in mechanism.joints if joint.body.name == gone.parent), None)
    # crosses have no name of their own
    whole = gone.parent if before is None or before.mass > 0.0 else gone.body.name

    names = {gone.parent: whole, gone.body.name: whole}
    turns_left = sum(joint.part_of == gone.part_of != '' for joint in mechanism.joints) - 1

    def seen(body: str, frame: Placement) -> Placement:
        return at @ frame if body == gone.body.name else frame

    def joint_without(joint: Joint) -> Joint:
        body, place = joint.body, seen(joint.parent, joint.place)
        if body.name == gone.parent:
            body = joined(body, gone.body.moved(at))
        return replace(
            joint, body=body, translation=place.position, rotation_parent_joint=place.rotation,
            part_of='' if turns_left == 1 and joint.part_of == gone.part_of else joint.part_of,
        )  # fmt: skip

    def closure_without(closure: Closure) -> Closure:
        frame, there = seen(closure.body, closure.frame), seen(closure.other, closure.other_frame)
        return replace(
            closure, point=frame.position, rotation_body=frame.rotation, other_point=there.position,
            rotation_other=there.rotation,
        )  # fmt: skip

    legs = []
    for leg in mechanism.legs:
        joints = tuple(joint_without(joint) for joint in leg.joints if joint is not gone)
        legs.append(Leg(leg.name, joints, tuple(map(closure_without, leg.closures))).with_body_names(names))
    bodies = {body: (names.get(name, name), seen(name, frame)) for body, (name, frame) in mechanism.bodies.items()}
    held = {**mechanism.held, gone.name: gone.home}
    return replace(mechanism, legs=tuple(legs), held=held, bodies=bodies).noting(f'{gone.name}: {why}')


def with_bases_fixed(graph: Graph) -> Graph:
    """Return the graph with floating bodies fixed to the base that nothing else connects with it."""
    reached = reachable([link for link in graph.links if link.kind not in FLOATING], graph.base)
    links = list(graph.links)
    notes = []
    for place, link in enumerate(links):
        if link.kind in FLOATING and link.first in reached and link.second not in reached:
            links[place] = _held(graph, link)
            reached |= reachable([other for other in links if other.kind not in FLOATING], link.second)
            notes.append(f'the floating body {link.second!r} is fixed where it is: it is taken as the base')
    return replace(graph, links=tuple(link for link in links if link.kind not in FLOATING)).noting(*notes)


def with_masses(mechanism: Mechanism) -> Mechanism:
    """Return the same mechanism, in which every body has mass and inertia; it moves and pushes as before.

    A body that is too light takes point masses from its neighbours, in the centres of the turning joints between them:
    both move them alike. The base may lend any.

    Raises
    ------
    ImportMachineError
        A light body that no turning joints connect with a heavy one, or one that has no possible mass.
    """
    # crosses inside universal and ball joints need no mass
    after = {joint.parent: joint.part_of for joint in mechanism.joints if joint.part_of}
    crosses = {joint.body.name for joint in mechanism.joints if after.get(joint.body.name) == joint.part_of != ''}
    bodies = {joint.body.name: joint.body for joint in mechanism.joints if joint.body.name not in crosses}
    bodies[mechanism.platform.name] = mechanism.platform
    size = _GYRATION * mechanism.size
    least = {name: max(_LEAST_MASS, np.linalg.eigvalsh(body.inertia)[-1] / size**2) for name, body in bodies.items()}
    light = [name for name, body in bodies.items() if body.mass < least[name]]
    axes = {
        joint.body.name: joint.axis
        for joint in mechanism.joints
        if joint.parent == BASE and joint.kind == 'revolute' and not joint.part_of
    }
    beside = {name: _neighbours(mechanism, crosses, name) for name in light}
    asked = Counter(other for ones in beside.values() for other, _, _ in ones)
    # what the best lender of a body can spare, and how many bodies lie between
    reach: dict[str, tuple[float, int]] = {BASE: (np.inf, 0)}
    for ones in beside.values():
        for other, _, there in ones:
            if other != BASE and other not in beside:
                spare = _spare(bodies[other], there, least[other], other in axes) / asked[other]
                reach[other] = min(reach.get(other, (np.inf, 0)), (spare, 0))
    for _ in light:
        for name in light:
            found = [(reach[other][0], reach[other][1] + 1) for other, _, _ in beside[name] if other in reach]
            reach[name] = max([*found, reach.get(name, (0.0, len(bodies)))], key=lambda one: (one[0], -one[1]))
    stranded = [name for name in light if reach[name][0] == 0.0]
    if stranded:
        raise ImportMachineError(
            f'{mechanism.source}: {", ".join(stranded)}: less than 1 g, and no turning joint to a heavier body, of '
            'which 1 g could count to it; give it a mass in the source'
        )
    for name in sorted(light, key=lambda one: -reach[one][1]):
        spare, far = reach[name]
        ones = [one for one in beside[name] if one[0] in reach and reach[one[0]][1] < far]
        ones = [one for one in ones if reach[one[0]][0] >= 0.5 * spare]
        shares = np.array([min(reach[other][0], 1e3) for other, _, _ in ones])
        lent = max(_ROOM * least[name] - bodies[name].mass, 0.0) * shares / shares.sum()
        for (other, point, there), mass in zip(ones, lent.tolist(), strict=True):
            bodies[name] = joined(bodies[name], RigidBody('', mass, point))
            if other != BASE:
                bodies[other] = joined(bodies[other], RigidBody('', -mass, there))
    for name, body in bodies.items():
        if body.mass < _LEAST_MASS:
            raise ImportMachineError(
                f'{mechanism.source}: {name!r} has {body.mass:.3g} kg, lighter neighbours counted to it; give it, or '
                'the bodies beside it, a possible mass in the source'
            )
    bodies = {name: _with_axle(body, axes[name], size) if name in axes else body for name, body in bodies.items()}
    possible = {name: _with_inertia(body) for name, body in bodies.items()}
    raised = tuple(
        name for name, body in possible.items() if np.abs(body.inertia - bodies[name].inertia).max() > 2.0 * _BALL
    )
    notes = []
    if light:
        notes.append(f'too light for a machine file, so mass of a neighbour counts to it: {", ".join(light)}')
    if raised:
        notes.append(f'inertia raised to what a body of that mass can have: {", ".join(raised)}')
    changed = with_joints(mechanism, lambda joint: replace(joint, body=possible.get(joint.body.name, joint.body)))
    return replace(changed, platform=possible[mechanism.platform.name], raised=raised).noting(*notes)


def _spare(body: RigidBody, point: Array, least: float, on_base: bool) -> float:
    """Mass [kg] that a body can lend at a point (3,) m of it and still be a possible one, to a factor of two.

    One that turns on the base gets from there what its inertia lacks, see :func:`_with_axle`.
    """
    mass = max(body.mass - least, 0.0)
    for _ in range(0 if on_base else 20):
        left = joined(body, RigidBody('', -mass, point))
        if _with_inertia(left) is left:
            return mass
        mass *= 0.5
    return mass


def _with_axle(body: RigidBody, axis: Array, size: float) -> RigidBody:
    """Return a body that turns on the base, with masses of the base on its axis where it is no possible one without."""
    with_masses, mass = body, _LEAST_MASS
    while _with_inertia(with_masses) is not with_masses and mass < 1.0:
        ends = [RigidBody('', mass, sign * 0.1 * size * axis) for sign in (-1.0, 1.0)]
        with_masses, mass = joined(body, *ends), 2.0 * mass
    return with_masses if mass < 1.0 else body


def _neighbours(mechanism: Mechanism, crosses: set[str], name: str) -> list[tuple[str, Array, Array]]:
    """Bodies that share a point with one, by a turning joint or a closure, and the point (3,) m in it and in them."""
    found = []
    carriers: dict[str, tuple[str, Array]] = {}
    for joint in mechanism.joints:
        start = carriers.get(joint.parent, (joint.parent, joint.place.position))
        if joint.body.name in crosses:
            carriers[joint.body.name] = start
        elif joint.kind == 'revolute':
            found.append((start[0], start[1], joint.body.name, np.zeros(3)))
    found += [(one.body, one.point, one.other, one.other_point) for one in mechanism.closures]
    ahead = [(other, point, there) for first, point, other, there in found if first == name]
    return ahead + [(first, point, there) for first, there, other, point in found if other == name]


def _with_inertia(body: RigidBody) -> RigidBody:
    """Return the body with at least the inertia of a heavy ball of a gram, or of a point of its mass."""
    least = max(_POINT_LIKE * densest_ball(body.mass), _BALL)
    moments = np.linalg.eigvalsh(body.inertia)
    if moments[-1] > least and moments[0] > 0.0 and moments[0] + moments[1] >= moments[2] * (1.0 - 1e-9):
        return body
    # what lacks to a possible body, the same about all axes
    lack = max(least - moments[0], moments[2] - moments[0] - moments[1], 0.0)
    return replace(body, inertia=body.inertia + lack * np.eye(3))
