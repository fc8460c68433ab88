"""Which side of the base plane the platform is on, and whether a pose is singular."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import length_jacobian
from pkm_description.machine import Machine, Pose

from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.models import POSITION

#: ns between two checks of the pose: a platform takes longer to pass a singular pose
_WATCH_INTERVAL = 100_000_000


class AssemblySide:
    """Checks for the home assembly mode: side of the base plane, and sign of the length Jacobian's determinant.

    Only hexapods with struts have a mirror assembly mode there; for all other machines every pose is accepted.

    Attributes
    ----------
    height : m, above which the platform is on the home side
    """

    def __init__(self, machine: Machine) -> None:
        self._struts = machine.is_strut_hexapod
        self._chart: Array | None = None
        self._normal_in_chart: Array = np.zeros(0)
        self._normal, self.height = np.zeros(3), -inf
        self._machine = machine
        if self._struts:
            centre = machine.base_points.mean(axis=0)
            normal = np.linalg.svd(machine.base_points - centre)[2][-1]
            self._normal = normal * np.sign(normal @ (machine.home.position - centre))
            self.height = float(self._normal @ centre)
            at_home = length_jacobian(machine, machine.home.position, machine.home.rotation_base_platform)
            self._sign = float(np.sign(np.linalg.det(at_home)))

    def holds(self, filter_: PlatformFilter) -> bool:
        """Whether the filter's position is on the home side; fast enough for every measurement."""
        return bool(self.normal(filter_).dot(filter_.ukf.state) > self.height)

    def normal(self, filter_: PlatformFilter) -> Array:
        """What gives the filter's height (n,): the product with its state."""
        if filter_.chart is not self._chart:
            self._chart = filter_.chart
            self._normal_in_chart = np.zeros(filter_.layout.size)
            self._normal_in_chart[POSITION] = self._normal @ filter_.chart
        return self._normal_in_chart

    def is_home_side(self, position: Array) -> bool:
        """Whether a point (3,) of the platform lies on the side of the base where the machine was built (S3-34)."""
        return not self._struts or bool(position @ self._normal > self.height)

    def is_home_mode(self, position: Array, rotation_base_platform: Array) -> bool:
        """Whether a pose (3,), (3, 3) can be reached from home without passing a singular one; necessary only."""
        if not self._struts:
            return True
        return self.is_reached(position, length_jacobian(self._machine, position, rotation_base_platform))

    def is_reached(self, position: Array, jacobian: Array) -> bool:
        """As :meth:`is_home_mode`, from a position (3,) and the length Jacobian (6, 6) of a hexapod with struts."""
        return self.is_home_side(position) and bool(np.sign(np.linalg.det(jacobian)) == self._sign)


class Look(NamedTuple):
    """What a look at the pose gave.

    Attributes
    ----------
    pose : of the platform, where it is known; ``None``: it was not looked at
    trouble : name and detail of an event
    """

    pose: Pose | None = None
    trouble: tuple[str, str] | None = None


class PoseWatch:
    """Looks at the pose of the estimate ten times a second; of a hexapod with struts also at the length Jacobian.

    Parameters
    ----------
    machine, side : the machine and its home assembly mode
    maximum_condition : of the length Jacobian in m and rad

    Attributes
    ----------
    interval : ns between two looks
    """

    def __init__(self, machine: Machine, side: AssemblySide, maximum_condition: float) -> None:
        self._machine, self._side, self._maximum = machine, side, maximum_condition
        self.interval = _WATCH_INTERVAL
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._looked_at: int | None = None
        self._was_singular = self._was_beyond = False

    @property
    def quiet(self) -> tuple[int, int]:
        """Stamps [ns] from which on and before which there is nothing to look at."""
        return (0, 0) if self._looked_at is None else (self._looked_at, self._looked_at + self.interval)

    def look(self, filter_: PlatformFilter, stamp: int) -> Look:
        """Look at the pose of a filter if it is time to; ``stamp`` [ns] is now."""
        if self._looked_at is None:
            self._looked_at = stamp
        if 0 <= stamp - self._looked_at < self.interval:
            return Look()
        self._looked_at = stamp
        pose = filter_.pose
        if not self._machine.is_strut_hexapod:
            return Look(pose)
        jacobian = length_jacobian(self._machine, pose.position, pose.rotation_base_platform)
        if not np.isfinite(jacobian).all():
            return Look()
        largest, *_, least = np.linalg.svd(jacobian, compute_uv=False).tolist()
        condition = largest / least if least > 0.0 else inf
        singular = condition > self._maximum
        begins, self._was_singular = singular and not self._was_singular, singular
        if singular:
            text = f'near-singular pose: condition number {condition:.3g} of the length Jacobian'
            return Look(pose, ('near_singular_pose', text) if begins else None)
        is_beyond = not self._side.is_reached(pose.position, jacobian)
        changed, self._was_beyond = is_beyond != self._was_beyond, is_beyond
        if not changed:
            return Look(pose)
        where = 'it is in another assembly mode than home' if is_beyond else 'it is in that of home again'
        return Look(pose, ('assembly_mode_changed', f'the platform has passed a singular pose: {where}'))
