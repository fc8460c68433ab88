"""Whether a singular pose lies within reach of what is known of the pose, so that one Gaussian does not describe it.

Where the legs' Jacobian loses rank two assembly modes meet: along one direction the legs' positions have a fold, and
the pose before and the one behind it have the same positions. What matters is not how singular a pose is, but whether
the fold lies within what is known. So no number of the machine is compared with a threshold: the legs' positions are
expanded along the direction of the prior in which they say least, in units of the prior's standard deviation t and of
their own noise::

    h(t) = h(0) + g t + q t^2

Where ``q`` is small against 1, the positions are linear over the prior, and a Kalman filter is right. Where it is not,
the slope ``g + 2 q t`` may vanish at some t: that is the singular pose.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import length_jacobian
from pkm_description.machine import Machine, Pose

from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.models import ATTITUDE, POSE, POSITION
from pkm_estimation.models.inertial_process import rotation_of

#: ns between two checks of the pose: a platform takes longer to pass a singular pose
_WATCH_INTERVAL = 100_000_000
_ROWS, _COLUMNS = np.ix_(POSE, POSE)
#: deviation from a straight line over one standard deviation of the prior, in those of the noise, up to which it is one
STRAIGHT = 0.05
#: standard deviations of the prior within which a singular pose matters, and the slope there [noise per standard
#: deviation of the prior] up to which it is one: the other directions in which legs move tell more than that
_REACH, _FLAT = 5.0, 3.0
#: part of the curvature at home that is taken as the greatest anywhere, and step [platform radii]
_SAFETY, _STEP = 0.1, 0.05
#: m, of a slope
_SMALL = 1e-6


class Fold(NamedTuple):
    """A direction along which the legs' positions are no straight line over the prior.

    Attributes
    ----------
    along : (n,) change of the state by one standard deviation
    curvature : deviation from a straight line over one standard deviation, in those of the noise
    """

    along: Array
    curvature: float


class SingularReach:
    """Looks for folds within what a filter of poses in a moving chart (``filter: manifold``) knows.

    Parameters
    ----------
    machine : the machine
    filter_ : any filter of the machine
    is_on : whether to look at all

    Attributes
    ----------
    weights : (n,) of the variances of the states in :attr:`largest`
    largest : m^2, sum of the weighted variances below which nothing needs to be looked at; ``inf``: never
    """

    def __init__(self, machine: Machine, filter_: PlatformFilter, is_on: bool = True) -> None:
        self.weights = np.zeros(filter_.layout.size)
        self._imu_position = machine.imu.position
        self._radius = radius = float(machine.model.radius[0]) or 1.0
        self.weights[POSITION], self.weights[ATTITUDE] = 1.0, (2.0 * radius) ** 2
        self.largest = self._least_that_bends(machine, filter_) if filter_.moves and is_on else inf

    def _least_that_bends(self, machine: Machine, filter_: PlatformFilter) -> float:
        """Variance [m^2] below which positions are straight lines, with safety."""
        scale, home = 1.0 / np.sqrt(self.weights[POSE]), machine.home
        step = _STEP * (float(machine.model.radius[0]) or 1.0)
        state = np.zeros(len(self.weights))
        state[POSITION] = home.rotation_base_platform.T @ home.position + machine.imu.position
        filter_.legs.set_chart(home.rotation_base_platform)
        directions = np.random.default_rng(0).normal(size=(30, len(POSE)))
        directions *= step * scale / np.linalg.norm(directions, axis=1, keepdims=True)
        points = np.repeat(state[None], 61, axis=0)
        points[1:31, POSE] += directions
        points[31:, POSE] -= directions
        values = _observed(filter_, points)
        filter_.legs.set_chart(filter_.chart)
        bends = np.linalg.norm(0.5 * (values[1:31] + values[31:]) - values[0], axis=1)
        most = float(np.nanmax(bends, initial=0.0)) / step**2
        return _SAFETY * STRAIGHT / most if most > 0.0 else inf

    def weakest(self, filter_: PlatformFilter, pose: Pose) -> Array:
        """Direction (6,), base axes, in which a pose moves without much that the legs see: m, and rad by the radius."""
        scale, rotation = 1.0 / np.sqrt(self.weights[POSE]), pose.rotation_base_platform
        state = np.zeros(len(self.weights))
        state[POSITION] = rotation.T @ pose.position + self._imu_position
        filter_.legs.set_chart(rotation)
        points = np.repeat(state[None], 13, axis=0)
        points[1:7, POSE] += np.diag(_SMALL * scale)
        points[7:, POSE] -= np.diag(_SMALL * scale)
        observed = _observed(filter_, points)
        filter_.legs.set_chart(filter_.chart)
        slopes = np.nan_to_num(observed[1:7] - observed[7:])
        least = scale * np.linalg.svd(slopes.T)[2][-1]
        # of the IMU's point to that of the platform's origin
        turn = 2.0 * least[3:]
        move = least[:3] - np.cross(turn, self._imu_position)
        direction = np.concatenate([rotation @ move, self._radius * (rotation @ turn)])
        return np.asarray(direction / np.linalg.norm(direction))

    def is_possible(self, filter_: PlatformFilter) -> bool:
        """Whether the pose is known so badly that a singular one may matter: fast."""
        variances = filter_.ukf.covariance.diagonal()
        if filter_.layout.imu_position is not None:
            variances = variances.copy()
            variances[POSE] = _pose_spread(filter_)[1].diagonal()
        return bool(self.weights.dot(variances) > self.largest)

    def fold(self, filter_: PlatformFilter, straight: float = STRAIGHT, noise_scale: float = 1.0) -> Fold | None:
        """The fold within reach of a filter's estimate; ``None`` where there is none, or legs are ``straight``.

        ``noise_scale`` multiplies the noise variances of the legs.
        """
        joint, spread = _pose_spread(filter_)
        values, vectors = np.linalg.eigh(spread)
        roots = np.sqrt(np.maximum(values, 1e-30))
        root = vectors * roots
        center, ahead, behind = _on_both_sides(filter_, root, noise_scale)
        slopes = 0.5 * (ahead - behind).T
        if not np.isfinite(slopes).all():
            return None
        # directions in which legs say least, and those in which least is known: one of them crosses the fold
        turned = np.linalg.svd(slopes)[2].T
        _, ahead_2, behind_2 = _on_both_sides(filter_, root @ turned, noise_scale)
        ahead, behind = np.concatenate([ahead, ahead_2]), np.concatenate([behind, behind_2])
        slope, bend = 0.5 * (ahead - behind), 0.5 * (ahead + behind) - center
        squares = np.einsum('ij,ij->i', bend, bend)
        squares[~np.isfinite(squares)] = 0.0  # the legs do not reach so far
        curvature = np.sqrt(squares)
        place = -0.5 * np.einsum('ij,ij->i', slope, bend) / np.maximum(squares, 1e-24)
        level = slope + 2.0 * place[:, None] * bend
        flat = np.sqrt(np.einsum('ij,ij->i', level, level))
        crosses = (curvature > straight) & (np.abs(place) < _REACH) & (flat < _FLAT)
        if not crosses.any():
            return None
        best = int(np.argmax(np.where(crosses, curvature, 0.0)))
        direction = np.eye(6)[best] if best < 6 else turned[:, best - 6]
        return Fold(joint @ (vectors / roots) @ direction, float(curvature[best]))


def _pose_spread(filter_: PlatformFilter) -> tuple[Array, Array]:
    """Covariance of all states with the pose, (n, 6), and that of the pose; of the point at the IMU's place so far.

    Where the IMU is on the platform may be a state: then its point is known less than the platform's pose.
    """
    covariance, place = filter_.ukf.covariance, filter_.layout.imu_position
    joint = covariance[:, POSE]
    if place is None:
        return joint, covariance[_ROWS, _COLUMNS]
    rotation = rotation_of(filter_.ukf.state[ATTITUDE])
    joint[:, :3] -= covariance[:, place] @ rotation.T
    spread = joint[POSE]
    spread[:3] -= rotation @ joint[place]
    return joint, 0.5 * (spread + spread.T)


def _on_both_sides(filter_: PlatformFilter, moves: Array, noise_scale: float) -> tuple[Array, Array, Array]:
    """What legs measure at the estimate (m,), and moved (6, m) there and back by the columns of ``moves`` (6, 6)."""
    points = np.empty((13, len(filter_.ukf.state)))
    points[:] = filter_.ukf.state
    ahead, behind, by_column = points[1:7], points[7:], moves.T
    ahead[:, POSITION] += by_column[:, :3]
    ahead[:, ATTITUDE] += by_column[:, 3:]
    behind[:, POSITION] -= by_column[:, :3]
    behind[:, ATTITUDE] -= by_column[:, 3:]
    observed = _observed(filter_, points, noise_scale)
    return observed[0], observed[1:7], observed[7:]


def _observed(filter_: PlatformFilter, points: Array, noise_scale: float = 1.0) -> Array:
    """What the legs measure (N, m) at states (N, n), in standard deviations of their noise; leaves no trace."""
    before, deviations = filter_.legs.snapshot(), np.sqrt(filter_.length_covariance.diagonal())
    deviations[: filter_.legs.drive_count] *= noise_scale**0.5
    values: Array = filter_.legs.observe(points) / deviations
    filter_.legs.restore(before)
    return values


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


class PoseWatch:
    """Looks at the pose of the estimate ten times a second; of a hexapod with struts also at the length Jacobian.

    Parameters
    ----------
    machine, side : the machine and its home assembly mode
    maximum_condition : of the length Jacobian in m and rad
    """

    def __init__(self, machine: Machine, side: AssemblySide, maximum_condition: float) -> None:
        self._machine, self._side, self._maximum = machine, side, maximum_condition
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._looked_at: int | None = None
        self._was_singular = self._was_beyond = False

    @property
    def quiet(self) -> tuple[int, int]:
        """Stamps [ns] from which on and before which there is nothing to look at."""
        return (0, 0) if self._looked_at is None else (self._looked_at, self._looked_at + _WATCH_INTERVAL)

    def look(self, filter_: PlatformFilter, stamp: int) -> tuple[Pose | None, tuple[str, str] | None]:
        """Look at the pose of a filter if it is time to; ``stamp`` [ns] is now.

        Returns
        -------
        Pose of the platform where it was looked at and is known, and name and detail of an event
        """
        if self._looked_at is None:
            self._looked_at = stamp
        if 0 <= stamp - self._looked_at < _WATCH_INTERVAL:
            return None, None
        self._looked_at = stamp
        pose = filter_.pose
        if not self._machine.is_strut_hexapod:
            return pose, None
        jacobian = length_jacobian(self._machine, pose.position, pose.rotation_base_platform)
        if not np.isfinite(jacobian).all():
            return None, None
        largest, *_, least = np.linalg.svd(jacobian, compute_uv=False).tolist()
        condition = largest / least if least > 0.0 else inf
        singular = condition > self._maximum
        begins, self._was_singular = singular and not self._was_singular, singular
        if singular:
            text = f'near-singular pose: condition number {condition:.3g} of the length Jacobian'
            return pose, ('near_singular_pose', text) if begins else None
        is_beyond = not self._side.is_reached(pose.position, jacobian)
        changed, self._was_beyond = is_beyond != self._was_beyond, is_beyond
        if not changed:
            return pose, None
        where = 'it is in another assembly mode than home' if is_beyond else 'it is in that of home again'
        return pose, ('assembly_mode_changed', f'the platform has passed a singular pose: {where}')
