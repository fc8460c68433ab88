"""The library's kinematics and dynamics of Oh's machines against his Kane form; T6, T13: groups of forces, friction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics, rigid_body_parameters, rigid_body_regressor
from pkm_description.dynamics.body_blocks import body_blocks
from pkm_description.dynamics.inverse import drive_force_terms
from pkm_description.friction_laws import DeadBand
from pkm_description.kinematics import joint_motion, leg_lengths
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.kinematics.rotation import angle_rate_matrix, angle_rate_matrix_rate, matrix_from_angles
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Joint, Machine, PlatformMotion
from pkm_description.machine.machine import with_joints

from verification.check import Check, agree, at_least, at_most, equal, near, near_each, relative_error
from verification.elimination import rank_and_gap
from verification.mechanics.friction import scaled
from verification.mechanics.momentum import body_twists
from verification.oh_2003 import lagrange as oh_lagrange
from verification.oh_2003.kane import PARAMETERS, group_regressors, pseudo_jacobian, strut_force_regressor
from verification.oh_2003.kane import energy_regressor as oh_energy_regressor
from verification.oh_2003.kinematics import (
    OH_FREQUENCIES,
    OhMotion,
    apply,
    case,
    dot,
    rotation_zxz,
    sine,
    strut_kinematics,
)
from verification.oh_2003.kinematics import angle_rate_matrix as oh_angle_rate_matrix
from verification.oh_2003.kinematics import angle_rate_matrix_rate as oh_angle_rate_matrix_rate
from verification.oh_2003.parameters import OhModel, oh_model, random_motion

#: columns in which it does not matter that real Hooke joints turn their struts about the long axis
_WITHOUT_SPIN = [place for place, name in enumerate(PARAMETERS) if name[0] == 'm' or name.endswith('p')]


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Compare lengths, their derivatives, angular velocities and force regressors."""
    model = oh_model(machine)
    motion = random_motion(model, 50 if quick else 500, seed=12)
    yield from angle_checks(motion)
    struts = strut_kinematics(model.geometry, motion)
    platform = model.platform_motion(motion)
    legs = joint_motion(machine, platform)
    drives = [values[..., machine.drive_columns] for values in (legs.velocities, legs.accelerations)]
    for what, found, expected in (
        ('L', leg_lengths(machine, platform.position, platform.rotation_base_platform), struts.length),
        ("L'", drives[0], struts.rate),
        ("L''", drives[1], struts.acceleration),
    ):
        yield agree('T2', f'library: {what} = that of Oh', 1e-12, found, expected)
    _, spins = body_twists(machine, *body_poses(machine, legs.positions), legs.velocities)
    spin = spins[:, machine.drive_columns]
    # a Hooke joint also turns the strut about its axis; Eq. 2.21 drops that part
    across = spin - struts.along * dot(spin, struts.along)[..., None]
    yield agree('T2', 'library: angular velocity of struts, normal part = omega_s', 1e-12, across, struts.spin)

    kane = strut_force_regressor(model.geometry, motion)
    suite = rigid_body_regressor(machine, platform, identical_legs=True) @ model.matrix
    error = relative_error(suite[..., _WITHOUT_SPIN], kane[..., _WITHOUT_SPIN])
    yield at_most('T3', 'library: regressor, columns of masses and platform inertia = Kane, relative', 1e-12, error)
    # the machine as it is: struts turn about their axes, and Lagrange's equations see it
    lagrange = oh_lagrange.generalised_forces(model.geometry, motion, model.parameters, hooke_joints=True)
    back = apply(pseudo_jacobian(model.geometry, motion), suite @ model.parameters)
    yield agree('T3', 'library: J F_a = Lagrange with the spin of Hooke joints', 1e-7, back, lagrange)
    yield spin_check(machine, model)
    yield from rank_checks(machine, model)
    yield from group_checks(machine, motion)
    yield energy_model_check(model, machine)
    own = energy_regressor(machine, platform, identical_legs=True) @ model.matrix
    error = relative_error(own[:, _WITHOUT_SPIN], oh_energy_regressor(model.geometry, motion)[:, _WITHOUT_SPIN])
    yield at_most('T4', 'library: energy model, columns of masses and platform inertia = Oh, relative', 1e-12, error)


