"""Poses of a cut mechanism, gaps of its closures, positions that close them; freedoms that no drive determines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.graph import BASE, HERE, ImportMachineError, Mechanism, Placement, moved, turned
from pkm_description.importing.rigid import without_joint
from pkm_description.kinematics.rotation import skew
from pkm_description.machine import Closure, Joint

#: rows of each kind of closure: three of points, the others of axes
ROWS = {'ball': 3, 'universal': 4, 'pin': 5, 'fixed': 6}

#: gap [m, 1] below which loops count as closed
CLOSED = 1e-11

#: rad or m; largest change in one iteration, and how many there are at most
_STEP, _ITERATIONS = 0.3, 200


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

    def closed(self, start: Configuration, held: tuple[int, ...] = ()) -> tuple[Configuration, float]:
        """Close the loops by steps of least change; returns the configuration and the largest gap that is left.

        Parameters
        ----------
        held : places of joints that keep their positions
        """
        configuration, gaps = start, self.gaps(start)
        best, smallest = start, float(np.abs(gaps).max(initial=0.0))
        free = [column for column in range(len(self._joints) + 6) if column not in held]
        checked = np.inf
        for iteration in range(_ITERATIONS):
            step = np.zeros(len(self._joints) + 6)
            step[free] = -np.linalg.lstsq(self.jacobian(configuration)[:, free], gaps, rcond=1e-9)[0]
            largest = float(np.abs(step).max(initial=0.0))
            configuration = configuration.moved(step * min(1.0, _STEP / largest) if largest > 0.0 else step)
            gaps = self.gaps(configuration)
            gap = float(np.abs(gaps).max(initial=0.0))
            was_closed = smallest < CLOSED
            if gap < smallest:
                best, smallest = configuration, gap
            elif was_closed:
                break
            if largest < 1e-14 or (iteration > 30 and gap > 0.1 * checked):
                break
            if iteration % 15 == 0:
                checked = gap
        return best, smallest


def turn_gaps(kind: str, here: Array, there: Array) -> list[float]:
    """Gaps of the axes of two frames, columns of (3, 3), of a closure of a kind."""
    if kind == 'fixed':
        return list(-Rotation.from_matrix(there @ here.T).as_rotvec())
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


#: m; what CAD files leave open of a closed loop
_ROUNDED = 1e-5

#: singular values below this share of the largest one are none
_RANK = 1e-7

#: singular value of a regular configuration, relative to the largest one
_REGULAR = 1e-4

#: other starts that are tried where the loops do not close from the file's
_STARTS = 30

#: largest change of the drives from home in trial configurations, rad or shares of the machine's size
_TRIAL = 0.15


def settled(mechanism: Mechanism) -> Mechanism:
    """Close the loops, hold what no drive determines and nothing needs, and find a regular home.

    Raises
    ------
    ImportMachineError
        The loops do not close, or freedoms are left that no drive determines.
    """
    mechanism = _closed(mechanism)
    while loose := _loose(mechanism):
        for joint, why in loose:
            mechanism = without_joint(mechanism, joint.name, why)
        mechanism = _closed(mechanism)
    mechanism = _at_regular_home(mechanism)
    loops = Loops(mechanism)
    freedoms = len(mechanism.joints) + 6 - _rank(loops.jacobian(loops.home))
    if mechanism.actuated_count > freedoms:
        mechanism = mechanism.noting(
            f'{mechanism.actuated_count} drives move {freedoms} degrees of freedom: the machine is redundantly actuated'
        )
    return mechanism


def _closed(mechanism: Mechanism) -> Mechanism:
    loops = Loops(mechanism)
    home, gap = loops.closed(loops.home)
    random, reach = np.random.default_rng(3), 0.1 * mechanism.size
    sizes = np.array([1.0 if joint.kind == 'revolute' else reach for joint in mechanism.joints])
    for size in np.linspace(0.1, 1.0, _STARTS):
        if gap <= _ROUNDED:
            break
        change = np.concatenate([random.uniform(-size, size, len(sizes)) * sizes, np.zeros(6)])
        other, other_gap = loops.closed(loops.home.moved(change))
        if other_gap < gap:
            home, gap = other, other_gap
    if gap > _ROUNDED:
        raise ImportMachineError(
            f'{mechanism.source}: the loops do not close near the start: a gap of {gap:.3g} m is left; choose another '
            'start, or check the frames of the loops'
        )
    mechanism = mechanism.at_home(home.positions, home.pose)
    return mechanism if gap <= CLOSED else _snapped(mechanism, gap)


def _snapped(mechanism: Mechanism, gap: float) -> Mechanism:
    """Return the mechanism whose closures' frames on the other bodies are moved to where they close at home."""
    loops = Loops(mechanism)
    places = loops.places(loops.home)

    def snapped(closure: Closure) -> Closure:
        here, there = places[closure.body] @ closure.frame, places[closure.other] @ closure.other_frame
        turn = there.rotation
        if closure.kind == 'fixed':
            turn = here.rotation
        elif closure.kind == 'pin':
            turn = _shortest_turn(there.rotation[:, 2], here.rotation[:, 2]) @ turn
        elif closure.kind == 'universal':
            first, second = here.rotation[:, 0], there.rotation[:, 1]
            across = second - (first @ second) * first
            turn = _shortest_turn(second, across / np.linalg.norm(across)) @ turn
        frame = Placement(here.position, turn).seen_from(places[closure.other])
        return replace(closure, other_point=frame.position, rotation_other=frame.rotation)

    legs = tuple(replace(leg, closures=tuple(map(snapped, leg.closures))) for leg in mechanism.legs)
    return replace(mechanism, legs=legs).noting(
        f'the loops of the source miss by {gap:.2g} m at best, which is taken for rounding: they are closed at home'
    )


