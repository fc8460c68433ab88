"""Settings of the node ``identification`` in addition to those of the identification; without ROS."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pkm_description.errors import ConfigurationError
from pkm_description.ros.node_settings import FrameSettings, MachineSettings, SubscriptionSettings
from pkm_description.settings import Settings, setting

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.online.settings import OnlineSettings


@dataclass(frozen=True)
class OnlineNodeSettings(Settings):
    """Where the node ``online_identification`` saves to, and when it starts."""

    output_directory: str = setting('', 'folder for what ~/save writes; empty: ROS home')
    autostart: bool = setting(True, 'configure and activate at start')
    maximum_lag: float = setting(
        -1.0,
        'how far the node may be behind, by stamps; beyond twice as much joint states are left out [s]; 0: never; -1: '
        '0.5 with best-effort subscriptions, never with reliable ones, whose runs are to be reproduced bit by bit',
        -1.0,
        60.0,
    )


@dataclass(frozen=True)
class IdentificationNodeSettings(Settings):
    """What the node records, and where its results go."""

    output_directory: str = setting('', 'folder for report, overlay and numbers; empty: ROS home')
    longest_recording: float = setting(600.0, 'longer recordings are cut [s]', 1.0, 1e5)
    excitation: tuple[float, ...] = setting(
        [0.0, 0.0], 'seconds from the first joint state to record for identification; 0, 0: what the services ask for',
        0.0, 1e5,
    )
    validation: tuple[float, ...] = setting([0.0, 0.0], 'seconds to record for validation; 0, 0: none', 0.0, 1e5)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('excitation', 'validation'):
            start, end = getattr(self, name)
            if (start, end) != (0.0, 0.0) and not 0.0 <= start < end:
                raise ConfigurationError(f'{name} = [{start:g}, {end:g}]: expected two seconds, the first one smaller')
        if self.windows.keys() == {'validation'}:
            raise ConfigurationError(f'validation = {list(self.validation)} needs excitation')

    @property
    def windows(self) -> dict[str, tuple[float, float]]:
        """First and last second of the recordings that need no service, by what they are for."""
        given = {'identification': self.excitation, 'validation': self.validation}
        return {role: (start, end) for role, (start, end) in given.items() if end > 0.0}


def output_directory(text: str) -> Path:
    """Folder from the parameter; ROS home when empty."""
    if text:
        return Path(text).expanduser()
    return Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser() / 'pkm_identification'


def load_config(path: str | Path) -> IdentificationConfig:
    """Read the settings of an identification from a YAML file: names and values, or the node's parameter file.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or has an unknown name or a value that is not allowed.
    """
    of_the_node = (MachineSettings, FrameSettings, SubscriptionSettings, IdentificationNodeSettings)
    return IdentificationConfig.from_file(path, 'identification', of_the_node)


def load_online_settings(path: str | Path) -> OnlineSettings:
    """Read the settings of ``online_identification`` from a YAML file; raises like :func:`load_config`."""
    of_the_node = (MachineSettings, FrameSettings, SubscriptionSettings, OnlineNodeSettings)
    return OnlineSettings.from_file(path, 'online_identification', of_the_node)
