"""The planar 3-PRR of Rosyid & El-Khasawneh (2020): the paper's model by itself, then the library against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameter_names, rigid_body_parameters
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.machine import Machine, RigidBody
from pkm_identification.estimator.bodies import body_from_parameters
from scipy.linalg import null_space

from verification.check import Check, agree, at_most, equal, near, refused, relative_error
from verification.elimination import rank_and_gap
from verification.rosyid_2020 import table
from verification.rosyid_2020.dynamics import PlanarDynamics, base_parameters
from verification.rosyid_2020.library import library_checks
from verification.rosyid_2020.model import ACTIVE, PlanarGeometry, PlanarSamples, random_planar

_STEP = 1e-5
_G = 9.81


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Requirements R2-01 to R2-13, and the closed form of the base parameters (R2-39)."""
    geometry = table.geometry_of(machine)
    samples = random_planar(geometry, machine.home.position * [1.0, 1.0, 0.0], 20 if quick else 200)
    yield from kinematic_checks(geometry, samples)
    yield from parameter_checks(machine)
    yield from dynamic_checks(geometry, samples)
    yield from reaction_checks(geometry, samples)
    yield from identifiability_checks(geometry, samples)
    yield from library_checks(machine, samples)


def kinematic_checks(geometry: PlanarGeometry, samples: PlanarSamples) -> Iterator[Check]:
    """Closed form, constraint Jacobian, forward kinematics of the paper's model."""
    q, velocity = samples.q, samples.velocity
    found = [*geometry.leg_lengths, *geometry.pin_offsets]
    yield at_most(
        'R2-01',
        'lengths and pins of the machine file are printed ones',
        1e-12,
        np.subtract(found, table.LENGTHS + table.PINS),
    )
    yield at_most('R2-01', "closures of the paper's coordinates", 1e-12, geometry.closure(q), 'm')
    back = geometry.assemble(q[:, ACTIVE], q + 0.02)
    yield at_most('R2-02', "round trip pose - sliders - pose in the paper's model", 1e-10, back - q)
    yield equal('R2-03', 'coordinates and constraints', [12, 9], list(geometry.jacobian(q).shape[:0:-1]))
    ahead, behind = q + _STEP * velocity, q - _STEP * velocity
    change = (geometry.closure(ahead) - geometry.closure(behind)) / (2.0 * _STEP)
    error = (geometry.jacobian(q) @ velocity[..., None])[..., 0] - change
    yield at_most('R2-03', 'constraint Jacobian against finite differences', 1e-8, error)
    turned = (geometry.jacobian(ahead) - geometry.jacobian(behind)) / (2.0 * _STEP)
    error = (turned @ velocity[..., None])[..., 0] - geometry.drift(q, velocity)
    yield at_most('R2-03', 'its time derivative against finite differences', 1e-7, error)


def parameter_checks(machine: Machine) -> Iterator[Check]:
    """Barycentric parameters from masses and centres of mass, and back, by the library."""
    masses, centers = table.DESIGN[[3, 4, 5, 12]], (*table.LEG_CENTERS, table.PLATFORM_CENTER)
    drawn = [
        RigidBody('drawn', float(mass), np.array([center, 0.0, 0.0]), np.zeros((3, 3))).parameters
        for mass, center in zip(masses, centers, strict=True)
    ]
    moments = np.array([ten[1] for ten in drawn]) - table.DESIGN[[6, 7, 8, 13]]
    yield at_most('R2-05', 'first moments of Table 1 from masses and centres', 1e-3, moments, 'kg m')
    names = list(rigid_body_parameter_names(machine, identical_legs=False))
    values = table.embedding(names, machine).T @ rigid_body_parameters(machine, identical_legs=False)
    error = np.abs(values - table.DESIGN)
    yield at_most(
        'R2-05', 'masses and first moments of the machine file = Table 1, design', 1e-3, error[[*range(9), 12, 13, 14]]
    )
    yield at_most('R2-05', 'its inertias about the joints = Table 1, design', 1e-4, error[[9, 10, 11, 15]], 'kg m^2')
    yield at_most(
        'R2-05', "the library's parameters against Huygens-Steiner", 1e-12, values - table.barycentric(machine)
    )
    back = []
    for body in [machine.platform, *(leg.joints[1].body for leg in machine.legs)]:
        again = body_from_parameters(body.name, body.parameters)
        back += [
            abs(again.mass - body.mass), np.abs(again.center_of_mass - body.center_of_mass).max(),
            np.abs(again.inertia - body.inertia).max(),
        ]  # fmt: skip
    yield at_most('R2-05', 'centre of mass - barycentric - centre of mass', 1e-12, back)