def _shortest_turn(first: Array, second: Array) -> Array:
    """Rotation (3, 3) that takes one unit vector (3,) to another one near by."""
    across = np.cross(first, second)
    sine = float(np.linalg.norm(across))
    return np.asarray(Rotation.from_rotvec(across * (np.arcsin(sine) / sine if sine > 0.0 else 0.0)).as_matrix())


def random_configurations(loops: Loops, count: int, seed: int, size: float = _TRIAL) -> Iterator[Configuration]:
    """Closed configurations near home, with drives at random positions inside their limits.

    Parameters
    ----------
    size : largest change of the drives: rad, or share of the machine's size
    """
    random, mechanism = np.random.default_rng(seed), loops.mechanism
    reach, drives, found = mechanism.size, independent_drives(loops), 0
    for _ in range(6 * count):
        change = random.uniform(-1.0, 1.0, len(drives))
        configuration, gap = loops.home, 0.0
        # by small steps, so that the assembly stays the one of home
        for part in np.linspace(0.25, 1.0, 4):
            positions = configuration.positions.copy()
            for drive, share in zip(drives, change, strict=True):
                joint = mechanism.joints[drive]
                wish = joint.home + part * share * size * (1.0 if joint.kind == 'revolute' else reach)
                positions[drive] = np.clip(wish, joint.limits.lower, joint.limits.upper)
            configuration, gap = loops.closed(replace(configuration, positions=positions), tuple(drives))
            if gap > CLOSED:
                break
        if gap <= CLOSED:
            found += 1
            yield configuration
        if found == count:
            return


def independent_drives(loops: Loops) -> list[int]:
    """Places of driven joints that can be moved freely: all of them, or as many as there are freedoms."""
    drives = list(loops.mechanism.drive_columns)
    motions = _null_space(loops.jacobian(loops.home))[drives]
    rank = int(np.linalg.matrix_rank(motions, 1e-6)) if motions.size else 0
    return drives if rank == len(drives) else sorted(drives[place] for place in _pivots(motions)[:rank])


def _rank(matrix: Array) -> int:
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > _RANK * values[0]).sum()) if len(values) else 0


