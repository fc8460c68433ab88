"""Joint states as they come, for the identifier; what it tells: news, its state, and an overlay. Without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Generic

import numpy as np
from pkm_description.errors import JointStateError
from pkm_description.joint_states import JointStateReader
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_friction
from pkm_description.writing import make_folder, replacing
from pkm_estimation.exchange.samples import Sample, SampleQueue
from pkm_estimation.stream.backlog import LagRule, Load

from pkm_description import loading
from pkm_identification.configuration import EstimatorSettings
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.least_squares import Estimate, SolverRecord
from pkm_identification.fitting.physical_machine import identified_machine, overlay_values, physical_parameters
from pkm_identification.online.identifier import OnlineIdentifier, OnlineSample
from pkm_identification.online.settings import OnlineSettings

#: s; longer steps of stamps are jumps
_JUMP = 1.0
#: samples of a turn
_TURN = 20
#: part of the deviation that was said of a load at which it is said again
BETTER = 0.1
#: base parameters whose standard deviation has not become smaller than this part of what was believed are not learned
LEARNED = 0.9
REMEDY = 'give the node a processor of its own (taskset, chrt -r 5), or lower the rate of the joint states'


class OnlineStream:
    """The identifier behind a topic: live, in a replay, and from a file the same calls give the same bits.

    Parameters
    ----------
    machine, settings : see :class:`~pkm_identification.online.identifier.OnlineIdentifier`
    """

    def __init__(self, machine: Machine, settings: OnlineSettings | None = None) -> None:
        self.identifier = OnlineIdentifier(machine.as_converted, settings)
        self._machine = machine
        self._reader = JointStateReader.of_drives(machine)
        self._news = News(self.identifier)

    def add(
        self, stamp: int, names: Sequence[str], positions: Sequence[float], efforts: Sequence[float]
    ) -> OnlineSample | None:
        """Take one message; ``stamp`` in ns. What is of no use is counted with its reason."""
        try:
            order = self._reader.order(names)
            position, effort = order.complete(positions), order.complete(efforts, 'effort')
        except JointStateError as error:
            self.identifier.reject(str(error))
            return None
        return self.identifier.add(stamp, position, effort)

    def news(self) -> tuple[str, ...]:
        """What has happened since the last call, see :class:`~pkm_identification.online.stream.News`."""
        return self._news.take()

    def report(self) -> tuple[bool, str, dict[str, object]]:
        """Whether nothing is wrong, the state in words, and figures by name, for diagnostics."""
        one = self.identifier
        rejected = sum(one.rejected.values())
        values: dict[str, object] = {
            'samples': one.samples,
            'rejected messages': rejected,
            'lag [s]': 0.5 * one.window,
            'changes of the load that were none': one.dismissed,
            'changes of the load smaller than this are not seen [kg]': one.detectable_mass,
        }
        for label, residual, typical in zip(
            self._machine.drive_labels, one.residual_std, one.observation.typical_force, strict=True
        ):
            values[f'{label}: residual'] = f'{residual:.4g} ({100 * residual / typical:.2g} % of a typical force)'
        if one.payload is not None:
            values['payload'] = str(one.payload)
        for drift in one.drifts:
            values[f'{drift.drive}: friction'] = str(drift)
        if rejected:
            reason, count = one.rejected.most_common(1)[0]
            values['rejected most often'] = f'{reason} ({count} times)'
        if one.is_frozen:
            return True, 'frozen: parameters are held', values
        if one.samples == 0:
            return not rejected, 'no usable joint states with efforts yet', values
        if one.lack is not None:
            return False, one.verdict, values
        if not one.is_moving:
            return True, 'at rest: friction at rest is not known, nothing is learned', values
        return True, f'learning; {one.verdict}', values

    def parameter_texts(self) -> dict[str, object]:
        """Base parameters: value, standard deviation and the file's value."""
        one = self.identifier
        rows = zip(one.observation.base.names, one.parameters, one.std, one.observation.nominal, strict=True)
        doubt = '' if one.is_certain else f' (not certain: {one.status})'
        return {name: f'{value:.6g} +- {std:.2g}{doubt}, file {nominal:.6g}' for name, value, std, nominal in rows}

    def content(self) -> dict[str, object]:
        """All that is known, for a YAML file."""
        one = self.identifier
        names = one.observation.base.names
        rows = zip(names, one.parameters, one.std, one.observation.nominal, strict=True)
        content: dict[str, object] = {
            'machine': self._machine.name,
            'samples': one.samples,
            'status': one.status,
            'remark': one.verdict,
            'base_parameters': {
                name: {'value': float(value), 'std': float(std), 'file': float(nominal), 'certain': one.is_certain}
                for name, value, std, nominal in rows
            },
            'friction_changes': [
                {
                    'drive': drift.drive, 'since': drift.since / 1e9, 'change': drift.change, 'std': drift.std,
                    'part': drift.part,
                }
                for drift in one.drifts
            ],
        }  # fmt: skip
        payload = one.payload
        if payload is not None:
            content['payload'] = {
                'since': payload.since / 1e9, 'mass': payload.mass, 'mass_std': payload.mass_std,
                'center': payload.center.tolist(), 'center_std': payload.center_std.tolist(),
                'known': np.asarray(payload.known).tolist(),
            }  # fmt: skip
        return content


class OnlineBacklog(Generic[Sample]):
    """Queue of a running node: what the middleware holds is not seen before it is taken.

    More than twice ``maximum_lag`` behind, every second sample is left out; if that does not help, every second of the
    others, and so on. The polynomial of the window takes what is left.

    Parameters
    ----------
    maximum_lag : s by stamps; 0: no sample is left out, however long it takes

    Attributes
    ----------
    left_out : samples so far
    """

    def __init__(self, maximum_lag: float) -> None:
        self.left_out = 0
        self._rule, self._queue = LagRule(maximum_lag, _TURN), SampleQueue[Sample](round(1e9 * _JUMP))

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, sample: Sample) -> None:
        """Queue a sample, or leave it out."""
        if self._rule.is_left_out():
            self.left_out += 1
        else:
            self._queue.add(sample)

    def turn(self) -> list[Sample]:
        """Remove and return the first samples that wait."""
        queue = self._queue
        if not len(queue):
            return []
        if self._rule.look(queue.span, len(queue), len(queue), queue.first):
            self.left_out += queue.halve()
        return [queue.take() for _ in range(min(_TURN, len(queue)))]

    def clear(self) -> None:
        """Forget what waits."""
        self._queue.clear()

    def report(self) -> tuple[str, str, dict[str, object]]:
        """Level, sentence and figures of the load since the last report."""
        load: Load = self._rule.report()
        return *load.summary(REMEDY), load.values() | {'joint states left out': self.left_out}


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
    make_folder(path.parent)
    with replacing(path) as beside:
        loading.write_overlay(
            beside, identifier.machine.name, overlay_values(machine, model.identical_legs, model.rubbing),
            date=date, data=f'{identifier.samples} samples until {identifier.last_stamp / 1e9:.2f} s of the machine',
            method='identified while it ran (online_identification): bodies and friction of the drives'
            + ('' if identifier.is_certain else f'; {identifier.verdict}'),
        )  # fmt: skip
    return path


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
