"""Fault of a leg that is left out: its kind, tracked sample by sample, and when the leg can be used again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

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
