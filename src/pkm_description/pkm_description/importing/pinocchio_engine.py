"""Pinocchio on the original URDF, its loops as frames that coincide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.closing import turn_gaps, turn_moments
from pkm_description.importing.engine import SourceEngine
from pkm_description.importing.graph import Graph, Link, Placement
from pkm_description.kinematics.rotation import skew


class PinocchioEngine(SourceEngine):
    """A file in Pinocchio.

    Parameters
    ----------
    graph : of the file: its loops, and joints that stand for others
    path : URDF; None: the tree is built from the graph (formats that Pinocchio does not read), as it is where a file of
        loops puts other joints in the place of revolute ones
    """

    name = 'Pinocchio'

    def __init__(self, graph: Graph, path: Path | None) -> None:
        super().__init__()
        import pinocchio

        self._pin, self._graph = pinocchio, graph
        tree = [link for link in graph.links if not link.is_loop]
        own: Any = None if path is None else pinocchio.buildModelFromUrdf(str(path))
        others = {link.name for link in tree if link.kind in ('ball', 'universal', 'fixed')}
        replaced = own is None or not others.isdisjoint(own.names)
        self._model: Any = _model_of_graph(pinocchio, graph, tree) if replaced else own
        self._model.gravity.linear = graph.gravity
        self._data = self._model.createData()
        self._links = {link.name: link for link in tree}
        self._loops = [link for link in graph.links if link.is_loop]
        self.start = pinocchio.neutral(self._model)
        for link in tree:
            if link.position and link.kind in ('revolute', 'prismatic'):
                self.start = self.with_position(self.start, link.name, link.position)

    def _place_bodies(self, configuration: Any) -> None:
        self._pin.computeJointJacobians(self._model, self._data, configuration)
        self._pin.updateFramePlacements(self._model, self._data)

    def _joints(self, name: str) -> list[Any]:
        """Joints of Pinocchio that stand for one of the file: a universal joint is two."""
        return [self._model.joints[index] for index, own in enumerate(self._model.names) if own in (name, f'{name}|2')]

    def columns(self, joint: str) -> list[int]:
        """See the base class."""
        return [one.idx_v + place for one in self._joints(joint) for place in range(one.nv)]

    def position(self, configuration: Any, joint: str) -> float:
        """See the base class."""
        one = self._joints(joint)[0]
        if one.nq == 2:  # continuous: cosine and sine
            return float(np.arctan2(configuration[one.idx_q + 1], configuration[one.idx_q]))
        return float(configuration[one.idx_q])

    def with_position(self, configuration: Any, joint: str, position: float) -> Any:
        """See the base class."""
        changed, one = np.array(configuration), self._joints(joint)[0]
        if one.nq == 2:
            changed[one.idx_q : one.idx_q + 2] = np.cos(position), np.sin(position)
        else:
            changed[one.idx_q] = position
        return changed

    def _first_position(self, joint: str) -> int:
        return int(self._joints(joint)[0].idx_q)

    def moved(self, configuration: Any, velocity: Array) -> Any:
        """See the base class."""
        return self._pin.integrate(self._model, np.array(configuration), np.array(velocity))

    def _frame(self, body: str) -> int:
        index: int = self._model.getFrameId(body, self._pin.FrameType.BODY)
        return index

    def place(self, configuration: Any, body: str) -> Placement:
        """See the base class."""
        self._set(configuration)
        pose = self._data.oMf[self._frame(body)]
        return Placement(np.array(pose.translation), np.array(pose.rotation))

    def spin_map(self, configuration: Any, body: str) -> Array:
        """See the base class."""
        return self._map(configuration, body)[3:]

    def _map(self, configuration: Any, body: str) -> Array:
        """Twist (6, nv) of a body's frame, base axes."""
        self._set(configuration)
        world = self._pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.array(self._pin.getFrameJacobian(self._model, self._data, self._frame(body), world))

    def file_constraints(self, configuration: Any) -> tuple[Array, Array]:
        """See the base class."""
        gaps: list[float] = []
        rows = [np.empty((0, self._model.nv))]
        for link in self._loops:
            kind, turn = link.as_closure
            ends = [
                (self.place(configuration, body), self._map(configuration, body), frame @ turn)
                for body, frame in ((link.first, link.first_frame), (link.second, link.second_frame))
            ]
            here, there = (place @ frame for place, _, frame in ends)
            points = [twist[:3] - skew(place.rotation @ frame.position) @ twist[3:] for place, twist, frame in ends]
            gaps += [*(here.position - there.position), *turn_gaps(kind, here.rotation, there.rotation)]
            moments = turn_moments(kind, here.rotation, there.rotation)
            rows += [points[0] - points[1], moments @ (ends[0][1][3:] - ends[1][1][3:])]
        return np.array(gaps), np.vstack(rows)

    def forces(self, configuration: Any, velocity: Array, acceleration: Array) -> Array:
        """See the base class."""
        self._at = None
        needed = np.array(self._pin.rnea(self._model, self._data, np.array(configuration), velocity, acceleration))
        for name, link in self._links.items():
            column, values = self.column(name), link.values
            if column is not None and link.kind in ('revolute', 'prismatic'):
                rate = velocity[column]
                needed[column] += values.viscous * rate + values.coulomb * np.sign(rate)
                needed[column] += values.rotor_inertia * acceleration[column]
        return needed


def _se3(pinocchio: Any, place: Placement) -> Any:
    return pinocchio.SE3(place.rotation, place.position)


def _add(pinocchio: Any, model: Any, parent: int, link: Link, place: Any, name: str) -> int:
    """Add a joint of a link's kind; a universal one is two."""
    if link.kind == 'ball':
        return int(model.addJoint(parent, pinocchio.JointModelSpherical(), place, name))
    if link.kind == 'free':
        return int(model.addJoint(parent, pinocchio.JointModelFreeFlyer(), place, name))
    if link.kind == 'prismatic':
        return int(model.addJoint(parent, pinocchio.JointModelPrismaticUnaligned(link.axis), place, name))
    first = int(model.addJoint(parent, pinocchio.JointModelRevoluteUnaligned(link.axis), place, name))
    if link.kind == 'revolute':
        return first
    second = pinocchio.JointModelRevoluteUnaligned(link.second_axis)
    return int(model.addJoint(first, second, pinocchio.SE3.Identity(), f'{name}|2'))


def _model_of_graph(pinocchio: Any, graph: Graph, tree: list[Link]) -> Any:
    """Pinocchio's model of the tree of a graph."""
    model = pinocchio.Model()
    at: dict[str, tuple[int, Placement]] = {graph.base: (0, Placement())}
    waiting = list(tree)
    while ready := [link for link in waiting if link.first in at]:
        for link in ready:
            parent, inside = at[link.first]
            place = inside @ link.first_frame
            if link.kind == 'fixed':
                at[link.second] = (parent, place @ link.second_frame.inverse)
            else:
                joint = _add(pinocchio, model, parent, link, _se3(pinocchio, place), link.name)
                at[link.second] = (joint, link.second_frame.inverse)
            waiting.remove(link)
    for name, (joint, place) in at.items():
        body = graph.bodies[name].moved(place)
        if body.mass > 0.0:
            inertia = pinocchio.Inertia(body.mass, body.center_of_mass, body.inertia)
            model.appendBodyToJoint(joint, inertia, pinocchio.SE3.Identity())
        model.addFrame(pinocchio.Frame(name, joint, _se3(pinocchio, place), pinocchio.FrameType.BODY), False)
    return model
