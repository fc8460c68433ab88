"""The library's model of the 3-RPS machine file against the paper's model of the same robot; friction laws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    friction_regressor,
    inverse_dynamics,
    reduce_parameters,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.friction import JointSelection
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_ELIMINATED, MATA_MODELS
from pkm_description.dynamics.parameters import rotor_regressor
from pkm_description.friction_laws.laws import friction_law
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.machine.machine import without_rotors

from verification.check import Check, agree, at_most, equal, near, relative_error
from verification.mata_2008.model import ThreeRps
from verification.mata_2008.regressor import (
    PRINTED_CAD,
    REMOVED_BY_MODEL_2,
    Samples,
    body_frames,
    drive_regressor,
    friction_columns,
    heads,
    model_columns,
    parameter_names,
    project,
    table_matrix,
)
from verification.mechanics.friction import power_check, rubbing, typical_law

#: of Mata et al. 2008: section 6.2, Table 5, Eqs. 14, 16, 17 (symmetric and not) and 32
MATA_LAWS = (
    'viscous_coulomb', 'asymmetric_coulomb', 'asymmetric', 'atan', 'power', 'asymmetric_power', 'stribeck',
)  # fmt: skip


def library_checks(machine: Machine, robot: ThreeRps, samples: Samples) -> Iterator[Check]:
    """Compare kinematics, regressor, friction, rotors and base parameters at the same leg motions."""
    motion = motion_from_drives(
        machine,
        np.arange(len(samples.lengths), dtype=float),
        samples.lengths - machine.lengths_at_zero,
        samples.rates,
        samples.accelerations,
    )
    legs = joint_motion(machine, motion)
    tree = robot.motion(samples.q, samples.velocity, samples.acceleration, np.zeros(3))
    rotation, origin = body_frames(robot, tree)[2]
    yield equal('M1', 'bodies of the machine', 7, len(machine.joint_names) + 1)
    yield at_most('M1', "pose of the platform = the paper's", 1e-9, motion.position - origin, 'm')
    error = np.abs(motion.rotation_base_platform - rotation).max()
    yield at_most('M1', "rotation of the platform = the paper's", 1e-9, error)
    revolute = [0, 5, 7]
    error = relative_error(legs.accelerations[:, ::2], samples.acceleration[:, revolute])
    yield at_most('M3', "passive accelerations = the paper's, relative", 1e-9, error)

    ours = rigid_body_regressor(machine, motion, identical_legs=False)[..., _columns(machine)]
    paper = drive_regressor(robot, samples.lengths, samples.rates, samples.accelerations, machine.gravity)
    yield agree('M2', "regressor of 70 columns = the paper's", 1e-9, ours, paper)
    forces = inverse_dynamics(machine, motion, friction=False)
    bare = without_rotors(machine)
    rigid = inverse_dynamics(bare, motion, friction=False)
    values = rigid_body_parameters(machine, identical_legs=False)[_columns(machine)]
    yield agree('M2', "rigid-body forces = the paper's regressor x parameters", 1e-9, rigid, paper @ values)
    rotors = machine.rotor_inertia[machine.drive_columns] * samples.accelerations
    yield agree('M7', 'rotors and screws add J x acceleration', 1e-9, forces - rigid, rotors)
    yield from friction_checks(machine, robot, samples, friction_regressor(machine, legs, 'all'))
    yield from base_checks(machine, ours, values)
    yield from rank_checks(machine, motion)


def friction_checks(machine: Machine, robot: ThreeRps, samples: Samples, ours: Array) -> Iterator[Check]:
    """Friction of passive joints reaches the drives by -X^T, and the laws are those of the paper."""
    columns = project(robot, samples.q, friction_columns(samples.velocity, 'sym')).reshape(-1, 3, 9, 2)
    # joints of the paper leg by leg; the library's columns are viscous, Coulomb; the paper's Coulomb, viscous
    paper = columns[:, :, [0, 1, 5, 6, 7, 8], ::-1].reshape(-1, 3, 12)
    yield agree('M6', 'friction of R and P joints on the drives = -X^T', 1e-9, ours, paper)
    speed = np.concatenate([-np.geomspace(1e-3, 1.0, 25), np.geomspace(1e-3, 1.0, 25)])
    positive, sign, size = speed > 0.0, np.sign(speed), np.abs(speed)
    laws = {
        'viscous_coulomb': ({'viscous': 30.0, 'coulomb': 7.0}, 7.0 * sign + 30.0 * speed),
        'asymmetric_coulomb': (
            {'viscous': 30.0, 'coulomb_positive': 7.0, 'coulomb_negative': 5.0},
            np.where(positive, 7.0, -5.0) + 30.0 * speed,
        ),
        'asymmetric': (
            {'viscous_positive': 30.0, 'viscous_negative': 20.0, 'coulomb_positive': 7.0, 'coulomb_negative': 5.0},
            np.where(positive, 7.0 + 30.0 * speed, -5.0 + 20.0 * speed),
        ),
        'atan': (
            {'viscous': 30.0, 'coulomb': 7.0, 'saturation': 3.0, 'slope': 40.0},
            7.0 * sign + 30.0 * speed + 3.0 * np.arctan(40.0 * speed),
        ),
        'power': ({'viscous': 30.0, 'coulomb': 7.0, 'exponent': 0.6}, sign * (7.0 + 30.0 * size**0.6)),
        'stribeck': (
            {'viscous': 30.0, 'coulomb': 7.0, 'static': 11.0, 'stribeck_velocity': 0.05, 'exponent': 1.5},
            sign * (7.0 + 4.0 * np.exp(-((size / 0.05) ** 1.5))) + 30.0 * speed,
        ),
    }
    for name, (parameters, expected) in laws.items():
        force = friction_law({'law': name, **parameters}).force(speed)
        yield agree('M6', f'friction law {name}', 1e-12, force, expected)


def base_checks(machine: Machine, regressor: Array, values: Array) -> Iterator[Check]:
    """Table 1 from the library's regressor, and the machine file's values of the combinations."""
    stacked = regressor.reshape(-1, 70)
    ours = [rigid_body_parameter_names(machine, identical_legs=False)[column] for column in _columns(machine)]
    base = reduce_parameters(stacked, ours, eliminated=MATA_ELIMINATED)
    yield equal('M10', "rank of the library's regressor", 25, len(base))
    paper = parameter_names()
    found = [paper[index] for index in base.independent]
    extra = sorted({*found} - {*heads()})
    yield equal('M11', "the library's combinations headed otherwise than in Table 1", [], extra)
    side = float(np.linalg.norm(machine.platform_points[1] - machine.platform_points[0]))
    order = [found.index(name) for name in heads() if name in found]
    error = np.abs(base.combination[order] - table_matrix(side)).max()
    yield at_most('M11', "factors of Table 1 from the library's regressor against the closed form", 1e-9, error)
    cad = base.values(values)[order]
    for row, printed in PRINTED_CAD.items():
        yield near('M14', f'base parameter p{row} of the machine file, Table 8', printed, cad[row - 1], 0.005)
    small = np.abs(cad[[row - 1 for row in REMOVED_BY_MODEL_2]]).max()
    yield at_most('M15', 'parameters of the machine file that model 2 leaves out', 1e-9, small)
    columns, table = base.columns(stacked), stacked[:, [paper.index(name) for name in heads()]]
    for number, model in enumerate(MATA_MODELS, start=1):
        error = _column_error(model.map(base).columns(columns), model_columns(table, number))
        yield at_most('M15', f"columns of the library's model {number} against the paper's, relative", 1e-12, error)
    limb = cad[heads().index('Izz4')]
    yield near('M15', 'Izz(4) + Iyy(5) of the machine file, Table 5', 0.1555, limb, 5e-5, 'kg m^2')


def rank_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """M12 on the library's own columns: bodies, friction of the drives or of all joints, rotors."""
    joints = joint_motion(machine, motion)
    bodies, rotors = rigid_body_regressor(machine, motion, identical_legs=False), rotor_regressor(machine, joints)
    names = [*rigid_body_parameter_names(machine, identical_legs=False), *(f'rotor{leg}' for leg in range(3))]
    selections: tuple[tuple[JointSelection, int], ...] = (('actuated', 3), ('all', 6))
    for law, each in (('viscous_coulomb', 2), ('asymmetric_coulomb', 3), ('asymmetric', 4)):
        rough = rubbing(machine, law)
        for selection, count in selections:
            columns = friction_regressor(rough, joints, selection)
            every = np.concatenate([bodies, rotors, columns], axis=-1)
            own = [*names, *(f'friction{column}' for column in range(columns.shape[-1]))]
            found = len(reduce_parameters(every.reshape(-1, every.shape[-1]), own))
            what = f"rank of the library's columns with {law} friction, {selection} joints, and rotors"
            yield equal('M12', what, 25 + 3 + each * count, found)


