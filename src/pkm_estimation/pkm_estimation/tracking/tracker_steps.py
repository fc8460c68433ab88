"""What is done with the filter, whether it uses the IMU or not: prediction, stop, output."""

from __future__ import annotations

from collections.abc import Sequence

from pkm_description.arrays import Array

from pkm_estimation.exchange.messages import LegMeasurement
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.exchange.samples import NANOSECOND, ImuSample, InputPath, Instant, seconds
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filters import Innovation
from pkm_estimation.tracking.mode_doubt import ModeDoubt
from pkm_estimation.tracking.tracker_parts import LastPoses, TrackerParts

#: standard deviations of the legs: a wrong input that moves them further is seen at the first measurement
_TOLD_AT_ONCE = 55.0
#: failures after which the last pose is as good as before
_HARMLESS = ('imu_gap', 'leg_gap', 'pose_lost')
#: standard deviation of one of two independent halves of a variance
_HALF = 0.5**0.5


class TrackerSteps(TrackerParts):
    """Steps that several ways to process a measurement share."""

    def _input_at(self, samples: Sequence[ImuSample], instant: Instant) -> Array:
        """IMU input (6,) at an instant, as the process model has it."""
        process = self.filter.process
        process.take([sample.instant.stamp for sample in samples], [sample.value for sample in samples])
        return process.input_at(seconds(samples[1].instant, instant))

    def _predict_along(self, path: InputPath) -> None:
        self._differentiate_along(path)
        self._predict_filter_along(path)

    def _differentiate_along(self, path: InputPath) -> None:
        for segment in path.segments:
            if not segment.is_empty:
                self.angular_acceleration.advance(segment)

    def _predict_filter_along(self, path: InputPath) -> None:
        jumped = self._jumped_along(path)
        if jumped is not None:  # half of it before: it moves the pose already on the way
            self.filter.widen(*jumped)
        for segment in path.segments:
            if segment.is_empty:
                continue
            around = [sample.instant.stamp for sample in segment.samples], [sample.value for sample in segment.samples]
            for begin, duration in segment.steps(self.config.maximum_step):
                self.filter.predict_between(*around, begin, duration)
        if jumped is not None:
            self.filter.widen(*jumped)

    def _jumped_along(self, path: InputPath) -> tuple[float, float] | None:
        """Standard deviations [m/s, rad] of half of what jumps of the IMU add along a path.

        ``None`` without a jump, for the printed filter, and where the legs tell at once whether the IMU is wrong.
        """
        if not path.segments or not self.leg_gate.active:
            return None
        begin, end = path.segments[0].start.instant, path.end.instant
        jumped = self.imu_watch.jumps.between(begin, end)
        if jumped is None:
            return None
        velocity, angle = jumped
        moved = velocity * seconds(begin, end) + angle * max(self.filter.geometry.radius, 1e-3)
        if moved > _TOLD_AT_ONCE * self.filter.length_covariance.diagonal().max() ** 0.5:
            return None
        return _HALF * velocity, _HALF * angle

    def _look_at_pose(self, stamp: int, filter_: PlatformFilter | None = None) -> None:
        """Look at the pose, if it is time to."""
        looked_at = self.pose_watch.look(filter_ or self.filter, stamp)
        if looked_at.pose is not None:
            self.last_poses = LastPoses(stamp, (looked_at.pose,), self.last_poses.doubted)
        if looked_at.trouble:
            name, _ = looked_at.trouble
            self.health.event(stamp, *looked_at.trouble)
            if name == 'assembly_mode_changed':
                self._doubt_last_pose(stamp)

    def _remember(self, stamp: int, doubt: ModeDoubt) -> None:
        """A start looks near all poses that are possible."""
        self.last_poses = LastPoses(stamp, doubt.poses(self.machine.imu.position), stamp)

    def _stop(self) -> None:
        for doubt in (self.doubt, self.alone_doubt):
            if doubt.is_open and self.now is not None:
                self._remember(self.now.instant.stamp, doubt)
            doubt.end()
        self.now = self.since = None
        self.angular_acceleration.reset()
        self.lost_samples = 0
        self.health.left_out, self.health.mode_doubt = {}, ''

    def _fail(self, stamp: int, reason: str, detail: str) -> None:
        self.health.event(stamp, reason, f'{detail}: restarting the filter')
        if reason not in _HARMLESS:
            self._doubt_last_pose(stamp)
        self._stop()

    def _doubt_last_pose(self, stamp: int) -> None:
        """What came since may have made it, too: another assembly mode than that near it may be the right one."""
        self.last_poses = self.last_poses._replace(doubted=stamp)

    def _output(
        self, measurement: LegMeasurement, imu: Array, innovation: Innovation | None, started: bool
    ) -> EstimatorOutput:
        instant, sample, is_open = measurement.instant, measurement.sample, self.doubt.is_open
        baseline = self.baseline.estimate(instant, sample) if self.baseline_wanted else None
        if self.filter.record is not None:
            can_be_smoothed = not is_open and self.filter.can_be_smoothed
            (self.filter.record.go_on if can_be_smoothed else self.filter.record.pause)()
        assert self.now is not None
        jumped = self.imu_watch.jumps.at(self.now.instant) if self.leg_gate.active else None
        last = self.continuity.last
        since = 0.0 if jumped is None or last is None else NANOSECOND * (instant.stamp - last[0])
        known = self.filter.known(imu, jumped, min(since, self.config.maximum_imu_gap))
        return EstimatorOutput(
            instant, started, self.doubt.known(known, self.filter.ukf.claim) if is_open else known, self.output_model,
            innovation,
            self.angular_acceleration.raw(), sample.positions, sample.efforts, baseline, 1e-9 * self.delay.nanoseconds,
            mode_unknown=is_open,
        )  # fmt: skip