def spin_check(machine: Machine, model: OhModel) -> Check:
    """T7: in ours longitudinal inertias of struts count, as soon as Hooke joints turn the struts about their axes."""
    motion = sine((4, 5), OH_FREQUENCIES['high'], np.linspace(0.0, 0.5, 50), model.home)
    suite = rigid_body_regressor(machine, model.platform_motion(motion), identical_legs=True) @ model.matrix
    size = np.abs(suite).reshape(-1, len(PARAMETERS)).max(axis=0)
    counts = [name for name in ('Iyyb', 'Iyye') if size[PARAMETERS.index(name)] > 1e-9 * size.max()]
    what = 'library: columns of Iyyb, Iyye that are not zero, rotation; the zero columns above are those of his model'
    return equal('T7', f'{what}, whose struts do not spin (Eq. 2.21), ours do', ['Iyyb', 'Iyye'], counts)


def rank_checks(machine: Machine, model: OhModel) -> Iterator[Check]:
    """T7: ranks of the library's regressor along his motions; its struts turn about their axes, his do not."""
    time = np.linspace(0.0, 0.5, 100)
    less = int(model.geometry.distance_b == 0.0)
    for name, axes, rank in (('X', (0,), 4), ('Z', (2,), 5), ('XY', (0, 1), 5), ('rotation', (4, 5), 8)):
        platform = model.platform_motion(sine(axes, OH_FREQUENCIES['high'], time, model.home))
        rows = rigid_body_regressor(machine, platform, identical_legs=True) @ model.matrix
        found, _ = rank_and_gap(rows.reshape(-1, len(PARAMETERS)))
        yield near('T7', f'library, {machine.name}: rank of the regressor, {name}', rank - less, found, 0.0)


def angle_checks(motion: OhMotion) -> Iterator[Check]:
    """Euler angles of the library in the order z-x-z."""
    rates = motion.angle_rates
    for what, found, expected in (
        ('rotation', matrix_from_angles(motion.angles, 'zxz'), rotation_zxz(motion.angles)),
        ('U', angle_rate_matrix(motion.angles, 'zxz'), oh_angle_rate_matrix(motion.angles)),
        ("U'", angle_rate_matrix_rate(motion.angles, rates, 'zxz'), oh_angle_rate_matrix_rate(motion.angles, rates)),
    ):
        yield at_most('T1', f'library: {what} of z-x-z angles = Eqs. 2.9, 2.14, 2.38', 1e-14, found - expected)


def energy_model_check(model: OhModel, machine: Machine) -> Check:
    """Steps of the integral model along XY at the high level, 1 ms."""
    motion = sine((0, 1), OH_FREQUENCIES['high'], np.arange(0.0, 0.5, 1e-3), model.home)
    platform = model.platform_motion(motion)
    forces = inverse_dynamics(machine, platform, friction=False)
    drives = joint_motion(machine, platform).positions[..., machine.drive_columns]
    differences, work = energy_equations(machine, platform, drives, forces)
    steps = differences @ rigid_body_parameters(machine, identical_legs=True)
    error = relative_error(steps, work)
    return at_most('T4', 'library: energy equations, XY, 4 pi rad/s, 1 ms: error / largest step', 1e-6, error)


