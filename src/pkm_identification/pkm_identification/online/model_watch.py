"""Does the model of the running identification lack a force? The same test as offline, segment by segment.

Each force that the model does not have is offered to the residuals of a segment (:mod:`pkm_identification.judgement.
score`), with a fit of the segment's own: parameters that drift slowly are no lack of a force. A segment is tested each
time that it has grown; evidence of whole ones adds up, older ones fade.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.columns.joint_terms import (
    DRIVE_INERTIA,
    LOAD_FRICTION,
    OFFSET,
    QUADRATIC_FRICTION,
    SPRING,
    EffortDelay,
    Form,
    Ripple,
)
from pkm_identification.columns.term import JointSamples
from pkm_identification.fitting.candidates import GAIN_TITLE, STRIBECK, STRIBECK_TITLE, WAVES, fading
from pkm_identification.fitting.lack_of_fit import CHANCE, DOUBTFUL, HARM
from pkm_identification.judgement.score import Evidence, Explained, log_probability
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.segment import MotionSegment, SegmentFit

#: part that evidence keeps from one segment to the next
KEPT = 0.8
#: samples of the least segment in which nothing that is missing means that nothing is
LEAST = 200
#: factor of the travel by which it must grow for other ripples to be offered
WIDER = 1.3


@dataclass(frozen=True)
class Lack:
    """A force that the model lacks.

    Attributes
    ----------
    title : what it may be
    log_probability : natural logarithm of the probability that chance makes it seem so clear
    shift : largest change of a base parameter with it, in its stated standard deviations
    drive : where it is largest
    size : N, N m, rms of it there
    part : of a typical force of this drive
    """

    title: str
    log_probability: float
    shift: float
    drive: str
    size: float
    part: float

    def __str__(self) -> str:
        return (
            f'the model lacks a force: {self.title} (clearest in {self.drive}, {self.size:.3g} rms, '
            f'{100.0 * self.part:.2g} % of a typical force; chance makes it so with probability '
            f'{np.exp(max(self.log_probability, -230.0)):.1g}): no parameter is certain'
        )


@dataclass
class _Tested:
    offered: Offered
    explained: Explained
    changes: Array
    shift: float
    log_probability: float

    @property
    def is_decisive(self) -> bool:
        """Whether chance does not explain it, and parameters are wrong without it."""
        return self.log_probability < np.log(CHANCE) and self.shift > HARM


class ModelWatch:
    """Tests segments, and remembers what they say.

    Parameters
    ----------
    observation : of the identification

    Attributes
    ----------
    is_tested : whether so much was tested that a force which matters would have been found
    lack : the clearest force that is missing; ``None``: nothing is known to be missing
    doubts : (F, B) changes of the base parameters with forces that may be there: part of the deviations, as offline
    """

    def __init__(self, observation: OnlineObservation) -> None:
        self._observation = observation
        self._joints = observation.machine.actuated_joint_names
        self._labels = observation.machine.drive_labels
        self.reset()

    def reset(self) -> None:
        """Forget all evidence."""
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
        predicted = segment.file_forces + segment.matrix @ fit.parameters
        rubbing = observation.is_friction | observation.is_offset
        own = segment.matrix[..., rubbing] @ (observation.nominal + fit.parameters)[rubbing]
        motion = Motion(segment, segment.joint_samples(predicted - own), segment.joint_samples(predicted))
        freedom = fit.freedom + KEPT * self._freedom
        whole: dict[str, Evidence] = {}
        tested: list[_Tested] = []
        ripples: list[_Tested] = []
        for offered in self._offers(fit):
            products = fit.products(offered.columns(motion))
            evidence = Evidence.of(products)
            if offered.key in self._evidence:
                evidence = evidence.after(self._evidence[offered.key], KEPT)
            whole[offered.key] = evidence
            yield
            found = evidence.explained()
            if found is None:
                continue
            changes = fit.changes(products, found)
            (ripples if offered.key.startswith('ripple') else tested).append(_Tested(
                offered, found, changes, float(np.abs(changes / std).max()), log_probability(found, freedom)
            ))  # fmt: skip
        if ripples:
            one = min(ripples, key=_by_chance)
            tested.append(replace(one, log_probability=min(0.0, one.log_probability + np.log(len(ripples)))))
        # what does the harm may only resemble what is missing: the clearest has the name
        is_lacking = any(one.is_decisive for one in tested)
        self.lack = self._lack(min(tested, key=_by_chance), fit, motion) if is_lacking else None
        self.doubts = np.array([one.changes for one in tested if one.log_probability < np.log(DOUBTFUL)])
        self.doubts = self.doubts.reshape(-1, len(std))
        self.is_tested = self.is_tested or len(segment.stamps) >= LEAST
        if segment.is_whole:
            self._evidence, self._freedom = whole, freedom
            self._fastest = self._fastest_of(segment)

    def _offers(self, fit: SegmentFit) -> Iterator[Offered]:
        travel = float(np.ptp(fit.segment.positions, axis=0).mean())
        if travel > WIDER * self._travel:
            self._travel = travel
            self._evidence = {key: one for key, one in self._evidence.items() if not key.startswith('ripple')}
        yield from offered_forces(self._fastest_of(fit.segment), self._observation.has_offsets)
        yield from offered_ripples(self._joints, self._travel)

    def _fastest_of(self, segment: MotionSegment) -> Array:
        """Speeds (A,) that Stribeck's are parts of: those of the first whole segment, for evidence to add up."""
        if self._fastest is not None:
            return self._fastest
        return np.maximum(np.abs(segment.velocities).max(axis=0), 1e-300)

    def _lack(self, tested: _Tested, fit: SegmentFit, motion: Motion) -> Lack:
        used = fit.segment.used
        force = (tested.offered.columns(motion) @ tested.explained.factors) * used
        size = np.sqrt((force**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1))
        part = size / self._observation.typical_force
        worst = int(np.argmax(part))
        return Lack(
            tested.offered.title, tested.log_probability, tested.shift, self._labels[worst],
            float(size[worst]), float(part[worst]),
        )  # fmt: skip


