"""Heimann & Abdellatif, R4-11, R4-12 and R4-17 to R4-20: minimal parameter sets, with and without friction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    BaseParameters,
    BodyForm,
    body_form_map,
    friction_parameter_names,
    friction_parameters,
    friction_regressor,
    inverse_dynamics,
    reduce_parameters,
    rigid_body_regressor,
    sharing_matrix,
)
from pkm_description.dynamics.body_blocks import identical_leg_groups
from pkm_description.dynamics.friction import JointSelection
from pkm_description.dynamics.parameter_reduction.reduced_models import (
    minimal_count,
    unseen_directions,
)
from pkm_description.dynamics.parameters import ParameterMap
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion

from verification.check import Check, agree, at_least, at_most, equal, holds, relative_error
from verification.elimination import backward_elimination
from verification.heimann_abdellatif.dynamics import with_friction_everywhere
from verification.mechanics.neighbours import numeric_joint_map

_RING = {'*_cross': BodyForm(center='origin', inertia='principal')}
_NO_RING = {'*_cross': BodyForm(present=False)}
_PRINCIPAL = _RING | {name: BodyForm(center='z', inertia='principal') for name in ('leg_cylinder', 'leg_rod')}
_AXISYMMETRIC = _RING | {name: BodyForm(center='z', inertia='z') for name in ('leg_cylinder', 'leg_rod')}
_PLATFORM = {'platform_link': BodyForm(center='z', inertia='principal')}

#: R4-11: text, are legs alike, forms of bodies, columns, of them non-zero, rank
TABLE: tuple[tuple[str, bool, dict[str, BodyForm], int, int, int], ...] = (
    ('19 bodies, legs different', False, {}, 190, 142, 88),
    ('13 bodies (no rings), legs different', False, _NO_RING, 130, 124, 82),
    ('identical legs', True, {}, 40, 32, 23),
    ('identical legs, no rings', True, _NO_RING, 30, 29, 22),
    ('identical, principal, COM on the strut', True, _PRINCIPAL, 24, 20, 15),
    ('identical axisymmetric legs', True, _AXISYMMETRIC, 22, 18, 15),
    ('row 5, platform principal with COM on z', True, _PRINCIPAL | _PLATFORM, 19, 15, 10),
    ('row 6 without rings, platform as before', True, _AXISYMMETRIC | _NO_RING | _PLATFORM, 13, 12, 9),
)


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Judge the parameters of the hexapod whose ranks R4-11 gives."""
    motion = random_states(machine, 80, seed=51)
    regressor = rigid_body_regressor(machine, motion, identical_legs=False)
    yield from geometry_checks(machine)
    yield from rank_checks(machine, regressor)
    yield from friction_checks(machine, motion if quick else random_states(machine, 400, seed=52))
    yield from joint_rank_checks(machine, motion, regressor)
    yield from elimination_checks(machine, 150 if quick else 400)


def geometry_checks(machine: Machine) -> Iterator[Check]:
    """The machine has the geometry that R4-11 needs: circles of 0.6 and 0.2 m, first cardan axes tangential."""
    for what, points, radius, degrees in (
        ('base', machine.base_points, 0.6, (-12, 12, 108, 132, 228, 252)),
        ('platform', machine.platform_points, 0.2, (-48, 48, 72, 168, 192, 288)),
    ):
        angle = np.radians(degrees)
        expected = radius * np.stack([np.cos(angle), np.sin(angle), np.zeros(6)], axis=1)
        yield at_most('R4-11', f'check robot: {what} points as for R4-11', 1e-12, points - expected, 'm')
    first = [leg.joints[0] for leg in machine.legs]
    axes = np.array([joint.rotation_parent_joint @ joint.axis for joint in first])
    radial = np.sum(axes * machine.base_points, axis=1) / 0.6
    yield at_most('R4-11', 'check robot: first cardan axes tangential', 1e-12, np.stack([radial, axes[:, 2]]))


def rank_checks(machine: Machine, regressor: Array) -> Iterator[Check]:
    """R4-11 and R4-12: ranks, forces from base parameters, and how these are combined."""
    gaps, errors = [], []
    hidden = regressor.reshape(-1, regressor.shape[-1]) @ unseen_directions(machine)
    error = np.abs(hidden).max() / np.abs(regressor).max()
    yield at_most('R4-11', 'forces of the changes of parameters that the rules call unseen, relative', 1e-12, error)
    for text, shared, forms, columns, felt, rank in TABLE:
        assumed = _assumption(machine, shared, forms)
        matrix = assumed.columns(regressor).reshape(-1, len(assumed))
        base = reduce_parameters(matrix, assumed.names)
        found = (len(assumed), len(assumed) - len(base.absent), len(base))
        yield equal('R4-11', f'columns, non-zero, rank: {text}', (columns, felt, rank), found)
        by_rules = minimal_count(machine, assumed.matrix)
        yield equal('R4-11', f'base parameters by the rules of the joints: {text}', rank, by_rules)
        gaps.append(base.gap)
        values = np.random.default_rng(54).normal(size=len(assumed))
        errors.append(relative_error(base.columns(matrix) @ base.values(values), matrix @ values))
    yield at_least('R4-11', 'gap of the singular values in every row', 1e4, gaps)
    yield at_most('R4-11', 'base parameters give the same forces in every row, relative', 1e-9, errors)
    ten = _ten(machine, regressor)[1]
    assumed = _assumption(machine, True, _PRINCIPAL | _PLATFORM)
    matrix = assumed.columns(regressor).reshape(-1, len(assumed))
    dependent = list(ten.dependent)
    # X = R11^-1 R12 is the least-squares solution of W1 X = W2
    expected = np.linalg.lstsq(matrix[:, ten.independent], matrix[:, dependent], rcond=None)[0]
    error = np.abs(ten.combination[:, dependent] - expected)
    yield at_most('R4-12', 'p_base = p_1 + X p_2: X against least squares', 1e-8, error)
    unit = ten.combination[:, ten.independent] - np.eye(len(ten))
    yield at_most('R4-12', 'p_base = p_1 + X p_2: unit matrix before p_1', 1e-12, unit)
    yield holds('R4-12', 'combinations in readable form', '10', ';  '.join(ten.texts(3)), len(set(ten.texts(3))) == 10)


