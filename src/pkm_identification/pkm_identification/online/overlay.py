"""What was learned while the machine runs, as an overlay of its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_friction

from pkm_description import loading
from pkm_identification.configuration import EstimatorSettings
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.least_squares import Estimate, SolverRecord
from pkm_identification.fitting.physical_machine import identified_machine, overlay_values, physical_parameters
from pkm_identification.online.identifier import OnlineIdentifier

#: part of the deviation that was said of a load at which it is said again
BETTER = 0.1
#: base parameters whose standard deviation has not become smaller than this part of what was believed are not learned
LEARNED = 0.9


def learned_machine(identifier: OnlineIdentifier) -> Machine:
    """The machine of the present base parameters: bodies that can exist, nearest to those of the file, and friction.

    What was not learned is as believed before: the file's values. Offsets of efforts walk,
    and seconds hardly tell them from bodies: they are no part of it.

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
    learned = identified_machine(observation.model, physical)
    offsets = {joint.name: joint.friction.law.offset for joint in identifier.machine.joints}
    return with_friction(learned, lambda joint: replace(
        joint.friction, law=replace(joint.friction.law, offset=offsets[joint.name])
    ))  # fmt: skip


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
        beside, identifier.machine.name, overlay_values(machine, model.identical_legs, model.rubbing),
        date=date, data=f'{identifier.samples} samples until {identifier.last_stamp / 1e9:.2f} s of the machine',
        method='identified while it ran (online_identification): bodies and friction of the drives'
        + ('' if identifier.is_certain else f'; {identifier.verdict}'),
    )  # fmt: skip
    return beside.replace(path)


class News:
    """Says each thing once, and a load again when it is known ten times better.

    Parameters
    ----------
    identifier : that is looked at
    """

    def __init__(self, identifier: OnlineIdentifier) -> None:
        self._identifier = identifier
        self._since: int | None = None
        self._said = 0.0
        self._lack = ''
        self._drifts: set[tuple[str, int]] = set()

    def take(self) -> tuple[str, ...]:
        """What is new: a change of the load, a force that the model lacks, friction that drifts; none: nothing."""
        one, said = self._identifier, []
        payload = one.payload
        if payload is not None:
            is_new, time = payload.since != self._since, f'{payload.since / 1e9:.2f} s'
            if is_new:
                said.append(f'the load on the platform has changed at {time}: {payload}')
            elif payload.mass_std < BETTER * self._said:
                said.append(f'the load on the platform since {time} is known better: {payload}')
            self._said = payload.mass_std if said else self._said
        self._since = None if payload is None else payload.since
        lack = one.lack
        if lack is not None and lack.title != self._lack:
            said.append(str(lack))
        elif lack is None and self._lack:
            said.append(f'the model no longer lacks a force: {self._lack}')
        self._lack = '' if lack is None else lack.title
        drifts = {(drift.drive, drift.until): str(drift) for drift in one.drifts}
        said += [text for key, text in drifts.items() if key not in self._drifts]
        self._drifts = set(drifts)
        return tuple(said)
