"""What is looked at a segment at a time while the machine runs: forces that the model lacks, friction that drifts.

Each force that the model does not have is offered to the residuals of a segment (:mod:`pkm_identification.judgement.
score`), with a fit of the segment's own: parameters that drift slowly are no lack of a force. A segment is tested each
time that it has grown; evidence of whole ones adds up, older ones fade. Friction of two segments differs where chance
does not explain the difference of their estimates, which are independent; the filter's own random walk is no part of
it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from pkm_description.arrays import Array
from scipy.special import chdtrc, chdtri

from pkm_identification.columns.joint_terms import (
    DRIVE_INERTIA,
    LOAD_FRICTION,
    OFFSET,
    QUADRATIC_FRICTION,
    SPRING,
    EffortDelay,
    Ripple,
)
from pkm_identification.fitting.candidates import GAIN_TITLE, STRIBECK, STRIBECK_TITLE, WAVES, fading, from_home
from pkm_identification.fitting.lack_of_fit import CHANCE, HARM
from pkm_identification.judgement.score import Evidence, log_probability
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.segment import FEWEST, MotionSegment, SegmentFit

#: part of typical forces that residuals may be, and times the noise of the efforts, before a force is missing whatever
#: its form
MISFIT, EXCESS = 0.02, 5.0
UNKNOWN = 'none of those that are tried; identify a recording offline, which tries more'
#: part that evidence keeps from one segment to the next
KEPT = 0.8
#: samples of the least segment in which nothing that is missing means that nothing is
LEAST = 200
#: factor of the travel by which it must grow for other ripples to be offered
WIDER = 1.3
#: part of a drive's friction by which it must have changed, and further changed to be said again
CHANGED, AGAIN = 0.05, 0.05
#: standard deviations within which friction is as it was
AS_BEFORE = 2.0


@dataclass(frozen=True)
class Lack:
    """A force that the model may lack.

    Attributes
    ----------
    title : what it may be
    log_probability : natural logarithm of the probability that chance makes it seem so clear
    changes : (B,) of the base parameters with it
    shift : the largest of them, in its stated standard deviations
    drive : where it is largest
    size : N, N m, rms of it there
    part : of a typical force of this drive
    """

    title: str
    log_probability: float
    changes: Array
    shift: float
    drive: str
    size: float
    part: float

    @property
    def is_decisive(self) -> bool:
        """Whether chance does not explain it, and parameters are wrong without it."""
        return self.log_probability < np.log(CHANCE) and self.shift > HARM

    @property
    def belief(self) -> float:
        """How far it is believed to be there, from 0 to 1: beyond even odds, at most (Sellke, Bayarri & Berger 2001).

        The odds for it are ``1 / (-e p ln p)`` where p, its probability by chance, is below 1/e, and else one.
        """
        logarithm = float(np.clip(self.log_probability, -700.0, -1.0))  # below, its exponential is zero
        against = -logarithm * np.exp(1.0 + logarithm)
        return float((1.0 - against) / (1.0 + against))

    def __str__(self) -> str:
        return (
            f'the model lacks a force: {self.title} (clearest in {self.drive}, {self.size:.3g} rms, '
            f'{100.0 * self.part:.2g} % of a typical force; chance makes it so with probability '
            f'{np.exp(max(self.log_probability, -230.0)):.1g}): no parameter is certain'
        )


@dataclass(frozen=True)
class Drift:
    """Friction of a drive that has changed.

    Attributes
    ----------
    drive : name
    since, until : ns; at ``since`` it was as before, at ``until`` it has changed
    change, std : N, N m: rms of the friction at the present speeds, now less before, and its standard deviation
    part : of the friction before
    """

    drive: str
    since: int
    until: int
    change: float
    std: float
    part: float

    def __str__(self) -> str:
        return (
            f'friction of {self.drive} has changed by {100.0 * self.part:+.2g} % ({self.change:+.3g} +- {self.std:.2g} '
            f'at its present speeds) since {self.since / 1e9:.0f} s'
        )


class ModelWatch:
    """Tests segments, and remembers what they say.

    Parameters
    ----------
    observation : of the identification

    Attributes
    ----------
    is_tested : whether so much was tested that a force which matters would have been found
    lack : the clearest force that is missing; ``None``: nothing is known to be missing
    doubts : (F, B) changes of the base parameters with forces that may be there, as far as they are believed to be:
        part of the deviations
    """

    def __init__(self, observation: OnlineObservation) -> None:
        self._observation = observation
        self.is_tested = False
        self.lack: Lack | None = None
        self.doubts: Array = np.zeros((0, len(self._observation.scale)))
        self._evidence: dict[str, Evidence] = {}
        self._freedom = self._travel = 0.0
        self._fastest: Array | None = None

    def test(self, fit: SegmentFit, std: Array) -> Generator[None, None, None]:
        """Test a segment; a generator that yields between its steps.

        Parameters
        ----------
        fit : of the segment
        std : (B,) standard deviations of the base parameters by their noise
        """
        segment, observation = fit.segment, self._observation
        parameters = fit.fit.parameters
        predicted = segment.file_forces + segment.matrix @ parameters
        rubbing = observation.is_friction | observation.is_offset
        own = segment.matrix[..., rubbing] @ (observation.nominal + parameters)[rubbing]
        freedom = fit.fit.freedom + KEPT * self._freedom
        whole: dict[str, Evidence] = {}
        tested: list[Lack] = []
        ripples: list[Lack] = []
        # Stribeck's speeds are parts of those of the first whole segment, for evidence to add up
        own_fastest = np.maximum(np.abs(segment.samples.velocities).max(axis=0), 1e-300)
        fastest = own_fastest if self._fastest is None else self._fastest
        for title, key, forms in self._offered(segment, predicted, own, fastest):
            # those of a form in one drive after the other
            columns = np.concatenate([form[..., None] * np.eye(form.shape[1]) for form in forms], axis=-1)
            products = fit.fit.products(columns)
            evidence = Evidence.of(products)
            if key in self._evidence:
                evidence = evidence.after(self._evidence[key], KEPT)
            whole[key] = evidence
            yield
            found = evidence.explained()
            if found is None:
                continue
            changes, force = fit.fit.changes(products, found), (columns @ found.factors) * segment.used
            size = np.sqrt((force**2).sum(axis=0) / np.maximum(segment.used.sum(axis=0), 1))
            part = size / observation.typical_force
            worst = int(np.argmax(part))
            (ripples if key.startswith('ripple') else tested).append(Lack(
                title, log_probability(found, freedom), changes, float(np.abs(changes / std).max()),
                observation.machine.drive_labels[worst], float(size[worst]), float(part[worst]),
            ))  # fmt: skip
        if ripples:
            one = min(ripples, key=attrgetter('log_probability'))
            tested.append(replace(one, log_probability=min(0.0, one.log_probability + np.log(len(ripples)))))
        # what does the harm may only resemble what is missing: the clearest has the name
        is_lacking = any(one.is_decisive for one in tested)
        self.lack = min(tested, key=attrgetter('log_probability')) if is_lacking else self._unexplained(fit)
        self.doubts = np.array([np.sqrt(one.belief) * one.changes for one in tested]).reshape(-1, len(std))
        self.is_tested = self.is_tested or len(segment.stamps) >= LEAST
        if segment.is_whole:
            self._evidence, self._freedom = whole, freedom
            self._fastest = fastest

    def _unexplained(self, fit: SegmentFit) -> Lack | None:
        """Residuals that are far more than the noise of the efforts, though no force explains them."""
        observation, used = self._observation, fit.segment.used
        count = used.sum(axis=0)
        white = (fit.segment.white_noise * used).sum(axis=0) / np.maximum(count, 1)
        part, excess = fit.scatter / observation.typical_force, fit.scatter**2 / np.maximum(white, 1e-300)
        bad = (part > MISFIT) & (excess > EXCESS**2) & (count >= FEWEST)
        worst = int(np.argmax(np.where(bad, part, 0.0)))
        with np.errstate(divide='ignore'):  # beyond the smallest number: -inf
            evidence = float(np.log(chdtrc(count[worst], excess[worst] * count[worst])))
        return Lack(
            UNKNOWN, evidence, np.zeros(len(observation.scale)),
            np.inf, observation.machine.drive_labels[worst], float(fit.scatter[worst]), float(part[worst]),
        ) if bad.any() else None  # fmt: skip

    def _offered(
        self, segment: MotionSegment, predicted: Array, own: Array, fastest: Array
    ) -> Iterator[tuple[str, str, Sequence[Array]]]:
        """Forces of single drives that are offered, lazily: title, key that tells it from others, and forms (n, A).

        Parameters
        ----------
        predicted, own : (n, A) efforts, and of these what rubs
        fastest : (A,) speeds that Stribeck's are parts of
        """
        efforts = predicted - own
        free = replace(segment.samples, efforts=efforts, passed_on=efforts)
        near_home = from_home(self._observation.machine, free)
        for form in (LOAD_FRICTION, QUADRATIC_FRICTION, SPRING, DRIVE_INERTIA, OFFSET):
            if form is not OFFSET or not self._observation.has_offsets:
                yield form.title, form.kind, [form.force(near_home)]
        yield STRIBECK_TITLE, 'stribeck', [fading(part * fastest, free) for part in STRIBECK]
        yield GAIN_TITLE, 'gain', [predicted]
        yield EffortDelay.title, 'delay', [segment.samples.effort_rates]
        travel = float(np.ptp(segment.samples.positions, axis=0).mean())
        if travel > WIDER * self._travel:
            self._travel = travel
            self._evidence = {key: one for key, one in self._evidence.items() if not key.startswith('ripple')}
        for period in (self._travel / WAVES).tolist():  # as many waves as offline
            ripple = Ripple(self._observation.machine.actuated_joint_names, period, self._travel)
            left = segment.smoothed(ripple.period)
            yield Ripple.title, f'ripple {period:.6g}', [left * form for form in ripple.forms(free)]


class FrictionWatch:
    """Follows the friction of all drives since the first segment.

    Parameters
    ----------
    observation : of the identification

    Attributes
    ----------
    drifts : of drives whose friction has changed since the first segment, by their place
    """

    def __init__(self, observation: OnlineObservation) -> None:
        self._observation = observation
        self._first: tuple[Array, Array] | None = None  # parameters, covariance
        self._as_before: dict[int, int] = {}  # last stamp at which friction of a drive was as before
        self.drifts: dict[int, Drift] = {}

    def take(self, fit: SegmentFit, model_fits: bool) -> None:
        """Take a segment; where the model lacks a force, friction that seems to change is what it lacks."""
        observation, segment = self._observation, fit.segment
        now = observation.nominal + fit.fit.parameters, fit.fit.covariance
        self._first = self._first or now
        changes, covariances = now[0] - self._first[0], now[1] + self._first[1]
        for place, label in enumerate(observation.machine.drive_labels):
            part = np.flatnonzero(observation.is_friction & (observation.drive_of == place))
            before, change, covariance = self._first[0][part], changes[part], covariances[np.ix_(part, part)]
            distance = float(change @ np.linalg.solve(covariance, change))
            if distance < AS_BEFORE**2 * part.size:
                self._as_before[place] = segment.middle
            if not (model_fits and part.size) or distance < chdtri(part.size, CHANCE):
                continue
            columns = segment.matrix[segment.used[:, place], place][:, part]
            squares = columns.T @ columns / max(len(columns), 1)
            rms = float(np.sqrt(max(before @ squares @ before, 1e-300)))
            size = float(np.copysign(np.sqrt(max(change @ squares @ change, 0.0)), change @ squares @ before))
            known = self.drifts.get(place)
            if abs(size) >= CHANGED * rms and (known is None or abs(size / rms - known.part) > AGAIN):
                self.drifts[place] = Drift(
                    label, known.since if known else self._as_before[place], segment.middle, size,
                    float(np.sqrt(np.trace(squares @ covariance))), size / rms,
                )  # fmt: skip
