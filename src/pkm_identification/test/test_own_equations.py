"""Equations of a user's own against the columns of machine files: closure, motion, observation matrix, fit."""

from __future__ import annotations

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics, reduce_parameters, rigid_body_regressor
from pkm_description.errors import ArgumentError, ConvergenceError, ShapeError, SingularPoseError
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.closed_legs import body_poses, closing_points
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion
from pkm_identification.columns.joint_terms import OFFSET, SPRING, OneFactor
from pkm_identification.columns.own_equations import Constraints, OwnEquations, OwnMotion
from pkm_identification.estimator.interface import estimator_by_name


def tree(machine: Machine) -> OwnEquations:
    """A machine as a user would write it: joints of open legs, six coordinates of the platform, tips on the platform.

    Legs are open chains and the platform is free; nothing of the library's closed loops is used.
    """
    joints = len(machine.joint_names)
    used = slice(0, joints)
    names = (*machine.joint_names, 'x', 'y', 'z', 'theta_x', 'theta_y', 'theta_z')

    def platform(q: Array) -> tuple[Array, Array]:
        return q[:, joints : joints + 3], rotation_exp(q[:, joints + 3 :])

    def gaps(q: Array) -> Array:
        own, other = closing_points(machine, q[:, used], *platform(q))
        return (own - other).reshape(len(q), -1)

    def body(place: int):
        def pose(q: Array) -> tuple[Array, Array]:
            rotations, origins = body_poses(machine, q[:, used])
            return origins[:, place], rotations[:, place]

        return pose

    bodies = {machine.platform.name: platform}
    bodies |= {joint.body.name: body(place) for place, joint in enumerate(machine.joints)}
    constraints = Constraints(names, machine.actuated_joint_names, gaps)
    return OwnEquations(constraints, bodies, tuple(machine.gravity))


def own_motion(machine: Machine, motion: PlatformMotion) -> OwnMotion:
    """The library's motion in the coordinates of :func:`tree`, but for the rates of the rotation vector."""
    joints = joint_motion(machine, motion)
    vector = rotation_log(motion.rotation_base_platform)
    none = np.full_like(vector, np.nan)
    return OwnMotion(
        np.concatenate([joints.positions, motion.position, vector], axis=1),
        np.concatenate([joints.velocities, motion.linear_velocity, none], axis=1),
        np.concatenate([joints.accelerations, motion.linear_acceleration, none], axis=1),
    )


def found_motion(machine: Machine, equations: OwnEquations, wanted: OwnMotion) -> OwnMotion:
    active = equations.constraints.active
    start = own_motion(machine, random_states(machine, 1, 0)).position[0]
    return equations.constraints.motion(*(part[:, active] for part in (
        wanted.position, wanted.velocity, wanted.acceleration)), start)  # fmt: skip


@pytest.mark.parametrize('name', ['valencia_3rps', 'srs', 'hexaglide_6pus'])
def test_observation_matrix_is_that_of_the_machine_file(name: str) -> None:
    """R2-03: motion of all coordinates, and drive forces per parameter, to 1e-9."""
    machine = known_machine(name)
    motion = random_states(machine, 12, 4)
    equations, wanted = tree(machine), own_motion(machine, motion)
    found = found_motion(machine, equations, wanted)
    for ours, theirs in zip((found.position, found.velocity, found.acceleration),
                            (wanted.position, wanted.velocity, wanted.acceleration), strict=True):  # fmt: skip
        known = np.isfinite(theirs)
        assert np.abs((ours - theirs)[known]).max() < 1e-9 * max(1.0, np.abs(theirs[known]).max())
    matrix = equations.observation(found)
    library = rigid_body_regressor(machine, motion, identical_legs=False)
    assert np.abs(matrix - library).max() < 1e-9 * np.abs(library).max()


def test_a_fit_in_own_coordinates() -> None:
    """Base parameters and terms of the drives by the same estimators, from forces with noise: 5 sigma."""
    machine = known_machine('valencia_3rps')
    motion = random_states(machine, 300, 5)
    plain = tree(machine)
    driven = plain.constraints.driven
    terms = (OneFactor(OFFSET, driven), OneFactor(SPRING, driven))
    equations = OwnEquations(plain.constraints, plain.bodies, plain.gravity, terms)
    found = found_motion(machine, equations, own_motion(machine, motion))
    matrix = equations.observation(found)
    names = equations.names
    base = reduce_parameters(matrix.reshape(-1, len(names)), names, 1e-7)
    offsets, springs = np.array([3.0, -2.0, 5.0]), np.array([40.0, 0.0, -30.0])
    forces = rigid_body_forces(machine, motion) + offsets + springs * found.position[:, equations.constraints.active]
    noisy = forces + np.random.default_rng(0).normal(size=forces.shape)
    estimate = estimator_by_name('wls')(matrix[..., base.independent], noisy)
    truth = np.concatenate([
        machine.platform.parameters, *(joint.body.parameters for joint in machine.joints), offsets, springs
    ])  # fmt: skip
    off = (estimate.parameters - base.combination @ truth) / estimate.std
    assert np.abs(off).max() < 5.0
    assert estimate.force_std == pytest.approx(np.ones(3), rel=0.2)


