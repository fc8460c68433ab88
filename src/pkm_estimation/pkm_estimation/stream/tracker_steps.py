"""What is done with the filter, whether it uses the IMU or not: prediction, stop, output."""

from __future__ import annotations

from collections.abc import Sequence

from pkm_description.arrays import Array

from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filters import Innovation
from pkm_estimation.stream.messages import LegMeasurement
from pkm_estimation.stream.output import EstimatorOutput
from pkm_estimation.stream.samples import ImuSample, InputPath, Instant, seconds
from pkm_estimation.stream.tracker_parts import LastPoses, TrackerParts


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
        for segment in path.segments:
            if segment.is_empty:
                continue
            around = [sample.instant.stamp for sample in segment.samples], [sample.value for sample in segment.samples]
            for begin, duration in segment.steps(self.config.maximum_step):
                self.filter.predict_between(*around, begin, duration)

    def _look_at_pose(self, stamp: int, filter_: PlatformFilter | None = None) -> None:
        """Look at the pose, if it is time to."""
        looked_at = self.pose_watch.look(filter_ or self.filter, stamp)
        if looked_at.pose is not None:
            self.last_poses = LastPoses(stamp, (looked_at.pose,), self.last_poses.doubted)
        if looked_at.trouble:
            name, _ = looked_at.trouble
            self.health.event(stamp, *looked_at.trouble)
            if name == 'assembly_mode_changed':
                self.last_poses = self.last_poses._replace(doubted=stamp)

    def _stop(self) -> None:
        self.now = self.since = None
        self.angular_acceleration.reset()
        self.lost_samples = 0
        for doubt in (self.doubt, self.alone_doubt):
            if doubt.is_open:
                self.last_poses = self.last_poses._replace(poses=doubt.poses(self.machine.imu.position))
            doubt.end()
        self.health.left_out, self.health.mode_doubt = {}, ''

    def _fail(self, stamp: int, reason: str, detail: str) -> None:
        self.health.event(stamp, reason, f'{detail}: restarting the filter')
        self._stop()

    def _output(
        self, measurement: LegMeasurement, imu: Array, innovation: Innovation | None, started: bool
    ) -> EstimatorOutput:
        instant, sample, is_open = measurement.instant, measurement.sample, self.doubt.is_open
        baseline = self.baseline.estimate(instant, sample) if self.baseline_wanted else None
        if self.filter.record is not None:
            (self.filter.record.pause if is_open else self.filter.record.go_on)()
        known = self.filter.known(imu)
        return EstimatorOutput(
            instant, started, self.doubt.known(known) if is_open else known, self.output_model, innovation,
            self.angular_acceleration.raw(), sample.positions, sample.efforts, baseline, 1e-9 * self.delay.nanoseconds,
            mode_unknown=is_open,
        )  # fmt: skip
