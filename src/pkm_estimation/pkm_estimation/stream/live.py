"""Pipeline of a running node: what waits is taken in stretches, and estimates are given one by one."""

from __future__ import annotations

from typing import cast

from pkm_estimation.filtering.point_motion import FilterStates
from pkm_estimation.stream.follower import Followed
from pkm_estimation.stream.output import EstimatorOutput, OutputBlock
from pkm_estimation.stream.stretch import AdmittedSamples, Outputs, Stretch, StretchPipeline


class LivePipeline(StretchPipeline):
    """Pipeline whose stretches give the same estimates, with efforts and baseline, as single samples do, bit by bit.

    Attributes
    ----------
    latest_only : whether of each stretch the latest estimate alone is given; the others are counted
    followed : measurements of the last stretch that went through the compiled loop
    """

    latest_only, followed = False, 0

    def add_live_stretch(self, stretch: Stretch) -> list[EstimatorOutput] | None:
        """Process samples; ``None``, and nothing is done, where they must be looked at one by one."""
        self.followed = 0
        return cast('list[EstimatorOutput] | None', self.add_stretch(stretch))

    def count_not_given(self, count: int) -> None:
        """Count estimates that are not given."""
        self.health.count('estimates_not_published', count)

    def _given(self, followed: Followed, block: OutputBlock, samples: AdmittedSamples, last: int) -> Outputs:
        count, begin = len(followed), last + 1 - len(followed)
        self.followed += count
        first = count - 1 if self.latest_only else 0
        if first:
            self.count_not_given(first)
        motions = followed.model.motion(FilterStates(*(values[first:] for values in block.known)))
        outputs: Outputs = []
        for place in range(first, count):
            measurement = samples.measurement(begin + place)
            baseline = None
            if self.baseline_wanted:
                baseline = self.tracker.baseline.estimate(measurement.instant, measurement.sample)
            output = followed.output(place, measurement.sample.efforts, baseline)
            output.motion = motions[place - first]  # for all at once: a tenth of the time
            outputs.append(output)
        return outputs
