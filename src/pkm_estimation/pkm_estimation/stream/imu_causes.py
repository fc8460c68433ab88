"""What is likely wrong with an IMU that does not fit the legs: units, axes, gravity; in words, with what to do.

Each cause is a way to mend the samples. The one whose mended samples agree with specific force and angular rate as the
legs alone give them, while the samples themselves and those of other causes do not, is named. ``check_robot`` looks
further, at a recording or a running robot.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array

#: m/s^2 and rad/s: constant errors that are normal
_BIASES = np.repeat([0.3, 0.1], 3)
#: mean squares of normalised differences up to which samples agree, factor by which all others must be worse, and below
#: which agreement is perfect
_AGREES, _WORSE, _PERFECT = 2.0, 4.0, 0.25
#: cosine from which on gravity is felt where it should not be
_OPPOSITE = 0.8
#: samples that are needed, and that are kept
_FEWEST, _MOST = 8, 40
#: causes that gravity alone does not tell apart
_TURNED = 'imu_axes'
_CHECK = 'check_robot says how the sensor is mounted'


class _Sample(NamedTuple):
    """Sample of the IMU, what the legs say instead, its variances, and gravity: (6,), (6,), (6,), (3,), IMU axes."""

    read: Array
    felt: Array
    variance: Array
    gravity: Array


class _Cause(NamedTuple):
    kind: str
    text: str
    mend: Callable[[Array, Array], Array]


def _scaled(force: float, rate: float) -> Callable[[Array, Array], Array]:
    factors = np.repeat([force, rate], 3)
    return lambda read, gravity: read * factors


def _gravity_again(read: Array, gravity: Array) -> Array:
    mended = read.copy()
    mended[:, :3] -= gravity
    return mended


def _turned(axes: Array) -> Callable[[Array, Array], Array]:
    both = np.kron(np.eye(2), axes)
    return lambda read, gravity: read @ both.T


def _unit(kind: str, unit: str, force: float, rate: float, what: str) -> _Cause:
    return _Cause(kind, f'it fits in {unit}: set {what}: {unit} in the driver file', _scaled(force, rate))


def _causes() -> list[_Cause]:
    causes = [
        _unit('imu_in_g', 'g', 9.80665, 1.0, 'imu.acceleration'),
        _unit('imu_in_mg', 'mg', 9.80665e-3, 1.0, 'imu.acceleration'),
        _unit('imu_in_mm_per_s2', 'mm/s2', 1e-3, 1.0, 'imu.acceleration'),
        _unit('imu_in_deg_per_s', 'deg/s', 1.0, np.pi / 180.0, 'imu.angular_rate'),
        _Cause(
            'imu_gravity_removed',
            'it fits with gravity added: publish the specific force, +g upwards at rest, not "linear" acceleration',
            _gravity_again,
        ),
        _Cause(_TURNED, f'it fits with the other sign of the acceleration (REP 145: +g upwards at rest); {_CHECK}',
               _scaled(-1.0, 1.0)),
    ]  # fmt: skip
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        axes = np.zeros((3, 3))
        axes[range(3), order] = signs
        if np.linalg.det(axes) < 0.0 or (axes == np.eye(3)).all():
            continue
        names = ', '.join(f'{"xyz"[i]} = {"-" if signs[i] < 0.0 else ""}{"xyz"[order[i]]}' for i in range(3))
        text = f'it fits with turned axes, {names}: mend sensors.imu.rpy; {_CHECK}'
        causes.append(_Cause(_TURNED, text, _turned(axes)))
    return causes


_CAUSES = _causes()


class ImuCauses:
    """Collects samples of an IMU that is left out, and names the cause."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._samples: tuple[_Sample, ...] = ()

    def add(self, read: Array, felt: Array, variance: Array, gravity: Array) -> None:
        """Add a sample (6,), what the legs say (6,) with variances (6,), and gravity (3,); IMU axes."""
        self._samples = (*self._samples, _Sample(read, felt, variance, gravity))[-_MOST:]

    def likeliest(self) -> tuple[str, str] | None:
        """Kind and sentence; ``None`` where no single cause explains the samples."""
        if len(self._samples) < _FEWEST:
            return None
        read, felt, variance, gravity = (np.array(values) for values in zip(*self._samples, strict=True))

        def misfit(mended: Array) -> float:
            return float(np.mean((mended - felt) ** 2 / (variance + _BIASES**2)))

        misfits = [misfit(cause.mend(read, gravity)) for cause in _CAUSES]
        best = int(np.argmin(misfits))
        others = [misfit(read)] + [
            value for value, cause in zip(misfits, _CAUSES, strict=True) if cause.kind != _CAUSES[best].kind
        ]
        if misfits[best] > _AGREES or min(others) < _WORSE * max(misfits[best], _PERFECT):
            return None
        kind, text, _ = _CAUSES[best]
        along = read[:, :3].mean(axis=0) @ felt[:, :3].mean(axis=0)
        if kind == _TURNED and along < -_OPPOSITE * np.linalg.norm(felt[:, :3].mean(axis=0)) ** 2:
            return 'imu_upside_down', f'gravity is where it should not be, below: {text}'
        return kind, text
