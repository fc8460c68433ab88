"""What is told of legs that are outliers by the likeliest hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_estimation.tracking.leg_sets import Offsets

#: standard deviations of the noise by which a position must change to count as changed
_CHANGED = 5.0
#: measurements of a spike, at most
_SPIKE_SAMPLES = 3
#: standard deviations within which a position fits
_FITS = 5.0
_WORDS = {'stuck': 'stuck, ', 'saturated': 'at the end of its stroke, '}

Complain = Callable[[str, str], None]


@dataclass(frozen=True)
class LegReport:
    """A leg that is an outlier.

    Attributes
    ----------
    kind : ``off_prediction``, ``stuck``, ``saturated``
    off, sigma : m or rad, from its prediction, and in standard deviations
    samples : number of measurements since it is one
    largest : m or rad, largest ``off`` so far
    value, prediction : m or rad, at the last change of the position
    """

    kind: str
    off: float
    sigma: float
    samples: int
    largest: float
    value: float
    prediction: float

    @property
    def summary(self) -> str:
        """Kind, size and duration."""
        return (
            f'{self.kind.replace("_", " ")}, {1e3 * abs(self.off):.3g} mm off ({self.sigma:.3g} standard deviations), '
            f'left out for {self.samples} measurements'
        )


class LegReports:
    """Tells of outliers among the legs; attributes are replaced, never written into.

    Parameters
    ----------
    machine : names, strokes and noise of its drives

    Attributes
    ----------
    reports : of the legs that are outliers now
    """

    def __init__(self, machine: Machine) -> None:
        self._names = machine.drive_labels
        noise = machine.leg_sensors.position_noise
        self._noise = _CHANGED * np.broadcast_to(np.asarray(noise, dtype=float), len(self._names))
        self._ends = [(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.reports: dict[int, LegReport] = {}
        self._last: Array = np.full(len(self._names), np.nan)

    def see(self, positions: Array) -> None:
        """Take the positions (A,) of a measurement without outliers."""
        self._last = np.where(np.isfinite(positions), positions, self._last)

    def update(self, outliers: frozenset[int], offsets: Offsets, positions: Array, tell: Complain) -> None:
        """Take a measurement.

        Parameters
        ----------
        outliers : legs that are outliers now
        offsets : of those in the measurement, see :class:`~pkm_estimation.tracking.leg_sets.LegExplanation`
        positions : (A,) m or rad, NaN where a leg has none
        tell : called with name and detail of an event
        """
        for leg in sorted(set(self.reports) - outliers):
            report = self.reports[leg]
            is_spike = report.samples <= _SPIKE_SAMPLES
            size = f'a spike of {1e3 * report.largest:.3g} mm'
            what = size if is_spike else f'left out for {report.samples} measurements'
            tell('leg_returned', f'{self._names[leg]} fits again ({what})')
        self.reports = {leg: self.reports[leg] for leg in outliers if leg in self.reports}
        for leg, (off, variance) in sorted(offsets.items()):
            new = self._report(leg, float(positions[leg]), off, variance**0.5, tell)
            self.reports = self.reports | {leg: new}
        self.see(positions)

    def _report(self, leg: int, value: float, off: float, std: float, tell: Complain) -> LegReport:
        noise, sigma, old = float(self._noise[leg]), abs(off) / std, self.reports.get(leg)
        is_at_end = any(abs(value - end) < noise for end in self._ends[leg])
        if old is None:
            stays = abs(value - float(self._last[leg])) <= noise
            kind = 'saturated' if is_at_end else 'stuck' if stays else 'off_prediction'
            new = LegReport(kind, off, sigma, 1, abs(off), value, value - off)
            tell(f'leg_{kind}', f'{self._text(leg, new)}: left out')
            return new
        changed, samples = abs(value - old.value) > noise, old.samples + 1
        moved = abs(value - off - old.prediction)
        kind = 'off_prediction' if changed and old.kind in ('stuck', 'saturated') else old.kind
        if is_at_end:
            kind = 'saturated'
        elif not changed and moved > 2.0 * noise + _FITS * std:
            kind = 'stuck'
        new = LegReport(
            kind, off, sigma, samples, max(old.largest, abs(off)), value if changed else old.value,
            value - off if changed else old.prediction,
        )  # fmt: skip
        if kind not in (old.kind, 'off_prediction'):
            tell(f'leg_{kind}', self._text(leg, new))
        return new

    def _text(self, leg: int, report: LegReport) -> str:
        size = f'{1e3 * abs(report.off):.3g} mm off its prediction ({report.sigma:.3g} standard deviations)'
        return f'{self._names[leg]}: {_WORDS.get(report.kind, "")}{size}'

    def settle(self, leg: int) -> None:
        """A leg is no outlier any more: its zero has moved."""
        self.reports = {other: report for other, report in self.reports.items() if other != leg}

    def descriptions(self) -> dict[str, str]:
        """Of each leg that is an outlier, by name."""
        return {self._names[leg]: report.summary for leg, report in sorted(self.reports.items())}
