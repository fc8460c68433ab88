"""Settings of the nodes in addition to those of the estimator, and options of the programs; without ROS."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pkm_description.loading.load import add_driver_arguments
from pkm_description.program import program
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


def load_config(path: str | Path | None) -> EstimatorConfig:
    """Read the settings of the estimator from a YAML file: names and values, or the node's parameter file; or defaults.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or has an unknown name or a value that is not allowed.
    """
    if path is None:
        return EstimatorConfig()
    of_the_node = (MachineSettings, FrameSettings, SubscriptionSettings, StreamNodeSettings, EstimatorNodeSettings)
    return EstimatorConfig.from_file(path, 'estimator', of_the_node)


def add_recording_arguments(parser: argparse.ArgumentParser, config: str = '') -> None:
    """Add the options of a program that reads recordings of a machine; ``config`` explains its settings, if any."""
    parser.add_argument('--machine', default='srs', help='name of a machine or path of a machine file (default: srs)')
    parser.add_argument('--overlay', type=Path, help='parameter overlay for the machine')
    parser.add_argument('--namespace', default='', help='namespace of the recorded topics')
    add_driver_arguments(parser)
    if config:
        parser.add_argument('--config', type=Path, help=config)


def run_program(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], args: Sequence[str] | None
) -> int:
    """Run a program by its options; returns its exit code, or 1 after an error, which is told in one line."""
    return program(lambda arguments: run(parser.parse_args(arguments)))(args)


def say(line: str) -> None:
    """Tell how far a program is."""
    print(f'  {line}', file=sys.stderr, flush=True)
