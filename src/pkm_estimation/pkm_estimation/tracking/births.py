"""Births of hypotheses: what may have changed since the last measurement, each with its probability.

The IMU may have failed, or be well again; a motion may have become livelier; a message of the legs may be late; the
platform may be where all legs say now, whatever came before.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from pkm_description.errors import KinematicsError
from pkm_description.kernels.model import Integers
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.machine import Pose

from pkm_estimation.exchange.messages import LegMeasurement, LegSample
from pkm_estimation.exchange.samples import ImuSample
from pkm_estimation.filtering.legs_alone import MANOEUVRES, SurpriseError
from pkm_estimation.filters import CovarianceError
from pkm_estimation.tracking.bank import BIRTHS, ExplainedHypothesis
from pkm_estimation.tracking.hypotheses import Hypothesis, Label
from pkm_estimation.tracking.leg_sets import LOUDER, LegExplanation, chance
from pkm_estimation.tracking.tracker_state import TrackerParts

#: 1/s, how often the IMU fails, is well again, and the platform is elsewhere than all legs said before
IMU_FAULTS, IMU_RECOVERIES, RESTARTS = 1e-4, 2.0, 1e-6
#: 1/s, how often a measurement is of another time than its stamp
_LATE = 0.1
#: how wrong an IMU may have been already when that shows, see :meth:`LegsAlone.doubt_motion`
WRONG = 0.05, 1.0
#: probability that the IMU is wrong from the start
_WRONG_START = 1e-2
#: logarithm of the probability, to that of the likeliest, below which a hypothesis is not born
_HOPELESS = -14.0
#: the same below which nothing is born of it
_UNLIKELY = -7.0
#: the same at which a hypothesis that uses an IMU that is perhaps well again is contradicted by one measurement
_CONTRADICTED = -7.0
#: factors on the noise variances of the IMU: its errors may be larger than its noise, by a vibration or a delay that
#: wanders, which no constant explains
_IMU_NOISES = 1.0, 30.0, 900.0
#: probability that the factor has changed where that is tried, and measurements until it shows
_NOISE_CHANGES, _NOISE_SCANS = 2e-3, 50
#: measurements after which a new start has shown what it is worth
_SCANS = 20


class Births:
    """Bears hypotheses for a tracker.

    Parameters
    ----------
    tracker : has filters, bank and all other parts
    """

    def __init__(self, tracker: TrackerParts) -> None:
        self._tracker = tracker

    def born(
        self, before: Sequence[Hypothesis], predicted: Sequence[Hypothesis], duration: float, used: Integers
    ) -> list[Hypothesis]:
        """Hypotheses that may explain a measurement that surprises all others: what may have changed since the last."""
        tracker = self._tracker
        least = before[0].logarithm + _UNLIKELY
        before, predicted = ([one for one in ones if one.logarithm > least] for ones in (before, predicted))
        late = log(chance(_LATE, duration))
        born = [
            one._replace(
                logarithm=one.logarithm + late, label=one.label._replace(is_late=True), family=5 * BIRTHS + one.family
            )
            for one in predicted
            if not tracker.was_late  # once more would be a delay
        ]
        born += self._livelier(before, duration, used)
        if tracker.judges_imu:
            fails = log(0.5 * (chance(IMU_FAULTS, duration) if tracker.is_confirmed else _WRONG_START))
            for wrong in WRONG:
                born += self.without_imu(before, used, duration, fails, wrong)
        return born

    def started_anew(
        self, measurement: LegMeasurement, sample: LegSample, imu: ImuSample, duration: float,
        candidates: Sequence[ExplainedHypothesis],
    ) -> list[tuple[Hypothesis, LegExplanation]]:  # fmt: skip
        """Where all legs are elsewhere, or a start was wrong: the platform is where they say, whatever was before."""
        tracker = self._tracker
        best = candidates[0] if candidates else None
        # where no leg fits, the next measurements tell whether a new start is worth more than its probability
        none_fits = best is not None and not len(best.explanation.used)
        waits = none_fits and not any(one.scans for one in tracker.bank.hypotheses)
        logarithm = log(chance(RESTARTS, duration)) + tracker.leg_sets.anywhere(sample.used)
        if best is not None and best.explanation.outliers and not tracker.is_confirmed:
            logarithm = best.logarithm  # the legs that do not fit may as well have been wrong at the start
        is_hopeless = not waits and best is not None and logarithm < best.logarithm + _HOPELESS
        if len(sample.used) < tracker.machine.actuated_count or is_hopeless:
            return []
        label = Label(tracker.bank.label.uses_imu)
        born: list[tuple[Hypothesis, LegExplanation]] = []
        why = LegExplanation(label.outliers, label.noise, 0.0, 0.0, 0.0, sample.used[:0])  # the measurement is in it
        try:
            poses = tracker.start_poses.of(measurement.instant.stamp, sample.positions, tracker.last_poses)
            for pose in poses:
                self.start_at(pose, measurement, imu, label.uses_imu, 0.0)
                new = tracker.bank.held(label, logarithm - log(len(poses)), scans=_SCANS if waits else 0)
                born.append((new._replace(family=BIRTHS + len(born)), why))
        except (KinematicsError, CovarianceError, SurpriseError):
            return born
        return born

    def without_imu(
        self, hypotheses: Sequence[Hypothesis], used: Integers | None, duration: float, logarithm: float,
        wrong: float = 0.0,
    ) -> list[Hypothesis]:  # fmt: skip
        """The same at the next measurement, of the ``used`` legs, or of something else, without the IMU.

        ``wrong``: how much the IMU may have been wrong already.
        """
        tracker = self._tracker
        found: list[Hypothesis] = []
        now = tracker.now
        if not tracker.may_leave_out_imu or now is None:
            return found
        for family, one in enumerate(one for one in hypotheses if one.label.uses_imu):
            tracker.bank.load(one)
            tracker.alone.go_on_from(tracker.filter, now.value, tracker.recent, one.label.outliers)
            if wrong:
                tracker.alone.doubt_motion(wrong)
            label = one.label._replace(uses_imu=False, noise=1.0)
            try:
                tracker.alone.predict(duration, tracker.tells_pose(label, used))
            except CovarianceError:
                continue
            new = tracker.bank.held(label, one.logarithm + logarithm, one.moved)
            found.append(new._replace(family=(2 + (wrong == 1.0)) * BIRTHS + family))
        return tracker.bank.cut(found)

    def _livelier(self, hypotheses: Sequence[Hypothesis], duration: float, used: Integers) -> list[Hypothesis]:
        """Those without the IMU, where the motion has become as lively as any."""
        alone, lively = self._tracker.alone, log(chance(MANOEUVRES, duration))

        def move(one: Hypothesis) -> None:
            alone.legs.liveliness = max(1.0, alone.legs.liveliness)
            alone.predict(duration, self._tracker.tells_pose(one.label, used))

        calm = [one._replace(logarithm=one.logarithm + lively) for one in hypotheses if not one.label.uses_imu]
        return self._tracker.bank.predict(calm, move, 4 * BIRTHS)

    def with_imu(self, duration: float) -> tuple[Hypothesis, ...]:
        """All hypotheses, and where the likeliest does not use the IMU, of each one in which it is well again."""
        tracker = self._tracker
        bank, now = tracker.bank, tracker.now
        assert now is not None
        if bank.label.uses_imu or not tracker.alone.is_moving:
            return bank.hypotheses
        recovers = log(chance(IMU_RECOVERIES, duration))
        alone = [one for one in bank.hypotheses if not one.label.uses_imu]
        labels = [self.label_again(one) for one in alone]
        again = {label: one.logarithm + recovers for label, one in reversed(list(zip(labels, alone, strict=True)))}
        least = min(again.values()) + _CONTRADICTED
        # one that was contradicted begins anew from what is known without the IMU
        others = [
            one._replace(logarithm=max(one.logarithm, again.get(one.label, one.logarithm)))
            for one in bank.hypotheses
            if one.label.uses_imu and one.logarithm > again.get(one.label, least) + _CONTRADICTED
        ]
        missing, born = again.keys() - {one.label for one in others}, []
        for label, one in zip(labels, alone, strict=True):
            if label in missing:
                bank.load(one)
                tracker.alone.hand_over(tracker.filter)
                born.append(bank.held(label, one.logarithm + recovers, one.moved))
        if not others:
            tracker.since = now.instant
            tracker.angular_acceleration.reset()
        return *alone, *others, *born

    def with_other_noise(self, hypotheses: Sequence[Hypothesis]) -> tuple[Hypothesis, ...]:
        """All hypotheses, and the likeliest that uses the IMU with the next factors on its noise, if that is tried."""
        bank, born = self._tracker.bank, []
        likeliest = next((one for one in hypotheses if one.label.uses_imu), None)
        if bank.tries_imu_noise and likeliest is not None and self._tracker.judges_imu:
            place, labels = _IMU_NOISES.index(likeliest.label.imu_noise), {one.label for one in hypotheses}
            for factor in _IMU_NOISES[max(0, place - 1) : place + 2]:
                label = likeliest.label._replace(imu_noise=factor)
                if label not in labels:
                    bank.load(likeliest).set_noise(factor, 1.0)
                    logarithm = likeliest.logarithm + log(_NOISE_CHANGES)
                    born.append(bank.held(label, logarithm, likeliest.moved, _NOISE_SCANS))
        bank.tries_imu_noise = False
        return *hypotheses, *born

    def label_again(self, alone: Hypothesis) -> Label:
        """Load a hypothesis without the IMU; its label where the IMU is used again: legs stay as noisy as they were."""
        self._tracker.bank.load(alone)
        scale = alone.label.noise * self._tracker.alone.legs.scale
        noise = min((1.0, *LOUDER), key=lambda level: abs(log(level / scale)))
        return alone.label._replace(uses_imu=True, noise=noise)

    def begin_alone(self, measurement: LegMeasurement, imu: ImuSample) -> None:
        """Begin without the IMU once more: with two measurements legs say how the platform moves.

        Raises CovarianceError where they have no pose.
        """
        tracker, hypotheses = self._tracker, []
        try:
            stamp, positions = measurement.instant.stamp, measurement.sample.positions
            for pose in tracker.start_poses.of(stamp, positions, tracker.last_poses):
                self.start_at(pose, measurement, imu, False, 0.0)
                hypotheses.append(tracker.bank.held(Label(False)))
        except (KinematicsError, SurpriseError) as error:
            raise CovarianceError(f'no pose by the legs alone: {error}') from error
        tracker.bank.begin(hypotheses)

    def start_at(self, pose: Pose, measurement: LegMeasurement, imu: ImuSample, uses_imu: bool, age: float) -> None:
        """Start the filter with the IMU, or that without it, from a pose."""
        tracker = self._tracker
        if uses_imu:
            if tracker.judges_imu:
                tracker.filter.set_noise(1.0, 1.0)
            tracker.filter.start_at(pose, imu=imu.value, age=age)
            return
        tracker.alone.know_stamps_of(tracker.filter)
        tracker.alone.start_at(pose, *self._pose_before(measurement, pose))
        tracker.alone.update(measurement.sample.positions, np.arange(tracker.machine.actuated_count))

    def _pose_before(self, measurement: LegMeasurement, here: Pose) -> tuple[Pose | None, float]:
        """Pose at the measurement before one with the pose ``here``, if there is one, and the time between them [s]."""
        tracker = self._tracker
        duration = tracker.last.age(measurement.instant.stamp)
        if not 0.0 < duration <= tracker.config.maximum_imu_gap:
            return None, 0.0
        before = forward_kinematics(tracker.machine, tracker.last.positions, here, measured_tolerance(tracker.machine))
        return (Pose(before.position[0], before.rotation_base_platform[0]) if before.converged[0] else None), duration
