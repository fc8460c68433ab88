"""What is done with the filter, whether it uses the IMU or not: prediction, stop, output."""

from __future__ import annotations

from pkm_description.arrays import Array

from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filters import Innovation
from pkm_estimation.stream.messages import LegMeasurement
from pkm_estimation.stream.output import EstimatorOutput
from pkm_estimation.stream.samples import InputPath
from pkm_estimation.stream.tracker_parts import TrackerParts


class TrackerSteps(TrackerParts):
    """Steps that several ways to process a measurement share."""

    def _predict_along(self, path: InputPath) -> None:
        for segment in path.segments:
            if segment.is_empty:
                continue
            self.angular_acceleration.advance(segment)
            around = [sample.instant.stamp for sample in segment.samples], [sample.value for sample in segment.samples]
            for begin, duration in segment.steps(self.config.maximum_step):
                self.filter.predict_between(*around, begin, duration)

    def _has_possible_pose(self, stamp: int, filter_: PlatformFilter | None = None) -> bool:
        """Look at the pose, if it is time to; False if the filter was stopped."""
        trouble = self.pose_watch.look(filter_ or self.filter, stamp)
        if trouble == 'wrong_assembly_mode':
            self._fail(stamp, trouble, 'the estimate has passed a singular pose')
            return False
        if trouble:
            self.health.event(stamp, 'near_singular_pose', trouble)
        return True

    def _stop(self) -> None:
        self.now = self.since = None
        self.angular_acceleration.reset()
        self.lost_samples = 0
        self.health.left_out = {}

    def _fail(self, stamp: int, reason: str, detail: str) -> None:
        self.health.event(stamp, reason, f'{detail}: restarting the filter')
        self._stop()

    def _output(
        self, measurement: LegMeasurement, imu: Array, innovation: Innovation | None, started: bool
    ) -> EstimatorOutput:
        instant, sample = measurement.instant, measurement.sample
        baseline = self.baseline.estimate(instant, sample) if self.baseline_wanted else None
        return EstimatorOutput(
            instant, started, self.filter.known(imu), self.output_model, innovation,
            self.angular_acceleration.raw(), sample.positions, sample.efforts, baseline, 1e-9 * self.delay.nanoseconds,
        )  # fmt: skip
