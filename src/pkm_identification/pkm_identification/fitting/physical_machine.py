"""The machine of identified parameters: bodies, friction and rotors, and its values as an overlay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.friction import joint_friction_law
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.friction_laws import ViscousCoulomb
from pkm_description.friction_laws.law import SLIDING_LEVELS, FrictionLaw
from pkm_description.friction_laws.laws import LoadDependentStribeck
from pkm_description.loading.yaml_reader import joint_key
from pkm_description.machine import Joint, Machine, RigidBody
from pkm_description.machine.machine import with_friction, with_joints
from scipy.special import chdtrc

from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_terms import DRIVE_INERTIA, OFFSET, TRANSVERSE_FRICTION, EffortDelay, delay_of
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.term import PerJoint, Term
from pkm_identification.configuration import EstimatorSettings
from pkm_identification.estimator.bodies import (
    PhysicalParameters,
    bodies_by_name,
    infeasibilities,
    is_inertial,
    machine_with,
    nominal_covariance,
    share_out,
)
from pkm_identification.estimator.feasible import FeasibleParameters, feasible_parameters
from pkm_identification.estimator.feasible_problem import NOT_NEGATIVE, feasible_problem
from pkm_identification.estimator.least_squares import Estimate

#: keys of a body in a machine file, in the order of :func:`body_values`
BODY_KEYS = (
    'mass', 'center_of_mass.x', 'center_of_mass.y', 'center_of_mass.z',
    'inertia.ixx', 'inertia.ixy', 'inertia.ixz', 'inertia.iyy', 'inertia.iyz', 'inertia.izz',
)  # fmt: skip

#: coefficient of friction by load that stands for none, where a coefficient must stand
LEAST = 1e-12
#: m/s or rad/s, of a law whose friction at rest is that of motion: any
_ANY_SPEED = 1.0
#: probability of base values of a machine that can exist being as far from it, below which there is none
CHANCE = 1e-6
#: the same of the most probable machine, below which the trust in the nominal bodies contradicts the recording
DOUBT = 1e-3
#: how many times smaller than a value of friction its standard deviation must be to be half believed
HALF_BELIEVED = 3.0
#: standard deviations by which friction at rest may be below that of motion: chance, both are then written as equal
NEAR = 3.0


def physical_parameters(
    model: ObservationModel, base: BaseParameters, estimate: Estimate, settings: EstimatorSettings
) -> PhysicalParameters:
    """Bodies and friction under the trust in the nominal machine, by the method of the setting ``physical``."""
    found = _shared(model, base, estimate, settings) if settings.physical == 'share_out' else _feasible(
        model, base, estimate, settings
    )
    values, texts = _static_above_coulomb(model, found.values, found.std)
    return replace(found, values=values, infeasible=(*found.infeasible, *texts))


def _shares(
    model: ObservationModel, base: BaseParameters, values: Array, covariance: Array, trust: EstimatorSettings
) -> tuple[Array, Array]:
    """Free parameters (P,) and their covariance (P, P), given base values (B,) and their covariance (B, B)."""
    nominal, free = model.all_parameters(model.machine), model.free
    prior = nominal_covariance(model.all_names, nominal, trust.platform_uncertainty, trust.leg_uncertainty)
    return share_out(base, values, covariance, nominal[free], prior[np.ix_(free, free)])


def _shared(
    model: ObservationModel, base: BaseParameters, estimate: Estimate, settings: EstimatorSettings
) -> PhysicalParameters:
    """Mean of the physical parameters given the base parameters; it may be a machine that cannot exist."""
    nominal = model.parameters(model.machine)
    values, covariance = _shares(model, base, estimate.parameters, estimate.covariance, settings)
    infeasible = list(infeasibilities(bodies_by_name(model.all_names, model.complete(values))))
    friction = {name for term in model.terms if isinstance(term, FrictionTerm) for name in term.names}
    for name, value in zip(model.names, values, strict=True):
        if name in friction and value < 0.0:
            infeasible.append(f'{name}: friction {value:.4g} is negative')
    return PhysicalParameters(model.names, nominal, values, covariance, tuple(infeasible))


def _feasible(
    model: ObservationModel, base: BaseParameters, estimate: Estimate, settings: EstimatorSettings
) -> PhysicalParameters:
    """The most probable machine that can exist, or the one nearest to the base values where they contradict it."""
    problem = feasible_problem(
        base, estimate.parameters, estimate.covariance, model.all_names, model.all_parameters(model.machine),
        platform_uncertainty=settings.platform_uncertainty, leg_uncertainty=settings.leg_uncertainty,
    )  # fmt: skip
    remarks: tuple[str, ...] = ()
    if settings.keep_base_values:
        found = feasible_parameters(problem)
    else:
        found = feasible_parameters(problem, 1.0)
        if _probability(found, base) < DOUBT:
            remarks = (
                'the recording contradicts the trust in the nominal bodies (estimator.platform_uncertainty = '
                f'{settings.platform_uncertainty:g}, leg_uncertainty = {settings.leg_uncertainty:g}): the most '
                f'probable machine under it differs from {_farthest(found, base)}. The machine that keeps the base '
                'parameters is taken; raise the uncertainties that are too small',
            )
            found = feasible_parameters(problem)
    infeasible: tuple[str, ...] = ()
    if _probability(found, base) < CHANCE:
        infeasible = (f'no machine that can exist has these base parameters: the nearest one differs from '
                      f'{_farthest(found, base)}',)  # fmt: skip
    free = model.free
    return PhysicalParameters(
        model.names, model.parameters(model.machine), found.values[free], found.covariance[np.ix_(free, free)],
        infeasible, settings.physical, found.active, remarks,
    )  # fmt: skip


def _probability(found: FeasibleParameters, base: BaseParameters) -> float:
    """Probability that the base values of a machine are identified so far from their true values."""
    return float(chdtrc(len(base), found.chi_square))


def _farthest(found: FeasibleParameters, base: BaseParameters) -> str:
    """The base parameter that differs most, and by how much."""
    worst = int(np.argmax(np.abs(found.base_shifts)))
    return f'{base.names[worst]} by {abs(found.base_shifts[worst]):.1f} standard deviations'


def _static_above_coulomb(model: ObservationModel, values: Array, std: Array) -> tuple[Array, tuple[str, ...]]:
    """Friction at rest is at least that of motion: a machine file with less is refused."""
    place = {name: index for index, name in enumerate(model.names)}
    values, found = values.copy(), []
    for name, index in place.items():
        joint, _, kind = name.rpartition('.')
        other = place.get(f'{joint}.{SLIDING_LEVELS.get(kind, "")}')
        if other is None or values[index] >= values[other]:
            continue
        gap = (values[other] - values[index]) / max(float(np.hypot(std[index], std[other])), 1e-300)
        if gap > NEAR:
            found.append(
                f'{joint}: friction at rest {values[index]:.4g} is {gap:.1f} standard deviations below that of motion, '
                f'{values[other]:.4g}'
            )
        values[index] = values[other]
    return values, tuple(found)


def identified_machine(model: ObservationModel, physical: PhysicalParameters) -> Machine:
    """The machine with identified bodies, friction, whose laws may be others than those of its file, and rotors."""
    return machine_of_parameters(model, model.complete(physical.values))


def machine_of_parameters(model: ObservationModel, values: Array) -> Machine:
    """The model's machine with other parameters.

    Friction by the force across a joint's axis, beside viscous and Coulomb friction, becomes the law that has both.

    Parameters
    ----------
    values : all parameters of the model, in the order of ``model.all_names``

    Raises
    ------
    FrictionLawError
        A friction parameter that no machine has.
    """
    laws = _laws(model)
    by_name = dict(zip(model.all_names, values.tolist(), strict=True))
    with_laws = with_joints(model.machine, lambda joint: _with_law(joint, laws.get(joint.name)))
    machine = machine_with(with_laws, model.all_names, values)
    late = delay_of(model.terms)
    if late:
        sensors = replace(machine.leg_sensors, effort_delay=late.delay, effort_lag=late.lag)
        machine = replace(machine, leg_sensors=sensors)
    return with_joints(machine, lambda joint: _with_terms(joint, by_name))


def believed_machine(
    model: ObservationModel, base: BaseParameters, values: Array, covariance: Array, trust: EstimatorSettings
) -> Machine | None:
    """Machine with the bodies and the friction of base values (B,), as far as such bodies can exist; else ``None``.

    What the data leave open stays nominal: loads of a machine that follows its noise go to and fro.

    Parameters
    ----------
    covariance : (B, B) of the values
    trust : in the nominal bodies
    """
    shared, spread = _shares(model, base, values, covariance, trust)
    std, nominal = np.sqrt(np.maximum(np.diag(spread), 0.0)), model.parameters(model.machine)
    try:
        return machine_of_parameters(model, model.complete(_believed_friction(model.names, shared, std, nominal)))
    except (ValueError, ArithmeticError):
        return None


def _believed_friction(names: Sequence[str], values: Array, std: Array, nominal: Array) -> Array:
    """Parameters (P,) with those of friction and rotors as far as the data know them, and never negative.

    Noise on small ones has either sign, and much friction locks a joint: what is known worse than its own size is near
    its nominal value.
    """
    real = [name.rpartition('.')[2].startswith(NOT_NEGATIVE) and not is_inertial(name) for name in names]
    trust = values**2 / np.maximum(values**2 + (HALF_BELIEVED * np.minimum(std, 1e100)) ** 2, 1e-300)
    return np.where(real, np.maximum(trust * values + (1.0 - trust) * nominal, 0.0), values)


def with_friction_of(machine: Machine, other: Machine) -> Machine:
    """A machine with the friction that another one has in the same joints."""
    frictions = {joint.name: joint.friction for joint in other.joints}
    return with_friction(machine, lambda joint: frictions[joint.name])


def is_carried(term: Term, model: ObservationModel) -> bool:
    """Whether a machine file can state the forces of a term."""
    if isinstance(term, FrictionTerm) or term.kind in (DRIVE_INERTIA.kind, OFFSET.kind, EffortDelay.kind):
        return True
    if term.kind != TRANSVERSE_FRICTION.kind or not isinstance(term, PerJoint):
        return False
    laws = {joint.name: joint.friction.law for joint in model.machine.joints} | _laws(model)
    return all(isinstance(laws[name], ViscousCoulomb) for name in term.joints)


def _laws(model: ObservationModel) -> dict[str, FrictionLaw]:
    """Laws of the model by joint, which may be others than those of the machine file."""
    terms = [term for term in model.terms if isinstance(term, FrictionTerm)]
    return {name: law for term in terms for name, law in zip(term.joints, term.laws, strict=True)}


def _with_law(joint: Joint, law: FrictionLaw | None) -> Joint:
    return joint if law is None else replace(joint, friction=replace(joint.friction, law=law))


def _with_terms(joint: Joint, values: dict[str, float]) -> Joint:
    """Joint with what further terms say of it."""
    rotor = values.get(f'{joint.name}.{DRIVE_INERTIA.parameter}')
    if rotor is not None:
        joint = replace(joint, rotor_inertia=max(rotor, 0.0))
    law, across = joint.friction.law, values.get(f'{joint.name}.{TRANSVERSE_FRICTION.parameter}', 0.0)
    if across > 0.0 and isinstance(law, ViscousCoulomb):
        both = LoadDependentStribeck(
            viscous=law.viscous, coulomb_coefficient=across, static_coefficient=across, stribeck_velocity=_ANY_SPEED,
            additional_load=law.coulomb / across, sign=law.sign,
        )  # fmt: skip
        joint = _with_law(joint, both)
    offset = values.get(f'{joint.name}.{OFFSET.parameter}', 0.0)
    return _with_law(joint, replace(joint.friction.law, offset=offset)) if joint.actuated else joint


def overlay_values(machine: Machine, identical_legs: bool, friction: str) -> dict[str, object]:
    """Dotted keys of the machine file with the machine's bodies and friction.

    With legs identified one by one, every number is a list with one entry per leg. Each axis of a joint that is made of
    several has a friction of its own.

    Parameters
    ----------
    friction : whose was identified: ``'actuated'``, ``'all'`` or ``'none'``
    """
    values: dict[str, object] = {}
    late = machine.leg_sensors.lateness if machine.has_leg_sensors else (0.0, 0.0)
    for key, value in zip(('effort_delay', 'effort_lag'), late, strict=True):
        if value:
            values[f'sensors.legs.{key}'] = value
    _put_body(values, 'platform.body', [machine.platform])
    alike: dict[str, list[Joint]] = {}
    for joint in machine.joints:
        alike.setdefault(friction_key(machine, joint), []).append(joint)
    for place, joints in alike.items():
        joint, key = joints[0], joint_key(machine, joints[0])
        if joint.body.mass > 0.0:  # nothing is identified of what stands between the axes of a universal joint
            _put_body(values, f'{key}.body', [joint.body] if identical_legs else [one.body for one in joints])
        if friction == 'all' or (friction == 'actuated' and joint.actuated):
            _put_friction(values, place, [joint_friction_law(one) for one in joints])
        if any(one.rotor_inertia for one in joints):
            values[f'{key}.rotor_inertia'] = [one.rotor_inertia for one in joints]
    return values


def friction_key(machine: Machine, joint: Joint) -> str:
    """Dotted key of a joint's friction, of an axis of a joint that is made of several that of the axis."""
    axis = joint.name.removeprefix(joint.part_of) if joint.part_of else ''
    return f'{joint_key(machine, joint)}.friction{axis}'


