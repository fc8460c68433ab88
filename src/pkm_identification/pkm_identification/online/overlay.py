"""What was learned while the machine runs, as an overlay of its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pkm_description.machine import Machine

from pkm_description import loading
from pkm_identification.configuration import EstimatorSettings
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.estimate import Estimate, SolverRecord
from pkm_identification.fitting.overlay_values import overlay_values
from pkm_identification.fitting.physical_machine import identified_machine, physical_parameters
from pkm_identification.online.identifier import OnlineIdentifier

#: base parameters whose standard deviation has not become smaller than this part of what was believed are not learned
LEARNED = 0.9


def learned_machine(identifier: OnlineIdentifier) -> Machine:
    """The machine of the present base parameters: bodies that can exist, nearest to those of the file, and friction.

    What was not learned is as believed before: the file's values. Offsets of efforts are of sensors, and no part of it.

    Raises
    ------
    InfeasibleParametersError
        Nothing is learned yet, or no machine that can exist has these parameters.
    """
    observation = identifier.observation
    if not (identifier.std < LEARNED * identifier.settings.prior * observation.scale).any():
        raise InfeasibleParametersError('nothing is learned yet: no base parameter is better known than before')
    none = np.zeros((0, len(identifier.residual_std)))
    estimate = Estimate(
        parameters=identifier.parameters, covariance=identifier.covariance,
        force_std=identifier.residual_std, residuals=none, autocorrelation=none, condition=np.nan,
        force_condition=np.nan, solver=SolverRecord('Kalman filter, sample by sample', identifier.samples, True),
    )  # fmt: skip
    # what these seconds hardly tell is still believed to be as in the file
    settings = EstimatorSettings(keep_base_values=False)
    physical = physical_parameters(observation.model, observation.base, estimate, settings)
    if physical.infeasible:
        raise InfeasibleParametersError('; '.join(physical.infeasible))
    return identified_machine(observation.model, physical)


def write_overlay(identifier: OnlineIdentifier, path: Path, date: str) -> Path:
    """Write the learned machine as an overlay that ``load_machine`` takes; an older one is replaced.

    Parameters
    ----------
    date : of today, for the head of the file

    Raises
    ------
    InfeasibleParametersError
        See :func:`learned_machine`; an older file stays.
    OSError
        The file cannot be written.
    """
    model, machine = identifier.observation.model, learned_machine(identifier)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix('.part')
    beside.unlink(missing_ok=True)
    loading.write_overlay(
        beside, identifier.machine.name, overlay_values(machine, model.identical_legs, model.rubbing, model.has_rotors),
        date=date, data=f'{identifier.samples} samples until {identifier.last_stamp / 1e9:.2f} s of the machine',
        method='identified while it ran (online_identification): bodies and friction of the drives'
        + (f'; {identifier.misfit}' if identifier.misfit else ''),
    )  # fmt: skip
    return beside.replace(path)
