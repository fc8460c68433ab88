"""Gibbs-Appell dynamics of the 3-RPS tree, linear in 70 parameters (Mata et al. 2008, Eqs. 1-11); Table 1.

Bodies in the paper's order: lower and rod of limb 1, platform, lower and rod of limb 2, lower and rod of limb 3. Per
body Ixx Ixy Ixz Iyy Iyz Izz (tensor components about the frame's origin), mx my mz, m.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from pkm_description.arrays import Array

from verification.mata_2008.model import DEPENDENT, INDEPENDENT, JOINTS, ThreeRps, TreeMotion

BODIES = 7
PARAMETERS = 70
#: joints above every joint's body, from the base
_PATHS = ((0,), (0, 1), (0, 1, 2, 3, 4), (5,), (5, 6), (7,), (7, 8))
_KINDS = 'RPRRRRPRP'


def parameter_names() -> list[str]:
    """Names (70,) as the paper prints them: ``Ixx1 ... m7``."""
    each = ('Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz', 'mx', 'my', 'mz', 'm')
    return [f'{name}{body}' for body in range(1, BODIES + 1) for name in each]


def body_place(robot: ThreeRps, place: int) -> int:
    """Paper's place of the tree's body ``place`` (both 0-6), whatever limb carries the platform."""
    if place == 2:
        return 2
    limb = robot.limbs[{0: 0, 1: 0, 3: 1, 4: 1, 5: 2, 6: 2}[place]]
    rod = place in (1, 4, 6)
    return (0, 3, 5)[limb] + int(rod)


def body_frames(robot: ThreeRps, motion: TreeMotion) -> list[tuple[Array, Array]]:
    """Rotations (N, 3, 3) and origins (N, 3) of the body frames, in the paper's order."""
    result: list[tuple[Array, Array]] = [(np.empty(0), np.empty(0))] * BODIES
    for place, path in enumerate(_PATHS):
        joint = path[-1]
        origin = motion.origins[joint]
        if place == 2:
            origin = origin - motion.rotations[joint] @ robot.platform_points[robot.carrier]
        result[body_place(robot, place)] = motion.rotations[joint], origin
    return result


def tree_regressor(robot: ThreeRps, q: Array, velocity: Array, acceleration: Array, gravity: Array) -> Array:
    """Matrix K (N, 9, 70) of Eq. (5): forces in the joints of the open tree per parameter, by Eq. (4)."""
    motion = robot.motion(q, velocity, acceleration, gravity)
    frames = body_frames(robot, motion)
    result = np.zeros((len(q), JOINTS, BODIES, 10))
    for place, path in enumerate(_PATHS):
        last, body = path[-1], body_place(robot, place)
        rotation, origin = frames[body]
        spin, turning = motion.angular[last], motion.angular_accelerations[last]
        eta = _cross(spin) @ _cross(spin) + _cross(turning)
        offset = _apply(rotation, origin - motion.origins[last])
        proper = motion.accelerations[last] + _apply(eta, offset, transpose=False)
        inertia = _symmetric_product(turning) + _cross(spin) @ _symmetric_product(spin)
        for joint in path:
            axis = _apply(rotation, motion.rotations[joint][..., 2])
            lever = _cross(_apply(rotation, origin - motion.origins[joint]))
            columns = np.zeros((len(q), 3, 10))
            if _KINDS[joint] == 'R':
                columns[..., :6] = inertia
                columns[..., 6:9] = lever @ eta - _cross(proper)
                columns[..., 9] = (lever @ proper[..., None])[..., 0]
            else:
                columns[..., 6:9] = eta
                columns[..., 9] = proper
            result[:, joint, body] = (axis[:, None] @ columns)[:, 0]
    return result.reshape(len(q), JOINTS, PARAMETERS)


def project(robot: ThreeRps, q: Array, joint_rows: Array) -> Array:
    """Drive rows (N, 3, ...) of joint rows (N, 9, ...) by Eq. (10), limbs in the paper's order."""
    rows = joint_rows[:, INDEPENDENT] - np.swapaxes(robot.projector(q), 1, 2) @ joint_rows[:, DEPENDENT]
    return np.asarray(rows[:, np.argsort(robot.limbs)], dtype=float)


def drive_regressor(robot: ThreeRps, lengths: Array, rates: Array, accelerations: Array, gravity: Array) -> Array:
    """Regressor (N, 3, 70) of the drive forces for leg motions (N, 3) each, limbs in the paper's order, Eq. (11)."""
    q, velocity, acceleration = robot_state(robot, lengths, rates, accelerations)
    return project(robot, q, tree_regressor(robot, q, velocity, acceleration, gravity))


