"""Oh (2003): the figures T1-T5 and T7 of his machines, and golden points of the UF machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import joint_motion, leg_lengths
from pkm_description.kinematics.rotation import skew
from pkm_description.machine import Machine

from verification.check import Check, agree, at_most, equal, near, near_each, within
from verification.elimination import rank_and_gap
from verification.mechanics.neighbours import smooth_derivative
from verification.oh_2003 import lagrange as oh_lagrange
from verification.oh_2003.kane import (
    PARAMETERS,
    energy_regressor,
    group_regressors,
    mass_matrix_regressor,
    pseudo_jacobian,
    strut_force_regressor,
    strut_forces,
)
from verification.oh_2003.kinematics import (
    HOME_ANGLES,
    OH_FREQUENCIES,
    OhMotion,
    angle_rate_matrix,
    angle_rate_matrix_rate,
    apply,
    case,
    dot,
    rotation_zxz,
    sine,
    strut_kinematics,
)
from verification.oh_2003.parameters import OhModel, oh_model, random_motion, shifted

#: m_p / (6 m_e), section 2.4.1.4, with the printed digits
MASS_RATIOS = {'uf': (0.449, 5e-4), 'snl': (3.341, 5e-4), 'ford': (22.94, 5e-3)}

#: s and rad of the five-point differences
STEP = 1e-3

#: golden points of the UF machine with joints at vertices and side middles, masses of chapter 2
#: s, instant of the moving points
TIME = 0.1

STATIC_FORCES = (-51.3116, -40.8960) * 3
LENGTHS = (0.53322, 0.47880, 0.55796, 0.45244, 0.52860, 0.47364)
LENGTH_RATES = (-0.02372, 0.04684, 0.07611, -0.06118, -0.04289, 0.02619)
FORCES = {
    1: (-41.3758, -62.5619, -105.7957, -26.1512, -10.0315, -34.5289),
    6: (-29.8342, -16.0765, -54.5647, -39.1377, -68.5111, -63.0422),
}


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks of one of Oh's three machines."""
    model = oh_model(machine)
    motion = random_motion(model, 20 if quick else 200, seed=11)
    yield from rotation_checks(motion)
    yield from strut_checks(model, motion)
    yield from force_checks(model, motion)
    yield from energy_checks(model, motion)
    yield from printed_data_checks(machine, model)
    yield from rank_checks(machine, model, 50 if quick else 400)


def rotation_checks(motion: OhMotion) -> Iterator[Check]:
    """T1: Z-X-Z rotation, rate matrix and its derivative."""
    axes = rotation_zxz(HOME_ANGLES[None])[0]
    # home: X_P = X, Y_P = -Z, Z_P = Y
    error = np.abs(axes - np.column_stack([[1, 0, 0], [0, 0, -1], [0, 1, 0]]))
    yield at_most('T1', 'axes of {P} at home are X, -Z, Y', 1e-15, error)
    rotation = rotation_zxz(motion.angles)
    rotation_rate = smooth_derivative(lambda step: rotation_zxz(shifted(motion, step).angles), STEP)
    u = angle_rate_matrix(motion.angles)
    turning = skew(apply(u, motion.angle_rates)) @ rotation
    yield at_most(
        'T1', "U angle rates = angular velocity of R' (finite differences), rad/s", 1e-8, turning - rotation_rate
    )
    determinant = np.linalg.det(u) + np.sin(motion.angles[:, 1])
    yield at_most('T1', 'det U = -sin(theta)', 1e-14, determinant)
    u_rate = smooth_derivative(lambda step: angle_rate_matrix(shifted(motion, step).angles), STEP)
    error = angle_rate_matrix_rate(motion.angles, motion.angle_rates) - u_rate
    yield at_most('T1', "U' against finite differences", 1e-8, error)


def strut_checks(model: OhModel, motion: OhMotion) -> Iterator[Check]:
    """T2: first and second derivatives of struts."""
    struts = strut_kinematics(model.geometry, motion)
    through_jacobian = (motion.speeds[:, None] @ pseudo_jacobian(model.geometry, motion))[:, 0]
    yield at_most('T2', "L' = J^T q'", 1e-13, through_jacobian - struts.rate, 'm/s')

    def difference(name: str) -> Array:
        return smooth_derivative(
            lambda step: getattr(strut_kinematics(model.geometry, shifted(motion, step)), name), STEP
        )

    yield at_most('T2', "L' against finite differences", 1e-8, difference('length') - struts.rate, 'm/s')
    yield at_most('T2', "L'' against finite differences", 1e-8, difference('rate') - struts.acceleration, 'm/s^2')
    turning = difference('along') - np.cross(struts.spin, struts.along)
    yield at_most('T2', "omega_s x s3 = s3' (finite differences)", 1e-8, turning, '1/s')
    yield at_most('T2', 'omega_s . s3 = 0', 1e-14, dot(struts.spin, struts.along), 'rad/s')
    yield at_most('T2', 'alpha_s against finite differences', 1e-8, difference('spin') - struts.spin_rate, 'rad/s^2')


