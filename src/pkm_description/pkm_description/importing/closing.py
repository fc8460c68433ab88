"""Poses of a cut mechanism, gaps of its closures, and joint positions that close them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.graph import BASE, HERE, Mechanism, Placement, moved, turned
from pkm_description.kinematics.rotation import skew
from pkm_description.machine import Closure

#: rows of each kind of closure: three of points, the others of axes
ROWS = {'ball': 3, 'universal': 4, 'pin': 5, 'fixed': 6}

#: gap [m, 1] below which loops count as closed
CLOSED = 1e-11

#: rad or m; largest change in one iteration
_STEP = 0.3


@dataclass(frozen=True)
class Configuration:
    """Joint positions (J,) and pose of the platform."""

    positions: Array
    pose: Placement

    def moved(self, change: Array) -> Configuration:
        """Return the configuration after a change (J + 6,): of the joints, then the platform's twist in the base."""
        joints = len(self.positions)
        turn = Rotation.from_rotvec(change[joints + 3 :]).as_matrix()
        pose = Placement(self.pose.position + change[joints : joints + 3], turn @ self.pose.rotation)
        return Configuration(self.positions + change[:joints], pose)


class Loops:
    """Closures of a mechanism as equations, in plain NumPy.

    Parameters
    ----------
    mechanism : cut mechanism
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._joints = mechanism.joints
        self._index = {joint.body.name: place for place, joint in enumerate(self._joints)}

    @property
    def home(self) -> Configuration:
        """Configuration at home."""
        return Configuration(self.mechanism.home_positions, self.mechanism.home)

    def places(self, configuration: Configuration) -> dict[str, Placement]:
        """Poses of all bodies in the base."""
        places = {BASE: HERE, self.mechanism.platform.name: configuration.pose}
        for joint, position in zip(self._joints, configuration.positions.tolist(), strict=True):
            motion = turned(joint.axis, position) if joint.kind == 'revolute' else moved(joint.axis, position)
            places[joint.body.name] = places[joint.parent] @ joint.place @ motion
        return places

    def gaps(self, configuration: Configuration) -> Array:
        """Gaps of all closures (R,): of points in m, of turns in rad, of universal joints a cosine."""
        places = self.places(configuration)
        rows: list[float] = []
        for closure in self.mechanism.closures:
            here, there = places[closure.body] @ closure.frame, places[closure.other] @ closure.other_frame
            rows += (here.position - there.position).tolist()
            rows += turn_gaps(closure.kind, here.rotation, there.rotation)
        return np.array(rows)

    def jacobian(self, configuration: Configuration) -> Array:
        """Derivatives (R, J + 6) of the gaps by joint positions and the platform's twist, near closed loops."""
        places = self.places(configuration)
        return np.vstack([self._rows(places, closure) for closure in self.mechanism.closures])

    def _rows(self, places: dict[str, Placement], closure: Closure) -> Array:
        here, there = places[closure.body] @ closure.frame, places[closure.other] @ closure.other_frame
        moments = turn_moments(closure.kind, here.rotation, there.rotation)
        twist = self.twist_map(places, closure.body, here.position)
        twist -= self.twist_map(places, closure.other, there.position)
        return np.vstack([twist[:3], moments @ twist[3:]])

    def twist_map(self, places: dict[str, Placement], body: str, point: Array) -> Array:
        """Velocity of a point (3,) of a body, and its spin, by joint rates and platform's twist (6, J + 6).

        Parameters
        ----------
        places : see :meth:`places`
        """
        columns = np.zeros((6, len(self._joints) + 6))
        if body == self.mechanism.platform.name:
            columns[:, -6:] = np.eye(6)
            columns[:3, -3:] = skew(places[body].position - point)
        while body not in (BASE, self.mechanism.platform.name):
            place = self._index[body]
            axis = places[body].rotation @ self._joints[place].axis
            if self._joints[place].kind == 'revolute':
                columns[:3, place], columns[3:, place] = np.cross(axis, point - places[body].position), axis
            else:
                columns[:3, place] = axis
            body = self._joints[place].parent
        return columns

    def closed(self, start: Configuration, held: tuple[int, ...] = (), most: int = 200) -> tuple[Configuration, float]:
        """Close the loops by steps of least change; returns the configuration and the largest gap that is left.

        Parameters
        ----------
        held : places of joints that keep their positions
        most : iterations
        """
        configuration, gaps = start, self.gaps(start)
        free = [column for column in range(len(self._joints) + 6) if column not in held]
        checked = np.inf
        for iteration in range(most):
            step = np.zeros(len(self._joints) + 6)
            matrix = self.jacobian(configuration)[:, free]
            step[free] = -np.linalg.lstsq(matrix, gaps, rcond=1e-9)[0]
            largest = float(np.abs(step).max(initial=0.0))
            following = configuration.moved(step * min(1.0, _STEP / largest) if largest > 0.0 else step)
            following_gaps = self.gaps(following)
            before, after = (float(np.abs(values).max(initial=0.0)) for values in (gaps, following_gaps))
            if (before < CLOSED and after >= before) or largest < 1e-14:
                break
            if iteration > 30 and before > 0.1 * checked:
                break
            if iteration % 15 == 0:
                checked = before
            configuration, gaps = following, following_gaps
        return configuration, float(np.abs(gaps).max(initial=0.0))


def turn_gaps(kind: str, here: Array, there: Array) -> list[float]:
    """Gaps of the axes of two frames, columns of (3, 3), of a closure of a kind."""
    if kind == 'fixed':
        gaps: list[float] = (-Rotation.from_matrix(there @ here.T).as_rotvec()).tolist()
        return gaps
    if kind == 'pin':
        across = np.cross(here[:, 2], there[:, 2])
        sine, cosine = float(np.linalg.norm(across)), float(here[:, 2] @ there[:, 2])
        turn = -across * (np.arctan2(sine, cosine) / sine) if sine > 1e-14 else np.zeros(3)
        if sine <= 1e-14 and cosine < 0.0:
            turn = np.pi * here[:, 0]
        return [float(turn @ here[:, 0]), float(turn @ here[:, 1])]
    return [float(here[:, 0] @ there[:, 1])] if kind == 'universal' else []


def turn_moments(kind: str, here: Array, there: Array) -> Array:
    """Derivatives (R, 3) of these gaps by the turn of the first frame against the other."""
    if kind == 'fixed':
        return np.eye(3)
    if kind == 'pin':
        return here[:, :2].T
    if kind == 'universal':
        return np.cross(here[:, 0], there[:, 1])[None]
    return np.empty((0, 3))
