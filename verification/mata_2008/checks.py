"""The 3-RPS of Mata et al. (2008): the paper's model, and the library's model of the same robot against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import BaseParameters, reduce_parameters
from pkm_description.machine import Machine
from scipy.linalg import qr

from verification.check import Check, agree, at_least, at_most, equal, near, relative_error
from verification.elimination import rank_and_gap
from verification.mata_2008 import regressor
from verification.mata_2008.library import library_checks
from verification.mata_2008.model import DEPENDENT, INDEPENDENT, ThreeRps
from verification.mechanics.lagrange import lagrange_forces

#: (rank of all columns with friction on the drives, on all nine joints) per law
RANKS_WITH_FRICTION = {'sym': (34, 46), 'asymC': (37, 55), 'asym': (40, 64)}

#: rod plus a third of the platform [kg], for which Table 8 prints base parameters
REDUCED_MASS = 5.416

_STEP = 1e-5


def robot_of(machine: Machine) -> ThreeRps:
    """The paper's robot with the machine's base circle, triangle and azimuth."""
    first = machine.base_points[0]
    return ThreeRps(
        float(np.hypot(first[0], first[1])),
        float(np.linalg.norm(machine.platform_points[1] - machine.platform_points[0])),
        azimuth=float(np.arctan2(first[1], first[0])),
    )


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Requirements M1 to M8 and M10 to M15."""
    robot = robot_of(machine)
    # the paper's number of points, which is few enough for a quick run, too
    samples = regressor.random_samples(robot, 75, machine.gravity)
    yield from tree_checks(robot, samples)
    yield from closure_checks(robot, samples)
    yield from reduction_checks(robot, samples)
    yield from library_checks(machine, robot, samples)


def tree_checks(robot: ThreeRps, samples: regressor.Samples) -> Iterator[Check]:
    """The tree's size, and Eq. (4) against Lagrange's equations."""
    matrix = regressor.tree_regressor(robot, samples.q, samples.velocity, samples.acceleration, samples.gravity)
    yield equal('M1', 'coordinates and parameters of the tree', [9, 70], list(matrix.shape[1:]))
    few, random = slice(0, 6), np.random.default_rng(1)
    parameters = random.normal(size=70)
    # any coordinates and rates will do: the open tree has no loops
    q, velocity, acceleration = (random.uniform(-1.0, 1.0, samples.q[few].shape) for _ in range(3))
    torques = regressor.tree_regressor(robot, q, velocity, acceleration, samples.gravity) @ parameters
    lagrange = lagrange_forces(
        lambda place, rate: regressor.energy(robot, place, rate, parameters, np.zeros(3)),
        lambda place: regressor.energy(robot, place, np.zeros_like(place), parameters, samples.gravity),
        q, velocity, acceleration,
    )  # fmt: skip
    yield agree('M2', "Eq. (4) = Lagrange's equations of the open tree", 1e-6, torques, lagrange)