def _null_space(matrix: Array, scale: float = 0.0) -> Array:
    """Orthonormal columns that the matrix maps to nothing, compared with ``scale`` or its largest singular value."""
    _, values, rows = np.linalg.svd(matrix)
    rank = int((values > _RANK * (scale or values[0])).sum()) if len(values) else 0
    return np.asarray(rows[rank:].T)


def _passive(mechanism: Mechanism) -> list[int]:
    """Columns of a Jacobian that are no drive's, those of the platform last."""
    drives = set(mechanism.drive_columns.tolist())
    return [column for column in range(len(mechanism.joints) + 6) if column not in drives]


def _loose(mechanism: Mechanism) -> list[tuple[Joint, str]]:
    """Return joints to hold, and why; none where the drives determine all that moves.

    Raises
    ------
    ImportMachineError
        Freedoms of the platform that no drive determines.
    """
    loops, joints, free = Loops(mechanism), mechanism.joints, _passive(mechanism)
    trials = [loops.home, *random_configurations(loops, 3, 1)]
    spaces = [_null_space(loops.jacobian(trial)[:, free]) for trial in trials]
    space = min(spaces, key=lambda columns: columns.shape[1])
    if space.shape[1] == 0:
        return []
    idle = space @ _null_space(space[-6:], 1.0)
    if idle.shape[1] > 0:
        held = sorted(_pivots(idle[:-6]))
        return [(joints[free[place]], 'held, for it turns without moving anything else') for place in held]
    shares = np.linalg.norm(space[:-6], axis=1)
    moving = [joints[column] for column, share in zip(free, shares, strict=False) if share > 1e-6]
    springs = [joint for joint in moving if joint.name in mechanism.springs]
    if springs:
        stiffest = max(springs, key=lambda joint: mechanism.springs[joint.name])
        return [(stiffest, 'held, for no drive moves it: its spring is taken to be stiff')]
    names = ', '.join(dict.fromkeys(joint.part_of or joint.name for joint in moving))
    raise ImportMachineError(
        f'{mechanism.source}: {space.shape[1]} of the freedoms between base and {mechanism.platform.name!r} no drive '
        f'determines; they move {names or "the platform"}. Name more drives (--drives), hold joints (--hold), or '
        'choose another base or platform (--base, --platform)'
    )


def _pivots(columns: Array) -> list[int]:
    """Rows, as many as columns, of which each moves most of what the ones before leave."""
    triangle, order = qr(columns.T, mode='r', pivoting=True)
    return [int(row) for row, size in zip(order, np.abs(np.diag(triangle)), strict=False) if size > 1e-9]


def _at_regular_home(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with another home where the start is singular."""
    loops = Loops(mechanism)
    ends = np.cumsum([sum(ROWS[closure.kind] for closure in leg.closures) for leg in mechanism.legs])

    def regularity(configuration: Configuration) -> float:
        """Smallest singular value over the largest, of all passive joints or of those of a leg."""
        matrix = loops.jacobian(configuration)
        parts = [matrix[:, _passive(mechanism)]]
        parts += [rows[:, own] for rows, own in zip(np.split(matrix, ends[:-1]), mechanism.leg_slices, strict=True)]
        values = [np.linalg.svd(part, compute_uv=False) for part in parts if part.size]
        shares = [float(one[-1] / one[0]) for one in values]
        return min(shares) if all(part.shape[0] >= part.shape[1] for part in parts if part.size) else 0.0

    if regularity(loops.home) > _REGULAR:
        return mechanism
    for size in (_TRIAL, 2.0 * _TRIAL, 4.0 * _TRIAL):
        best = max(random_configurations(loops, 8, 2, size), key=regularity, default=loops.home)
        if regularity(best) > 10.0 * _REGULAR:
            return mechanism.at_home(best.positions, best.pose).noting(
                'the start of the file is singular; home is a configuration near it'
            )
    return mechanism.noting('home is near a singular configuration')
