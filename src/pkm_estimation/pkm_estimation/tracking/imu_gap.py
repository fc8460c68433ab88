"""Gaps of the IMU's samples: estimates go on by the legs alone, then with the IMU again and the biases it had.

What is done at a measurement inside a gap does not depend on when the gap ends, so that estimates are the same whether
the end is known already, in a recording, or not, live.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from pkm_estimation.exchange.messages import LegMeasurement
from pkm_estimation.exchange.samples import ImuSample, InputPath, Instant, seconds, take_input
from pkm_estimation.filters import CovarianceError
from pkm_estimation.models import BIASES
from pkm_estimation.tracking.legs_alone_tracker import LegsAloneTracker

#: kind of failure, and name of the event
IMU_GAP = 'imu_gap'


def last_before_gap(samples: Iterable[ImuSample], now: Instant, due: Instant, maximum_gap: float) -> ImuSample | None:
    """Sample after which none came for more than ``maximum_gap`` s, in a gap that touches the time from now to due.

    ``None`` where there is no such gap. After the last sample there is one: whoever asks has waited for long enough.
    """
    last = None
    for sample in samples:
        if sample.instant.epoch != due.epoch:
            last = None
            continue
        if last is not None and sample.instant > now and seconds(last.instant, sample.instant) > maximum_gap:
            return last
        if sample.instant >= due:
            return None
        last = sample
    return last


class ImuGapTracker(LegsAloneTracker):
    """Enters and leaves gaps.

    Attributes
    ----------
    may_bridge : False where a gap is to start the filter anew
    """

    may_bridge = True

    @property
    def bridges_gaps(self) -> bool:
        """Whether a gap of the IMU's samples is bridged; with a history they may still come."""
        return self.may_bridge and self.may_leave_out_imu and self.config.history <= 0.0

    def _bridge(self, stamp: int, due: Instant, queue: deque[ImuSample]) -> InputPath | None:
        """Path without input to a measurement whose time since the last one touches a gap; ``None`` outside of gaps."""
        now, fault, longest = self.now, self.imu_fault, self.config.maximum_imu_gap
        was_in_gap = fault.is_on and fault.kind == IMU_GAP
        if not self.bridges_gaps:
            return None
        if now is None or due.epoch != now.instant.epoch or seconds(now.instant, due) > self.config.maximum_leg_gap:
            if was_in_gap:  # whatever starts next starts with the IMU
                fault.end(due)
            return None
        last = last_before_gap(queue, now.instant, due, longest)
        if last is None and not was_in_gap:
            return None
        if last is not None and not fault.is_on and not self._enter_gap(stamp, last, queue):
            return None
        found = take_input(queue, None, None, due, longest, self._input_at)
        if isinstance(found, InputPath):
            return InputPath([], found.end, in_gap=True, gap_ends=True)
        return InputPath([], ImuSample(due, now.value), in_gap=True)

    def _enter_gap(self, stamp: int, last: ImuSample, queue: deque[ImuSample]) -> bool:
        """Predict up to the last sample, and leave the IMU out from there on; False if the filter was stopped."""
        assert self.now is not None
        if self.now.instant < last.instant:
            path = take_input(queue, self.now, self.since, last.instant, self.config.maximum_imu_gap, self._input_at)
            assert isinstance(path, InputPath)
            try:
                self._predict_along(path)
            except CovarianceError as error:
                self._fail(stamp, 'covariance_lost', str(error))
                return False
            self.now = path.end
        longest = self.config.maximum_imu_gap
        detail = f'no samples for more than {longest:g} s'
        self._go_on_without(self.now.value)
        self.imu_fault.begin(self.now.instant, IMU_GAP, detail)
        self.health.event(stamp, IMU_GAP, f'{detail}; until they come again, estimates are by the legs alone')
        return True

    def _after_gap(self, measurement: LegMeasurement, path: InputPath) -> None:
        """Use the IMU again from a measurement on, if its samples have come again."""
        fault = self.imu_fault
        self._end_trial()  # without samples there is nothing to try
        if not path.gap_ends or fault.kind != IMU_GAP:
            return
        began, instant, filter_ = fault.began, measurement.instant, self.filter
        assert began is not None
        # the IMU was not wrong: what was known of its biases still is, but for what they walked meanwhile
        biases, covariance = filter_.ukf.state[BIASES].copy(), filter_.covariance[BIASES, BIASES].copy()
        duration = seconds(began, path.end.instant)
        if filter_.walk is not None:
            covariance += np.diag(duration * filter_.walk[BIASES])
        self._begin_trial(path.end)  # hands the motion over, in all modes that are possible
        parts, best = [], filter_.snapshot()
        for part in self.doubt.parts:
            filter_.restore(part.snapshot)
            filter_.ukf.state[BIASES], filter_.covariance[BIASES, BIASES] = biases, covariance
            parts.append(part._replace(snapshot=filter_.snapshot()))
        filter_.restore(best)
        filter_.ukf.state[BIASES], filter_.covariance[BIASES, BIASES] = biases, covariance
        if parts:
            self.doubt.take(parts, self.alone_doubt.cause)
        self.alone_doubt.end()
        self.health.mode_doubt = self.doubt.description if self.doubt.is_open else ''
        self.lost_samples, self.health.left_out = 0, {}
        fault.end(instant)
        self.health.event(instant.stamp, 'imu_returned', f'samples of the IMU come again after {duration:.3g} s')
