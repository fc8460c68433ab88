"""Loops closed by steps of least change; and freedoms of a leg that nothing determines: found at home, by rank.

A strut between two ball joints can turn about itself whatever the platform does. Such a joint is left out of the
closure's equations and stays where it is; any other freedom that the platform does not determine is an error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import KinematicsError
from pkm_description.kernels.kinematics.closures import closure_gaps, closure_rows, leg_rows
from pkm_description.kernels.kinematics.tree import body_velocities, leg_poses, set_platform, turn_about
from pkm_description.kernels.model import Integers, ModelData, ScratchData, scratch_data
from pkm_description.kernels.structures import structure
from pkm_description.machine.parts import Leg, Pose

#: singular value, relative to the largest, below which joints depend on each other
_DEPENDENT = 1e-7

#: steps of a joint, as parts of its longest step, that must be possible along a freedom for it to be one
_STEP = 0.5

_ITERATIONS = 100

#: gap [m] below which loops count as closed; singular value, relative to the largest, that determines nothing; largest
#: change [rad, m] in one step of :func:`close_together`, and how many there are at most
CLOSED, _NOTHING, _LONGEST, _STEPS = 1e-11, 1e-6, 0.3, 200


@dataclass(frozen=True)
class AtHome:
    """A machine at home, for kernels and for NumPy: its model and its memory, each as arrays and compiled."""

    model: ModelData
    compiled: ModelData
    memory: ScratchData
    scratch: ScratchData

    @classmethod
    def of(cls, model: ModelData) -> AtHome:
        """Place platform and joints at home."""
        memory = scratch_data(model)
        home = cls(model, structure(model), memory, structure(memory))
        return home.at(model.home_joints, Pose(model.home_position, model.home_rotation))

    def at(self, joints: Array, pose: Pose) -> AtHome:
        """Put joints (J,) and platform elsewhere."""
        place = packed(pose.position)[None], packed(pose.rotation_base_platform)[None]
        set_platform(self.compiled, self.scratch, *place, 0)
        self.memory.joints[:] = joints
        return self

    @property
    def pose(self) -> Pose:
        """Where the platform is."""
        platform = len(self.model.kind)
        return Pose(self.memory.origin[platform].copy(), self.memory.rotation[platform].copy())

    def move(self, joints: Array, twist: Array) -> None:
        """Change the joints (J,), and shift and turn the platform by a small twist (6,)."""
        platform, angle = len(self.model.kind), float(np.linalg.norm(twist[3:]))
        self.memory.joints[:] += joints
        self.memory.origin[platform] += twist[:3]
        if angle > 0.0:
            turn_about(self.memory.rotation, platform, tuple(twist[3:] / angle), angle)

    def placed(self) -> AtHome:
        """Place the bodies of all legs."""
        for leg in range(len(self.model.closed_form)):
            self.gap(leg)
        return self

    def columns(self, leg: int) -> Integers:
        """Joints of a leg that its closures determine."""
        start = self.model.column_start
        return self.model.column_joint[start[leg] : start[leg + 1]]

    def jacobian(self, leg: int) -> Array:
        """Rows of a leg's closures per joint rate (R, C); the bodies are placed."""
        closure_rows(self.compiled, self.scratch, leg)
        rows = leg_rows(self.compiled, leg)
        return self.memory.rows[leg, :rows, : len(self.columns(leg))]

    def gap(self, leg: int) -> float:
        """Place the bodies of a leg at its joints, and return its largest gap [m, 1]."""
        leg_poses(self.compiled, self.scratch, leg)
        return float(closure_gaps(self.compiled, self.scratch, leg))


def closing_equations(home: AtHome) -> tuple[Array, Array]:
    """Gaps (R,) m of all closures, and their derivative (R, J + 6) by joints and the platform's twist, where they are.

    Columns of joints that their closures do not determine are zero.
    """
    starts = home.model.row_start[home.model.closure_start]
    joints = len(home.model.kind)
    gaps, matrix = np.zeros(starts[-1]), np.zeros((starts[-1], joints + 6))
    for leg in range(len(home.model.closed_form)):
        rows, own = slice(starts[leg], starts[leg + 1]), home.columns(leg)
        home.gap(leg)
        closure_rows(home.compiled, home.scratch, leg)
        found = home.memory.rows[leg, : rows.stop - rows.start]
        gaps[rows] = home.memory.bias[: len(found)]
        matrix[rows, own] = found[:, : len(own)]
        matrix[rows, joints:] = found[:, len(own) : len(own) + 6]
    return gaps, matrix