def _column_error(found: Array, expected: Array) -> float:
    """Largest relative difference between each expected column and the nearest found one; infinite for other counts."""
    if found.shape != expected.shape:
        return np.inf
    difference = np.abs(found[:, :, None] - expected[:, None, :]).max(axis=0).min(axis=0)
    return float(np.max(difference / np.abs(expected).max(axis=0)))


def _columns(machine: Machine) -> NDArray[np.intp]:
    """Places of the paper's 70 parameters among the library's, whose body frames are the same."""
    names = rigid_body_parameter_names(machine, identical_legs=False)
    first, second, third = (leg.joints for leg in machine.legs)
    bodies = [
        first[0].body, first[1].body, machine.platform, second[0].body, second[1].body, third[0].body, third[1].body,
    ]  # fmt: skip
    order = ('Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz', 'mx', 'my', 'mz', 'm')
    return np.array([names.index(f'{body.name}.{name}') for body in bodies for name in order])


def law_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """M6: every law in actuated and passive joints, the latter projected on the drives."""
    motion = random_states(machine, 20 if quick else 200, seed=22)
    laws = [typical_law(name) for name in MATA_LAWS]
    count = [len(law.linear_parameters()) + len(law.nonlinear_parameters) for law in laws]
    yield equal('M6', 'parameters per joint: ' + ', '.join(MATA_LAWS), [2, 3, 4, 4, 3, 4, 5], count)
    for name in MATA_LAWS:
        yield power_check('M6', machine, name, motion)
