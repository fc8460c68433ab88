"""Measurements while the assembly mode is in doubt: all poses that are possible are followed side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions, forward_kinematics, measured_tolerance
from pkm_description.kinematics.closed_legs import admissible_home, close_legs
from pkm_description.kinematics.drive_map import reduced_jacobian
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, Pose
from scipy.special import chdtri

from pkm_estimation.exchange.messages import LegMeasurement, LegSample
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.exchange.samples import InputPath
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.tracking.mode_doubt import ModeDoubt, legs_correction
from pkm_estimation.tracking.tracker_steps import TrackerSteps

#: probability of a contradiction by noise alone
_UNLIKELY = 1e-3
#: m and rad, poses nearer to each other than this are one
_SAME = 1e-6
#: ns for which a last pose is new, after which one that was in doubt is not any more, and after which it is forgotten
_NEW, _SETTLED, _FORGOTTEN = 500_000_000, 2_000_000_000, 60_000_000_000
#: part of the distance to another mode's pose that the platform is taken to move meanwhile at most, in a short time
#: and in a long one
_NEAR, _VERY_NEAR = 0.2, 0.02
#: how far from the last pose others are looked for, in the distance that it has moved at least
_STEPS, _AROUND, _FARTHEST = (0.5, 1.0, 2.0, 4.0), 12, 3.0


class DoubtfulTracker(TrackerSteps):
    """Follows several assembly modes, and says that it does."""

    def _begins_doubt(self, stamp: int, doubt: ModeDoubt, filter_: PlatformFilter) -> bool:
        """Whether a filter that was predicted to a measurement may be on either side of a singular pose from now on."""
        if not doubt.begins(filter_):
            return False
        self._tell_doubt(stamp, doubt)
        return True

    def _tell_doubt(self, stamp: int, doubt: ModeDoubt) -> None:
        self.health.event(stamp, 'assembly_mode_unknown', doubt.description)
        if self.filter.record is not None:
            self.filter.record.pause()

    def _correct_in_doubt(
        self, measurement: LegMeasurement, doubt: ModeDoubt, filter_: PlatformFilter, used: NDArray[np.intp]
    ) -> Innovation | None:
        """Correct all parts of a doubt, which may end it; ``None`` where the measurement fits none of them.

        Raises CovarianceError where nothing fits any more.
        """
        stamp, sample = measurement.instant.stamp, measurement.sample
        innovation = doubt.correct(
            filter_, lambda: legs_correction(filter_, sample.positions, used, doubt.noise_scale),
            self.leg_gate.limit_of(len(used)), lambda: self.side.holds(filter_),
        )  # fmt: skip
        if innovation is None:
            self.health.event(stamp, 'legs_fit_no_mode', 'the positions fit none of the possible poses: left out')
            if doubt.is_lost:
                doubt.end()
                raise CovarianceError('the legs fit none of the possible poses for long')
        if doubt.is_vague and len(used) == self.machine.actuated_count:
            raise CovarianceError('more poses are possible than can be followed')
        if not doubt.is_open:
            self._end_doubt(stamp)
        self.health.mode_doubt = doubt.description if doubt.is_open else ''
        return innovation

    def _end_doubt(self, stamp: int) -> None:
        self._doubt_last_pose(stamp)
        self.health.event(stamp, 'assembly_mode_decided', 'IMU and legs fit one of the possible poses only')
        self.leg_gate.started()
        self.leg_gate.confirm_start()

    def _process_in_doubt(self, measurement: LegMeasurement, path: InputPath, predict: bool) -> EstimatorOutput | None:
        """Estimate at a measurement while the mode is in doubt; ``None`` if the filter was stopped."""
        stamp, sample, filter_, doubt = measurement.instant.stamp, measurement.sample, self.filter, self.doubt

        def along() -> None:
            filter_.observe_leg_stamp(path.end.instant.stamp)
            self._predict_filter_along(path)

        try:
            if predict:
                self._differentiate_along(path)
                doubt.predict(filter_, along)
            innovation = self._correct_in_doubt(measurement, doubt, filter_, self._believed(sample))
        except CovarianceError as error:
            self._fail(stamp, 'assembly_mode_lost', str(error))
            return None
        self.now = path.end
        if not doubt.is_open:
            self._look_at_pose(stamp)
        return self._output(measurement, path.end.value, innovation, started=False)

    def _believed(self, sample: LegSample) -> NDArray[np.intp]:
        """Legs of a measurement that are not left out."""
        faults = self.leg_gate.faults
        return sample.used if not faults else np.array([leg for leg in sample.used.tolist() if leg not in faults])

    # -- starts --------------------------------------------------------------------------------------------------------

    def _doubt_start(
        self, stamp: int, doubt: ModeDoubt, filter_: PlatformFilter, snapshots: Sequence[tuple[object, ...]]
    ) -> None:
        """Doubt a start that has several poses, all in the filter's snapshots; it goes on with the first."""
        doubt.end()
        if len(snapshots) > 1:
            doubt.begin_with(snapshots, 'the filter started behind a singular pose')
            filter_.restore(doubt.parts[0].snapshot)
            self._tell_doubt(stamp, doubt)
        self.health.mode_doubt = doubt.description if doubt.is_open else ''

    def _start_poses(self, measurement: LegMeasurement) -> list[Pose]:
        """Poses with the positions of all drives that the platform may have; home's is one of them.

        Where the last pose is known, the pose near it is the only one. Where the platform may have passed a singular
        pose since then, those on its other side are looked for.

        Raises
        ------
        KinematicsError
            There is none.
        """
        stamp, known = measurement.instant.stamp, self.last_poses
        positions = measurement.sample.positions + self.filter.legs.zeros
        poses: list[Pose] = []
        trouble: KinematicsError | None = None
        try:
            poses.append(self.baseline.estimator.pose(positions)[0])
        except KinematicsError as error:
            trouble = error
        age = abs(stamp - known.stamp)
        for last in known.poses if age < _FORGOTTEN else ():
            nearest = self._pose_near(positions, last)
            if nearest is None:
                continue
            moved = _distance(nearest, last)
            others = [pose for pose in poses if _distance(pose, nearest) > _SAME]
            is_sure = len(known.poses) == 1 and stamp - known.doubted > _SETTLED
            if is_sure and others and moved < (_NEAR if age < _NEW else _VERY_NEAR) * _distance(nearest, others[0]):
                return [nearest]
            is_far = age > _NEW or len(known.poses) > 1
            around = [nearest, *self._poses_around(positions, last, moved)] if is_far else [nearest]
            for pose in around:
                if all(_distance(pose, other) > _SAME for other in poses):
                    poses.append(pose)
        if not poses:
            raise trouble or KinematicsError('no pose has these positions')
        together = self._contradiction(positions, poses[0])
        if together:
            raise KinematicsError(together)
        return poses

    def _contradiction(self, positions: Array, pose: Pose) -> str:
        """How positions (A,) of redundant drives contradict each other beyond their noise; empty if they do not.

        A filter would take that for a wrong IMU, or for a motion.
        """
        if not self.machine.is_redundant or not np.isfinite(positions).all():
            return ''
        variance = self.filter.length_covariance.diagonal()[: len(positions)]
        if self.filter.layout.leg_offsets is not None:
            variance = variance + self.config.leg_offset_std**2
        return contradiction(self.machine, positions, pose, np.sqrt(variance))

    def _pose_near(self, positions: Array, start: Pose) -> Pose | None:
        """The pose with positions (A,) of all drives to which Newton's steps lead from a start."""
        try:
            found = forward_kinematics(self.machine, positions, start, measured_tolerance(self.machine))
        except KinematicsError:
            return None
        return Pose(found.position[0], found.rotation_base_platform[0]) if found.converged[0] else None

    def _poses_around(self, positions: Array, last: Pose, moved: float) -> list[Pose]:
        """Poses to which a platform may have gone that moved about so far from the last pose, unseen.

        They are looked for along the direction in which the legs at the last pose say least, and all around.
        """
        radius = float(self.machine.model.radius[0]) or 1.0
        weakest = self.reach.weakest(self.filter, last)
        around = np.random.default_rng(0).normal(size=(_AROUND, 6))
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        found: list[Pose] = []
        for direction in (weakest, -weakest, *around):
            for step in _STEPS:
                move = step * moved * direction
                turn = rotation_exp(move[3:] / radius)
                start = Pose(last.position + move[:3], turn @ last.rotation_base_platform)
                pose = self._pose_near(positions, start)
                if pose is not None and _distance(pose, last) < _FARTHEST * moved:
                    found.append(pose)
        return found


