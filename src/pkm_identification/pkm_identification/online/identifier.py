"""Identification sample by sample: parameters with standard deviations, residuals, payload, and what does not fit."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine

from pkm_identification.fitting.lack_of_fit import ACCURACY
from pkm_identification.online.change_filter import ChangeFilter
from pkm_identification.online.observation import NOISE, OnlineObservation, SampleRows
from pkm_identification.online.payload import STEP, LoadChange, Payload, RecentSteps
from pkm_identification.online.segment import MotionSegment, SegmentCollector, fit_segment
from pkm_identification.online.settings import OnlineSettings
from pkm_identification.online.sliding_polynomial import SlidingPolynomial, WindowSample
from pkm_identification.online.watches import Drift, FrictionWatch, Lack, ModelWatch
from pkm_identification.result import INSUFFICIENT

#: s by which stamps go back where a clock was set anew; less are late messages
SET_BACK = 1.0
#: part of a drive's speed limit that counts as its fastest speed before it has moved, and standard deviations of a
#: velocity below which a drive may as well rest
BEGINNING, RESTING = 0.1, 10.0
#: reasons for rejected samples that are told apart; more would be a broken driver's own
MOST_REASONS = 20
#: what may be said of the model, beside that it does not suffice
UNTESTED, FITS = 'not tested yet', 'fits'


@dataclass(frozen=True)
class OnlineSample:
    """What is known of one sample.

    Attributes
    ----------
    stamp : ns, half a window before the last message
    positions, velocities : (A,) of the drives
    efforts : (A,) N, N m, measured and smoothed
    predicted : (A,) N, N m, by the parameters before this sample
    used : (A,) False where a drive rests, crawls or reverses: its friction is not known then
    """

    stamp: int
    positions: Array
    velocities: Array
    efforts: Array
    predicted: Array
    used: NDArray[np.bool_]

    @property
    def residual(self) -> Array:
        """Measured minus predicted efforts (A,)."""
        return self.efforts - self.predicted


class OnlineIdentifier:
    """Takes joint states with efforts in the order of their stamps; parameters are known at any time.

    The parameters are those of the machine file plus what is estimated, so that what has no column of its own stays as
    the file has it. They drift slowly; after a change of the load they are estimated anew from where they were before.

    Parameters
    ----------
    machine : with a platform that the drives determine
    settings : see :class:`~pkm_identification.online.settings.OnlineSettings`

    Attributes
    ----------
    observation : names, scales and file values of the base parameters
    payload : the last change of the load; ``None`` if there was none
    rejected : reasons why samples are of no use, counted
    samples : how many were used
    last_stamp : ns, of the last message
    is_moving : whether the last sample told anything
    detectable_mass : kg, change of the load that the last look would have seen; infinite at the begin
    """

    def __init__(self, machine: Machine, settings: OnlineSettings | None = None) -> None:
        self.machine = machine
        self.settings = settings or OnlineSettings()
        self.observation = OnlineObservation(machine)
        self.rejected: Counter[str] = Counter()
        self._payload_spread = self._usual_payload()
        limits = np.array([joint.limits.velocity for joint in machine.actuated_joints])
        self._beginning = BEGINNING * np.where(np.isfinite(limits), limits, 0.0)
        self.reset()

    def reset(self) -> None:
        """Forget all that was learned."""
        drives, observation, settings = self.machine.actuated_count, self.observation, self.settings
        observation.reset()
        self.rejected.clear()
        self._polynomial = SlidingPolynomial(drives, settings.window, settings.degree)
        self._filter = ChangeFilter(observation, settings)
        self._collector = SegmentCollector(drives, len(observation.scale))
        self._model, self._friction = ModelWatch(observation), FrictionWatch(observation)
        self._work: Iterator[None] = iter(())
        self._fastest = self._beginning.copy()
        self._recent = RecentSteps()
        self.detectable_mass = np.inf
        self._followed: LoadChange | None = None
        self.is_moving = False
        self.payload: Payload | None = None
        self.dismissed = 0
        self.is_frozen = False
        self.samples = 0
        self.last_stamp = -(1 << 62)
        self._clean_from = -(1 << 62)

    def _begin_new_time(self) -> None:
        """A clock was set back, or a recording begins again: what is known stays, what waits for a time does not."""
        self.reject('stamps went back by more than a second: the window begins anew')
        self._polynomial.reset()
        self.observation.reset()
        self._filter.interrupt()
        self._begin_segment()
        self._end_of_change()
        self.last_stamp = self._clean_from = -(1 << 62)

    @property
    def parameters(self) -> Array:
        """Base parameters (B,)."""
        return self.observation.nominal + self._filter.estimator.parameters

    @property
    def std(self) -> Array:
        """Standard deviations (B,) of the base parameters."""
        return np.sqrt(self._filter.estimator.std**2 + np.sum(self._model.doubts**2, axis=0))

    @property
    def covariance(self) -> Array:
        """Covariance (B, B) of the base parameters: by noise, and by forces that the model may lack."""
        doubts = self._model.doubts
        return self._filter.estimator.covariance + doubts.T @ doubts

    @property
    def window(self) -> float:
        """Length of the window, s; results are late by half of it."""
        return self._polynomial.window

    @property
    def residual_std(self) -> Array:
        """Scatter (A,) of measured about predicted efforts, N, N m."""
        return np.sqrt(self._filter.noise.variance)

    @property
    def lack(self) -> Lack | None:
        """The clearest force that the model lacks; ``None``: none is known to be missing."""
        return self._model.lack

    @property
    def drifts(self) -> tuple[Drift, ...]:
        """Drives whose friction has changed since the begin, or since the load did."""
        return tuple(self._friction.drifts.values())

    @property
    def status(self) -> str:
        """One of :data:`UNTESTED`, :data:`FITS` and :data:`~pkm_identification.result.INSUFFICIENT`."""
        return INSUFFICIENT if self.lack else FITS if self._model.is_tested else UNTESTED

    @property
    def is_certain(self) -> bool:
        """Whether parameters are as certain as their standard deviations say: only where it was tested, and fits."""
        return self.status == FITS

    @property
    def verdict(self) -> str:
        """The status in words; what the model does not explain."""
        untested = 'not tested yet: no parameter is certain before some seconds of motion have tested the model'
        return str(self.lack) if self.lack else untested if self.status == UNTESTED else 'the model fits'

    def reject(self, reason: str) -> None:
        """Count a message of no use."""
        self.rejected[reason if len(self.rejected) < MOST_REASONS or reason in self.rejected else 'other reasons'] += 1

    def add(self, stamp: int, positions: Array, efforts: Array) -> OnlineSample | None:
        """Take one sample of all drives, at ``stamp`` [ns]; what is known of the middle of the window by it.

        Parameters
        ----------
        positions, efforts : (A,) in SI units
        """
        if stamp < self.last_stamp - SET_BACK * 1e9:
            self._begin_new_time()
        if stamp <= self.last_stamp:
            self.reject('stamp repeated or going back')
            return None
        if not (np.isfinite(positions).all() and np.isfinite(efforts).all()):
            self.reject('position or effort missing or not finite')
            return None
        self.last_stamp = stamp
        sample = self._polynomial.add(stamp, positions, efforts)
        if sample is None:
            return None
        try:
            rows = self.observation.rows(sample)
        except KinematicsError as error:
            self.reject(f'no trusted pose: {error}'[:200])
            self._polynomial.reset()
            return None
        self._fastest = np.maximum(self._fastest, np.abs(sample.velocities))
        used = sample.slowest > np.maximum(self.settings.slow * self._fastest, RESTING * sample.velocity_std)
        self.is_moving = bool(used.any())
        predicted = rows.forces + rows.matrix @ self._filter.estimator.parameters
        if not self.is_frozen:
            self._learn(sample, rows, used)
        return OnlineSample(sample.stamp, sample.positions, sample.velocities, sample.efforts, predicted, used)

    def _learn(self, sample: WindowSample, rows: SampleRows, used: NDArray[np.bool_]) -> None:
        if sample.stamp - self._clean_from < 0:
            return  # the window still has samples from before the change
        target = sample.efforts - rows.forces
        if self.settings.payload and self.is_moving and (self._followed is None or self._followed.is_settled):
            weights = used / self._filter.noise.weight_variance
            recent = self._recent.add(sample.stamp, rows.matrix, target, weights, self._filter.known)
            if recent is not None and self._is_change(*recent):
                return
        self._filter.update(sample.stamp, rows.matrix, target, used)
        self.samples += 1
        slow = self.settings.slow * self._fastest
        segment = self._collector.add(sample, rows, used, slow, self._polynomial)
        if segment is not None:
            deque(self._work, maxlen=0)  # what a slow stream has left of the last one
            self._work = self._judge(segment)
        else:
            next(self._work, None)
        if self._followed is not None:
            self._follow(self._followed, sample.stamp)

    def _begin_segment(self) -> None:
        """What was collected is no one motion."""
        self._collector.clear()
        self._work = iter(())

    def _judge(self, segment: MotionSegment) -> Generator[None, None, None]:
        """Learn the noise of a segment, and test it: a step between two samples each, so that none waits for long."""
        observation = self.observation
        noise = observation.inertia**2 @ np.mean(segment.acceleration_std**2, axis=0)
        floor = np.maximum(ACCURACY * observation.typical_force, NOISE * np.sqrt(noise))
        fit = yield from fit_segment(segment, self.settings.prior * observation.scale, floor)
        self._filter.take(fit)
        yield
        yield from self._model.test(fit, self._filter.estimator.std)
        if segment.is_whole:
            self._friction.take(fit, self.lack is None)

    def _is_change(self, since: int, information: Array, moment: Array) -> bool:
        """Look for a change since a time [ns]; go back to before it, allow for any, and wait for a clean window."""
        half = round(0.5e9 * self._polynomial.window)
        before = self._recent.known_before(since - half)
        if before is None or not self._model.is_tested:  # the noise is not known yet
            return False
        change = LoadChange(since, before, self.observation.payload_map, self._payload_spread, self._filter.jump)
        found = change.judged(information, moment - information @ before.change)
        self.detectable_mass = found.detectable_mass
        if found.is_change:
            self._followed = change
            self._filter.begin_from(before, change.covariance)
            self._begin_segment()
            self._clean_from = since + round(2e9 * STEP) + half
        return found.is_change

    def _follow(self, change: LoadChange, stamp: int) -> None:
        """What the parameters since the change say of the load; a change that they do not confirm was none."""
        was_confirmed = change.is_confirmed
        has_settled = change.follow(stamp, self._filter.estimator.parameters, self._filter.estimator.covariance)
        if change.is_confirmed and not was_confirmed:
            self._friction = FrictionWatch(self.observation)  # bodies are others now
        self.payload = change.payload or self.payload
        if has_settled:
            self._recent.restart()  # the next change may come; until then this one is known better and better
        if change.is_none:
            self._filter.begin_from(change.instead, change.instead.covariance)
            self._end_of_change()
            self.dismissed += 1

    def _end_of_change(self) -> None:
        self._followed = None
        self._recent.restart()

    def _usual_payload(self) -> Array:
        """Standard deviations (10,) of a payload's parameters before anything is known."""
        mass = self.settings.payload_mass or self.machine.platform.mass or 1.0
        radius = float(self.machine.model.radius[0])
        return mass * np.array([1.0, *3 * [0.5 * radius], *6 * [0.25 * radius**2]])
