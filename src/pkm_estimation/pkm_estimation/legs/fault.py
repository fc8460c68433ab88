"""Fault of a leg that is left out: its kind, tracked sample by sample, and when the leg can be used again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

#: measurements that are kept; degree and number of earlier measurements of the polynomials that predict the next one
_KEPT, _POLYNOMIALS = 14, ((2, 8), (2, 5), (2, 3))
#: measurements before, whose prediction is judged for comparison
_COMPARED = 6
#: a leg breaks off if its own past leads nearer to the prediction than to it, by this factor
_CLEARLY = 0.5
#: mean square of what is usual up to which legs are where their past leads; median of the size of a normal number
_QUIET, _MEDIAN = 2.0, 0.6745
#: standard deviations of the noise within which a leg stands still
_STILL = 6.0
#: and those by which it should have moved
_EXPECTED = 5.0
#: ns between measurements of the slow memory
_SLOT = 20_000_000
Complain = Callable[[str, str], None]

#: fitting samples after which a leg is used again; a leg that was out for fewer samples needs only as many
_FITTING_SAMPLES = 20
#: a leg is used again only if its residual is below this fraction of its largest: an uncertain prediction is no proof
COME_DOWN = 0.3
#: weight of a new residual in its running mean
_MEAN_FORGETTING = 0.2
#: standard deviations of the noise by which a value must change to count as changed
_CHANGED = 5.0
#: samples after which a residual that stays the same is called an offset
_OFFSET_SAMPLES = 5
#: outages of at most so many samples are spikes
_SPIKE_SAMPLES = 3

_WORDS = {'stuck': 'stuck, ', 'saturated': 'at the end of its stroke, ', 'offset': 'constant offset, '}


class LegSensor(NamedTuple):
    """Name of a leg, standard deviation of its position and both ends of its stroke [m]."""

    name: str
    noise: float
    ends: tuple[float, float]

    def is_at_end(self, value: float) -> bool:
        """Whether a position is that of an end of the stroke."""
        return any(abs(value - end) < _CHANGED * self.noise for end in self.ends)

    def is_same(self, value: float, other: float) -> bool:
        """Whether two positions differ by noise at most."""
        return abs(value - other) <= _CHANGED * self.noise


class LegResidual(NamedTuple):
    """A position, its residual conditional on the legs in use, and the residual's standard deviation [m]."""

    value: float
    residual: float
    std: float

    @property
    def prediction(self) -> float:
        """Predicted position [m]."""
        return self.value - self.residual

    @property
    def sigma(self) -> float:
        """Size of the residual in standard deviations."""
        return abs(self.residual) / self.std


