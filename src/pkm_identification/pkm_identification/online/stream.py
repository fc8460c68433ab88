"""Joint states as they come, for the identifier: names, units, order; and the state in words. Without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple

import numpy as np
from pkm_description.errors import JointStateError
from pkm_description.joint_states import JointStateReader
from pkm_description.machine import Machine
from pkm_estimation.stream.backlog import LagRule, Load
from pkm_estimation.stream.samples import Sample, SampleQueue

from pkm_identification.online.identifier import OnlineIdentifier, OnlineSample
from pkm_identification.online.overlay import News
from pkm_identification.online.settings import OnlineSettings

#: s; longer steps of stamps are jumps
_JUMP = 1.0
#: samples of a turn
_TURN = 20
REMEDY = 'give the node a processor of its own (taskset, chrt -r 5), or lower the rate of the joint states'


class OnlineReport(NamedTuple):
    """State in words.

    Attributes
    ----------
    healthy : nothing is wrong
    sentence : what it does, or what is wrong
    values : figures by name
    """

    healthy: bool
    sentence: str
    values: dict[str, object]


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
        """What has happened since the last call, see :class:`~pkm_identification.online.overlay.News`."""
        return self._news.take()

    def report(self) -> OnlineReport:
        """State in words, for diagnostics."""
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
            return OnlineReport(True, 'frozen: parameters are held', values)
        if one.samples == 0:
            return OnlineReport(not rejected, 'no usable joint states with efforts yet', values)
        if one.misfit:
            return OnlineReport(False, one.misfit, values)
        if not one.is_moving:
            return OnlineReport(True, 'at rest: friction at rest is not known, nothing is learned', values)
        return OnlineReport(True, f'learning; {one.verdict}', values)

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
        }
        content['friction_changes'] = [
            {
                'drive': drift.drive, 'since': drift.since / 1e9, 'change': drift.change, 'std': drift.std,
                'part': drift.part,
            }
            for drift in one.drifts
        ]  # fmt: skip
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
