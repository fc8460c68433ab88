"""The machine that has given parameters: bodies, friction laws and rotors, as far as a machine file can state them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pkm_description.arrays import Array
from pkm_description.friction_laws import ViscousCoulomb
from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.friction_laws.load_dependent import LoadDependentStribeck
from pkm_description.machine import Joint, Machine

from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_terms import DRIVE_INERTIA, TRANSVERSE_FRICTION
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.term import PerJoint, Term
from pkm_identification.judgement.physical import machine_with

#: m/s or rad/s, of a law whose friction at rest is that of motion: any
_ANY_SPEED = 1.0


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
    with_laws = _joints_changed(model.machine, lambda joint: _with_law(joint, laws.get(joint.name)))
    machine = machine_with(with_laws, model.all_names, values)
    return _joints_changed(machine, lambda joint: _with_terms(joint, by_name))


def with_friction_of(machine: Machine, other: Machine) -> Machine:
    """A machine with the friction that another one has in the same joints."""
    frictions = {joint.name: joint.friction for joint in other.joints}
    return _joints_changed(machine, lambda joint: replace(joint, friction=frictions[joint.name]))


def is_carried(term: Term, model: ObservationModel) -> bool:
    """Whether a machine file can state the forces of a term."""
    if isinstance(term, FrictionTerm) or term.kind == DRIVE_INERTIA.kind:
        return True
    if term.kind != TRANSVERSE_FRICTION.kind or not isinstance(term, PerJoint):
        return False
    laws = {joint.name: joint.friction.law for joint in model.machine.joints} | _laws(model)
    return all(isinstance(laws[name], ViscousCoulomb) for name in term.joints)


def _laws(model: ObservationModel) -> dict[str, FrictionLaw]:
    """Laws of the model by joint, which may be others than those of the machine file."""
    terms = [term for term in model.terms if isinstance(term, FrictionTerm)]
    return {name: law for term in terms for name, law in zip(term.joints, term.laws, strict=True)}


def _joints_changed(machine: Machine, change: Callable[[Joint], Joint]) -> Machine:
    legs = [replace(leg, joints=tuple(change(joint) for joint in leg.joints)) for leg in machine.legs]
    return replace(machine, legs=tuple(legs))


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
    return joint
