"""Trials of an IMU that is left out: the filter that uses it runs beside the legs alone until it is believed again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.stream.imu_judge import ImuJudge, ImuSuspectError
from pkm_estimation.stream.messages import LegMeasurement, LegSample
from pkm_estimation.stream.mode_doubt import legs_correction
from pkm_estimation.stream.samples import ImuSample, InputPath, Instant, seconds


class ImuTrialTracker(ImuJudge):
    """Tries the IMU, and takes it back."""

    def _try_imu(
        self, measurement: LegMeasurement, path: InputPath, used: NDArray[np.intp], is_bad: bool
    ) -> Innovation | None:
        """Let the filter with the IMU run beside; its innovation if it is believed from now on."""
        fault, sample, due = self.imu_fault, measurement.sample, path.end.instant
        if fault.trial is None:
            if self.imu_watch.touching(due, Instant(due.epoch, due.stamp + 1)) is None:
                self._begin_trial(path.end)
            return None
        if is_bad:
            self._end_trial()
            return None
        limit = self.leg_gate.limit_of(len(used))
        try:
            innovation = self._advance_trial(sample, path, used, limit)
            self._check_plausible()
        except (CovarianceError, ImuSuspectError):
            self._end_trial()
            return None
        if innovation is None or innovation.nis > limit:
            self._end_trial()
            return None
        if not fault.has_passed(due, innovation, len(used)):
            return None
        if not fault.agrees:
            self._end_trial()
            return None
        self._take_imu_back(measurement)
        return innovation

    def _advance_trial(
        self, sample: LegSample, path: InputPath, used: NDArray[np.intp], limit: float
    ) -> Innovation | None:
        """Predict and correct the filter that is tried; ``None`` where the mode is in doubt and nothing fits."""
        filter_, doubt = self.filter, self.doubt

        def along() -> None:
            filter_.observe_leg_stamp(path.end.instant.stamp)
            self._predict_filter_along(path)

        self._differentiate_along(path)
        if doubt.is_open:
            doubt.predict(filter_, along)
        else:
            along()
            if not doubt.begins(filter_):
                return filter_.update(sample.positions, used, limit)
        return doubt.correct(
            filter_, lambda: legs_correction(filter_, sample.positions, used, doubt.noise_scale), limit,
            lambda: self.side.holds(filter_),
        )  # fmt: skip

    def _begin_trial(self, now: ImuSample) -> None:
        if self.filter.record is not None:
            self.filter.record.pause()
        parts, alone = [], self.alone
        best = alone.filter.snapshot()
        for part in self.alone_doubt.parts:
            alone.filter.restore(part.snapshot)
            alone.hand_over(self.filter)
            parts.append(part._replace(snapshot=self.filter.snapshot()))
        alone.filter.restore(best)
        alone.hand_over(self.filter)
        if parts:
            self.doubt.take(parts, self.alone_doubt.cause)
        else:
            self.doubt.end()
        self.since = now.instant
        self.angular_acceleration.reset()
        self.imu_fault.begin_trial(now.instant)

    def _take_imu_back(self, measurement: LegMeasurement) -> None:
        began, instant = self.imu_fault.began, measurement.instant
        self.imu_fault.end(instant)
        if self.alone_doubt.is_open and not self.doubt.is_open:
            self._end_doubt(instant.stamp)
        self.alone_doubt.end()
        self.health.mode_doubt = self.doubt.description if self.doubt.is_open else ''
        self.leg_gate.started()
        self.leg_gate.confirm_start()
        self.noise.started()
        self.lost_samples, self.health.left_out = 0, {}
        out = f', left out for {seconds(began, instant):.3g} s' if began and began.epoch == instant.epoch else ''
        self.health.event(instant.stamp, 'imu_returned', f'the IMU agrees with the legs again{out}')

    def _end_trial(self) -> None:
        """The IMU is not tried any more, or not believed."""
        self.imu_fault.trial = None
        self.doubt.end()
