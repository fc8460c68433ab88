"""The class ``Driver``: all that is foreign about a machine's driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pkm_description.arrays import Array
from pkm_description.driver.effort import CommandConversion, EffortConversion
from pkm_description.driver.imu import STANDARD_IMU, ImuConversion
from pkm_description.driver.position import PositionConversion
from pkm_description.errors import ConfigurationError

#: topics of the suite
JOINT_TOPIC, IMU_TOPIC, COMMAND_TOPIC = 'joint_states', 'imu/data_raw', 'leg_effort_controller/commands'


@dataclass(frozen=True, eq=False)
class Driver:
    """What the driver of a machine publishes and takes; ``None`` where it follows the suite's convention.

    The suite's convention: joints are called as in the machine file; SI units; joint positions count from the zero of
    the machine file, along its axis; efforts are forces or torques of the drives along the same axis.

    Attributes
    ----------
    joint_names : (A) the driver's names, by drive; empty: those of the machine
    order : (A) drives in the order of the driver's own list; empty: that of the machine
    ignore : names (with ``*`` and ``?``) of entries that belong to something else, e.g. a gripper
    joint_topic, imu_topic : where the driver publishes; without a leading ``/`` in the namespace of the robot
    command_topic : where the driver takes forces or currents
    position, effort, command : see the classes
    imu : see the class
    columns : column of a CSV recording -> the suite's name of the column
    path : file that says all this
    """

    joint_names: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    ignore: tuple[str, ...] = ()
    joint_topic: str = JOINT_TOPIC
    imu_topic: str = IMU_TOPIC
    command_topic: str = COMMAND_TOPIC
    position: PositionConversion | None = None
    effort: EffortConversion | None = None
    command: CommandConversion | None = None
    imu: ImuConversion = STANDARD_IMU
    columns: dict[str, str] = field(default_factory=dict)
    path: Path | None = None

    @property
    def converts_joints(self) -> bool:
        """Whether names or values of joint states are not the suite's."""
        return bool(self.joint_names or self.ignore) or self.position is not None or self.effort is not None

    @property
    def is_standard(self) -> bool:
        """Whether the driver follows the suite's convention in all, its topics too."""
        topics = (self.joint_topic, self.imu_topic, self.command_topic)
        usual = topics == (JOINT_TOPIC, IMU_TOPIC, COMMAND_TOPIC)
        return usual and not self.converts_joints and self.imu.is_standard and self.command is None

    def topic(self, standard: str) -> str:
        """Topic of the driver that carries what the suite has on its topic ``standard``; others stay."""
        return {JOINT_TOPIC: self.joint_topic, IMU_TOPIC: self.imu_topic}.get(standard, standard)

    def require_command(self) -> None:
        """Raise :class:`ConfigurationError` if nothing says what the driver takes."""
        if self.command is None and self.effort is not None:
            raise ConfigurationError(
                f'{self.path}: driver.effort is a {self.effort.quantity.replace("_", " ")}, and nothing says what the '
                'driver takes: add driver.command, e.g. command: {quantity: force}'
            )

    def command_of_forces(self, forces: Array) -> Array:
        """What the driver takes (..., A) for forces (..., A) by drive [N or N m]: its unit, its order."""
        return forces if self.command is None else self.command.command(forces)

    def forces_of_command(self, command: Sequence[float]) -> Sequence[float]:
        """Forces (A,) by drive [N or N m] of a command (A,); as it is where its length is wrong."""
        if self.command is None or len(command) != len(self.order):
            return command
        forces: list[float] = self.command.forces(np.asarray(command, dtype=float)).tolist()
        return forces

    def with_topics(self, joint_topic: str = '', imu_topic: str = '') -> Driver:
        """Same driver on other topics; empty: its own."""
        if not (joint_topic or imu_topic):
            return self
        return replace(self, joint_topic=joint_topic or self.joint_topic, imu_topic=imu_topic or self.imu_topic)


STANDARD_DRIVER = Driver()