def group_checks(machine: Machine, motion: OhMotion) -> Iterator[Check]:
    """The six groups of terms, with struts whose mass stands in points, so that their spin does not matter."""

    def point_mass(joint: Joint) -> Joint:
        return dataclasses.replace(joint, body=dataclasses.replace(joint.body, inertia=np.zeros((3, 3))))

    thin = with_joints(machine, point_mass)
    model = oh_model(thin)
    terms = drive_force_terms(thin, model.platform_motion(motion), friction=False)
    jacobian = pseudo_jacobian(model.geometry, motion)
    for name, group in group_regressors(model.geometry, motion).items():
        kane = np.linalg.solve(jacobian, (group @ model.parameters)[..., None])[..., 0]
        error = np.abs(getattr(terms, name) - kane).max() / np.abs(terms.total).max()
        yield at_most('T3', f'library: group {name}, struts of point masses = Kane, of the largest force', 1e-11, error)


def energy_equations(
    machine: Machine, motion: PlatformMotion, drive_positions: Array, forces: Array
) -> tuple[Array, Array]:
    """Equations of the energy (integral) model between neighbouring samples of one motion (Eqs. 2.56 and 2.57).

    One scalar equation per step, without accelerations: the change of the machine's energy is the work of the drives
    less friction (after Bhattacharya, Hatwal & Ghosh).

    Parameters
    ----------
    motion : N samples, close together
    drive_positions : (N, A) m or rad
    forces : (N, A), of the drives less friction and rotors: their work goes into the rigid bodies

    Returns
    -------
    differences : (N - 1, P), ``differences @ parameters = work``
    work : (N - 1,) J, by the trapezoidal rule (the left end alone, as printed, is a hundred times worse)
    """
    regressor = energy_regressor(machine, motion)
    work = np.sum(0.5 * (forces[1:] + forces[:-1]) * np.diff(drive_positions, axis=0), axis=1)
    return np.diff(regressor, axis=0), work


def energy_regressor(machine: Machine, motion: PlatformMotion, identical_legs: bool = True) -> Array:
    """Regressor (N, P): kinetic plus potential energy [J] without rotors = regressor @ ``rigid_body_parameters``."""
    legs = joint_motion(machine, motion)
    rotations, origins = body_poses(machine, legs.positions)
    velocities, spins = body_twists(machine, rotations, origins, legs.velocities)

    def with_platform(of_legs: Array, of_platform: Array) -> Array:
        return np.concatenate([of_legs, of_platform[:, None]], axis=1)

    back = np.swapaxes(with_platform(rotations, motion.rotation_base_platform), 2, 3)
    v = apply(back, with_platform(velocities, motion.linear_velocity))
    w = apply(back, with_platform(spins, motion.angular_velocity))
    weight = with_platform(origins, motion.position) @ machine.gravity
    # v . (w x c) = c . (v x w)
    first = np.cross(v, w) - back @ machine.gravity
    products = w[..., [0, 0, 0, 1, 1, 2]] * w[..., [0, 1, 2, 1, 2, 2]] * [0.5, 1.0, 1.0, 0.5, 1.0, 0.5]
    columns = np.concatenate([(0.5 * dot(v, v) - weight)[..., None], first, products], axis=-1)
    block, count = body_blocks(machine, identical_legs)
    result = np.zeros((len(motion), count, 10))
    for body, place in enumerate(block):
        result[:, place] += columns[:, body]
    return result.reshape(len(motion), -1)


