"""Platform pose and drive forces from joint states of sensors, simulator or estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pkm_description.arrays import Array
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics import PoseSolver
from pkm_description.kinematics.pose_solver import FoundPose
from pkm_description.machine import Machine


@dataclass(frozen=True)
class JointReading:
    """Where a machine is, and with what its drives push.

    Attributes
    ----------
    joint_positions : (J,) rad or m, passive ones too
    position, rotation_base_platform : (3,) m, (3, 3); None on open chains
    twist_per_drive : (6, A), of the platform per rate of the drives; None on open chains
    efforts : of the joints asked for [N, N m], NaN where not measured
    """

    joint_positions: Array
    position: Array | None
    rotation_base_platform: Array | None
    twist_per_drive: Array | None
    efforts: Array


class JointReader:
    """Completes joint states: the drives are enough, the loops are closed from the configuration before.

    Parameters
    ----------
    machine : any machine
    effort_joints : whose efforts are read
    """

    def __init__(self, machine: Machine, effort_joints: Sequence[str]) -> None:
        if machine.has_platform and tuple(effort_joints) == machine.actuated_joint_names:
            self._positions = self._efforts = JointStateReader.of_drives(machine)
        else:
            needed = machine.actuated_joint_names if machine.has_platform else machine.joint_names
            self._positions, self._efforts = JointStateReader(needed), JointStateReader(effort_joints)
        self._solver = PoseSolver(machine, 1e-9, 30) if machine.has_platform else None
        self._last: FoundPose | None = None

    def read(
        self, names: Sequence[str], positions: Sequence[float] | Array, efforts: Sequence[float] | Array
    ) -> JointReading:
        """Read one joint state; joints of other devices in it do not matter.

        Raises
        ------
        JointStateError
            A driven joint (open chains: any joint) is missing, named twice or not finite.
        KinematicsError
            The loops cannot be closed.
        """
        drives = self._positions.order(names).complete(positions)
        forces = self._efforts.order(names).by_joint_or_nan(efforts)
        if self._solver is None:
            return JointReading(drives, None, None, None, forces)
        # near the configuration before; after a jump, or on a wrong branch, from home
        found = self._last = self._solver.solve(drives, self._last)
        return JointReading(found.joint_positions, found.position, found.rotation, found.inverse_jacobian, forces)