@dataclass(frozen=True)
class LegFault:
    """A leg that is left out.

    Attributes
    ----------
    leg : the leg
    kind : ``off_prediction``, ``stuck``, ``saturated``, ``swapped``, ``offset``
    off, sigma : m, current residual, and its size in standard deviations
    samples : number of measurements since it is left out
    largest, first, mean : m, of its residuals
    fitting : number of measurements since it fits again, or since it is equal to the leg that it is swapped with
    value, prediction : m, at the last change of its value
    """

    leg: LegSensor
    kind: str
    off: float
    sigma: float
    samples: int
    largest: float
    first: float
    mean: float
    fitting: int
    value: float
    prediction: float

    @classmethod
    def begin(cls, leg: LegSensor, now: LegResidual, last: float | None, complain: Complain) -> LegFault:
        """New fault of a leg that does not fit; ``last`` is its previous position [m]."""
        stays = last is not None and leg.is_same(now.value, last)
        kind = 'saturated' if leg.is_at_end(now.value) else 'stuck' if stays else 'off_prediction'
        off = now.residual
        fault = cls(leg, kind, off, now.sigma, 1, abs(off), off, off, 0, now.value, now.prediction)
        complain(f'leg_{kind}', f'{fault.text}: left out')
        return fault

    def after(
        self, now: LegResidual, gate: float, bound: float, alone: bool, complain: Complain
    ) -> LegFault | None:
        """The fault after one more sample; ``None`` if the leg can be used again.

        ``gate`` and ``bound`` are in standard deviations: of a good model, and of the model as it currently fits. A
        single leg (``alone``) can be left out for long. Several cannot, so they are used again as soon as the
        prediction is less certain than the residual that they were left out for.
        """
        off, samples = now.residual, self.samples + 1
        changed = not self.leg.is_same(now.value, self.value)
        kind = 'off_prediction' if changed and self.kind in ('stuck', 'saturated') else self.kind
        mean = self.mean + _MEAN_FORGETTING * (off - self.mean)
        small = min(abs(off), abs(mean)) < COME_DOWN * self.largest
        small = small or (not alone and gate * now.std > abs(self.first))
        fits = now.sigma < bound and small and kind not in ('stuck', 'saturated')
        fitting = self.fitting if kind == 'swapped' else self.fitting + 1 if fits else 0
        outage = self.samples - self.fitting  # those that fit since are none of it
        if fitting >= min(_FITTING_SAMPLES, outage):
            spike = outage <= _SPIKE_SAMPLES
            what = f'a spike of {1e3 * self.largest:.3g} mm' if spike else f'left out for {self.samples} measurements'
            complain('leg_returned', f'{self.leg.name} fits again ({what})')
            return None
        if not fits and kind != 'swapped':
            kind = self._kind_of(kind, now, gate * now.std, changed, samples)
        fault = replace(
            self,
            kind=kind,
            off=off,
            sigma=now.sigma,
            samples=samples,
            largest=max(self.largest, abs(off)),
            mean=mean,
            fitting=fitting,
            value=now.value if changed else self.value,
            prediction=now.prediction if changed else self.prediction,
        )
        if kind not in (self.kind, 'off_prediction'):
            complain(f'leg_{kind}', fault.text)
        return fault

    def beside_its_twin(self, equal: bool) -> LegFault:
        """Fault of a leg that is still swapped; ``equal``: it is at the same position as the other leg.

        Both fit an uncertain prediction when they pass each other. They are used again when they stay equal, as at
        rest.
        """
        return replace(self, fitting=self.fitting + 1 if equal else 0)

    def _kind_of(self, kind: str, now: LegResidual, doubt: float, changed: bool, samples: int) -> str:
        noise = _CHANGED * self.leg.noise
        if self.leg.is_at_end(now.value):
            return 'saturated'
        if not changed and abs(now.prediction - self.prediction) > 2.0 * noise + doubt:
            return 'stuck'
        steady = max(abs(now.residual - self.first), abs(self.mean - self.first)) < noise + doubt  # no spike again
        if changed and samples >= _OFFSET_SAMPLES and steady:
            return 'offset'
        return kind

    @property
    def text(self) -> str:
        """Name of the leg, kind and size of the fault."""
        size = f'{1e3 * abs(self.off):.3g} mm off its prediction ({self.sigma:.3g} standard deviations)'
        return f'{self.leg.name}: {_WORDS.get(self.kind, "")}{size}'

    @property
    def summary(self) -> str:
        """Kind, size and duration of the fault, without the leg's name."""
        return (
            f'{self.kind.replace("_", " ")}, {1e3 * abs(self.off):.3g} mm off ({self.sigma:.3g} standard deviations), '
            f'left out for {self.samples} measurements'
        )


