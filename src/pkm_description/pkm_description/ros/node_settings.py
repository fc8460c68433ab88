"""Settings that several nodes share; no ROS, so that programs can read the nodes' parameter files."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.settings import Settings, setting


@dataclass(frozen=True)
class MachineSettings(Settings):
    """Which machine a node works on."""

    machine: str = setting('srs', 'name of a machine of pkm_description')
    machine_file: str = setting('', 'path of a machine file; replaces the name')
    overlay: str = setting('', 'path of a parameter overlay, e.g. from an identification')
    driver: str = setting('', "path of a driver's settings file; empty: as the machine file says; standard: none")
    joint_topic: str = setting('', 'topic of the joint states; empty: that of the driver')
    imu_topic: str = setting('', 'topic of the raw IMU; empty: that of the driver')


@dataclass(frozen=True)
class FrameSettings(Settings):
    """How a node names frames."""

    frame_prefix: str = setting(
        '', 'put before every frame id, e.g. left/ (rviz needs the slash): several robots, one tf tree'
    )


@dataclass(frozen=True)
class SubscriptionSettings(Settings):
    """How a node subscribes to sensor streams."""

    reliability: str = setting(
        'best_effort',
        "of the sensor subscriptions; 'best_effort' connects to every driver, 'reliable' loses no sample",
        choices=('best_effort', 'reliable'),
    )