def _by_chance(tested: _Tested) -> float:
    return tested.log_probability


@dataclass(frozen=True)
class Motion:
    """What columns are made of.

    Attributes
    ----------
    segment : the motion
    free, total : its samples with the efforts (n, A) without friction, and with all that the model predicts
    """

    segment: MotionSegment
    free: JointSamples
    total: JointSamples


@dataclass(frozen=True)
class Offered:
    """A force of single drives.

    Attributes
    ----------
    title : what it is
    key : tells it from others of the same title
    forms : force (n, A) per unit of its factors in each drive
    """

    title: str
    key: str
    forms: Callable[[Motion], Sequence[Array]]

    def columns(self, motion: Motion) -> Array:
        """Columns (n, A, K): those of a form in one drive after the other."""
        forms = self.forms(motion)
        count, drives = motion.segment.positions.shape
        result = np.zeros((count, drives, len(forms) * drives))
        places = np.arange(drives)
        for place, form in enumerate(forms):
            result[:, places, place * drives + places] = form
        return result


def offered_forces(fastest: Array, has_offsets: bool) -> Iterator[Offered]:
    """Forces that are offered, but for ripples.

    Parameters
    ----------
    fastest : (A,) rad/s or m/s, of the drives
    has_offsets : whether the model has offsets of the efforts
    """
    for form in (LOAD_FRICTION, QUADRATIC_FRICTION, SPRING, DRIVE_INERTIA, *(() if has_offsets else (OFFSET,))):
        yield Offered(form.title, form.kind, partial(_of_form, form))
    yield Offered(
        STRIBECK_TITLE, 'stribeck', lambda motion: [fading(part * fastest, motion.free) for part in STRIBECK]
    )
    yield Offered(GAIN_TITLE, 'gain', lambda motion: [motion.total.efforts])
    yield Offered(EffortDelay.title, 'delay', lambda motion: [motion.segment.effort_rates])


def _of_form(form: Form, motion: Motion) -> Sequence[Array]:
    return [form.force(motion.free)]


def offered_ripples(joints: Sequence[str], travel: float) -> Iterator[Offered]:
    """Ripples over the position of the drives, with so many waves over the ``travel`` [m or rad] as offline."""
    for period in (travel / WAVES).tolist():
        yield Offered(Ripple.title, f'ripple {period:.6g}', partial(_of_ripple, Ripple(joints, period, travel)))


def _of_ripple(ripple: Ripple, motion: Motion) -> Sequence[Array]:
    """Sine and cosine as far as the window has not smoothed them away."""
    left = motion.segment.smoothed(ripple.period)
    return [left * form for form in ripple.forms(motion.free)]