def dynamic_checks(geometry: PlanarGeometry, samples: PlanarSamples) -> Iterator[Check]:
    """Partition, descriptor system, linearity, power; with and without gravity in the plane."""
    q, velocity, acceleration = samples.q, samples.velocity, samples.acceleration
    sliders = acceleration[:, ACTIVE]
    for gravity in ((0.0, -_G), (0.0, 0.0)):
        robot = PlanarDynamics(geometry, table.DESIGN, np.array(gravity))
        forces, multipliers = robot.inverse_by_partition(q, velocity, sliders)
        where = f'g = {abs(gravity[1]):g}'
        product = robot.regressor(q, velocity, sliders) @ table.DESIGN
        yield agree('R2-06', f'regressor x parameters = forces, {where}', 1e-10, product, forces)
        direct, direct_multipliers = robot.accelerations(q, velocity, forces)
        yield agree('R2-07', f'partition = 21 x 21 system, accelerations, {where}', 1e-10, direct, acceleration)
        error = relative_error(direct_multipliers, multipliers)
        yield at_most('R2-07', f'partition = 21 x 21 system, multipliers, {where}, relative', 1e-10, error)

        def energy(step: float, robot: PlanarDynamics = robot) -> Array:
            return robot.energy(q + step * velocity + step**2 / 2.0 * acceleration, velocity + step * acceleration)

        power = np.sum(forces * velocity[:, ACTIVE], axis=1)
        error = relative_error((energy(_STEP) - energy(-_STEP)) / (2.0 * _STEP), power)
        yield at_most('R2-07', f'power of the sliders = change of energy, {where}, relative', 1e-6, error)


def reaction_checks(geometry: PlanarGeometry, samples: PlanarSamples) -> Iterator[Check]:
    """Normal forces of the guides as multipliers, by Newton-Euler, at rest, and in the printed form."""
    q, velocity, sliders = samples.q, samples.velocity, samples.acceleration[:, ACTIVE]
    robot = PlanarDynamics(geometry, table.DESIGN, np.array([0.0, -_G]))
    forces, multipliers = robot.inverse_by_partition(q, velocity, sliders)
    normals = robot.normal_forces(multipliers)
    slider, leg, moment = table.DESIGN[0:3], table.DESIGN[3:6], table.DESIGN[6:9]
    rise = moment / leg * (np.cos(q[:, 6:9]) * samples.acceleration[:, 6:9] - np.sin(q[:, 6:9]) * velocity[:, 6:9] ** 2)
    newton = multipliers[:, 4::2] + leg * rise + (slider + leg) * _G
    yield at_most('R2-08', 'multipliers = Newton-Euler normals of slider and leg', 1e-9, normals - newton, 'N')
    angle, spin, turning = q[:, 11], velocity[:, 11], samples.acceleration[:, 11]
    platform = table.DESIGN[12] * (samples.acceleration[:, 10] + _G)
    platform = platform + table.DESIGN[13] * (np.cos(angle) * turning - np.sin(angle) * spin**2)
    total = platform + np.sum(leg * rise + (slider + leg) * _G, axis=1)
    yield at_most('R2-08', 'sum of the normals = change of momentum + weight', 1e-9, normals.sum(axis=1) - total, 'N')
    _, at_rest = robot.inverse_by_partition(q, np.zeros_like(q), np.zeros_like(sliders))
    sums = robot.normal_forces(at_rest).sum(axis=1)
    worst = float(sums[np.argmax(np.abs(sums - 811.25))])
    yield near('R2-11', 'sum of the static normals, vertical, design values', 811.25, worst, 0.005, 'N')

    printed = PlanarDynamics(dataclasses.replace(geometry, printed=True), table.DESIGN, np.array([0.0, -_G]))
    same, silent = printed.inverse_by_partition(q, velocity, sliders)
    yield at_most('R2-09', 'normal multipliers of the printed constraints', 1e-12, silent[:, :3], 'N')
    yield agree('R2-09', 'forces of the printed constraints are right', 1e-12, same, forces)
    yield refused('R2-09', 'normal forces of the printed constraints', KinematicsError, printed.normal_forces, silent)

    singular = geometry.singular_coordinates()
    yield refused('R2-13', 'rod 2 in line with the platform', SingularPoseError, geometry.require_regular, singular)
    yield at_most('R2-13', 'condition of B_p among the samples', 1e4, geometry.condition(q))


def identifiability_checks(geometry: PlanarGeometry, samples: PlanarSamples) -> Iterator[Check]:
    """Ranks and the closed form of the base parameters."""
    map_to_base = base_parameters(geometry, np.eye(16)).T
    hidden = null_space(map_to_base)
    common = table.printed_parameters()
    speed = samples.velocity[:, ACTIVE]
    friction = np.stack([np.sign(speed), speed], axis=-1).reshape(-1, 2)
    for gravity in ((0.0, -_G), (0.0, 0.0)):
        robot = PlanarDynamics(geometry, table.DESIGN, np.array(gravity))
        matrix = robot.regressor(samples.q, samples.velocity, samples.acceleration[:, ACTIVE]).reshape(-1, 16)
        every = matrix, np.delete(matrix, 14, axis=1), matrix @ common, np.hstack([matrix @ common, friction])
        ranks = [rank_and_gap(one)[0] for one in every]
        what = f'ranks of 16, 15, 13 parameters, 13 with friction, g = {abs(gravity[1]):g}'
        yield equal('R2-39', what, [10, 9, 9, 11], ranks)
        error = np.abs(matrix @ hidden).max() / np.abs(matrix).max()
        yield at_most('R2-39', 'parameters outside of the closed form make no force, relative', 1e-9, error)
    yield equal('R2-39', 'combinations of the closed form', 10, int(np.linalg.matrix_rank(map_to_base)))
    for name, parameters, printed in (
        ('design', table.DESIGN, table.BASE_OF_DESIGN),
        ('estimate', table.ESTIMATE, table.BASE_OF_ESTIMATE),
    ):
        error = base_parameters(geometry, parameters) - printed
        yield at_most('R2-39', f'base parameters of Table 1, {name}', 5e-5, error)
