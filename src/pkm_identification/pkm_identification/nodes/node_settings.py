"""Settings of the node ``identification`` in addition to those of the identification; without ROS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pkm_description.ros.node_settings import FrameSettings, MachineSettings, SubscriptionSettings
from pkm_description.settings import Settings, setting

from pkm_identification.configuration import IdentificationConfig


@dataclass(frozen=True)
class IdentificationNodeSettings(Settings):
    """What the node records, and where its results go."""

    output_directory: str = setting('', 'folder for report, overlay and numbers; empty: ROS home')
    longest_recording: float = setting(600.0, 'longer recordings are cut [s]', 1.0, 1e5)


def load_config(path: str | Path) -> IdentificationConfig:
    """Read the settings of an identification from a YAML file: names and values, or the node's parameter file.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or has an unknown name or a value that is not allowed.
    """
    of_the_node = (MachineSettings, FrameSettings, SubscriptionSettings, IdentificationNodeSettings)
    return IdentificationConfig.from_file(path, 'identification', of_the_node)
