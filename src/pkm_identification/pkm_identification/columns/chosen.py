"""The observation model that the settings ask for."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameters
from pkm_description.errors import ConfigurationError
from pkm_description.machine import Machine

from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_samples import passive_columns
from pkm_identification.columns.joint_terms import (
    DRIVE_INERTIA,
    LOAD_FRICTION,
    OFFSET,
    QUADRATIC_FRICTION,
    SPRING,
    THRUST_FRICTION,
    TRANSVERSE_FRICTION,
    EffortDelay,
    Form,
    Gain,
    OneFactor,
)
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.presliding import Presliding
from pkm_identification.columns.term import Term
from pkm_identification.configuration import IdentificationConfig

#: forms that every drive has
_OF_DRIVES = (OFFSET, LOAD_FRICTION, TRANSVERSE_FRICTION, QUADRATIC_FRICTION, SPRING, DRIVE_INERTIA)
#: forms that passive joints have, where their friction is identified
OF_PASSIVE_JOINTS = (TRANSVERSE_FRICTION, THRUST_FRICTION)
#: parts of a drive's travel at which the search for its pre-sliding distance begins
DEFLECTION = 1e-4
#: s over which the fastest speed is averaged: sensors are noisy
SPEED_INTERVAL = 0.02


def observation_model(
    machine: Machine, config: IdentificationConfig, positions: Array, sample_rate: float
) -> ObservationModel:
    """Model of a machine with the friction law and the further forces of the settings, but for ripples.

    The period of a ripple is looked for in the residuals of a fit.

    Parameters
    ----------
    positions : (N, A) m or rad of the drives; their speeds say where the search for nonlinear parameters begins
    sample_rate : Hz

    Raises
    ------
    ConfigurationError
        Friction by the force across the axis of joints whose law has it already.
    """
    terms: list[Term] = []
    asked, passive = config.columns.terms, config.columns.friction == 'all'
    if config.columns.friction != 'none':
        friction = FrictionTerm.of(machine, config.columns.friction)
        if config.columns.friction_law:
            friction = friction.with_law(config.columns.friction_law, fastest(positions, sample_rate))
        if TRANSVERSE_FRICTION.kind in asked:
            _require_no_load(friction)
        terms.append(friction.pooling(True) if config.columns.pooled_laws and friction.can_be_pooled else friction)
    joints = machine.actuated_joint_names
    terms += [OneFactor(form, joints) for form in _OF_DRIVES if form.kind in asked]
    if passive:
        terms += [of_passive_joints(machine, form) for form in OF_PASSIVE_JOINTS if form.kind in asked]
    if Gain.kind in asked:
        terms.append(Gain(joints))
    if EffortDelay.kind in asked:
        terms.append(EffortDelay())
    if Presliding.kind in asked:
        terms.append(Presliding.of(machine, DEFLECTION * np.ptp(positions, axis=0)))
    identical = config.columns.identical_legs and legs_agree(machine)
    return ObservationModel(machine, identical, config.columns.friction, config.columns.fixed, terms)


def _require_no_load(friction: FrictionTerm) -> None:
    """Refuse laws of joints that depend on the load: with the same force twice, neither coefficient is known."""
    loaded = [joint for joint, law in zip(friction.joints, friction.laws, strict=True) if law.needs_load]
    if loaded:
        laws = dict.fromkeys(law.law for law in friction.laws if law.needs_load)
        raise ConfigurationError(
            f'columns.terms: {TRANSVERSE_FRICTION.kind}: the friction law of {", ".join(loaded)} ({", ".join(laws)}) '
            'grows with the force across the axis already; leave out this term, or for drives choose '
            'columns.friction_law: viscous_coulomb'
        )


def of_passive_joints(machine: Machine, form: Form) -> OneFactor:
    """A force of one form in every passive joint."""
    names = [machine.joints[place].name for place in passive_columns(machine)]
    return OneFactor(form, names, machine.actuated_count)


def legs_agree(machine: Machine) -> bool:
    """Whether the legs that are built alike have the same bodies in the machine file."""
    try:
        rigid_body_parameters(machine, identical_legs=True)
    except ValueError:
        return False
    return True


def fastest(positions: Array, sample_rate: float) -> Array:
    """Largest speeds (A,) of drives at positions (N, A)."""
    samples = int(np.clip(round(SPEED_INTERVAL * sample_rate), 1, len(positions) - 1))
    speeds = np.abs(positions[samples:] - positions[:-samples]).max(axis=0) * sample_rate / samples
    return np.asarray(np.maximum(speeds, 1e-300))