def close_together(home: AtHome, held: Collection[int] = ()) -> float:
    """Close all loops from where joints and platform are, by steps of least change of both.

    Parameters
    ----------
    held : joints that keep their positions

    Returns
    -------
    Largest gap [m] that is left; joints and platform are where it was smallest.
    """
    joints = len(home.model.kind)
    free = [column for column in home.model.column_joint.tolist() if column not in held]
    free += (joints + home.model.freedom).tolist()
    smallest, checked, best = np.inf, np.inf, (home.memory.joints.copy(), home.pose)
    for number in range(_STEPS):
        gaps, matrix = closing_equations(home)
        gap, was_closed = float(np.abs(gaps).max(initial=0.0)), smallest < CLOSED
        if gap < smallest:
            smallest, best = gap, (home.memory.joints.copy(), home.pose)
        elif was_closed:
            break
        if number % 15 == 0:
            if number > 30 and gap > 0.1 * checked:
                break
            checked = gap
        step = np.zeros(joints + 6)
        step[free] = -np.linalg.lstsq(matrix[:, free], gaps, rcond=_NOTHING)[0]
        largest = float(np.abs(step).max(initial=0.0))
        if not 1e-14 <= largest < np.inf:
            break
        step *= min(1.0, _LONGEST / largest)
        home.move(step[:joints], step[joints:])
    home.at(*best)
    return smallest


def nearest_closed(home: AtHome, leg: int) -> float:
    """Close a leg by Newton's iterations with the pseudo-inverse, from where it is: idle joints do not matter.

    Where it cannot close, the iterations wander, by rounding: it is left where the gap was smallest.

    Returns
    -------
    Largest gap [m, 1] that is left.
    """
    columns = home.columns(leg)
    scale = home.model.longest_step[columns]
    smallest, nearest = np.inf, home.memory.joints[columns]
    for _ in range(_ITERATIONS):
        gap = home.gap(leg)
        if gap < smallest:
            smallest, nearest = gap, home.memory.joints[columns]
        scaled = home.jacobian(leg) * scale
        step = -np.linalg.pinv(scaled, _DEPENDENT) @ home.memory.bias[: len(scaled)]
        largest = np.abs(step).max(initial=0.0)
        if not np.isfinite(largest):
            return np.inf
        home.memory.joints[columns] += scale * step / max(largest, 1.0)
        if largest < 1e-14:
            return gap
    home.memory.joints[columns] = nearest
    return smallest


def locked_joints(machine: str, leg: Leg, home: AtHome, index: int) -> list[int]:
    """Joints (places among all) of a leg that belong to idle freedoms; the leg is closed.

    Raises
    ------
    KinematicsError
        A freedom that is not idle: joints of the leg can move while the platform stands still.
    """
    model, memory, columns = home.model, home.memory, home.columns(index)
    closed = memory.joints.copy()
    gap = home.gap(index)
    scale = model.longest_step[columns]
    scaled = home.jacobian(index) * scale
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=True)
    rank = int(np.sum(sizes > _DEPENDENT * sizes.max(initial=1e-300)))
    free = []
    for direction in _apart(directions[rank:]):
        if _is_finite(home, index, closed, direction, gap):
            free.append(direction)
    memory.joints[:] = closed
    home.gap(index)
    if not free:
        return []  # as good as none, or stretched and folded legs, which is for the checks at home to say
    first = int(model.joint_start[index])
    turning: set[str] = set()
    for direction in free:
        rates = np.zeros(len(model.kind))
        rates[columns] = scale * direction
        moving = [leg.joints[joint - first].name for joint in columns if abs(rates[joint]) > 1e-3 * np.abs(rates).max()]
        bodies = _turning_about_a_line(leg, home, index, rates)
        if not bodies or turning & bodies:
            raise KinematicsError(
                f'{machine}: {leg.name} has more freedom than platform and closures determine: {", ".join(moving)} can '
                'move while the platform stands still; take a joint away, or choose a closure that holds more'
            )
        turning |= bodies
    return _pivots(machine, leg, columns, first, np.array(free), model)