def closure_checks(robot: ThreeRps, samples: regressor.Samples) -> Iterator[Check]:
    """Closures, dependent accelerations, power, the choice of the cut joints, statics."""
    yield at_most('M3', 'closures of the tree', 1e-12, robot.closure(samples.q), 'm')

    def later(step: float) -> tuple[Array, Array]:
        lengths = samples.lengths + step * samples.rates + step**2 / 2.0 * samples.accelerations
        q, velocity, _ = regressor.robot_state(
            robot, lengths, samples.rates + step * samples.accelerations, samples.accelerations
        )
        return q, velocity

    after, before = later(_STEP), later(-_STEP)
    numeric = (after[1] - before[1])[:, DEPENDENT] / (2.0 * _STEP)
    error = relative_error(numeric, samples.acceleration[:, DEPENDENT])
    yield at_most('M3', 'dependent accelerations of Eq. (8) against finite differences, relative', 1e-5, error)
    parameters = np.random.default_rng(2).normal(size=70)
    motion = samples.lengths, samples.rates, samples.accelerations
    matrix = regressor.drive_regressor(robot, *motion, samples.gravity)
    power = np.sum((matrix @ parameters) * samples.rates, axis=1)
    energies = [regressor.energy(robot, *state, parameters, samples.gravity) for state in (after, before)]
    error = relative_error((energies[0] - energies[1]) / (2.0 * _STEP), power)
    yield at_most('M4', 'power of the drives of Eq. (11) = change of energy, relative', 1e-6, error)
    others = [dataclasses.replace(robot, carrier=limb) for limb in (1, 2)]
    errors = [relative_error(regressor.drive_regressor(other, *motion, samples.gravity), matrix) for other in others]
    yield at_most('M4', 'forces do not depend on which S joints are cut, relative', 1e-10, errors)
    friction = regressor.friction_columns(samples.velocity, 'asym') @ np.random.default_rng(4).uniform(1.0, 9.0, 36)
    lost = np.sum(friction * samples.velocity, axis=1)
    power = np.sum(regressor.project(robot, samples.q, friction[..., None])[..., 0] * samples.rates, axis=1)
    yield agree('M6', 'friction of all nine joints takes its power from the drives', 1e-10, power, lost)
    yield from static_checks(robot, samples.gravity)


def static_checks(robot: ThreeRps, gravity: Array) -> Iterator[Check]:
    """Level pose: equal forces that carry the platform's weight through the lean of the legs."""
    still, length = np.zeros((1, 3)), 0.6
    matrix = regressor.drive_regressor(robot, np.full((1, 3), length), still, still, gravity)[0]
    names, height = regressor.parameter_names(), robot.side * np.sqrt(3.0) / 2.0
    platform = np.zeros(70)
    for name, value in (('m3', 3.0), ('mx3', 1.5 * robot.side), ('my3', height)):  # 3 kg in the triangle's centre
        platform[names.index(name)] = value
    alike = platform.copy()
    for name, value in (('my1', -0.5), ('my4', -0.5), ('my6', -0.5), ('mz2', -0.3), ('mz5', -0.3), ('mz7', -0.3)):
        alike[names.index(name)] = value
    forces = matrix @ alike
    yield at_most('M5', 'level pose: static forces of the legs differ, relative', 1e-10, np.ptp(forces) / forces.mean())
    lean = np.arcsin((robot.base_radius - robot.side / np.sqrt(3.0)) / length)
    carried = np.sum(matrix @ platform) * np.cos(lean)
    weight = -3.0 * gravity[2]
    yield at_most('M5', 'forces through the lean of the legs = weight, relative', 1e-10, carried / weight - 1.0)


def reduction_checks(robot: ThreeRps, samples: regressor.Samples) -> Iterator[Check]:
    """Ranks, Table 1, friction columns, models 1 to 4."""
    motion = samples.lengths, samples.rates, samples.accelerations
    matrix = regressor.drive_regressor(robot, *motion, samples.gravity)
    stacked = matrix.reshape(-1, 70)
    yield equal('M8', 'rows of 75 points', 225, len(stacked))
    used = np.abs(stacked).max(axis=0) > 1e-9 * np.abs(stacked).max()
    yield equal('M10', 'columns that are not zero, of 70', 31, int(used.sum()))
    rank, gap = rank_and_gap(stacked)
    yield equal('M10', 'rank of the rigid-body regressor', 25, rank)
    yield at_least('M10', 'gap of its singular values', 1e6, gap)
    yield from table_checks(robot, stacked)
    diagonal = np.abs(np.diag(qr(stacked[:, used] / np.linalg.norm(stacked[:, used], axis=0), pivoting=True)[1]))
    yield equal('M13', 'rank by pivoted QR', 25, int(np.sum(diagonal > 1e-9 * diagonal[0])))

    base = stacked[:, [regressor.parameter_names().index(name) for name in regressor.heads()]]
    for law, expected in RANKS_WITH_FRICTION.items():
        for joints, wanted in zip(('drives', 'all nine joints'), expected, strict=True):
            columns = np.hstack([base, other_columns(robot, samples, law, joints == 'drives')])
            yield equal('M12', f'rank with {law} friction of {joints} and rotors', wanted, rank_and_gap(columns)[0])
    for model, (law, count) in enumerate((('asymC', 37), ('sym', 24), ('sym', 18), ('sym', 12)), start=1):
        columns = np.hstack([regressor.model_columns(base, model), other_columns(robot, samples, law, True)])
        found = [columns.shape[1], rank_and_gap(columns)[0]]
        yield equal('M15', f'columns and rank of model {model}', [count, count], found)