def friction_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-17 and R4-18: friction of all joints by virtual power."""
    rubbing = with_friction_everywhere(machine, seed=55)
    share = inverse_dynamics(rubbing, motion) - inverse_dynamics(rubbing, motion, friction=False)
    joints = joint_motion(rubbing, motion)
    own = rubbing.viscous * joints.velocities + rubbing.coulomb * np.sign(joints.velocities)

    # dq'/dtheta' by differences of positions, and eq. (3) with J = (dq_a'/dtheta')^-1
    per_twist = numeric_joint_map(rubbing, motion)
    generalised = np.einsum('nji,nj->ni', per_twist, own)
    expected = np.linalg.solve(np.swapaxes(per_twist[:, rubbing.drive_columns], 1, 2), generalised[..., None])[..., 0]
    yield agree('R4-17', 'friction of 18 joints at the drives = eq. (3), finite differences', 1e-6, share, expected)
    regressor = friction_regressor(rubbing, joints, joints='all')
    error = relative_error(regressor @ friction_parameters(rubbing, joints='all'), share)
    yield at_most('R4-19', 'A_f p_f = friction of the inverse dynamics, relative', 1e-10, error)
    at_drives = np.sum(share * joints.velocities[:, rubbing.drive_columns], axis=1)
    in_joints = np.sum(own * joints.velocities, axis=1)
    yield agree('R4-18', 'power of friction at the drives = in the joints', 1e-10, at_drives, in_joints)
    yield at_least('R4-18', 'smallest power of friction', 0.0, at_drives, 'W')


def joint_rank_checks(machine: Machine, motion: PlatformMotion, regressor: Array) -> Iterator[Check]:
    """R4-19 and the switch of R4-20: columns of friction, rank with the ten inertial parameters."""
    inertial, ten = _ten(machine, regressor)
    joints = joint_motion(machine, motion)
    switches: tuple[tuple[JointSelection, int], ...] = (('actuated', 12), ('class', 6), ('all', 36))
    for joints_kept, columns in switches:
        friction = friction_regressor(machine, joints, joints=joints_kept)
        names = friction_parameter_names(machine, joints=joints_kept)
        yield equal('R4-20', f'friction columns, {joints_kept}', columns, friction.shape[-1])
        full = np.concatenate([ten.columns(inertial), friction], axis=-1).reshape(-1, len(ten) + columns)
        base = reduce_parameters(full, [*(f'base{place}' for place in range(len(ten))), *names])
        yield equal('R4-19', f'rank with the ten inertial parameters, {joints_kept}', 10 + columns, len(base))


def elimination_checks(machine: Machine, samples: int) -> Iterator[Check]:
    """R4-20: friction parameters below the noise are eliminated, the others stay."""
    rubbing = with_friction_everywhere(machine, seed=53)
    motion = random_states(rubbing, samples, seed=53)
    friction = friction_regressor(rubbing, joint_motion(rubbing, motion), joints='all').reshape(-1, 36)
    inertial, ten = _ten(rubbing, rigid_body_regressor(rubbing, motion, identical_legs=False))
    matrix = np.concatenate([ten.columns(inertial).reshape(-1, 10), friction], axis=1)
    truth = np.concatenate([np.ones(10), friction_parameters(rubbing, joints='all')])
    # the cardan joints of legs 1 to 3 turn without friction
    names = friction_parameter_names(rubbing, joints='all')
    smooth = [place for place, name in enumerate(names) if 'universal' in name and name[:4] in ('leg1', 'leg2', 'leg3')]
    truth[10 + np.array(smooth)] = 0.0
    noise = np.tile(machine.leg_sensors.effort_noise, samples) * np.random.default_rng(53).normal(size=len(matrix))
    threshold = 0.15
    result = backward_elimination(matrix, matrix @ truth + noise, range(10, 46), threshold)
    absent = {10 + place for place in smooth}
    yield equal('R4-20', 'parameters without effect that are not eliminated', 0, len(absent & set(result.kept)))
    friction_kept = [place for place, index in enumerate(result.kept) if index >= 10]
    yield equal('R4-20', 'friction parameters kept', 36 - len(absent), len(friction_kept))
    deviations = result.relative[friction_kept]
    yield at_most('R4-20', 'largest relative standard deviation after elimination', threshold, deviations)
    error = np.abs(result.values - truth[list(result.kept)]) / result.standard_deviations
    yield at_most('R4-20', f'errors of the {len(result.kept)} parameters kept / standard deviation', 4.5, error)


def _assumption(machine: Machine, shared: bool, forms: dict[str, BodyForm]) -> ParameterMap:
    sharing = sharing_matrix(machine, identical_leg_groups(machine) if shared else {})
    return sharing.then(body_form_map(sharing.names, forms))


def _ten(machine: Machine, regressor: Array) -> tuple[Array, BaseParameters]:
    """Regressor of the assumption under which ten inertial base parameters remain, and those."""
    assumed = _assumption(machine, True, _PRINCIPAL | _PLATFORM)
    columns = assumed.columns(regressor)
    return columns, reduce_parameters(columns.reshape(-1, len(assumed)), assumed.names)
