"""The bank of hypotheses: all are predicted, corrected and weighed by what was measured; the improbable are dropped.

A hypothesis says who is trusted (:class:`Label`) and where the platform is. Its probability is multiplied by that of a
change of the label and by the density of each measurement (multiple models: Bar-Shalom, Li, Kirubarajan 2001, section
11.6). Those that trust the same sensors and describe one pose become one. Mostly a single one is left, which trusts all
sensors: then measurements go through the compiled loop.

Behind a singular pose the legs have the positions of two assembly modes. How the platform came there says which one it
is, if that is known well enough. Where it is not, an estimate is cut into parts. Of parts of one cut the likelihood is
that of Gaussians. Between others that trust the same sensors only the normalised innovations count: the IMU is an
input, whose noise moves the legs more in one mode than in another, and the determinant would say for ever that the mode
in which legs move less is the likelier one. Legs alone fit all modes and all zeros, and say nothing of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import exp, inf
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_log
from pkm_description.machine import Pose

from pkm_estimation.filtering.legs_alone import LegsAlone
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import STRAIGHT, Fold, SingularReach
from pkm_estimation.filters import CovarianceError
from pkm_estimation.models import ATTITUDE, POSITION
from pkm_estimation.models.inertial_process import rotation_of
from pkm_estimation.tracking.hypotheses import (
    DIGITS,
    GOOD,
    Hypothesis,
    Label,
    apart,
    are_young,
    covariance_about,
    cut,
    joined,
    normalised,
    reduced,
    turn_between,
)
from pkm_estimation.tracking.leg_sets import LegExplanation, Offsets

#: probability below which a hypothesis is dropped, and how many are kept at most
LEAST, _MOST = 1e-8, 16
#: probability of all others at which zeros that have moved are taken to have moved for good
_DECIDED = 1e-4
#: numbers of families of hypotheses that are born are multiples of this and more
BIRTHS = 1000
#: hypotheses below which the legs count more again, and the largest factor on their noise variances
_FEW, _LOUDEST = 6, 1e12
#: square of the distance of two poses, in standard deviations, beyond which they are not looked at as one
_APART = 4.0
#: factor on the noise variances beyond which legs hardly count, and how many measurements that may last
_VAGUE, _LONGEST_VAGUE = 2.0**20, 20


class ExplainedHypothesis(NamedTuple):
    """A hypothesis that was predicted to a measurement, and what would explain the measurement by it."""

    predicted: Hypothesis
    explanation: LegExplanation
    logarithm: float
    number: int

    @property
    def label(self) -> Label:
        """Who is trusted then."""
        before, why = self.predicted.label, self.explanation
        moved = before.moved | {(leg, self.number) for leg in why.moved}
        swapped = before.swapped ^ {why.swapped} if why.swapped else before.swapped
        return Label(before.uses_imu, why.outliers, moved, swapped, why.noise, imu_noise=before.imu_noise)


class Bank:
    """Hypotheses, and the two filters in which each of them is predicted and corrected.

    Parameters
    ----------
    filter_, alone : with the IMU and without it
    reach : looks for singular poses
    arm : (3,) m, from the IMU to the point whose motion is published, platform axes

    Attributes
    ----------
    hypotheses : the likeliest first, which is in its filter, as is the likeliest that uses the IMU; empty: stopped
    tries_imu_noise : whether the next measurement tries if the noise of the IMU is larger, or smaller, than assumed
    told_imu_noise : largest factor on it that was told since all sensors were trusted
    noise_scale : factor on the noise variances of the legs: so many parts as their precision asks for would be too many
    """

    def __init__(self, filter_: PlatformFilter, alone: LegsAlone, reach: SingularReach, arm: Array) -> None:
        self._filter, self._alone, self._reach, self._arm = filter_, alone, reach, arm
        self.clear()

    def clear(self) -> None:
        """There is no estimate."""
        self.hypotheses: tuple[Hypothesis, ...] = ()
        self.noise_scale, self._vague, self._number = 1.0, 0, 0
        self.tries_imu_noise, self.told_imu_noise = False, 1.0

    # -- hypotheses and filters ----------------------------------------------------------------------------------------

    def filter_of(self, label: Label) -> PlatformFilter:
        """The filter that predicts and corrects such a hypothesis."""
        return self._filter if label.uses_imu else self._alone.filter

    def load(self, hypothesis: Hypothesis) -> PlatformFilter:
        """Put a hypothesis into its filter, which is returned."""
        if hypothesis.label.uses_imu:
            self._filter.restore(hypothesis.snapshot)
        else:
            self._alone.restore((hypothesis.snapshot, *hypothesis.motion))
        return self.filter_of(hypothesis.label)

    def held(
        self, label: Label, logarithm: float = 0.0, moved: Offsets | None = None, scans: int = 0
    ) -> Hypothesis:
        """The hypothesis that is in the filter of a label now."""
        moved = {} if moved is None else moved
        if label.uses_imu:
            return Hypothesis(self._filter.snapshot(), logarithm, label, (), moved, scans=scans)
        snapshot, *motion = self._alone.snapshot()
        return Hypothesis(snapshot, logarithm, label, tuple(motion), moved, scans=scans)

    def begin(self, hypotheses: Iterable[Hypothesis]) -> None:
        """Begin with hypotheses, and put the likeliest into the filters."""
        self.clear()
        self._take(list(hypotheses), 'there is no hypothesis')

    def collect(self) -> None:
        """Take over what was done since with the likeliest in its filter."""
        best, *others = self.hypotheses
        self.hypotheses = self.held(best.label, best.logarithm, best.moved, best.scans), *others

    def _take(self, hypotheses: list[Hypothesis], trouble: str) -> None:
        if not hypotheses:
            raise CovarianceError(trouble)
        self.hypotheses = normalised(hypotheses, LEAST)
        best = self.hypotheses[0]
        with_imu = next((one for one in self.hypotheses if one.label.uses_imu), None)
        if with_imu is not None and with_imu is not best:
            self.load(with_imu)
        self.load(best)

    @property
    def label(self) -> Label:
        """Who is trusted by the likeliest hypothesis."""
        return self.hypotheses[0].label if self.hypotheses else GOOD

    @property
    def moved(self) -> Offsets:
        """Zeros that have moved by the likeliest hypothesis, but not for good yet."""
        return self.hypotheses[0].moved if self.hypotheses else {}

    @property
    def is_plain(self) -> bool:
        """Whether a single hypothesis is left, and trusts all sensors."""
        is_single = len(self.hypotheses) == 1 and not self.tries_imu_noise
        return is_single and self.hypotheses[0].label == GOOD and self.noise_scale == 1.0

    def take_moved_zeros(self, last: ExplainedHypothesis) -> Offsets:
        """Zeros that have moved, once all else is improbable: they are those of the machine from now on.

        ``last``: what explained the last measurement, which tells zeros or does not.
        """
        if not self.label.moved or not self._tells_zeros(last):
            return {}
        if not exp(self.hypotheses[0].logarithm) > 1.0 - _DECIDED:
            return {}
        self.collect()
        best = self.hypotheses[0]
        self.hypotheses = (best._replace(logarithm=0.0, label=best.label._replace(moved=frozenset()), moved={}),)
        return dict(sorted(best.moved.items()))

    @property
    def parts(self) -> tuple[Hypothesis, ...]:
        """The likeliest hypothesis, and others that trust the same sensors: several poses are possible."""
        return tuple(one for one in self.hypotheses if one.label == self.label)

    @property
    def is_vague(self) -> bool:
        """Whether legs have hardly counted for long: where they are all there, a new start from them knows more."""
        return self._vague >= _LONGEST_VAGUE

    # -- a measurement -------------------------------------------------------------------------------------------------

    def predict(
        self, hypotheses: Sequence[Hypothesis], move: Callable[[Hypothesis], None], first: int = 0
    ) -> list[Hypothesis]:
        """Predict hypotheses; those whose pose may be on either side of a singular one are cut.

        ``move`` moves the filter that holds a hypothesis; one for which it raises CovarianceError is dropped.
        Numbers of families begin with ``first``.
        """
        predicted: list[Hypothesis] = []
        for one in hypotheses:
            self.load(one)
            try:
                move(one)
            except CovarianceError:
                continue
            predicted.append(self.held(one.label, one.logarithm, one.moved, one.scans))
        return self.cut([one._replace(family=family) for family, one in enumerate(predicted, first)])

    def cut(self, predicted: list[Hypothesis]) -> list[Hypothesis]:
        """Cut predicted hypotheses whose pose may be on either side of a singular one."""
        while _most_parts(pieces := self._pieces(predicted)) > _MOST and self.noise_scale < _LOUDEST:
            self.noise_scale *= 2.0
        self._vague = self._vague + 1 if self.noise_scale > _VAGUE else 0
        return pieces

    def _pieces(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        pieces: list[Hypothesis] = []
        for one in hypotheses:
            fold = self._fold(self.load(one))
            pieces += [one] if fold is None else cut(one, *fold, STRAIGHT)
        return pieces

    def _fold(self, filter_: PlatformFilter) -> Fold | None:
        return self._reach.fold(filter_, STRAIGHT, self.noise_scale) if self._reach.is_possible(filter_) else None

    def weigh(self, explained: Iterable[tuple[Hypothesis, LegExplanation]]) -> list[ExplainedHypothesis]:
        """Candidates that are not improbable, the likeliest first."""
        self._number += 1
        groups: dict[tuple[object, ...], list[ExplainedHypothesis]] = {}
        for one, why in explained:
            candidate = ExplainedHypothesis(one, why, one.logarithm + why.logarithm, self._number)
            labels = [one.label, candidate.label]
            if not self._tells_zeros(candidate):
                labels = [label._replace(moved=frozenset()) for label in labels]
            groups.setdefault((*labels, why.moved, one.family // BIRTHS), []).append(candidate)
        found = [one for group in groups.values() for one in _compared(group, group[0].label.uses_imu)]
        found.sort(key=lambda one: -round(one.logarithm, DIGITS))
        logarithms = np.array([one.logarithm for one in found])
        young = are_young(logarithms, [one.predicted.scans for one in found], LEAST)
        # what no measurement will tell is decided now
        least = [_DECIDED if one.label.moved and not self._tells_zeros(one) else LEAST for one in found]
        stays = young | (logarithms > logarithms.max(initial=-inf) + np.log(least)) & (np.arange(len(found)) < _MOST)
        return [found[place] for place in np.flatnonzero(stays).tolist()]

    def _tells_zeros(self, candidate: ExplainedHypothesis) -> bool:
        """Whether zeros that have moved show: without the IMU, and with no leg too many, any zeros fit."""
        return candidate.label.uses_imu or self._alone.tells(len(candidate.explanation.used) - 1)

    def keep(self, corrected: list[Hypothesis]) -> None:
        """Go on with corrected hypotheses; those that are one pose become one. Raises CovarianceError without any."""
        left: list[Hypothesis] = []
        for part in normalised(corrected, LEAST) if corrected else ():
            alike = [place for place, one in enumerate(left) if one.label == part.label]
            distances = apart([left[place] for place in alike], part).tolist() if alike else ()
            for place, distance in zip(alike, distances, strict=True):
                both = joined(left[place], part)
                filter_ = self.load(both)
                # over both of them together the legs' positions are straight
                if not self._reach.is_possible(filter_) or (distance <= _APART and self._fold(filter_) is None):
                    left[place] = both
                    break
            else:
                left.append(part)
        labels = {one.label for one in left}
        for label in labels:
            parts = [one for one in left if one.label == label]
            if len(parts) > _MOST:
                left = [one for one in left if one.label != label] + reduced(parts, _MOST)
        if len(left) < _FEW:
            self.noise_scale = max(1.0, 0.5 * self.noise_scale)
        self._take(left, 'no hypothesis explains the measurement')

    # -- what is known -------------------------------------------------------------------------------------------------

    def known(self, known: tuple[Array, ...], claim: Array, scale: float = 1.0) -> tuple[Array, ...]:
        """What is known of the likeliest, as :meth:`PlatformFilter.known`, with a covariance that covers all.

        ``claim`` (p, p) is the root of what is claimed of the machine's constants, ``scale`` a factor on the filter's
        covariance.
        """
        if len(self.hypotheses) < 2:
            return known
        state, _, *others = known
        return state, covariance_about(self.hypotheses[0], self.hypotheses, self._arm, claim, scale), *others

    def poses(self, imu_position: Array) -> tuple[Pose, ...]:
        """Poses of the platform that are possible."""
        found = []
        for part in self.parts:
            rotation = part.chart @ rotation_of(part.gaussian[0][ATTITUDE])
            found.append(Pose(part.chart @ part.gaussian[0][POSITION] - rotation @ imu_position, rotation))
        return tuple(found)

    @property
    def description(self) -> str:
        """How many poses are possible and how far apart, in words; empty where it is one."""
        best, *others = self.parts or (None,)
        if best is None or not others:
            return ''
        far = others[0]
        apart_by = float(np.linalg.norm((far.seen_from(best.chart)[0] - best.gaussian[0])[:3]))
        angle = float(np.degrees(np.linalg.norm(rotation_log(turn_between(best, far)))))
        return (
            f'{1 + len(others)} poses are possible, the two likeliest {1e3 * apart_by:.3g} mm and {angle:.3g} degrees '
            f'apart (probability {exp(best.logarithm):.3g} of the first): they have the same leg positions'
        )


def _most_parts(pieces: Sequence[Hypothesis]) -> int:
    """Into how many parts a hypothesis about the sensors is cut at most."""
    return max(Counter((one.label, one.family // BIRTHS) for one in pieces).values(), default=0)


def _compared(group: list[ExplainedHypothesis], uses_imu: bool) -> list[ExplainedHypothesis]:
    """Candidates of one label before and after, weighed against each other as the module says."""
    if len(group) == 1:
        return group
    logarithms = np.array([one.predicted.logarithm for one in group])
    weights = np.exp(logarithms - logarithms.max())
    sizes, nis = (np.array([getattr(one.explanation, name) for one in group]) for name in ('size', 'nis'))
    families = np.array([one.predicted.family for one in group])
    usual = np.array([np.average(sizes[families == own], weights=weights[families == own]) for own in families])
    added = np.average(sizes, weights=weights) - usual
    if not uses_imu:
        added += 0.5 * (nis - np.average(nis, weights=weights)) + usual - sizes
    return [
        one._replace(logarithm=one.logarithm + value) for one, value in zip(group, added.tolist(), strict=True)
    ]
