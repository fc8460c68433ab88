"""All joints of a machine with loops from a joint state that has its drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.machine import Machine
from pkm_description.viewing.joint_reading import JointReader


@dataclass(frozen=True)
class WholeState:
    """A closed machine.

    Attributes
    ----------
    names : of all joints
    positions, velocities : rad, m and their rates; no velocities where those of the drives are not known
    platform : its link name
    pose : (3,) m and (3, 3) of the platform in ``base_link``
    """

    names: tuple[str, ...]
    positions: list[float]
    velocities: list[float]
    platform: str
    pose: tuple[Array, Array]


class CompletedJoints:
    """Closes the loops of one machine, each time from the configuration before.

    Parameters
    ----------
    machine : with a platform
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reader = JointReader(machine, machine.actuated_joint_names)
        self._speeds = JointStateReader(machine.actuated_joint_names)
        self._passive = frozenset(machine.passive_joint_names)
        self._driven = frozenset(machine.actuated_joint_names)

    def lacks(self, names: Sequence[str]) -> bool:
        """Whether a joint state has all drives and not all passive joints."""
        present = set(names)
        return self._driven <= present and not self._passive <= present

    def of(self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]) -> WholeState:
        """Complete one joint state.

        Raises
        ------
        JointStateError
            A driven joint is named twice or not finite.
        KinematicsError
            The loops cannot be closed.
        """
        machine = self._machine
        reading = self._reader.read(names, positions, [])
        assert reading.position is not None
        assert reading.rotation_base_platform is not None
        rates: list[float] = []
        drives = self._speeds.order(names).by_joint_or_nan(velocities)
        if np.isfinite(drives).all():
            pose = reading.position[None], reading.rotation_base_platform[None]
            legs = close_legs(machine, *pose, reading.joint_positions[None])
            rates = (legs.joint_map[0] @ (twist_per_drive(legs)[0] @ drives)).tolist()
        return WholeState(
            machine.joint_names, reading.joint_positions.tolist(), rates, machine.platform.name,
            (reading.position, reading.rotation_base_platform),
        )  # fmt: skip
