"""The paper's coordinates and constraints, given to the library as functions (R2-03, R2-09)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameter_names, rigid_body_regressor
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.machine.machine import with_gravity
from pkm_identification.columns.own_equations import BodyMap, Constraints, OwnEquations

from verification.check import Check, at_most, equal, refused, relative_error
from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.model import ACTIVE, PlanarGeometry, PlanarSamples
from verification.rosyid_2020.table import embedding

#: names of the paper's twelve coordinates
NAMES = ('x1', 'x2', 'x3', 'y1', 'y2', 'y3', 'a1', 'a2', 'a3', 'x', 'y', 'theta')
#: m/s^2, down in the plane of motion
_GRAVITY = (0.0, -9.81, 0.0)


def equations_of(geometry: PlanarGeometry, machine: Machine, analytic: bool) -> OwnEquations:
    """The paper's 3-PRR as a user writes it; bodies and their frames are those of the machine file.

    Parameters
    ----------
    analytic : give the paper's constraint Jacobian, too; else the library differentiates
    """
    constraints = Constraints(NAMES, NAMES[:3], geometry.closure, geometry.jacobian if analytic else None)
    bodies: dict[str, BodyMap] = {machine.platform.name: lambda q: _planar(q[:, 9], q[:, 10], q[:, 11])}
    for leg, joints in enumerate(one.joints for one in machine.legs):

        def slider(q: Array, leg: int = leg) -> tuple[Array, Array]:
            return _planar(q[:, leg], _across(geometry, q, leg), np.zeros(len(q)))

        def rod(q: Array, leg: int = leg) -> tuple[Array, Array]:
            return _planar(q[:, leg], _across(geometry, q, leg), q[:, 6 + leg])

        bodies[joints[0].body.name], bodies[joints[1].body.name] = slider, rod
    return OwnEquations(constraints, bodies, _GRAVITY)


def own_equation_checks(
    machine: Machine, geometry: PlanarGeometry, samples: PlanarSamples, motion: PlatformMotion
) -> Iterator[Check]:
    """Closure, motion and observation matrix of the user's functions; silent guides.

    Parameters
    ----------
    motion : the same states as the library has them
    """
    machine = with_gravity(machine, np.array(_GRAVITY))
    q, velocity, acceleration = samples.q, samples.velocity, samples.acceleration
    names = rigid_body_parameter_names(machine, identical_legs=False)
    library = rigid_body_regressor(machine, motion, identical_legs=False)
    for analytic, how in ((True, "the paper's Jacobian"), (False, 'differences')):
        own = equations_of(geometry, machine, analytic)
        found = own.constraints.motion(q[:, ACTIVE], velocity[:, ACTIVE], acceleration[:, ACTIVE], q[0])
        yield at_most('R2-03', f'closure of constraints as functions, {how}', 1e-10, found.position - q)
        error = relative_error(found.acceleration, acceleration)
        yield at_most('R2-03', f'accelerations of all coordinates, {how}, relative', 1e-9, error)
        places = [own.names.index(name) for name in names]
        error = relative_error(own.observation(found)[..., places], library)
        what = f"observation matrix in own coordinates = the machine file's, {how}, relative"
        yield at_most('R2-03', what, 1e-9, error)

    parameters = np.random.default_rng(0).uniform(1.0, 2.0, 16)
    inertial = (embedding(list(own.names), machine)) @ parameters
    _, multipliers = PlanarDynamics(geometry, parameters, np.array(_GRAVITY[:2])).inverse_by_partition(
        q, velocity, acceleration[:, ACTIVE]
    )
    error = relative_error(own.reactions(found, inertial, range(3)), multipliers[:, :3])
    yield at_most('R2-09', "guide forces of the functions = the paper's multipliers, relative", 1e-9, error)
    silent = own.silent_constraints(found).tolist()
    yield equal('R2-09', 'constraints of the corrected form that are silent', [], silent)
    printed = equations_of(dataclasses.replace(geometry, printed=True), machine, analytic=False)
    silent = printed.silent_constraints(found).tolist()
    yield equal('R2-09', 'constraints of the printed form that are silent', [0, 1, 2], silent)
    what = 'guide forces of the printed form, as functions'
    yield refused('R2-09', what, KinematicsError, printed.reactions, found, inertial, [0])


def _across(geometry: PlanarGeometry, q: Array, leg: int) -> Array:
    """Height of a slider; the printed energies do not know it."""
    return np.zeros(len(q)) if geometry.printed else q[:, 3 + leg]


def _planar(x: Array, y: Array, angle: Array) -> tuple[Array, Array]:
    none = np.zeros_like(x)
    return np.stack([x, y, none], axis=1), rotation_exp(np.stack([none, none, angle], axis=1))
