"""What is told of legs, IMU and assembly mode by what the likeliest hypothesis says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_estimation.exchange.messages import LegMeasurement
from pkm_estimation.exchange.samples import ImuSample, Instant, seconds
from pkm_estimation.filters import Innovation
from pkm_estimation.tracking.bank import Candidate
from pkm_estimation.tracking.hypotheses import Hypothesis, Label
from pkm_estimation.tracking.leg_sets import Offsets

if TYPE_CHECKING:
    from pkm_estimation.tracking.tracker import Tracker


#: standard deviations of the noise by which a position must change to count as changed
_CHANGED = 5.0
#: measurements of a spike, at most
_SPIKE_SAMPLES = 3
#: standard deviations within which a position fits
_FITS = 5.0
_WORDS = {'stuck': 'stuck, ', 'saturated': 'at the end of its stroke, '}

Complain = Callable[[str, str], None]
#: s after a failure until which its cause is looked for
_LATEST_NAMING = 2.0


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
        offsets : of those in the measurement, see :class:`~pkm_estimation.tracking.leg_sets.Explanation`
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



class Corrected(NamedTuple):
    """A candidate after the correction; no innovation where no leg was used."""

    candidate: Candidate
    hypothesis: Hypothesis
    innovation: Innovation | None


class Teller:
    """Tells what a tracker's likeliest hypothesis says: events, and what is not trusted.

    Parameters
    ----------
    tracker : has filters, bank and all other parts
    """

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def tell(
        self, measurement: LegMeasurement, imu: ImuSample, before: Label, bad: tuple[str, str] | None, found: Corrected
    ) -> None:
        """Tell what the likeliest hypothesis says of sensors and pose."""
        tracker = self._tracker
        instant, label, sample = measurement.instant, tracker.bank.label, measurement.sample
        if label.outliers or label.moved or tracker.legs.reports:
            tracker.legs.update(
                label.outliers | {leg for leg, _ in label.moved}, found.candidate.explanation.offsets, sample.positions,
                lambda name, detail: tracker.health.event(instant.stamp, name, detail),
            )  # fmt: skip
            moved = tracker.bank.take_moved_zeros()
            for leg, (off, variance) in moved.items():
                tracker.legs.settle(leg)
                tracker.recent.move_zero(leg, off)
                name, unit = tracker.machine.drive_labels[leg], tracker.machine.position_units[leg]
                tracker.health.event(
                    instant.stamp, 'leg_offset', f'{name}: its zero has moved by {1e3 * off:.3g} m{unit} '
                    f'(+- {1e3 * variance**0.5:.2g}), which is taken into account: calibrate, or check the encoder',
                )  # fmt: skip
            if moved and tracker.on_zeros_moved is not None:
                tracker.on_zeros_moved(moved)
            for name in tracker.legs.descriptions():
                tracker.health.count(f'{name}_left_out')
        else:
            tracker.legs.see(sample.positions)
        for pair in label.swapped - before.swapped:
            names = ' and '.join(tracker.machine.drive_labels[leg] for leg in pair)
            what = f'{names} fit their predictions when exchanged: they are, check the wiring'
            tracker.health.event(instant.stamp, 'legs_swapped', what)
        everything = len(label.outliers) == tracker.machine.actuated_count
        if everything and not before.outliers:
            tracker.health.event(instant.stamp, 'legs_jumped', 'all legs are far from where they were going: not used')
        if label.noise > before.noise == 1.0:
            what = 'burst of noise of all legs: their noise variance is raised'
            tracker.health.event(instant.stamp, 'legs_noisy', what)
        if label.uses_imu and not before.uses_imu:
            began = tracker.imu_report.began
            out = f', left out for {seconds(began, instant):.3g} s' if began and began.epoch == instant.epoch else ''
            tracker.imu_report.end()
            tracker.noise.started()
            tracker.health.event(instant.stamp, 'imu_returned', f'the IMU agrees with the legs again{out}')
        elif before.uses_imu and not label.uses_imu:
            nis = found.candidate.explanation.nis
            why = f'legs go on smoothly where its prediction is not (NIS {nis:.3g} without it)'
            self.tell_imu_is_bad(instant, *(bad or ('imu_off_prediction', why)))
        elif not label.uses_imu:
            self._name_imu_fault(instant.stamp, bad or self._likely_cause(imu))
        self.tell_modes(instant.stamp)

    def tell_modes(self, stamp: int) -> None:
        """Tell whether the assembly mode is known."""
        tracker = self._tracker
        was, now = tracker.health.mode_doubt, tracker.bank.description
        if now and not was:
            tracker.health.event(stamp, 'assembly_mode_unknown', now)
        if was and not now:
            tracker.doubt_last_pose(stamp)
            tracker.health.event(stamp, 'assembly_mode_decided', 'IMU and legs fit one of the possible poses only')
        tracker.health.mode_doubt = now

    def tell_imu_is_bad(self, instant: Instant, kind: str, detail: str) -> None:
        """Tell that the IMU is not trusted from a measurement on, and why."""
        tracker = self._tracker
        if not tracker.imu_report.kind:
            tracker.imu_report.begin(instant, kind, detail)
            tracker.imu_causes.reset()
            tracker.health.event(instant.stamp, kind, f'{detail}; the IMU is left out, estimates are by the legs alone')

    def _likely_cause(self, imu: ImuSample) -> tuple[str, str] | None:
        """Kind and sentence on why the IMU does not fit, once there is enough to say so."""
        tracker = self._tracker
        report, causes, alone = tracker.imu_report, tracker.imu_causes, tracker.alone
        frame = tracker.output_model.imu_frame
        if report.began is None or report.named or seconds(report.began, imu.instant) > _LATEST_NAMING:
            return None
        gravity = alone.filter.rotation.T @ alone.filter.geometry.gravity
        covariance = frame.covariance_to_imu(alone.felt_covariance)
        felt = frame.to_imu(alone.felt)
        causes.add(frame.to_imu(imu.value), felt, covariance.diagonal(), frame.vector_to_imu(gravity))
        return causes.likeliest()

    def _name_imu_fault(self, stamp: int, cause: tuple[str, str] | None) -> None:
        """Say what is wrong with an IMU that is left out already."""
        tracker = self._tracker
        if cause is not None and cause[0] not in (tracker.imu_report.kind, *tracker.imu_report.named):
            tracker.imu_report.name(*cause)
            tracker.health.event(stamp, cause[0], f'the IMU, left out already: {cause[1]}')
