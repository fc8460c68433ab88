"""Node ``baseline``: pose and velocity from leg lengths alone, without an IMU."""

from __future__ import annotations

from nav_msgs.msg import Odometry
from pkm_description.joint_states import JointReading
from pkm_description.ros.node_main import run_node
from pkm_description.ros.serialized import read_joint_state
from sensor_msgs.msg import JointState

from pkm_estimation.exchange.health import HealthReport
from pkm_estimation.nodes.estimator import UNKNOWN
from pkm_estimation.nodes.stream_node import StreamNode
from pkm_estimation.stream import BaselinePipeline
from pkm_estimation.stream.verdict import baseline_values, summarise_baseline

#: the settings that count without a filter
SETTINGS = (
    'differentiator_time_constant', 'differentiator_damping', 'reference_point', 'maximum_leg_gap', 'clock_jump',
)  # fmt: skip


class BaselineNode(StreamNode):
    """Lifecycle node around one :class:`BaselinePipeline`."""

    def __init__(self) -> None:
        super().__init__('baseline', SETTINGS)
        self.start()

    def make_pipeline(self) -> BaselinePipeline:
        """Make the pipeline."""
        self.pipeline = BaselinePipeline(self.machine, self.config)
        return self.pipeline

    def make_topics(self) -> None:
        """Make its topics."""
        self._odometry = self.own_publisher(Odometry, 'platform/baseline/odometry')
        self.subscribe('legs', JointState, self.machine.driver.joint_topic, read_joint_state, self._take_joint_state)

    def _take_joint_state(self, sample: JointReading) -> None:
        output = self.pipeline.add_joint_positions(sample.stamp, sample.names, sample.positions)
        if output is not None:
            self.publish_odometry(self._odometry, sample.stamp, output.estimate, UNKNOWN)

    def statuses(self, report: HealthReport) -> tuple[str, str, str, dict[str, object]]:
        """Rates and counters."""
        lag = self.config.differentiator_damping * self.config.differentiator_time_constant
        return 'baseline', *summarise_baseline(report), baseline_values(report) | {'velocity lag [s]': lag}


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(BaselineNode, args)


if __name__ == '__main__':
    raise SystemExit(main())
