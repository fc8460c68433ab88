"""Doubt about the assembly mode: several estimates side by side until IMU and legs leave one of them.

Behind a singular pose the legs have the positions of two assembly modes. How the platform came there says which one it
is, if that is known well enough: mostly the velocity, by the IMU. Where it is not, the estimate is cut into parts
(:mod:`pkm_estimation.filtering.gaussian_sum`). Each is predicted and corrected by itself, and its probability is
multiplied by the likelihood of each measurement. Parts that become improbable are dropped; parts that describe one
pose become one; the doubt ends when a single one is left.

Of parts of one cut the likelihood is that of Gaussians, with the determinant of the innovation's covariance. Between
others only the normalised innovations count: the IMU is an input, whose noise moves the legs more in one mode than in
another, and the determinant would say for ever that the mode in which legs move less is the likelier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_log
from pkm_description.machine import Pose

from pkm_estimation.filtering.gaussian_sum import (
    GaussianComponent,
    apart,
    covariance_about,
    cut,
    joined,
    normalised,
    reduced,
    turn_between,
)
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import STRAIGHT, Fold, SingularReach
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models import ATTITUDE, POSITION
from pkm_estimation.models.inertial_process import rotation_of

#: probability below which a part is dropped, and how many are kept at most
_LEAST, _MOST = 1e-7, 16
#: parts below which the legs are believed more again, and the largest factor on their noise variances
_FEW, _LOUDEST = 6, 1e12
#: square of the distance of two poses, in standard deviations, beyond which they are not looked at as one
_APART = 4.0
#: part of the curvature at which a doubt begins, below which it ends
_CLEAR = 0.2
#: measurements in a row that fit no part, after which all are wrong
_PATIENCE = 20
#: factor on the noise variances beyond which parts hardly follow the legs, and how many measurements that may last
_VAGUE, _LONGEST_VAGUE = 2.0**20, 20

#: corrects a filter; the innovation, and the logarithm of the determinant of its covariance
Correct = Callable[[], tuple[Innovation, float]]


class ModeDoubt:
    """Parts of an estimate; attributes are replaced, never written into.

    Parameters
    ----------
    reach : looks for singular poses
    arm : (3,) m, from the IMU to the point whose motion is published, platform axes
    weighs : whether measurements make parts more or less likely; not where legs alone estimate: they fit all modes, and
        which motion is the smoother says nothing once stamps jitter or a leg fails

    Attributes
    ----------
    parts : the likeliest first; empty: there is no doubt
    cause : in words
    noise_scale : factor on the noise variances of the legs: so many parts as their precision asks for would be too many
    missed : measurements in a row that fit no part
    vague : measurements in a row in which the legs hardly counted
    """

    def __init__(self, reach: SingularReach, arm: Array, weighs: bool = True) -> None:
        self._reach, self._arm, self._weighs = reach, arm, weighs
        self.end()

    def end(self) -> None:
        """There is no doubt any more."""
        self.parts: tuple[GaussianComponent, ...] = ()
        self.cause = ''
        self.missed = self.vague = 0
        self.noise_scale = 1.0

    @property
    def is_open(self) -> bool:
        """Whether there is a doubt."""
        return bool(self.parts)

    @property
    def is_lost(self) -> bool:
        """Whether measurements have fitted no part for long."""
        return self.missed >= _PATIENCE

    @property
    def is_vague(self) -> bool:
        """Whether legs have hardly counted for long: where they are all there, a new start from them knows more."""
        return self.vague >= _LONGEST_VAGUE

    def begins(self, filter_: PlatformFilter) -> bool:
        """Begin where a filter that was predicted to a measurement may be on either side of a singular pose."""
        if not self._reach.is_possible(filter_):
            return False
        fold = self._reach.fold(filter_)
        if fold is None:
            return False
        self.parts, self.missed = tuple(cut(GaussianComponent(filter_.snapshot(), 0.0), *fold, STRAIGHT)), 0
        self.cause = 'a singular pose is within what is known of the pose'
        return True

    def begin_with(self, snapshots: Iterable[tuple[object, ...]], cause: str) -> None:
        """Begin with estimates that are equally likely."""
        parts = [GaussianComponent(snapshot, 0.0) for snapshot in snapshots]
        self.parts, self.cause, self.missed = normalised(parts, 0.0), cause, 0

    def take(self, parts: list[GaussianComponent], cause: str) -> None:
        """Go on with parts of another doubt."""
        self.parts, self.cause, self.missed = tuple(parts), cause, 0

    def predict(self, filter_: PlatformFilter, predict: Callable[[], None]) -> None:
        """Predict all parts; those whose pose may be on either side of a singular one are cut."""
        predicted: list[GaussianComponent] = []
        for part in self.parts:
            filter_.restore(part.snapshot)
            try:
                predict()
            except CovarianceError:
                continue
            predicted.append(GaussianComponent(filter_.snapshot(), part.logarithm))
        while len(pieces := self._cut(filter_, predicted)) > _MOST and self.noise_scale < _LOUDEST:
            self.noise_scale *= 2.0
        self.vague = self.vague + 1 if self.noise_scale > _VAGUE else 0
        self._keep(pieces, 'no estimate is left')

    def _cut(self, filter_: PlatformFilter, parts: list[GaussianComponent]) -> list[GaussianComponent]:
        """Cut the parts whose pose may be on either side of a singular one."""
        pieces: list[GaussianComponent] = []
        for family, part in enumerate(parts):
            filter_.restore(part.snapshot)
            fold, whole = self._fold(filter_), part._replace(family=family)
            pieces += [whole] if fold is None else cut(whole, *fold, STRAIGHT)
        return pieces

    def _fold(self, filter_: PlatformFilter) -> Fold | None:
        return self._reach.fold(filter_, STRAIGHT, self.noise_scale) if self._reach.is_possible(filter_) else None

    def correct(
        self, filter_: PlatformFilter, correct: Correct, limit: float, is_possible: Callable[[], bool]
    ) -> Innovation | None:
        """Correct all parts with a measurement, and leave the likeliest in the filter.

        Parameters
        ----------
        filter_ : takes each part in turn
        correct : corrects it
        limit : NIS beyond which a measurement fits no part: then none is corrected
        is_possible : whether the pose that the filter has is one of the machine

        Returns
        -------
        The innovation of the likeliest part, ``None`` where the measurement fits none

        Raises
        ------
        CovarianceError
            No part is left.
        """
        corrected: list[GaussianComponent] = []
        innovations: dict[int, Innovation] = {}
        logarithms: list[float] = []
        for part in self.parts:
            filter_.restore(part.snapshot)
            try:
                innovation, logarithm = correct()
                if is_possible() and isfinite(innovation.nis + logarithm):
                    done = part._replace(snapshot=filter_.snapshot())
                    innovations[id(done.snapshot)] = innovation
                    corrected.append(done)
                    logarithms.append(logarithm)
            except CovarianceError:
                continue
        if not corrected:
            raise CovarianceError('no assembly mode fits')
        if min(innovation.nis for innovation in innovations.values()) > limit:
            self.missed += 1
            filter_.restore(self.parts[0].snapshot)
            return None
        self.missed = 0
        usual = _means(corrected, logarithms)
        judged = corrected if not self._weighs else [
            part._replace(
                logarithm=part.logarithm - 0.5 * (innovations[id(part.snapshot)].nis + logarithm - usual[part.family])
            )
            for part, logarithm in zip(corrected, logarithms, strict=True)
        ]
        self._keep(judged, 'no assembly mode fits')
        best = innovations[id(self.parts[0].snapshot)]
        self._join(filter_)
        filter_.restore(self.parts[0].snapshot)
        if len(self.parts) == 1 and self.noise_scale == 1.0 and self._reach.fold(filter_, _CLEAR * STRAIGHT) is None:
            self.end()
        return best

    def _keep(self, parts: list[GaussianComponent], trouble: str) -> None:
        if not parts:
            raise CovarianceError(trouble)
        self.parts = normalised(parts, _LEAST)

    def _join(self, filter_: PlatformFilter) -> None:
        """Join parts that are one pose: over both of them together the legs' positions are straight."""
        left: list[GaussianComponent] = []
        for part in self.parts:
            near = np.flatnonzero(~(apart(left, part) > _APART)).tolist() if left else ()
            for place in near:
                both = joined(left[place], part)
                filter_.restore(both.snapshot)
                if self._fold(filter_) is None:
                    left[place] = both
                    break
            else:
                left.append(part)
        self.parts = normalised(reduced(left, _MOST), 0.0)
        if len(self.parts) < _FEW:
            self.noise_scale = max(1.0, 0.5 * self.noise_scale)

    def known(self, known: tuple[Array, ...], claim: Array) -> tuple[Array, ...]:
        """What is known of the likeliest part, as :meth:`PlatformFilter.known`, with a covariance that covers all.

        ``claim`` (p,) are the weights of the machine's constants.
        """
        state, _, *others = known
        return state, covariance_about(self.parts[0], self.parts, self._arm, claim), *others

    def poses(self, imu_position: Array) -> tuple[Pose, ...]:
        """Poses of the platform that are possible."""
        found = []
        for part in self.parts:
            rotation = part.chart @ rotation_of(part.gaussian[0][ATTITUDE])
            found.append(Pose(part.chart @ part.gaussian[0][POSITION] - rotation @ imu_position, rotation))
        return tuple(found)

    @property
    def description(self) -> str:
        """How many poses are possible, how far apart, and why; in words."""
        best, poses = self.parts[0], len(self.parts)
        far = max(self.parts[1:], key=lambda part: part.logarithm, default=best)
        apart = float(np.linalg.norm((far.seen_from(best.chart)[0] - best.gaussian[0])[:3]))
        turn = turn_between(best, far)
        angle = float(np.degrees(np.linalg.norm(rotation_log(turn))))
        return (
            f'{poses} poses are possible, the two likeliest {1e3 * apart:.3g} mm and {angle:.3g} degrees apart '
            f'(probability {np.exp(best.logarithm):.3g} of the first): {self.cause}'
        )


def legs_correction(
    filter_: PlatformFilter, positions: Array, used: NDArray[np.intp], noise_scale: float
) -> tuple[Innovation, float]:
    """Correct a filter with drive positions (A,); the innovation, and the logarithm of its covariance's determinant.

    Constraints count in both, as innovations of the same measurement.
    """
    _, spread = filter_.predicted_innovation(positions, noise_scale)
    innovation = filter_.update(positions, used, noise_scale=noise_scale)
    if filter_.legs.constraint_count:
        innovation = innovation._replace(nis=innovation.nis + filter_.constraint_nis)
    return innovation, float(np.linalg.slogdet(spread[np.ix_(used, used)])[1])


def _means(parts: list[GaussianComponent], numbers: list[float]) -> dict[int, float]:
    """Mean of a number of each part over the parts of each family, by their probabilities."""
    families: dict[int, tuple[float, float]] = {}
    most = max(part.logarithm for part in parts)
    for part, number in zip(parts, numbers, strict=True):
        weight = float(np.exp(max(part.logarithm - most, -500.0)))
        total, weights = families.get(part.family, (0.0, 0.0))
        families[part.family] = total + weight * number, weights + weight
    return {family: total / weights for family, (total, weights) in families.items()}
