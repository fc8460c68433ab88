"""Settings of the nodes in addition to those of the estimator; without ROS, so that programs can use them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pkm_description.ros.node_settings import FrameSettings, MachineSettings, SubscriptionSettings
from pkm_description.settings import Settings, setting

from pkm_estimation.config import EstimatorConfig


@dataclass(frozen=True)
class StreamNodeSettings(Settings):
    """Settings of every node of this package."""

    child_frame: str = setting(
        '', 'frame at the reference point; empty: platform_link at the platform origin, reference_point elsewhere'
    )
    autostart: bool = setting(True, 'configure and activate at start')


@dataclass(frozen=True)
class EstimatorNodeSettings(Settings):
    """Settings of the node ``estimator`` about what it publishes."""

    publish_tf: bool = setting(True, 'publish base_link -> platform_link on /tf')
    view_rate: float = setting(
        100.0, 'largest rate of /tf and platform/joint_states by stamps, 0: no limit [Hz]', 0.0, 1e4
    )
    maximum_lag: float = setting(
        -1.0,
        'how far the node may be behind, by stamps, and still publish every estimate; then of each turn the latest '
        'alone, and beyond twice as much leg measurements are left out [s]; 0: never; -1: 0.5 with best-effort '
        'subscriptions, never with reliable ones, whose runs are to be reproduced bit by bit',
        -1.0,
        60.0,
    )


def load_config(path: str | Path) -> EstimatorConfig:
    """Read the settings of the estimator from a YAML file: names and values, or the node's parameter file.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or has an unknown name or a value that is not allowed.
    """
    of_the_node = (MachineSettings, FrameSettings, SubscriptionSettings, StreamNodeSettings, EstimatorNodeSettings)
    return EstimatorConfig.from_file(path, 'estimator', of_the_node)