def friction_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """T13: dead band as printed and continuous; friction of a strut adds to its own drive alone."""
    laws = [joint.friction.law for joint in machine.actuated_joints]
    found = [(law.width, law.form) if isinstance(law, DeadBand) else None for law in laws]
    yield equal('T13', 'law of every strut: half zone [m/s] and form', [(0.002, 'printed')] * len(laws), found)
    bands = [law for law in laws if isinstance(law, DeadBand)]
    for form, factor in (('printed', 0.002), ('continuous', 0.0)):
        shaped = [dataclasses.replace(law, form=form) for law in bands]
        jumps = [float(law.force(np.nextafter(0.002, 1.0)) - law.force(0.002)) for law in shaped]
        required = [factor * law.viscous for law in bands]
        yield near_each('T13', f'jump at the edge of the zone, {form} form', required, jumps, 1e-9, 'N')

    motion = random_states(machine, 20 if quick else 200, seed=21)
    rates = joint_motion(machine, motion).velocities[..., machine.drive_columns]
    # a share of the states inside of the zone
    motion = scaled(motion, np.where(np.arange(len(rates)) % 2, 1.0, 1.5e-3 / np.abs(rates).max(axis=1)))
    rates = joint_motion(machine, motion).velocities[..., machine.drive_columns]
    viscous, coulomb = (np.array([getattr(law, key) for law in bands]) for key in ('viscous', 'coulomb'))
    zone = 2.0 * coulomb / 0.004 * rates
    expected = np.where(np.abs(rates) > 0.002, viscous * rates + coulomb * np.sign(rates), zone)
    share = inverse_dynamics(machine, motion) - inverse_dynamics(machine, motion, friction=False)
    yield agree('T13', 'F_a - F_rigid = F_f strut by strut (2.55, B.17)', 1e-10, share, expected)


TRANSLATIONS, ALL_CASES = (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)


def shares(
    model: OhModel, parameters: Array, number: int, frequency: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Dominance (2.76 to 2.81) and variation (2.83 to 2.88) of the groups along a case of Table 2.2, in per cent."""
    time = np.linspace(0.0, 2.0 * np.pi / frequency, 100, endpoint=False)
    motion = case(number, frequency, time, model.home)
    jacobian = pseudo_jacobian(model.geometry, motion)
    groups = group_regressors(model.geometry, motion)
    sizes = {
        name: np.linalg.norm(np.linalg.solve(jacobian, (group @ parameters)[..., None])[..., 0], axis=1)
        for name, group in groups.items()
    }
    total = np.sum([group @ parameters for group in groups.values()], axis=0)
    mean = float(np.linalg.norm(np.linalg.solve(jacobian, total[..., None])[..., 0], axis=1).mean())
    return (
        {name: float(100.0 * size.mean() / mean) for name, size in sizes.items()},
        {name: float(100.0 * np.ptp(size) / mean) for name, size in sizes.items()},
    )


def dominance_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """T6. The heights of the bars in Figs. 2.10 to 2.15 cannot be read: their order is what is judged."""
    model = oh_model(machine)
    masses = model.parameters
    ratio = masses[2] / (6.0 * masses[0])
    high, low = OH_FREQUENCIES['high'], OH_FREQUENCIES['low']
    fast = {number: shares(model, masses, number, high) for number in ALL_CASES}
    small = [fast[number][0]['cor'] + fast[number][0]['cen'] for number in ALL_CASES]
    yield at_most('T6', 'cor + cen, mean, all cases, high speed, % of the mean force', 2.0, small, '%')
    # section 2.4.1: struts below a mass ratio of 1, the platform above it
    first, second = ('sm', 'pm') if ratio < 1.0 else ('pm', 'sm')
    what = f'{first} / {second}, mean, cases 1 to 4, high speed, m_p / (6 m_e) = {ratio:.3g}: least'
    yield at_least('T6', what, 1.0, [fast[number][0][first] / fast[number][0][second] for number in TRANSLATIONS])
    slow = [shares(model, masses, number, low)[0] for number in ALL_CASES]
    gravity = [(entry['grp'] + entry['grs']) / (entry['pm'] + entry['sm']) for entry in slow]
    yield at_least('T6', 'gravity / inertia, mean, all cases, low speed: least', 10.0, gravity)
    cases = ALL_CASES if ratio < 1.0 else TRANSLATIONS
    varied = [fast[number][1] for number in cases]
    largest = [entry[first] / max(value for name, value in entry.items() if name != first) for entry in varied]
    what = f'variation of {first} / largest of the others, cases 1 to {len(cases)}, high speed: least'
    yield at_least('T6', what, 1.0, largest)
