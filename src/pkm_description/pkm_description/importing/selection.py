"""Which body is the platform, and what belongs to the mechanism between it and the base."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from pkm_description.importing.graph import HERE, Graph, ImportMachineError, Link, Placement, reachable, walk
from pkm_description.importing.rigid import FLOATING, link_of_groups, lumped, with_bases_fixed, with_held
from pkm_description.machine import RigidBody

#: names of frames at which people look first, the likeliest first
_NAMES = ('end_effector', 'endeffector', 'effector', 'platform', 'tool', 'tcp', 'eff', 'foot', 'sole', 'head', 'top')


@dataclass(frozen=True)
class Selection:
    """A mechanism between a base and a platform; every body of it stands on a way from one to the other.

    Attributes
    ----------
    graph : the mechanism alone, without rigid connections
    platform : name of the body
    link : name of the frame that is the platform's link frame
    frame : its pose in the body
    base : body of the file that stands still, and the pose of the machine's base frame in it
    floating : the file's joints that leave bodies of the mechanism free, or free in a plane
    """

    graph: Graph
    platform: str
    link: str
    frame: Placement
    base: tuple[str, Placement]
    floating: tuple[Link, ...] = ()

    @property
    def planar(self) -> bool:
        """Whether the file holds the platform in the plane (x, y) of the base."""
        return any(one.kind == 'planar' and one.second == self.platform for one in self.floating)


@dataclass(frozen=True)
class Choice:
    """What the user says of a file.

    Attributes
    ----------
    platform, base : names of links; empty: found
    drives : names of driven joints; empty: those of the file
    held : names of joints that are held where they are
    """

    platform: str = ''
    base: str = ''
    drives: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def selected(graph: Graph, choice: Choice) -> Selection:
    """Find platform and mechanism.

    Raises
    ------
    ImportMachineError
        No loop, no platform, or a name that the file does not have.
    """
    if choice.drives:
        for name in choice.drives:
            graph.link(name)
        graph = _driven_by(graph, choice.drives)
    floating = [link for link in graph.links if link.kind in FLOATING]
    graph = _uncoupled(with_held(graph, choice.held, 'held where they are at the start'), choice.held)
    graph = with_bases_fixed(graph)
    base = graph.frame(choice.base) if choice.base else (graph.base, HERE)
    if choice.base:
        graph = _on_base(graph, choice.base)
    graph = lumped(graph)
    link = choice.platform or _likely_platform(graph)
    platform, frame = graph.frame(link)
    if platform == graph.base:
        raise ImportMachineError(f'{graph.source}: {link!r} does not move: it is part of the base {graph.base!r}')
    if not choice.platform:
        graph = graph.noting(f'the platform is taken to be {link!r}; choose another by --platform')
    graph = _with_drives(_mechanism(graph, platform), link)
    names = {one.name for one in graph.links}
    tied = [pair for pair in graph.couplings if set(pair) <= names]
    if tied:
        one, other = tied[0]
        raise ImportMachineError(
            f'{graph.source}: the position of {one!r} is tied to {other!r} (mimic or joint equality), which a machine '
            'file cannot say; hold one of them (--hold), or model what ties them by loops'
        )
    free = [link_of_groups(one, graph.frames) for one in floating if {one.first, one.second} <= graph.frames.keys()]
    return Selection(graph, platform, link, frame, base, tuple(one for one in free if one.second != graph.base))


def _uncoupled(graph: Graph, held: tuple[str, ...]) -> Graph:
    """Return the graph without what ties joints to held ones."""
    left = tuple(pair for pair in graph.couplings if not set(pair) & set(held))
    freed = [' and '.join(pair) for pair in graph.couplings if pair not in left]
    notes = [f'what ties {pair} is left out, for one of them is held' for pair in freed]
    return replace(graph, couplings=left).noting(*notes)


def _driven_by(graph: Graph, names: Collection[str]) -> Graph:
    return replace(graph, links=tuple(replace(link, driven=link.name in names) for link in graph.links))


def _with_drives(graph: Graph, platform: str) -> Graph:
    """Return the mechanism with its joints on the base driven, where the file drives none."""
    if any(link.driven for link in graph.links):
        return graph
    joints = [link for link in graph.links if not link.is_loop]
    likely = [link.name for link in joints if link.kind == 'prismatic'] or [
        link.name for link in joints if link.kind == 'revolute' and graph.base in (link.first, link.second)
    ]
    if not likely:
        raise ImportMachineError(
            f'{graph.source}: no joint between base and {platform!r} is driven; name the driven ones: --drives JOINT '
            f'...; joints: {", ".join(link.name for link in joints)}'
        )
    return _driven_by(graph, likely).noting(
        f'the file drives no joint; these are taken to be driven: {", ".join(likely)}; choose others by --drives'
    )


def serial_joints(graph: Graph, choice: Choice) -> list[str]:
    """Joints, not held yet, without any of which nothing connects the platform with the base."""
    try:
        selection = selected(graph, choice)
    except ImportMachineError:
        return []
    links, base = selection.graph.links, selection.graph.base
    return [
        link.name
        for link in links
        if selection.platform not in reachable([one for one in links if one is not link], base)
    ]


def _on_base(graph: Graph, name: str) -> Graph:
    """Return the graph seen from another base."""
    body, frame = graph.frame(name)
    place = (graph.places[body] @ frame).inverse
    base_body = 'base of ' + name
    bodies = {**graph.bodies, base_body: RigidBody(base_body)}
    fixed = Link(f'{name} is the base', 'fixed', base_body, body, HERE, frame)
    places = {other: place @ where for other, where in graph.places.items()}
    return replace(
        graph,
        bodies=bodies,
        links=(*graph.links, fixed),
        base=base_body,
        places={**places, base_body: HERE},
        gravity=place.rotation @ graph.gravity,
    ).noting(f'{name!r} is the base and stands still')


def _likely_platform(graph: Graph) -> str:
    """Name of the link that is most likely meant: where most legs meet, called like a tool, far from the base."""
    distance = {graph.base: 0}
    for link in walk(graph.links, graph.base):
        distance[link.second] = distance[link.first] + 1
    best: tuple[tuple[float, ...], str] | None = None
    for body in set(graph.bodies) & set(distance) - {graph.base}:
        legs, driven = _legs_at(graph, body)
        for name, (at, _) in graph.frames.items() if legs > 0 else ():
            if at == body and name in graph.link_frames:
                # several legs meet at the platform; of one leg it is the end that is named so, or the farthest body
                words = [word for word in _NAMES if word in name.lower()]
                called = max((len(word) / len(name) for word in words), default=0.0) if graph.bodies[body].mass else 0.0
                key = (driven, max(legs, 2) if called or legs > 2 else 0, called, legs, distance[body], -len(name))
                if best is None or (key, name) > best:
                    best = (key, name)
    if best is None:
        raise ImportMachineError(
            f'{graph.source}: no body has a closed loop on its way to the base; is the file that closes the loops '
            'missing?'
        )
    return best[1]


def _legs_at(graph: Graph, body: str) -> tuple[int, bool]:
    """Return how many legs lead from the base to a body, 0 where there is no loop on the way; and if one is driven."""
    ends = {graph.base, body}
    legs, looped, driven = 0, False, False
    seen: set[str] = set()
    for link in graph.links_of(body):
        other = link.other(body)
        if other == graph.base:
            legs += 1
            driven = driven or link.driven
        elif other not in seen:
            group = reachable(graph.links, other, ends)
            seen |= group
            inside = [one for one in graph.links if group & {one.first, one.second}]
            if any(graph.base in (one.first, one.second) for one in inside):
                legs += 1
                looped = looped or len(inside) > len(group) + 1
                driven = driven or any(one.driven for one in inside)
    return (legs if legs > 1 or looped else 0), driven


def _mechanism(graph: Graph, platform: str) -> Graph:
    """Return the graph with only what stands on a way from base to platform.

    What hangs on its moving bodies is held and becomes part of them; what stands on the base alone is left out.
    """
    ends = {graph.base, platform}
    if platform not in reachable(graph.links, graph.base):
        raise ImportMachineError(f'{graph.source}: nothing connects {platform!r} with the base {graph.base!r}')
    outside: set[str] = set()
    for body in graph.bodies:
        for other in {link.other(body) for link in graph.links_of(body)}:
            group = reachable(graph.links, other, {body})
            if not group & (ends - {body}):
                outside |= group
    aside = graph.bodies.keys() - reachable(graph.links, platform, {graph.base}) - {graph.base}
    hanging = [link.name for link in graph.links if {link.first, link.second} & (outside - aside)]
    driven = [link.name for link in graph.links if link.driven and {link.first, link.second} & (outside | aside)]
    kept = [name for name in graph.bodies if name not in aside]
    graph = replace(
        graph,
        bodies={name: graph.bodies[name] for name in kept},
        places={name: graph.places[name] for name in kept},
        links=tuple(link for link in graph.links if not {link.first, link.second} & aside),
        frames={name: at for name, at in graph.frames.items() if at[0] not in aside},
    )
    if aside:
        graph = graph.noting(f'left out, for it does not lead to the platform: {", ".join(sorted(aside))}')
    if driven:
        graph = graph.noting(f'drives that do not move the platform are left out: {", ".join(driven)}')
    return lumped(with_held(graph, hanging, 'held where they are at the start, for they do not lead to the platform'))
