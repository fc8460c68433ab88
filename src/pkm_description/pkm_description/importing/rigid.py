"""Bodies that are joined rigidly become one; joints that are held become rigid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pkm_description.importing.graph import Graph, ImportMachineError, Link
from pkm_description.importing.placement import HERE, Placement

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
        bodies[name] = graph.bodies[name].with_point_masses(*others)
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