def rigid_body_forces(machine: Machine, motion: PlatformMotion) -> Array:
    """Forces of the bodies alone."""
    truth = np.concatenate([machine.platform.parameters, *(joint.body.parameters for joint in machine.joints)])
    forces = rigid_body_regressor(machine, motion, identical_legs=False) @ truth
    rotors = machine.rotor_inertia.any()
    assert rotors or np.allclose(forces, inverse_dynamics(machine, motion, friction=False))
    return forces


def test_a_given_jacobian_is_used() -> None:
    """A crank and a slider, closed form beside Newton: x = r cos a + sqrt(l^2 - r^2 sin^2 a)."""
    crank, rod = 0.1, 0.3

    def loop(q: Array) -> Array:
        angle, swing, slide = q.T
        return np.stack([crank * np.cos(angle) + rod * np.cos(swing) - slide,
                         crank * np.sin(angle) + rod * np.sin(swing)], axis=1)  # fmt: skip

    calls = []

    def slopes(q: Array) -> Array:
        calls.append(len(q))
        angle, swing, _ = q.T
        none, one = np.zeros(len(q)), np.ones(len(q))
        above = [-crank * np.sin(angle), -rod * np.sin(swing), -one]
        rows = [above, [crank * np.cos(angle), rod * np.cos(swing), none]]
        return np.moveaxis(np.array(rows), 2, 0)

    angles = np.linspace(-2.0, 2.0, 30)[:, None]
    expected = crank * np.cos(angles) + np.sqrt(rod**2 - crank**2 * np.sin(angles) ** 2)
    start = np.array([0.0, 0.0, 0.4])
    for given in (None, slopes):
        own = Constraints(('angle', 'swing', 'slide'), ('angle',), loop, given)
        assert np.abs(own.closed(angles, start)[:, 2:] - expected).max() < 1e-11
        ahead = crank * np.cos(angles + 1e-6) + np.sqrt(rod**2 - crank**2 * np.sin(angles + 1e-6) ** 2)
        moved = own.motion(angles, np.ones_like(angles), np.zeros_like(angles), start)
        assert moved.velocity[:, 2:] == pytest.approx((ahead - expected) / 1e-6, abs=1e-6)
    assert calls
    sliding = Constraints(('angle', 'swing', 'slide'), ('slide',), loop)
    with pytest.raises(SingularPoseError, match='sample 0: the driven coordinates do not determine the others'):
        sliding.transmission(start[None])
    with pytest.raises((ConvergenceError, SingularPoseError), match='sample'):
        sliding.closed(np.array([[0.9]]), np.array([0.5, -0.2, 0.38]))


def test_wrong_equations_are_named() -> None:
    with pytest.raises(ArgumentError, match="driven: 'z' is no coordinate; there are x, y"):
        Constraints(('x', 'y'), ('z',), lambda q: q[:, :1])
    own = Constraints(('x', 'y'), ('x',), lambda q: q)
    with pytest.raises(ShapeError, match='need as many constraints as there are others'):
        own.errors(np.zeros((3, 2)))
    flat = OwnEquations(
        Constraints(('x', 'y'), ('x',), lambda q: q[:, 1:]),
        {'block': lambda q: (np.pad(q, ((0, 0), (0, 1))), np.zeros((len(q), 3, 3)))},
    )
    still = OwnMotion(*(np.zeros((2, 2)) for _ in range(3)))
    with pytest.raises(ArgumentError, match='the rotation of block is not orthogonal'):
        flat.generalised(still)


@pytest.mark.parametrize('printed', [False, True])
def test_silent_constraints_are_named(printed: bool) -> None:
    """R2-09: a block on a guide; if its height moves no body, the guide's normal force would be zero."""
    own = OwnEquations(
        Constraints(('along', 'across'), ('along',), lambda q: q[:, 1:]),
        {'block': lambda q: (np.stack([q[:, 0], 0.0 * q[:, 0] if printed else q[:, 1], 0.0 * q[:, 0]], axis=1),
                             np.broadcast_to(np.eye(3), (len(q), 3, 3)))},
        (0.0, -9.81, 0.0),
    )  # fmt: skip
    moving = OwnMotion(np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]]))
    parameters = np.array([3.0, *np.zeros(9)])
    assert own.observation(moving)[0] @ parameters == pytest.approx([6.0])
    if printed:
        assert own.silent_constraints(moving).tolist() == [0]
        with pytest.raises(Exception, match='constraint 0: its multiplier is identically zero'):
            own.reactions(moving, parameters, [0])
    else:
        assert own.silent_constraints(moving).tolist() == []
        assert own.reactions(moving, parameters, [0])[0] == pytest.approx([3.0 * 9.81])
