"""All joints of a machine with loops from a joint state that has its drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.machine import Machine
from pkm_description.viewing.joint_reading import JointReader


@dataclass(frozen=True)
class WholeState:
    """A closed machine.

    Attributes
    ----------
    positions, velocities : (J,) rad, m and their rates; no velocities where those of the drives are not known
    pose : (3,) m and (3, 3) of the platform in ``base_link``
    """

    positions: Array
    velocities: Array | None
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

    def of(self, names: Sequence[str], positions: Array, velocities: Array) -> WholeState:
        """Complete one joint state.

        Raises
        ------
        JointStateError
            A driven joint is named twice or not finite.
        KinematicsError
            The loops cannot be closed.
        """
        reading = self._reader.read(names, positions, [])
        position, rotation, twists = reading.position, reading.rotation_base_platform, reading.twist_per_drive
        assert position is not None
        assert rotation is not None
        assert twists is not None
        rates = None
        drives = self._speeds.order(names).by_joint_or_nan(velocities)
        if np.isfinite(drives).all():
            legs = close_legs(self._machine, position[None], rotation[None], reading.joint_positions[None])
            rates = legs.joint_map[0] @ (twists @ drives)
        return WholeState(reading.joint_positions, rates, (position, rotation))