def force_checks(model: OhModel, motion: OhMotion) -> Iterator[Check]:
    """T3: Kane's groups, Lagrange's equations and the library's dynamics."""
    w, geometry = model.parameters, model.geometry
    groups = group_regressors(geometry, motion)
    kane = np.sum([group @ w for group in groups.values()], axis=0)
    lagrange = oh_lagrange.generalised_forces(geometry, motion, w)
    yield agree('T3', 'sum of groups (Kane) = Lagrange', 1e-7, kane, lagrange)
    forces = strut_forces(geometry, motion, w)
    back = apply(pseudo_jacobian(geometry, motion), forces)
    yield agree('T3', 'J F_a of the regressor = sum of groups', 1e-12, back, kane)


def energy_checks(model: OhModel, motion: OhMotion) -> Iterator[Check]:
    """T4: energy of the mass matrix, and the energy model step by step."""
    w, geometry = model.parameters, model.geometry
    matrix = np.tensordot(mass_matrix_regressor(geometry, motion), w, axes=(1, 0))
    energy = 0.5 * dot(motion.speeds, apply(matrix, motion.speeds))
    bodies = oh_lagrange.kinetic_energy(geometry, motion, w)
    yield agree('T4', "1/2 q'^T M q' = sum over 13 bodies", 1e-14, energy, bodies)
    total = bodies + oh_lagrange.potential_energy(geometry, motion, w)
    yield agree('T4', 'energy regressor x w = T + V', 1e-13, energy_regressor(geometry, motion) @ w, total)
    trapezoid, left, largest = energy_balance(model, 1e-3)
    yield within('T4', 'left rule of Eq. 2.56, XY, 4 pi rad/s, 1 ms: error / largest step', 0.005, 0.02, left / largest)
    finer = energy_balance(model, 5e-4)[0]
    yield within('T4', 'trapezoid: order of the error per step', 2.8, 3.2, float(np.log2(trapezoid / finer)))
    yield at_most('T4', 'trapezoid: error / largest step', 1e-6, trapezoid / largest)


def energy_balance(model: OhModel, step: float) -> tuple[float, float, float]:
    """Largest error of the energy model's step with the trapezoidal and the left rule, and its largest step, J."""
    time = np.arange(0.0, 0.5, step)
    motion = sine((0, 1), OH_FREQUENCIES['high'], time, model.home)
    change = np.diff(energy_regressor(model.geometry, motion) @ model.parameters)
    forces = strut_forces(model.geometry, motion, model.parameters)
    moved = np.diff(strut_kinematics(model.geometry, motion).length, axis=0)
    trapezoid = np.sum(0.5 * (forces[1:] + forces[:-1]) * moved, axis=1)
    left = np.sum(forces[:-1] * moved, axis=1)
    return float(np.abs(trapezoid - change).max()), float(np.abs(left - change).max()), float(np.abs(change).max())


def printed_data_checks(machine: Machine, model: OhModel) -> Iterator[Check]:
    """T5: mass ratio and trajectory amplitudes."""
    ratio, digit = MASS_RATIOS[machine.name]
    m_e, _, m_p = model.parameters[:3]
    yield near('T5', 'm_p / (6 m_e)', ratio, m_p / (6.0 * m_e), digit)
    time = np.linspace(0.0, 2.0, 2001)
    for (level, frequency), speed, acceleration in zip(
        OH_FREQUENCIES.items(), (0.0798, 0.1596, 0.3192), (0.2507, 1.0028, 4.011), strict=True
    ):
        motion = case(1, frequency, time, model.home)
        largest = np.abs(motion.velocity).max()
        yield near('T5', f'velocity amplitude of case 1, {level}', speed, largest, 5e-5, 'm/s')
        largest = np.abs(motion.acceleration).max()
        yield near('T5', f'acceleration amplitude of case 1, {level}', acceleration, largest, 5e-4, 'm/s^2')


