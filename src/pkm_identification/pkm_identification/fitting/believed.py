"""The machine whose joints carry the loads of a fit: bodies and friction as identified, as far as data know them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.machine import Machine

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import EstimatorSettings
from pkm_identification.estimator.feasible_problem import NOT_NEGATIVE
from pkm_identification.estimator.pseudo_inertia import is_inertial
from pkm_identification.fitting.machine_of_parameters import machine_of_parameters
from pkm_identification.judgement.physical import nominal_covariance, share_out

#: how many times smaller than a value of friction its standard deviation must be to be half believed
DOUBT = 3.0


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
    nominal, free = model.all_parameters(model.machine), model.free
    prior = nominal_covariance(model.all_names, nominal, trust.platform_uncertainty, trust.leg_uncertainty)
    shared, spread = share_out(base, values, covariance, nominal[free], prior[np.ix_(free, free)])
    shared = believed_friction(model.names, shared, np.sqrt(np.maximum(np.diag(spread), 0.0)), nominal[free])
    try:
        return machine_of_parameters(model, model.complete(shared))
    except (ValueError, ArithmeticError):
        return None


def believed_friction(names: Sequence[str], values: Array, std: Array, nominal: Array) -> Array:
    """Parameters (P,) with those of friction and rotors as far as the data know them, and never negative.

    Noise on small ones has either sign, and much friction locks a joint: what is known worse than its own size is near
    its nominal value.
    """
    real = [name.rpartition('.')[2].startswith(NOT_NEGATIVE) and not is_inertial(name) for name in names]
    trust = values**2 / np.maximum(values**2 + (DOUBT * np.minimum(std, 1e100)) ** 2, 1e-300)
    return np.where(real, np.maximum(trust * values + (1.0 - trust) * nominal, 0.0), values)