def robot_state(robot: ThreeRps, lengths: Array, rates: Array, accelerations: Array) -> tuple[Array, Array, Array]:
    """Coordinates and their time derivatives (N, 9), tree order, of leg motions (N, 3), paper's order."""
    q = robot.assemble(lengths[:, robot.limbs])
    return q, *robot.complete(q, rates[:, robot.limbs], accelerations[:, robot.limbs])


@dataclass(frozen=True)
class Samples:
    """Random leg motions (N, 3) of the robot, and the states of its tree (N, 9)."""

    lengths: Array
    rates: Array
    accelerations: Array
    q: Array
    velocity: Array
    acceleration: Array
    gravity: Array


def random_samples(robot: ThreeRps, count: int, gravity: Array, seed: int = 0) -> Samples:
    """Unrelated states around legs of 0.6 m."""
    random = np.random.default_rng(seed)
    legs = tuple(random.uniform(-size, size, (count, 3)) for size in (0.08, 0.5, 3.0))
    motion = (legs[0] + 0.6, legs[1], legs[2])
    return Samples(*motion, *robot_state(robot, *motion), gravity)


def friction_columns(velocity: Array, law: str) -> Array:
    """Columns (N, 9, 9 P) of linear friction in every joint: ``sym`` (Fc, Fv), ``asymC`` (Fc+, Fc-, Fv) or ``asym``."""
    forward, backward = (velocity > 0.0).astype(float), (velocity < 0.0).astype(float)
    columns = {
        'sym': [forward - backward, velocity],
        'asymC': [forward, -backward, velocity],
        'asym': [forward, forward * velocity, -backward, backward * velocity],
    }[law]
    count = len(columns)
    result = np.zeros((len(velocity), JOINTS, JOINTS, count))
    for joint in range(JOINTS):
        result[:, joint, joint] = np.stack([column[:, joint] for column in columns], axis=-1)
    return result.reshape(len(velocity), JOINTS, JOINTS * count)


def energy(robot: ThreeRps, q: Array, velocity: Array, parameters: Array, gravity: Array) -> Array:
    """Kinetic and potential energy (N,) of all bodies with parameters (70,)."""
    motion = robot.motion(q, velocity, np.zeros_like(q), np.zeros(3))
    frames, total = body_frames(robot, motion), np.zeros(len(q))
    speeds = _origin_velocities(robot, q, velocity, motion)
    for place, path in enumerate(_PATHS):
        body, last = body_place(robot, place), path[-1]
        rotation, origin = frames[body]
        own = parameters.reshape(BODIES, 10)[body]
        inertia, moment, mass = own[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3), own[6:9], own[9]
        spin = motion.angular[last]
        offset = origin - motion.origins[last]
        speed = speeds[last] + np.cross((rotation @ spin[..., None])[..., 0], offset)
        local = _apply(rotation, speed)
        total += 0.5 * mass * np.sum(local**2, axis=1) + np.sum(local * np.cross(spin, moment), axis=1)
        total += 0.5 * np.sum(spin * (spin @ inertia), axis=1)
        total -= (mass * origin + rotation @ moment) @ gravity
    return total


def _origin_velocities(robot: ThreeRps, q: Array, velocity: Array, motion: TreeMotion) -> list[Array]:
    """Velocities (N, 3) of the joint frames' origins, base axes, as sums over the joints below."""
    result = []
    for joint in range(JOINTS):
        path = next(path for path in _PATHS if joint in path)
        speed = np.zeros((len(q), 3))
        for below in path[: path.index(joint) + 1]:
            axis, rate = motion.rotations[below][..., 2], velocity[:, below, None]
            turned = np.cross(axis, motion.origins[joint] - motion.origins[below])
            speed = speed + rate * (turned if _KINDS[below] == 'R' else axis)
        result.append(speed)
    return result


def _cross(vector: Array) -> Array:
    """Matrices (N, 3, 3) of cross products with vectors (N, 3), Eq. (2)."""
    x, y, z = np.moveaxis(vector, -1, 0)
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*vector.shape, 3)


def _symmetric_product(vector: Array) -> Array:
    """Matrices (N, 3, 6): ``B a = product(a) vec(B)``, vec = Bxx Bxy Bxz Byy Byz Bzz, Eq. (3)."""
    x, y, z = np.moveaxis(vector, -1, 0)
    zero = np.zeros_like(x)
    rows = [x, y, z, zero, zero, zero, zero, x, zero, y, z, zero, zero, zero, x, zero, y, z]
    return np.stack(rows, axis=-1).reshape(*vector.shape[:-1], 3, 6)


def _apply(matrix: Array, vector: Array, transpose: bool = True) -> Array:
    """Transposed (or plain) matrices (N, 3, 3) times vectors (N, 3)."""
    return np.asarray(np.einsum('nji,nj->ni' if transpose else 'nij,nj->ni', matrix, vector), dtype=float)