def _apart(directions: Array) -> Array:
    """The same directions (F, C) combined so that each moves as few joints as possible: reduced to row echelon form."""
    rows = directions.copy()
    for row in range(len(rows)):
        left = np.abs(rows[row:])
        pivot, column = divmod(int(left.argmax()), left.shape[1])
        rows[[row, row + pivot]] = rows[[row + pivot, row]]
        rows[row] /= rows[row, column]
        others = np.arange(len(rows)) != row
        rows[others] -= np.outer(rows[others, column], rows[row])
    return rows


def _pivots(machine: str, leg: Leg, columns: Integers, first: int, free: Array, model: ModelData) -> list[int]:
    """One joint for each freedom, those that it moves most; no drives."""
    locked = []
    passive = ~model.is_driven[columns].astype(bool)
    for _ in range(len(free)):
        sizes = np.linalg.norm(free, axis=0) * passive
        # of joints that count alike the last one: a strut then turns as its first joint says
        place = len(sizes) - 1 - int(np.argmax(sizes[::-1] > (1.0 - 1e-6) * sizes.max()))
        if sizes[place] < 1e-6:
            driven = [leg.joints[joint - first].name for joint in columns[~passive]]
            raise KinematicsError(
                f'{machine}: a drive of {leg.name} ({", ".join(driven)}) holds nothing: it turns a part of the leg '
                'about itself, whatever the platform does; drive another joint'
            )
        locked.append(int(columns[place]))
        # the freedoms that are left do not move this joint
        most = int(np.argmax(np.abs(free[:, place])))
        free = free - np.outer(free[:, place] / free[most, place], free[most])
        free = np.delete(free, most, axis=0)
    return locked


def _is_finite(home: AtHome, leg: int, closed: Array, direction: Array, gap: float) -> bool:
    """Whether the leg can move along a direction, by more than the first order: stretched legs cannot."""
    columns, memory = home.columns(leg), home.memory
    scale = home.model.longest_step[columns]
    step = _STEP / np.abs(direction).max() * direction
    memory.joints[:] = closed
    memory.joints[columns] += scale * step
    left = nearest_closed(home, leg)
    moved = (memory.joints[columns] - closed[columns]) / scale
    return bool(left <= gap + 1e-9 and moved @ step > 0.25 * step @ step)


def _turning_about_a_line(leg: Leg, home: AtHome, index: int, rates: Array) -> set[str]:
    """Bodies of mass that move at joint rates (J,), if all turn about one line, else none; the bodies are placed."""
    model, memory = home.model, home.memory
    part = slice(int(model.joint_start[index]), int(model.joint_start[index + 1]))
    body_velocities(home.compiled, home.scratch, rates, memory.spin, memory.velocity)
    spins, velocities, origins = memory.spin[part], memory.velocity[part], memory.origin[part]
    fastest = np.linalg.norm(spins, axis=1).max(initial=0.0)
    line, turning = None, set()
    for joint, spin, velocity, origin in zip(leg.joints, spins, velocities, origins, strict=True):
        size = float(np.linalg.norm(spin))
        slowest = 1e-6 * fastest
        if joint.body.mass == 0.0 or (size <= slowest and np.linalg.norm(velocity) <= slowest * model.radius[0]):
            continue
        if size <= slowest:
            return set()  # slides
        if line is None:
            line = spin / size, origin + np.cross(spin, velocity) / size**2
        axis, point = line
        still = velocity + np.cross(spin, point - origin)
        if np.linalg.norm(np.cross(spin, axis)) > 1e-5 * size or np.linalg.norm(still) > 1e-5 * size * model.radius[0]:
            return set()
        turning.add(joint.body.name)
    return turning