class LegContinuity:
    """Remembers recent positions of the drives.

    Parameters
    ----------
    noise : (A,) m or rad, standard deviations of the positions
    """

    def __init__(self, noise: Array) -> None:
        self._noise = np.maximum(noise, 1e-12)
        self._has_noise = bool(noise.any())
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._stamps: Integers = np.zeros(0, dtype=np.int64)
        self._positions: Array = np.zeros((0, len(self._noise)))
        self._slow: Array = np.zeros((0, len(self._noise)))
        self._slot, self._rejected = -1, -1

    def add(self, stamps: Integers, positions: Array) -> None:
        """Add measurements of ``stamps`` (N,) ns, (N, A), NaN where a leg has none."""
        if len(self._stamps) and not stamps[0] > self._stamps[-1]:  # another clock
            self.reset()
        slots = stamps // _SLOT
        first = slots != np.concatenate([[self._slot], slots[:-1]])
        if first.any():
            self._slow, self._slot = np.concatenate([self._slow, positions[first]])[-_KEPT:], slots.item(-1)
        stamps, positions = stamps[-_KEPT:], positions[-_KEPT:]
        self._stamps = np.concatenate([self._stamps, stamps])[-_KEPT:]
        self._positions = np.concatenate([self._positions, positions])[-_KEPT:]

    @property
    def last(self) -> tuple[int, Array] | None:
        """Stamp [ns] and positions (A,) of the last measurement."""
        return (self._stamps.item(-1), self._positions[-1]) if len(self._stamps) else None

    def is_repeated(self, positions: Array) -> bool:
        """Whether all positions (A,) are the last ones, to the last digit: not read anew, as noise would show."""
        return len(self._stamps) > 0 and bool(np.array_equal(positions, self._positions[-1]) and self._has_noise)

    def has_moved(self, since: Array, positions: Array) -> bool:
        """Whether any leg has moved from positions (A,) by more than its noise."""
        return bool((np.abs(positions - since) > _STILL * self._noise).any())

    def reject(self, stamp: int) -> None:
        """The measurement of ``stamp`` [ns], not added yet, is rejected because all legs jumped."""
        self._rejected = stamp

    @property
    def has_jumped(self) -> bool:
        """Whether the last measurement was rejected so."""
        return len(self._stamps) > 0 and self._stamps.item(-1) == self._rejected

    def evidence(self, stamp: int, positions: Array, residual: Array) -> NDArray[np.bool_]:
        """Which legs (A,) break off from their own past, or stand still while others move and they should.

        Parameters
        ----------
        stamp, positions : ns, (A,), the measurement, not added yet
        residual : (A,) of the positions against the filter's prediction
        """
        step, _ = self.step(stamp, positions)
        broken = np.abs(residual - step) < _CLEARLY * np.abs(step)
        return broken | self._stands_still(positions, residual)

    def goes_on(self, stamp: int, positions: Array, residual: Array) -> bool:
        """Whether the legs as a whole are where their own past leads, or nearer to it than the filter's prediction is.

        Not so in a burst of noise: it separates the measurement from both.
        """
        (step, usual), seen = self.step(stamp, positions), np.isfinite(residual)
        if np.mean(np.square(step[seen] / usual[seen])) < _QUIET:
            return True
        apart = (residual - step)[seen] / self._noise[seen]
        return bool(np.sum(np.square(step[seen] / self._noise[seen])) < np.sum(np.square(apart)))

    @property
    def is_known(self) -> bool:
        """Whether there are enough measurements to say where they lead to."""
        return len(self._stamps) == _KEPT

    def step(self, stamp: int, positions: Array) -> tuple[Array, Array]:
        """How far legs (A,) are from where their own positions before lead to, 0 where not known, and what is usual.

        Both in m or rad.
        """
        found, scale = np.zeros(len(self._noise)), self._noise
        if not self.is_known:
            return found, scale
        times = 1e-9 * (np.append(self._stamps, stamp) - stamp)
        values = np.vstack([self._positions, positions])
        best = np.inf
        for degree, count in _POLYNOMIALS:
            missed = []
            for last in range(_KEPT - _COMPARED, _KEPT + 1):
                weights = _weights(times[last - count : last] - times[last], degree)
                missed.append(values[last] - weights @ values[last - count : last])
            sizes = np.abs(np.nan_to_num(missed[:-1])) / _MEDIAN
            usual = max(float(np.median(sizes / self._noise)), float(1.0 + weights @ weights) ** 0.5)
            if usual < best:
                found, best = missed[-1], usual
                scale = np.fmax(usual * self._noise, np.median(sizes, axis=0))
        return np.nan_to_num(found), scale

    def _stands_still(self, positions: Array, residual: Array) -> NDArray[np.bool_]:
        found = np.zeros(len(self._noise), dtype=bool)
        for past in (self._positions, self._slow):
            for count in range(3, len(past) + 1):
                values = np.vstack([past[-count:], positions])
                still = np.ptp(values, axis=0) < _STILL * self._noise
                expected = np.abs(positions - residual - values[0])
                if 2 * np.count_nonzero(still) < len(still) + 1:
                    found |= still & (expected > _EXPECTED * self._noise)
        return found


def _weights(times: Array, degree: int) -> Array:
    """Weights (k,) of values at ``times`` (k,) s in the value at 0 of the polynomial that fits them best."""
    scale = float(np.abs(times).max()) or 1.0
    weights: Array = np.linalg.pinv(np.vander(times / scale, degree + 1, increasing=True))[0]
    return weights
