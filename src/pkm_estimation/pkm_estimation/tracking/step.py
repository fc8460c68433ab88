"""One step of the bank: predict all hypotheses to a measurement of the legs, explain it, correct, weigh."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from scipy.special import chdtri

from pkm_estimation.exchange.messages import LegMeasurement, LegSample
from pkm_estimation.exchange.samples import ImuSample, InputPath, Instant, seconds
from pkm_estimation.filtering.legs_alone import SurpriseError, is_lost
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models import BIASES
from pkm_estimation.models.leg_motion import OwnMotion
from pkm_estimation.tracking.bank import ExplainedHypothesis
from pkm_estimation.tracking.births import WRONG, Births
from pkm_estimation.tracking.hypotheses import GOOD, Hypothesis, Label
from pkm_estimation.tracking.leg_sets import LegExplanation
from pkm_estimation.tracking.tracker_state import TrackerParts

#: s after a failure until which its cause is looked for
_LATEST_NAMING = 2.0
#: s, by how much a measurement is of another time than its stamp, where it is
_LATE_BY = 0.005
#: probability of a NIS of legs that are where they should be
_UNUSUAL = 1e-3
#: standard deviations of its noise within which a leg stands still
_STILL = 6.0
#: standard deviations of the legs: a wrong input that moves them further is seen at the first measurement
_TOLD_AT_ONCE = 55.0
#: standard deviation of one of two independent halves of a variance
_HALF = 0.5**0.5


class Corrected(NamedTuple):
    """A candidate after the correction; no innovation where no leg was used."""

    candidate: ExplainedHypothesis
    hypothesis: Hypothesis
    innovation: Innovation | None


class Teller:
    """Tells what a tracker's likeliest hypothesis says: events, and what is not trusted.

    Parameters
    ----------
    tracker : has filters, bank and all other parts
    """

    def __init__(self, tracker: TrackerParts) -> None:
        self._tracker = tracker

    def tell(
        self, measurement: LegMeasurement, imu: ImuSample, before: Label, bad: tuple[str, str] | None, found: Corrected
    ) -> None:
        """Tell what the likeliest hypothesis says of sensors and pose."""
        tracker = self._tracker
        instant, label, sample = measurement.instant, tracker.bank.label, measurement.sample
        if label.outliers or label.moved or tracker.legs.reports:
            tracker.legs.update(
                label.outliers | {leg for leg, _ in label.moved}, found.candidate.explanation.offsets, sample.positions,
                lambda name, detail: tracker.health.event(instant.stamp, name, detail),
            )  # fmt: skip
            moved = tracker.bank.take_moved_zeros(found.candidate) if tracker.on_zeros_moved is not None else {}
            for leg, (off, variance) in moved.items():
                tracker.legs.settle(leg)
                tracker.recent.move_zero(leg, off)
                name, unit = tracker.machine.drive_labels[leg], tracker.machine.position_units[leg]
                tracker.health.event(
                    instant.stamp, 'leg_offset', f'{name}: its zero has moved by {1e3 * off:.3g} m{unit} '
                    f'(+- {1e3 * variance**0.5:.2g}), which is taken into account: calibrate, or check the encoder',
                )  # fmt: skip
            if moved and tracker.on_zeros_moved is not None:
                tracker.on_zeros_moved(moved)
            for name in tracker.legs.descriptions():
                tracker.health.count(f'{name}_left_out')
        else:
            tracker.legs.see(sample.positions)
        for pair in label.swapped - before.swapped:
            names = ' and '.join(tracker.machine.drive_labels[leg] for leg in pair)
            what = f'{names} fit their predictions when exchanged: they are, check the wiring'
            tracker.health.event(instant.stamp, 'legs_swapped', what)
        everything = len(label.outliers) == tracker.machine.actuated_count
        if everything and not before.outliers:
            tracker.health.event(instant.stamp, 'legs_jumped', 'all legs are far from where they were going: not used')
        if found.innovation is None and len(sample.used) and not label.outliers:
            what = 'all legs are far from where they were going: begun anew'
            tracker.health.event(instant.stamp, 'legs_jumped', what)
        if label.noise > before.noise == 1.0:
            what = 'burst of noise of all legs: their noise variance is raised'
            tracker.health.event(instant.stamp, 'legs_noisy', what)
        bank = tracker.bank
        if label.imu_noise > bank.told_imu_noise:
            what = f'the IMU fits the legs with {label.imu_noise:g} times the noise variances of the machine file'
            tracker.health.event(instant.stamp, 'imu_noisy', f'{what}, with which it is used: look for vibrations')
        bank.told_imu_noise = 1.0 if bank.is_plain else max(label.imu_noise, bank.told_imu_noise)
        if label.uses_imu and not before.uses_imu:
            began = tracker.imu_report.began
            out = f', left out for {seconds(began, instant):.3g} s' if began and began.epoch == instant.epoch else ''
            tracker.imu_report.end()
            tracker.noise.started()
            tracker.health.event(instant.stamp, 'imu_returned', f'the IMU agrees with the legs again{out}')
        elif before.uses_imu and not label.uses_imu:
            nis = found.candidate.explanation.nis
            why = f'legs go on smoothly where its prediction is not (NIS {nis:.3g} without it)'
            self.tell_imu_is_bad(instant, *(bad or ('imu_off_prediction', why)))
        elif not label.uses_imu:
            self._name_imu_fault(instant.stamp, bad or self._likely_cause(imu))
        self.tell_modes(instant.stamp)

    def tell_modes(self, stamp: int) -> None:
        """Tell whether the assembly mode is known."""
        tracker = self._tracker
        was, now = tracker.health.mode_doubt, tracker.bank.description
        if now and not was:
            tracker.health.event(stamp, 'assembly_mode_unknown', now)
        if was and not now:
            tracker.doubt_last_pose(stamp)
            tracker.health.event(stamp, 'assembly_mode_decided', 'IMU and legs fit one of the possible poses only')
        tracker.health.mode_doubt = now

    def tell_imu_is_bad(self, instant: Instant, kind: str, detail: str) -> None:
        """Tell that the IMU is not trusted from a measurement on, and why."""
        tracker = self._tracker
        if not tracker.imu_report.kind:
            tracker.imu_report.begin(instant, kind, detail)
            tracker.imu_causes.reset()
            tracker.health.event(instant.stamp, kind, f'{detail}; the IMU is left out, estimates are by the legs alone')

    def _likely_cause(self, imu: ImuSample) -> tuple[str, str] | None:
        """Kind and sentence on why the IMU does not fit, once there is enough to say so."""
        tracker = self._tracker
        report, causes, alone = tracker.imu_report, tracker.imu_causes, tracker.alone
        frame = tracker.output_model.imu_frame
        if report.began is None or report.named or seconds(report.began, imu.instant) > _LATEST_NAMING:
            return None
        gravity = alone.filter.rotation.T @ alone.filter.geometry.gravity
        covariance = frame.covariance_to_imu(alone.felt_covariance)
        felt = frame.to_imu(alone.felt)
        causes.add(frame.to_imu(imu.value), felt, covariance.diagonal(), frame.vector_to_imu(gravity))
        return causes.likeliest()

    def _name_imu_fault(self, stamp: int, cause: tuple[str, str] | None) -> None:
        """Say what is wrong with an IMU that is left out already."""
        tracker = self._tracker
        if cause is not None and cause[0] not in (tracker.imu_report.kind, *tracker.imu_report.named):
            tracker.imu_report.name(*cause)
            tracker.health.event(stamp, cause[0], f'the IMU, left out already: {cause[1]}')


class Step:
    """Takes the hypotheses of a tracker to a measurement.

    Parameters
    ----------
    tracker : filters, bank and all other parts
    births, teller : bear hypotheses, and tell what the likeliest says
    """

    def __init__(self, tracker: TrackerParts, births: Births, teller: Teller) -> None:
        self._tracker, self._births, self._teller = tracker, births, teller

    def step(self, measurement: LegMeasurement, path: InputPath) -> Innovation | None:
        """Predict and correct all hypotheses, and weigh them; the innovation of the likeliest.

        Raises CovarianceError where none explains the measurement, and SurpriseError where the pose is not known.
        """
        tracker = self._tracker
        now, stamp, sample, bank = tracker.now, measurement.instant.stamp, measurement.sample, tracker.bank
        assert now is not None
        duration = seconds(now.instant, path.end.instant)
        bad = None if path.in_gap else self.bad_samples(now.instant, path.end.instant, sample)
        bank.collect()
        tracker.stamp = stamp
        if not (bank.label.uses_imu or tracker.alone.is_moving) and len(sample.used) == tracker.machine.actuated_count:
            self._births.begin_alone(measurement, path.end)
            return None
        tracker.leg_sets.forget(stamp)
        label = bank.label
        before = bank.hypotheses if path.in_gap or bad is not None else self._births.with_imu(duration)
        predicted = self.predicted(self._births.with_other_noise(before), path, bad, sample.used)
        if bad is not None and all(one.label.uses_imu for one in before):
            predicted += self._births.without_imu(before, sample.used, duration, 0.0)
        known = [one for one in predicted if not self._is_lost(one)]
        if predicted and not known:
            # far from linear: a correction would lead to any of the assembly modes, and call it certain
            why = 'legs that were few, silent, or moved as no platform does, or no leg that fits: the pose is not known'
            raise SurpriseError(why, 'pose_lost')
        predicted = known
        if not predicted:
            raise CovarianceError('no hypothesis can be predicted')
        sample = self._read_anew(stamp, sample, path.end.value, predicted[0])
        if not len(sample.used):
            bank.keep(predicted)
            return None
        explained = self._explained(predicted, sample, duration)
        candidates = bank.weigh(explained)
        is_surprised = self._is_surprised(candidates)
        if tracker.fit.is_on and bad is None and (is_surprised or not len(candidates[0].explanation.used)):
            if is_surprised:
                born = self._births.born(before, predicted, duration, sample.used)
                explained += self._explained(born, sample, duration)
            explained += self._births.started_anew(measurement, sample, path.end, duration, candidates)
            candidates = bank.weigh(explained)
        corrected = self._corrected(candidates, sample, duration)
        if not corrected and tracker.judges_imu:  # an IMU with such biases is none
            used = sample.used
            born = [one for wrong in WRONG for one in self._births.without_imu(before, used, duration, 0.0, wrong)]
            corrected = self._corrected(bank.weigh(self._explained(born, sample, duration)), sample, duration)
        bank.keep([one.hypothesis for one in corrected])
        first = next(one for one in corrected if one.candidate.label == bank.label)
        if bank.label == GOOD and first.innovation is not None:
            tracker.fit.accept(first.innovation)
        found, tracker.was_late = first.candidate.explanation, first.candidate.predicted.label.is_late
        tracker.leg_sets.learn(label.outliers, found.outliers | found.moved, found.offsets)
        self._teller.tell(measurement, path.end, label, bad, first)
        return first.innovation

    def _is_lost(self, predicted: Hypothesis) -> bool:
        """Whether the pose of a hypothesis is not known: never so where the IMU and some of the legs are used."""
        tracker, label = self._tracker, predicted.label
        if label.uses_imu and len(label.outliers) < tracker.machine.actuated_count:
            return False
        filter_ = tracker.bank.load(predicted)
        # by the IMU alone constants move the pose as much as noise does
        covariance = filter_.ukf.claimed if label.uses_imu else filter_.covariance
        return is_lost(covariance, filter_.geometry.radius)

    def predicted(
        self, hypotheses: Sequence[Hypothesis], path: InputPath, bad: object, used: Integers | None = None
    ) -> list[Hypothesis]:
        """Hypotheses at the end of a path, at a measurement of the ``used`` legs, or of something else.

        Where the samples of the IMU are ``bad``, only those without it.
        """
        tracker = self._tracker
        now, uses_imu = tracker.now, bad is None and not path.in_gap
        assert now is not None
        duration, due = seconds(now.instant, path.end.instant), path.end.instant.stamp
        if uses_imu and any(one.label.uses_imu for one in hypotheses):
            for segment in path.segments:
                if not segment.is_empty:
                    tracker.angular_acceleration.advance(segment)
        if tracker.filter.record is not None and len(hypotheses) > 1:
            tracker.filter.record.pause()

        def move(one: Hypothesis) -> None:
            if one.label.uses_imu and not uses_imu:
                raise CovarianceError('there is no input')
            if used is not None:
                tracker.bank.filter_of(one.label).observe_leg_stamp(due)
            if one.label.uses_imu:
                self._predict_along(path)
            else:
                tracker.alone.predict(duration, tracker.tells_pose(one.label, used))

        return tracker.bank.predict(hypotheses, move)

    def _loaded(self, predicted: Hypothesis) -> PlatformFilter:
        """The filter with a hypothesis at the present measurement."""
        filter_ = self._tracker.bank.load(predicted)
        filter_.doubt_leg_stamp(_LATE_BY * predicted.label.is_late)
        return filter_

    def _explained(
        self, ones: Sequence[Hypothesis], sample: LegSample, duration: float
    ) -> list[tuple[Hypothesis, LegExplanation]]:
        """Predicted hypotheses, each with all that would explain a measurement by it."""
        return [(one, why) for one in ones for why in self._explanations(one, sample, duration)]

    def _explanations(self, one: Hypothesis, sample: LegSample, duration: float) -> list[LegExplanation]:
        """What would explain a measurement by a predicted hypothesis."""
        tracker = self._tracker
        filter_, label, used = self._loaded(one), one.label, sample.used
        level = self._noise_level(label)
        try:
            positions = label.in_order(sample.positions)
            residual, spread = filter_.predicted_innovation(positions, label.noise * level)
            if tracker.fit.is_on:
                variance = level * filter_.length_covariance.diagonal()
                scale = max(1.0, tracker.fit.scale) if label.uses_imu else 1.0
                found = tracker.leg_sets.explanations(
                    label.outliers, label.noise, used, residual, spread, variance, positions,
                    label.in_order(tracker.last.positions), duration, scale,
                    tracker.on_zeros_moved is not None and tracker.is_confirmed,
                    cache(partial(self._own_motion, label, sample, duration)),
                )  # fmt: skip
                return found if not tracker.noise.is_on else [why for why in found if len(why.outliers) < 2]
            spread, off = spread[np.ix_(used, used)], residual[used]
            nis = float(off @ np.linalg.solve(spread, off))
            size = -0.5 * float(np.linalg.slogdet(spread)[1])
            return [LegExplanation(label.outliers, label.noise, size - 0.5 * nis, size, nis, used)]
        except (CovarianceError, np.linalg.LinAlgError):
            return []

    def _noise_level(self, label: Label) -> float:
        """Factor on the noise variances of the legs by which a hypothesis sees them, but for a burst."""
        return self._tracker.bank.noise_scale if label.uses_imu else self._tracker.alone.legs.scale

    def _own_motion(self, label: Label, sample: LegSample, duration: float) -> OwnMotion:
        """Where the legs are, against where each was going by itself; without the IMU that is known already."""
        alone, recent = self._tracker.alone, self._tracker.recent
        legs = alone.learned(recent, label.outliers) if label.uses_imu else alone.legs
        return legs.expected(self._since_last(duration), sample.positions)

    def _is_surprised(self, candidates: Sequence[ExplainedHypothesis]) -> bool:
        """Whether nothing ordinary explains a measurement."""
        if not candidates:
            return True
        best = candidates[0]
        is_new = best.label != best.predicted.label
        bound = float(chdtri(max(1, len(best.explanation.used)), _UNUSUAL))
        return is_new or best.explanation.nis > bound

    def _corrected(
        self, candidates: Sequence[ExplainedHypothesis], sample: LegSample, duration: float
    ) -> list[Corrected]:
        """Correct the candidates; those that are not possible are left out."""
        tracker = self._tracker
        found: list[Corrected] = []
        scored, record = False, tracker.filter.record
        if record is not None and sum(one.label.uses_imu for one in candidates) > 1:
            record.pause()
        for candidate in candidates:
            label, used = candidate.label, candidate.explanation.used
            filter_ = self._loaded(candidate.predicted)
            new = {leg: candidate.explanation.offsets[leg] for leg in sorted(candidate.explanation.moved)}
            for leg, (off, _) in new.items():
                filter_.legs.zeros[leg] -= off
                tracker.alone.legs.move_zero(leg, off)
                filter_.ukf.sensitivity[:, tracker.zero_columns[leg]] = 0.0
            try:
                innovation = self._correct(filter_, label, sample, used, duration) if len(used) else None
            except (CovarianceError, SurpriseError):
                continue
            if not self._is_possible(filter_, label):
                continue
            if label.uses_imu and innovation is not None and not scored:
                filter_.score_constants()
                scored = True
            one = candidate.predicted
            held = tracker.bank.held(label, candidate.logarithm, {**one.moved, **new}, max(0, one.scans - 1))
            found.append(Corrected(candidate, held, innovation))
        return found

    def _correct(
        self, filter_: PlatformFilter, label: Label, sample: LegSample, used: Integers, duration: float
    ) -> Innovation:
        tracker = self._tracker
        positions = label.in_order(sample.positions)
        if label.uses_imu:
            some = None if len(used) == tracker.machine.actuated_count else used
            return filter_.update(positions, some, noise_scale=label.noise * tracker.bank.noise_scale)
        innovation = tracker.alone.update(positions, used, label.noise)
        tracker.alone.legs.add(self._since_last(duration), positions, used)
        return innovation

    def _since_last(self, duration: float) -> float:
        """Time [s] since the last measurement of the legs; that since the last estimate where there was none."""
        tracker = self._tracker
        stamps = tracker.recent.stamps
        return 1e-9 * (tracker.stamp - int(stamps[-1])) if len(stamps) and tracker.stamp > stamps[-1] else duration

    def _is_possible(self, filter_: PlatformFilter, label: Label) -> bool:
        """Whether what a filter holds is possible: on the machine's side of the base, with biases of a sensor."""
        tracker = self._tracker
        if not tracker.side.holds(filter_):
            return False
        if not label.uses_imu or not tracker.may_leave_out_imu:
            return True
        if filter_.constraint_nis > tracker.largest_constraint_nis:
            return False
        return bool((np.abs(filter_.ukf.state[BIASES]) <= tracker.largest_biases).all())

    def _read_anew(self, stamp: int, sample: LegSample, imu: Array, predicted: Hypothesis) -> LegSample:
        """The sample without legs that are stale, at its stamp [ns], with the input (6,)."""
        tracker = self._tracker
        stale, before = tracker.stale, set(tracker.stale.legs.tolist())
        repeated = np.setdiff1d(stale.repeated(sample.positions), list(predicted.label.outliers))
        if not len(repeated) or not tracker.fit.is_on:
            return sample
        noise = predicted.label.noise * self._noise_level(predicted.label)
        positions = predicted.label.in_order(sample.positions)
        innovation = self._loaded(predicted).predicted_innovation(positions, noise)
        assert tracker.now is not None
        change = imu - tracker.now.value
        turned = float(change @ np.linalg.solve(2.0 * tracker.filter.imu_covariance, change))
        if not stale.judge(stamp, repeated, *innovation, turned):
            return sample
        names, fresh = [tracker.machine.drive_labels[leg] for leg in repeated], np.setdiff1d(sample.used, repeated)
        if not before.issuperset(repeated.tolist()):
            tracker.health.event(
                stamp, 'leg_stuck' if len(fresh) else 'encoders_stale', f'{", ".join(names)}: stuck, the last position '
                'again while the platform moves: not read anew, not used until it changes. Check driver and bus',
            )  # fmt: skip
        for name in names:
            tracker.health.count(f'{name}_left_out')
        if not len(fresh):
            stale.skip(stamp)
        return sample._replace(used=fresh)

    def bad_samples(self, now: Instant, due: Instant, sample: LegSample) -> tuple[str, str] | None:
        """Kind and detail of samples from ``now`` to ``due`` that cannot be right; ``None`` if there are none."""
        tracker = self._tracker
        span = tracker.imu_watch.touching(now, due) if tracker.may_leave_out_imu else None
        if span is None:
            return None
        if not span.is_certain:
            moved = np.abs(sample.positions - tracker.imu_report.moved_since(span.first, sample.positions))
            if not (moved > _STILL * tracker.leg_noise).any():
                return None
        return span.kind, span.detail

    def input_at(self, samples: Sequence[ImuSample], instant: Instant) -> Array:
        """IMU input (6,) at an instant, as the process model has it."""
        process = self._tracker.filter.process
        process.take([sample.instant.stamp for sample in samples], [sample.value for sample in samples])
        return process.input_at(seconds(samples[1].instant, instant))

    def _predict_along(self, path: InputPath) -> None:
        """Predict the filter with the IMU along a path."""
        tracker = self._tracker
        jumped = self._jumped_along(path)
        if jumped is not None:  # half of it before: it moves the pose already on the way
            tracker.filter.widen(*jumped)
        for segment in path.segments:
            if segment.is_empty:
                continue
            around = [sample.instant.stamp for sample in segment.samples], [sample.value for sample in segment.samples]
            for begin, duration in segment.steps(tracker.config.maximum_step):
                tracker.filter.predict_between(*around, begin, duration)
        if jumped is not None:
            tracker.filter.widen(*jumped)

    def _jumped_along(self, path: InputPath) -> tuple[float, float] | None:
        """Standard deviations [m/s, rad] of half of what jumps of the IMU add along a path.

        ``None`` without a jump, for the printed filter, and where the legs tell at once whether the IMU is wrong.
        """
        tracker = self._tracker
        if not path.segments or not tracker.fit.is_on:
            return None
        begin, end = path.segments[0].start.instant, path.end.instant
        jumped = tracker.imu_watch.jumps.between(begin, end)
        if jumped is None:
            return None
        velocity, angle = jumped
        moved = velocity * seconds(begin, end) + angle * max(tracker.filter.geometry.radius, 1e-3)
        if moved > _TOLD_AT_ONCE * tracker.filter.length_covariance.diagonal().max() ** 0.5:
            return None
        return _HALF * velocity, _HALF * angle