def _distance(one: Pose, other: Pose) -> float:
    turn = np.abs(one.rotation_base_platform - other.rotation_base_platform).max()
    return float(max(np.abs(one.position - other.position).max(), turn))


def contradiction(machine: Machine, positions: Array, pose: Pose, std: Array) -> str:
    """How positions (A,) of redundant drives contradict each other beyond their noise, in words; empty if they do not.

    What no pose explains of them is compared with its noise: chi-square with as many degrees of freedom as there are
    drives to spare.

    Parameters
    ----------
    pose : near the one that fits them best
    std : (A,) m or rad, standard deviations of the positions

    Raises
    ------
    KinematicsError
        No pose near is one that the legs admit.
    """
    spare = machine.actuated_count - machine.degrees_of_freedom
    if spare <= 0:
        return ''
    # noise leaves the pose that fits best off what legs admit that hold the platform
    pose = admissible_home(machine, pose).pose
    legs = close_legs(machine, pose.position[None], pose.rotation_base_platform[None])
    jacobian = reduced_jacobian(legs)[0] / std[:, None]
    off = (positions - np.ravel(drive_positions(machine, pose.position, pose.rotation_base_platform))) / std
    off -= jacobian @ np.linalg.lstsq(jacobian, off, rcond=None)[0]
    if not float(off @ off) > float(chdtri(spare, _UNLIKELY)):
        return ''
    worst = int(np.argmax(np.abs(off)))
    size = 1e3 * abs(off[worst] * std[worst])
    return (
        f'redundant drives contradict each other: {machine.drive_labels[worst]} is '
        f'{size:.3g} m{machine.position_units[worst]} '
        f'({abs(off[worst]):.3g} standard deviations) off what fits all best. Calibrate the zeros of the drives, state '
        'a larger noise of their positions, or estimate: [leg_offsets]'
    )
