"""The ten parameters of a body on the platform, from a recording with it and one without.

A body that is fixed to the platform moves as the platform does: one recording gives the sum of both. What parts them is
a recording without the body, or a platform whose parameters are held at known values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_regressor
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import INERTIAL_PARAMETERS, Machine, Pose

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.least_squares import Estimate, weighted
from pkm_identification.estimator.pseudo_inertia import FROM_PSEUDO, pseudo_inertia
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.fitting.prediction import all_rows
from pkm_identification.judgement.physical import infeasibilities
from pkm_identification.judgement.significance import EXCITATION_TOLERANCE
from pkm_identification.preparation import PreparedData

#: states by which it is found what forces a body on the platform makes
STATES = 150


@dataclass(frozen=True)
class PayloadFit:
    """A body on the platform, and the machine from both recordings together.

    Attributes
    ----------
    payload : combinations of the ten parameters, about the payload's frame and in its axes, that the machine's motions
        determine; on a platform with six degrees of freedom all ten, one by one
    machine : base parameters of the machine without the body
    estimate : of the machine's base parameters, then of the payload's
    infeasible : why such a body cannot exist; empty where it can, or where not all ten parameters are known
    """

    payload: BaseParameters
    machine: BaseParameters
    estimate: Estimate
    infeasible: tuple[str, ...]

    @property
    def values(self) -> Array:
        """Values (B,) of the payload's combinations, kg, kg m and kg m^2."""
        return self.estimate.parameters[len(self.machine) :]

    @property
    def std(self) -> Array:
        """Their standard deviations (B,)."""
        return self.estimate.std[len(self.machine) :]


def fit_payload(
    without: PreparedData | None,
    fit: ModelFit,
    loaded: PreparedData,
    frame: Pose | None = None,
    name: str = 'payload',
) -> PayloadFit:
    """Identify a body on the platform.

    Parameters
    ----------
    without : rows of the recording without the body; ``None``: none, then the model of ``fit`` must hold the platform
    fit : of the model to ``without``, or, without it, to any recording; says which parameters are free, and with which
        nonlinear parameters
    loaded : rows of the recording with the body, of the same model
    frame : of the payload, in the platform's; default: the platform's
    name : of the body

    Raises
    ------
    ConfigurationError
        The model has forces that depend on the model's own, such as friction by load.
    NotExcitedError
        The payload is not told from the platform or from other bodies; or the recordings determine nothing of it.
    """
    model = fit.model
    following = [term.kind for term in model.terms if term.from_model]
    if following:
        raise ConfigurationError(
            f'a payload is fitted with forces that do not depend on it: leave out {", ".join(following)} '
            '(columns.terms, columns.friction_law)'
        )
    platform = [model.all_names.index(f'{model.machine.platform.name}.{kind}') for kind in INERTIAL_PARAMETERS]
    names = tuple(f'{name}.{kind}' for kind in INERTIAL_PARAMETERS)
    if without is None and not set(platform) <= set(model.held.tolist()):
        raise NotExcitedError(
            names, 'these act as the same parameters of the platform: one recording gives their sums only. Record '
            f"without the payload, too, or hold the platform (columns.fixed '{model.machine.platform.name}.*')",
        )  # fmt: skip
    change = frame_change(frame)
    base = payload_base(model.machine, names, change)
    if not len(base):
        raise NotExcitedError(names, 'no motion of this machine takes forces from a body on the platform')
    nominal, rows, forces, weights = model.all_parameters(model.machine), [], [], []
    for data in (without, loaded):
        if data is None:
            continue
        everything = all_rows(model, data, data.samples)
        of_payload = (everything[..., platform] @ change)[..., base.independent] * (data is loaded)
        rows.append(np.concatenate([fit.base.columns(everything[..., model.free]), of_payload], axis=-1))
        forces.append(data.effort_rows() - everything[..., model.held] @ nominal[model.held])
        weights.append(data.row_weights)
    observation, mask = np.concatenate(rows), np.concatenate(weights)
    _require_independent(observation * mask[..., None], (*fit.base.names, *base.names))
    estimate = weighted(observation, np.concatenate(forces), mask)
    values = estimate.parameters[len(fit.base) :]
    whole = len(base) == len(names) and np.allclose(base.combination, np.eye(len(names)))
    return PayloadFit(base, fit.base, estimate, infeasibilities({name: values}) if whole else ())


def frame_change(frame: Pose | None) -> Array:
    """Matrix (10, 10): parameters about the platform's frame of those about a frame in it."""
    place = np.eye(4)
    if frame is not None:
        place[:3, :3], place[:3, 3] = frame.rotation_base_platform, frame.position
    columns = [FROM_PSEUDO @ (place @ pseudo_inertia(unit) @ place.T).ravel() for unit in np.eye(10)]
    return np.stack(columns, axis=1)


def payload_base(machine: Machine, names: tuple[str, ...], change: Array) -> BaseParameters:
    """Combinations of a payload's parameters that make forces, over random states all over the workspace."""
    matrix = rigid_body_regressor(machine, random_states(machine, STATES, 0), identical_legs=False)[..., :10] @ change
    return reduce_parameters(matrix.reshape(-1, 10), names, 1e-8, absence=1e-12)


def _require_independent(columns: Array, names: tuple[str, ...]) -> None:
    """Raise an error that names the columns (n, A, B) which the recordings do not tell apart."""
    found = reduce_parameters(columns.reshape(-1, len(names)), names, EXCITATION_TOLERANCE, absence=1e-12)
    if len(found) < len(names):
        alike = found.combination[:, found.dependent].any(axis=1)
        places = sorted([*found.absent, *found.dependent, *found.independent[alike]])
        raise NotExcitedError(
            [names[place] for place in places],
            'the recordings do not tell these apart. Record without the payload, too, hold more of the bodies '
            '(columns.fixed), or move more coordinates',
        )