#: rows as printed: factor and parameter; the first parameter names the combination here
PRINTED: tuple[tuple[tuple[float, str], ...], ...] = (
    ((1.0, 'mx1'),),
    ((1.0, 'my1'),),
    ((1.0, 'Izz1'), (1.0, 'Iyy2')),
    ((1.0, 'mx2'),),
    ((1.0, 'mz2'),),
    ((1.0, 'Ixx3'), (-0.3952, 'my3')),
    ((1.0, 'Ixy3'), (0.2282, 'my3')),
    ((1.0, 'Ixz3'),),
    ((1.0, 'Iyy3'), (0.3952, 'my3'), (-0.2082, 'm3'), (-0.2082, 'm2')),
    ((1.0, 'Iyz3'),),
    ((1.0, 'Izz3'), (-0.2082, 'm3'), (-0.2082, 'm2')),
    ((1.0, 'mx3'), (0.5774, 'my3'), (-0.4563, 'm3'), (-0.4563, 'm2')),
    ((1.0, 'mz3'),),
    ((1.0, 'mx4'),),
    ((1.0, 'my4'),),
    ((1.0, 'Izz4'), (1.0, 'Iyy5')),
    ((1.0, 'm5'), (-2.531, 'my3'), (1.0, 'm3'), (1.0, 'm2')),
    ((1.0, 'mx5'),),
    ((1.0, 'mz5'),),
    ((1.0, 'mx6'),),
    ((1.0, 'my6'),),
    ((1.0, 'Izz6'), (1.0, 'Iyy7')),
    ((1.0, 'm7'), (2.531, 'my3')),
    ((1.0, 'mx7'),),
    ((1.0, 'mz7'),),
)

#: parameters that the table regroups into others
ELIMINATED = ('m2', 'm3', 'my3', 'Iyy2', 'Iyy5', 'Iyy7')

#: rows (numbered from 1) that models 2 to 4 leave out or keep, and the sums of rows that model 3 makes of alike limbs
REMOVED_BY_MODEL_2 = (1, 4, 7, 8, 10, 13, 14, 18, 20, 24)
SUMS_OF_MODEL_3 = ((2, 15, 21), (3, 16, 22), (5, 19, 25))
KEPT_BY_MODEL_4 = (12, 17, 23)

#: values of these rows that Table 8 prints for the CAD model: kg m, kg, kg
PRINTED_CAD = {12: -2.47, 17: 10.83, 23: 5.42}


def heads() -> list[str]:
    """Names (25,) of the combinations."""
    return [row[0][1] for row in PRINTED]


def table_matrix(side: float | None) -> Array:
    """Matrix (25, 70) of the table: exact for a triangle of S joints with this side [m], as printed for None."""
    names = parameter_names()
    exact = {} if side is None else _closed_form(side)
    matrix = np.zeros((len(PRINTED), len(names)))
    for row, entries in enumerate(PRINTED):
        for factor, name in entries:
            matrix[row, names.index(name)] = np.sign(factor) * exact.get(abs(factor), abs(factor))
    return matrix


def rounding() -> Array:
    """Half a unit of the last printed digit of every factor, (25, 70)."""
    printed = table_matrix(None)
    result = np.zeros_like(printed)
    for place in np.argwhere((printed != 0.0) & (np.abs(printed) != 1.0)):
        digits = Fraction(str(printed[tuple(place)])).limit_denominator(10**6)
        result[tuple(place)] = 0.5 / (1000 if digits * 1000 % 1 == 0 else 10000)
    return result


def model_columns(base_columns: Array, model: int) -> Array:
    """Columns (..., 25, 15, 9 or 3) that rigid-body model 1, 2, 3 or 4 keeps of the base regressor (..., 25)."""
    if model == 1:
        return base_columns
    if model == 4:
        return base_columns[..., [row - 1 for row in KEPT_BY_MODEL_4]]
    kept = [row for row in range(1, 26) if row not in REMOVED_BY_MODEL_2]
    if model == 2:
        return base_columns[..., [row - 1 for row in kept]]
    summed = {row for group in SUMS_OF_MODEL_3 for row in group}
    alone = [base_columns[..., row - 1] for row in kept if row not in summed]
    together = [base_columns[..., [row - 1 for row in group]].sum(axis=-1) for group in SUMS_OF_MODEL_3]
    return np.stack([*alone, *together], axis=-1)


def _closed_form(side: float) -> dict[float, float]:
    """Exact value of every printed factor."""
    height = side * np.sqrt(3.0) / 2.0
    return {
        0.4563: side, 0.2082: side**2, 0.3952: height, 0.2282: side / 2.0, 0.5774: 1.0 / np.sqrt(3.0),
        2.531: 1.0 / height,
    }  # fmt: skip