def _put_friction(values: dict[str, object], key: str, legs: list[FrictionLaw]) -> None:
    """Laws of one joint of the file, or one axis of it, leg by leg; by their values, whichever kinds they are of."""
    laws = _of_one_kind(legs)
    law = laws[0]
    values[f'{key}.law'] = law.law  # the file may have another one, with other parameters
    for name in (*law.linear_parameter_names, *law.nonlinear_parameters):
        values[f'{key}.{name}'] = [float(getattr(one, name)) for one in laws]
    if any(one.offset for one in laws):
        values[f'{key}.offset'] = [one.offset for one in laws]
    for name in law.parameter_names('option'):
        values[f'{key}.{name}'] = getattr(law, name)


def _of_one_kind(laws: list[FrictionLaw]) -> list[FrictionLaw]:
    """Laws of the same kind: where some depend on the load and some do not, all as such with a coefficient of zero."""
    loaded = next((law for law in laws if isinstance(law, LoadDependentStribeck)), None)
    if loaded is None or all(type(law) is type(laws[0]) for law in laws):
        return laws
    return [law if isinstance(law, LoadDependentStribeck) else _nearly_constant(law) for law in laws]


def _nearly_constant(law: FrictionLaw) -> LoadDependentStribeck:
    """A law that depends on the load by next to nothing, with viscous and Coulomb friction of another one."""
    coulomb = float(getattr(law, 'coulomb', 0.0))
    return LoadDependentStribeck(
        viscous=float(getattr(law, 'viscous', 0.0)), coulomb_coefficient=LEAST, static_coefficient=LEAST,
        stribeck_velocity=1.0, additional_load=coulomb / LEAST, offset=law.offset,
    )  # fmt: skip


def _put_body(values: dict[str, object], key: str, bodies: list[RigidBody]) -> None:
    numbers = np.array([body_values(body) for body in bodies])
    columns = [numbers[0, index] if len(bodies) == 1 else numbers[:, index] for index in range(10)]
    values[f'{key}.mass'] = columns[0]
    values[f'{key}.center_of_mass'] = columns[1:4]
    for name, column in zip(BODY_KEYS[4:], columns[4:], strict=True):
        values[f'{key}.{name}'] = column


def body_values(body: RigidBody) -> Array:
    """Mass, centre of mass and inertia about it (10,) of a body."""
    return np.concatenate([[body.mass], body.center_of_mass, body.inertia[np.triu_indices(3)]])
