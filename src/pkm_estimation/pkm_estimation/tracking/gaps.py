"""The IMU's input up to a measurement, and gaps of its samples: estimates go on by the legs alone meanwhile."""

from __future__ import annotations

from collections import deque

import numpy as np

from pkm_estimation.exchange.samples import ImuSample, InputPath, Instant, seconds, take_input
from pkm_estimation.filters import CovarianceError
from pkm_estimation.models import BIASES
from pkm_estimation.tracking.births import Births
from pkm_estimation.tracking.step import Step
from pkm_estimation.tracking.tracker_state import IMU_GAP, TrackerParts


class Paths:
    """Finds the way to a measurement for a tracker.

    Parameters
    ----------
    tracker : filters, bank and all other parts
    step, births : predict hypotheses, and bear those without the IMU

    Attributes
    ----------
    may_bridge : False where a gap of the IMU's samples is to start the filter anew
    """

    def __init__(self, tracker: TrackerParts, step: Step, births: Births) -> None:
        self._tracker, self._step, self._births, self.may_bridge = tracker, step, births, True

    @property
    def bridges_gaps(self) -> bool:
        """Whether a gap of the IMU's samples is bridged; with a history they may still come."""
        tracker = self._tracker
        return self.may_bridge and tracker.may_leave_out_imu and tracker.config.history <= 0.0

    def path(self, instant: Instant, queue: deque[ImuSample]) -> InputPath | None:
        """IMU input up to a measurement; after a gap or clock reset the filter is stopped."""
        tracker = self._tracker
        due = tracker.due(instant)
        if tracker.now is not None and due < tracker.now.instant and due.epoch == tracker.now.instant.epoch:
            detail = 'the IMU delay became shorter, the filter is already past this stamp: rejected'
            tracker.health.event(instant.stamp, 'before_the_filter', detail)
            return None
        bridge = self._bridge(instant.stamp, due, queue)
        if bridge is not None:
            return bridge
        path = take_input(queue, tracker.now, tracker.since, due, tracker.config.maximum_imu_gap, self._step.input_at)
        if isinstance(path, str):
            tracker.health.event(instant.stamp, path, 'measurement without IMU samples around it: rejected')
            return None
        if tracker.now is not None:
            gap = path.gap_after(tracker.now.instant, tracker.config.maximum_leg_gap, tracker.config.maximum_imu_gap)
            # what the IMU lacks is no matter while it is left out
            if gap is not None and not (gap == IMU_GAP and not tracker.bank.label.uses_imu and self.bridges_gaps):
                tracker.fail(instant.stamp, gap, gap.replace('_', ' '))
        return path

    def _bridge(self, stamp: int, due: Instant, queue: deque[ImuSample]) -> InputPath | None:
        """Path without input to a measurement whose time since the last one touches a gap; ``None`` outside of gaps.

        What is done at a measurement inside a gap does not depend on when the gap ends, so that estimates are the same
        whether the end is known already, in a recording, or not, live.
        """
        tracker = self._tracker
        now, longest, was_in_gap = tracker.now, tracker.config.maximum_imu_gap, tracker.imu_report.kind == IMU_GAP
        if not self.bridges_gaps:
            return None
        if now is None or due.epoch != now.instant.epoch or seconds(now.instant, due) > tracker.config.maximum_leg_gap:
            if was_in_gap:  # whatever starts next starts with the IMU
                tracker.imu_report.end()
            return None
        last = last_before_gap(queue, now.instant, due, longest)
        if last is None and not was_in_gap:
            return None
        if last is not None and tracker.bank.label.uses_imu and not self._begin_gap(stamp, last, queue):
            return None
        found = take_input(queue, None, None, due, longest, self._step.input_at)
        if isinstance(found, InputPath):
            return InputPath([], found.end, in_gap=True, gap_ends=True)
        return InputPath([], ImuSample(due, now.value), in_gap=True)

    def _begin_gap(self, stamp: int, last: ImuSample, queue: deque[ImuSample]) -> bool:
        """Predict up to the last sample, and leave the IMU out from there on; False if the filter was stopped."""
        tracker = self._tracker
        assert tracker.now is not None
        longest, bank = tracker.config.maximum_imu_gap, tracker.bank
        bank.collect()
        try:
            if tracker.now.instant < last.instant:
                path = take_input(queue, tracker.now, tracker.since, last.instant, longest, self._step.input_at)
                assert isinstance(path, InputPath)
                predicted = self._step.predicted(bank.hypotheses, path, None)
                tracker.now = path.end
                bank.begin(predicted)
            bank.begin(self._births.without_imu(bank.hypotheses, None, 0.0, 0.0))
        except CovarianceError as error:
            tracker.fail(stamp, 'covariance_lost', str(error))
            return False
        detail = f'no samples for more than {longest:g} s'
        tracker.imu_report.begin(tracker.now.instant, IMU_GAP, detail)
        tracker.health.event(stamp, IMU_GAP, f'{detail}; until they come again, estimates are by the legs alone')
        return True

    def end_gap(self, instant: Instant, now: ImuSample) -> None:
        """Use the IMU again: it was not wrong, so what was known of its biases still is, but for what they walked."""
        tracker = self._tracker
        began, filter_, bank = tracker.imu_report.began, tracker.filter, tracker.bank
        assert began is not None
        biases, covariance = filter_.ukf.state[BIASES].copy(), filter_.covariance[BIASES, BIASES].copy()
        duration, hypotheses = seconds(began, now.instant), []
        covariance += np.diag(duration * filter_.walk[BIASES])
        bank.collect()
        for one in bank.hypotheses:
            label = self._births.label_again(one)
            tracker.alone.hand_over(filter_)
            filter_.ukf.state[BIASES], filter_.covariance[BIASES, BIASES] = biases, covariance
            hypotheses.append(bank.held(label, one.logarithm, one.moved))
        bank.begin(hypotheses)
        tracker.since, tracker.lost_samples = now.instant, 0
        tracker.angular_acceleration.reset()
        tracker.imu_report.end()
        tracker.health.event(instant.stamp, 'imu_returned', f'samples of the IMU come again after {duration:.3g} s')


def last_before_gap(
    samples: deque[ImuSample], now: Instant, due: Instant, maximum_gap: float
) -> ImuSample | None:
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