def table_checks(robot: ThreeRps, stacked: Array) -> Iterator[Check]:
    """The 25 combinations of Table 1 by the library's reduction with the paper's choice of eliminated parameters."""
    names = regressor.parameter_names()
    base = reduce_parameters(stacked, names, eliminated=regressor.ELIMINATED)
    extra = sorted({*_heads(base)} - {*regressor.heads()})
    yield equal('M11', 'parameters that head combinations, but not in Table 1', [], extra)
    order = [_heads(base).index(name) for name in regressor.heads() if name in _heads(base)]
    exact = regressor.table_matrix(robot.side)
    error = np.abs(base.combination[order] - exact).max()
    yield at_most('M11', 'factors of all 25 rows of Table 1 against the closed form', 1e-9, error)
    excess = np.abs(base.combination[order] - regressor.table_matrix(None)) - regressor.rounding()
    yield at_most(
        'M11', 'factors of all 25 rows against the printed digits, beyond rounding', 1e-6, excess.max().clip(0.0)
    )
    free = reduce_parameters(stacked, names)
    parameters = np.random.default_rng(3).normal(size=70)
    for text, choice in (("the paper's", base), ('no', free)):
        error = relative_error(choice.columns(stacked) @ choice.values(parameters), stacked @ parameters)
        yield at_most(
            'M13', f'forces of the {len(choice)} base parameters with {text} preference, relative', 1e-9, error
        )
    chosen = reduce_parameters(stacked, names, preferred=['m3'])
    yield equal('M13', 'm3 heads a combination if chosen', [True, 25], ['m3' in _heads(chosen), len(chosen)])
    balanced = balanced_parameters(robot, REDUCED_MASS)
    values = exact @ balanced
    for row, printed in regressor.PRINTED_CAD.items():
        yield near('M14', f'base parameter p{row} of a balanced robot, Table 8', printed, values[row - 1], 0.005)


def _heads(base: BaseParameters) -> list[str]:
    return [base.full_names[index] for index in base.independent]


def balanced_parameters(robot: ThreeRps, reduced_mass: float) -> Array:
    """Masses (70,) of equal rods and a platform balanced on the triangle, rod + platform / 3 = reduced mass [kg]."""
    names, result = regressor.parameter_names(), np.zeros(70)
    rod = 2.0
    platform = 3.0 * (reduced_mass - rod)
    center = np.array([robot.side / 2.0, robot.side / (2.0 * np.sqrt(3.0))])
    for name, value in (('m2', rod), ('m5', rod), ('m7', rod), ('m3', platform)):
        result[names.index(name)] = value
    result[[names.index('mx3'), names.index('my3')]] = platform * center
    return result


def other_columns(robot: ThreeRps, samples: regressor.Samples, law: str, drives_only: bool) -> Array:
    """Friction of drives or of all joints, Eqs. (15) and (10), and rotors of the drives, Eq. (18); (3 N, F)."""
    columns = regressor.project(robot, samples.q, regressor.friction_columns(samples.velocity, law))
    count = columns.shape[-1] // 9
    if drives_only:
        chosen = np.concatenate([np.arange(count * joint, count * (joint + 1)) for joint in INDEPENDENT])
        columns = columns[..., chosen]
    rotors = samples.accelerations[:, :, None] * np.eye(3)
    return np.concatenate([columns, rotors], axis=-1).reshape(-1, columns.shape[-1] + 3)
