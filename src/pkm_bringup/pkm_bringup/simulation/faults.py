"""Faults of simulated sensors, written as texts such as ``leg3 stuck``, switched on and off while a simulation runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

import numpy as np
from pkm_description.errors import PkmError
from pkm_estimation.sensors.conditions import ImuFault

from pkm_bringup.simulation.sensors import JointSample, Sample, SimulatedImuSample

#: alone in the list: no fault (an empty list cannot be typed for `ros2 param set`)
NONE = 'none'
#: faults of the IMU whose name for users differs from that of :class:`~pkm_estimation.sensors.conditions.ImuFault`
_KINDS = {'in_degrees': 'in_deg_per_s'}


class FaultError(PkmError):
    """A text that is no fault of this machine."""


class FaultKind(NamedTuple):
    """One kind of fault: how it is written, what it does, and the values that it takes.

    Attributes
    ----------
    usage : with the names of its values; those in brackets may be left out
    meaning : one line
    defaults : of the values that may be left out
    """

    usage: str
    meaning: str
    defaults: tuple[float, ...] = ()

    @property
    def values(self) -> list[str]:
        """Names of its values, in order."""
        return self.usage.split()[1:]


LEG_FAULTS = {
    'stuck': FaultKind('stuck', 'the position sensor repeats its last value'),
    'offset': FaultKind('offset METRES', 'the position is off by a constant (radians of revolute drives)'),
    'spikes': FaultKind('spikes PART [METRES]', 'this part of the positions is off, to either side', (0.01,)),
    'noisy': FaultKind('noisy METRES', 'white noise of this standard deviation on the position'),
    'reversed': FaultKind('reversed', 'position, velocity and force have the opposite sign'),
    'missing': FaultKind('missing', 'the leg is not in joint_states'),
    'no_force': FaultKind('no_force', 'the force is NaN'),
}
IMU_FAULTS = {
    'frozen': FaultKind('frozen', 'it repeats its last sample'),
    'missing': FaultKind('missing', 'no samples'),
    'upside_down': FaultKind('upside_down', 'turned by 180 degrees about its x axis'),
    'in_g': FaultKind('in_g', 'specific force in units of g instead of m/s^2'),
    'in_degrees': FaultKind('in_degrees', 'angular rate in degrees per second'),
    'negative': FaultKind('negative', 'specific force with the opposite sign, -g at rest'),
}


def allowed_faults(drives: Sequence[str]) -> str:
    """One sentence with all faults of a machine."""
    legs, imu = (', '.join(kind.usage for kind in kinds.values()) for kinds in (LEG_FAULTS, IMU_FAULTS))
    labels = ', '.join(drives) if len(drives) < 3 else f'{drives[0]} to {drives[-1]}'
    return f'{labels}: {legs}; imu: {imu}; or {NONE} alone'


class _Fault(NamedTuple):
    text: str
    leg: int | None
    kind: str
    values: tuple[float, ...]


class SensorFaults:
    """Changes samples of the sensors; what the machine does and its ground truth stay as they are.

    Parameters
    ----------
    drives : labels of the drives, see ``machine.drive_labels``
    texts : one fault each, e.g. ``leg2 offset 0.005``; several for one sensor are applied in this order
    seed : of spikes and noise

    Attributes
    ----------
    texts : the faults, in plain form
    missing_legs : numbers of the drives, from 0, that are not in ``joint_states``

    Raises
    ------
    FaultError
        A text is no fault of this machine; says what is allowed.
    """

    def __init__(self, drives: Sequence[str], texts: Sequence[str] = (), seed: int = 0) -> None:
        self._drives, self._seed = drives, seed
        self.put(texts)

    def put(self, texts: Sequence[str]) -> None:
        """Have these faults from now on, in place of the present ones; raises as the class."""
        self._faults = [_parsed(text, self._drives) for text in ([] if list(texts) == [NONE] else texts)]
        self.texts = tuple(fault.text for fault in self._faults)
        self.missing_legs = frozenset(
            fault.leg for fault in self._faults if fault.leg is not None and fault.kind == 'missing'
        )
        self._random = np.random.default_rng([self._seed, 6])
        self._held_position: dict[int, float] = {}
        self._held_imu: SimulatedImuSample | None = None

    def apply(self, sample: Sample) -> Sample:
        """Return the sample as faulty sensors give it."""
        if not self._faults:
            return sample
        joints, imu = sample.joints, sample.imu
        for fault in self._faults:
            if fault.leg is None:
                imu = None if imu is None else self._imu(imu, fault.kind)
            elif joints is not None:
                joints = self._leg(joints, fault.leg, fault)
        return replace(sample, joints=joints, imu=imu)

    def _leg(self, sample: JointSample, leg: int, fault: _Fault) -> JointSample:
        positions, velocities, efforts = (
            values.copy() for values in (sample.positions, sample.velocities, sample.efforts)
        )
        if fault.kind == 'stuck':
            positions[leg] = self._held_position.setdefault(leg, positions[leg])
            velocities[leg] = 0.0
        elif fault.kind == 'offset':
            positions[leg] += fault.values[0]
        elif fault.kind == 'spikes':
            part, size = fault.values
            if self._random.random() < part:
                positions[leg] += self._random.choice([-size, size])
        elif fault.kind == 'noisy':
            positions[leg] += fault.values[0] * self._random.standard_normal()
        elif fault.kind == 'reversed':
            for values in (positions, velocities, efforts):
                values[leg] *= -1.0
        elif fault.kind == 'no_force':
            efforts[leg] = np.nan
        return JointSample(positions, velocities, efforts)

    def _imu(self, sample: SimulatedImuSample, kind: str) -> SimulatedImuSample | None:
        if kind == 'missing':
            return None
        if kind == 'frozen':
            self._held_imu = self._held_imu or sample
            return self._held_imu
        if kind == 'negative':
            return replace(sample, specific_force=-sample.specific_force)
        signals = np.hstack([sample.specific_force, sample.angular_rate])[None]
        force, rate = np.split(ImuFault(_KINDS.get(kind, kind)).apply(signals, np.zeros(1), np.zeros((1, 3)))[0], 2)
        return SimulatedImuSample(force, rate)


def _parsed(text: str, drives: Sequence[str]) -> _Fault:
    words = text.split()
    sensor, name = (*words, '', '')[:2]
    legs = {label: number for number, label in enumerate(drives)}
    kinds = LEG_FAULTS if sensor in legs else IMU_FAULTS if sensor == 'imu' else {}
    kind = kinds.get(name)
    if kind is None:
        raise FaultError(f'no fault {text!r}; there are {allowed_faults(drives)}')
    given = words[2:]
    needed = len(kind.values) - len(kind.defaults)
    if not needed <= len(given) <= len(kind.values):
        raise FaultError(f'fault {text!r}: write {sensor} {kind.usage} ({kind.meaning})')
    numbers = tuple(_number(text, label.strip('[]'), word) for label, word in zip(kind.values, given, strict=False))
    values = numbers + kind.defaults[len(kind.defaults) - (len(kind.values) - len(given)) :]
    return _Fault(' '.join(words), legs.get(sensor), name, values[: len(kind.values)])


def _number(text: str, label: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = float('nan')
    if not isfinite(value):
        raise FaultError(f'fault {text!r}: {label} = {word!r} is not a finite number')
    if label == 'PART' and not 0.0 <= value <= 1.0:
        raise FaultError(f'fault {text!r}: {label} = {word} must be from 0 to 1')
    return value