def rank_checks(machine: Machine, model: OhModel, samples: int) -> Iterator[Check]:
    """T7: ranks and zero columns, of Kane's regressor."""
    time = np.linspace(0.0, 0.5, samples)
    frequency = OH_FREQUENCIES['high']
    motions = {
        'X': sine((0,), frequency, time, model.home),
        'Z': sine((2,), frequency, time, model.home),
        'XY': sine((0, 1), frequency, time, model.home),
        'rotation': sine((4, 5), frequency, time, model.home),
    }
    expected = {'X': 4, 'Z': 5, 'XY': 5, 'rotation': 8}
    note = ''
    if model.geometry.distance_b == 0.0:
        # a centre of mass in the base joint does not move, and the base carries its weight
        expected = {name: rank - 1 for name, rank in expected.items()}
        note = ' (one less: body B is centred in the base joint)'
        beside = dataclasses.replace(model.geometry, distance_b=0.2 * model.geometry.offset_e)
        matrix = strut_force_regressor(beside, random_motion(model, samples, seed=13)).reshape(-1, 12)
        yield equal('T7', 'rank of random states, centre of body B elsewhere on the strut', 8, rank_and_gap(matrix)[0])
    matrices = {name: strut_force_regressor(model.geometry, motion).reshape(-1, 12) for name, motion in motions.items()}
    for name, matrix in matrices.items():
        yield equal('T7', f'rank of the regressor, {name}{note}', expected[name], rank_and_gap(matrix)[0])
    everything = np.concatenate(list(matrices.values()))
    yield equal('T7', f'rank of all cases together{note}', expected['rotation'], rank_and_gap(everything)[0])
    anywhere = strut_force_regressor(model.geometry, random_motion(model, samples, seed=13)).reshape(-1, 12)
    yield equal('T7', f'rank of random states{note}', expected['rotation'], rank_and_gap(anywhere)[0])
    size = np.abs(everything).max(axis=0)
    zero = [name for name, largest in zip(PARAMETERS, size, strict=True) if largest < 1e-12 * size.max()]
    yield equal('T7', 'zero columns', (['m_b'] if note else []) + ['Iyyb', 'Iyye'], zero)


def golden_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Compare lengths, rates and forces of single instants, and the steps of the energy model."""
    model = oh_model(machine)
    still = sine((), 0.0, np.zeros(1), model.home)
    forces = strut_forces(model.geometry, still, model.parameters)
    yield near_each('T3', 'F_a at rest at home', STATIC_FORCES, forces, 5e-5, 'N')
    moving = case(1, OH_FREQUENCIES['high'], np.array([TIME]), model.home)
    struts = strut_kinematics(model.geometry, moving)
    yield near_each('T2', 'L, case 1, 4 pi rad/s, 0.1 s', LENGTHS, struts.length, 5e-6, 'm')
    yield near_each('T2', "L', case 1, 4 pi rad/s, 0.1 s", LENGTH_RATES, struts.rate, 5e-6, 'm/s')
    for number, figures in FORCES.items():
        motion = case(number, OH_FREQUENCIES['high'], np.array([TIME]), model.home)
        forces = strut_forces(model.geometry, motion, model.parameters)
        yield near_each('T3', f'F_a, case {number}, 4 pi rad/s, 0.1 s', figures, forces, 5e-5, 'N')
    yield from library_checks(machine, model, moving, still)
    trapezoid, left, largest = energy_balance(model, 1e-3)
    yield near('T4', 'energy model, XY at 4 pi rad/s, 1 ms: largest step', 3.0e-2, largest, 5e-4, 'J')
    yield near('T4', 'energy model: largest error with the printed left rule', 3.4e-4, left, 5e-6, 'J')
    yield near('T4', 'energy model: largest error with the trapezoid', 1.9e-8, trapezoid, 5e-10, 'J')


def library_checks(machine: Machine, model: OhModel, moving: OhMotion, still: OhMotion) -> Iterator[Check]:
    """The same points by the library's kinematics and dynamics; case 1 turns no strut about its axis."""
    for text, motion, figures in (('at rest at home', still, STATIC_FORCES), ('case 1', moving, FORCES[1])):
        forces = inverse_dynamics(machine, model.platform_motion(motion), friction=False)
        yield near_each('T3', f'library: F_a {text}', figures, forces, 5e-5, 'N')
    platform = model.platform_motion(moving)
    legs = joint_motion(machine, platform)
    lengths = leg_lengths(machine, platform.position, platform.rotation_base_platform)
    yield near_each('T2', 'library: L, case 1', LENGTHS, lengths, 5e-6, 'm')
    rates = legs.velocities[..., machine.drive_columns]
    yield near_each('T2', "library: L', case 1", LENGTH_RATES, rates, 5e-6, 'm/s')
