"""Positions that close the loops of a cut mechanism, by the kernels of machines; freedoms that no drive determines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg import qr
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.graph import BASE, ImportMachineError, Mechanism, Placement
from pkm_description.importing.rigid import without_joint
from pkm_description.machine import Closure, Joint, Pose
from pkm_description.machine.idle_freedoms import CLOSED, AtHome, close_together, closing_equations
from pkm_description.machine.machine import with_home
from pkm_description.machine.model_data import free_model

#: positions (J,) of the joints, and pose of the platform
Configuration = tuple[Array, Pose]


class Loops:
    """Closures of a mechanism as equations.

    Parameters
    ----------
    mechanism : cut mechanism

    Attributes
    ----------
    home : configuration at home
    at_home : the mechanism for kernels
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.home: Configuration = mechanism.home_positions, mechanism.home
        model = free_model(mechanism)
        # gaps of turns in rad: where loops miss by rounding, turns are as good as places, however small the platform
        self.at_home = AtHome.of(model._replace(orientation_axis=model.orientation_axis / model.radius))
        joints = len(mechanism.joints)
        self._columns = [*range(joints), *(joints + model.freedom)]
        #: columns of :meth:`jacobian` that are no drive's, those of the platform last
        self.passive = np.delete(np.arange(len(self._columns)), mechanism.drive_columns)

    def jacobian(self, configuration: Configuration) -> Array:
        """Derivatives (R, J + F) of the gaps by the joints and the F freedoms of a platform that no leg holds."""
        return closing_equations(self.at_home.at(*configuration))[1][:, self._columns]

    def closed(self, start: Configuration, held: Collection[int] = ()) -> tuple[Configuration, float]:
        """Close the loops; returns the configuration and the largest gap [m] that is left.

        Parameters
        ----------
        held : places of joints that keep their positions
        """
        gap = close_together(self.at_home.at(*start), held)
        return (self.at_home.memory.joints.copy(), self.at_home.pose), gap


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
    freedoms = null_space(loops.jacobian(loops.home)).shape[1]
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
        positions, pose = loops.home
        other, other_gap = loops.closed((positions + random.uniform(-size, size, len(sizes)) * sizes, pose))
        if other_gap < gap:
            home, gap = other, other_gap
    if gap > _ROUNDED:
        raise ImportMachineError(
            f'{mechanism.source}: the loops do not close near the start: a gap of {gap:.3g} m is left; choose another '
            'start, or check the frames of the loops'
        )
    mechanism = with_home(mechanism, *home)
    return mechanism if gap <= CLOSED else _snapped(mechanism, gap)


def _snapped(mechanism: Mechanism, gap: float) -> Mechanism:
    """Return the mechanism whose closures' frames on the other bodies are moved to where they close at home."""
    memory = Loops(mechanism).at_home.placed().memory
    names = (*(joint.body.name for joint in mechanism.joints), mechanism.platform.name, BASE)
    places = dict(zip(names, map(Placement, memory.origin, memory.rotation), strict=True))

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
    drives, found = independent_drives(loops), 0
    home, lower, upper = (
        of_all[drives] for of_all in (mechanism.home_positions, mechanism.position_lower, mechanism.position_upper)
    )
    units = np.array([1.0 if mechanism.joints[drive].kind == 'revolute' else mechanism.size for drive in drives])
    for _ in range(6 * count):
        change = random.uniform(-1.0, 1.0, len(drives))
        configuration, gap = loops.home, 0.0
        # by small steps, so that the assembly stays the one of home
        for part in np.linspace(0.25, 1.0, 4):
            positions = configuration[0].copy()
            positions[drives] = np.clip(home + part * change * size * units, lower, upper)
            configuration, gap = loops.closed((positions, configuration[1]), drives)
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
    motions = null_space(loops.jacobian(loops.home))[drives]
    rank = int(np.linalg.matrix_rank(motions, 1e-6)) if motions.size else 0
    return drives if rank == len(drives) else sorted(drives[place] for place in pivots(motions)[:rank])


def null_space(matrix: Array, scale: float = 0.0) -> Array:
    """Orthonormal columns that the matrix maps to nothing, compared with ``scale`` or its largest singular value."""
    _, values, rows = np.linalg.svd(matrix)
    rank = int((values > _RANK * (scale or values[0])).sum()) if len(values) else 0
    return np.asarray(rows[rank:].T)


def _loose(mechanism: Mechanism) -> list[tuple[Joint, str]]:
    """Return joints to hold, and why; none where the drives determine all that moves.

    Raises
    ------
    ImportMachineError
        Freedoms of the platform that no drive determines.
    """
    loops, joints = Loops(mechanism), mechanism.joints
    free, of_joints = loops.passive, len(joints) - mechanism.actuated_count
    trials = [loops.home, *random_configurations(loops, 3, 1)]
    spaces = [null_space(loops.jacobian(trial)[:, free]) for trial in trials]
    space = min(spaces, key=lambda columns: columns.shape[1])
    if space.shape[1] == 0:
        return []
    idle = space @ null_space(space[of_joints:], 1.0)
    if idle.shape[1] > 0:
        held = sorted(pivots(idle[:of_joints]))
        return [(joints[free[place]], 'held, for it turns without moving anything else') for place in held]
    shares = np.linalg.norm(space[:of_joints], axis=1)
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


def pivots(columns: Array) -> list[int]:
    """Rows, as many as columns, of which each moves most of what the ones before leave."""
    triangle, order = qr(columns.T, mode='r', pivoting=True)
    return [int(row) for row, size in zip(order, np.abs(np.diag(triangle)), strict=False) if size > 1e-9]


def _at_regular_home(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with another home where the start is singular."""
    loops = Loops(mechanism)
    model = loops.at_home.model
    ends = model.row_start[model.closure_start[1:]]

    def regularity(configuration: Configuration) -> float:
        """Smallest singular value over the largest, of all passive joints or of those of a leg."""
        matrix = loops.jacobian(configuration)
        parts = [matrix[:, loops.passive]]
        parts += [rows[:, own] for rows, own in zip(np.split(matrix, ends[:-1]), mechanism.leg_slices, strict=True)]
        values = [np.linalg.svd(part, compute_uv=False) for part in parts if part.size]
        shares = [float(one[-1] / one[0]) for one in values]
        return min(shares) if all(part.shape[0] >= part.shape[1] for part in parts if part.size) else 0.0

    if regularity(loops.home) > _REGULAR:
        return mechanism
    for size in (_TRIAL, 2.0 * _TRIAL, 4.0 * _TRIAL):
        best = max(random_configurations(loops, 8, 2, size), key=regularity, default=loops.home)
        if regularity(best) > 10.0 * _REGULAR:
            return with_home(mechanism, *best).noting(
                'the start of the file is singular; home is a configuration near it'
            )
    return mechanism.noting('home is near a singular configuration')
