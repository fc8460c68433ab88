"""Payload while the machine runs: whether the load has changed, or friction, or nothing, and what the change means.

These are hypotheses of one model: the base parameters before, with a covariance, to which a change adds that of a
payload of which nothing is known, or that of friction and offsets that jump, or both; or what was known was known less
well than its deviations say, as where calm motion was followed by lively. The same data have an evidence under each
(Bayes factor; MacKay 2003, chapter 28). Every twentieth of a second it is asked whether the last two begin a change;
what follows is judged by the same test, until the load is known well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.estimator.bodies import body_from_parameters
from pkm_identification.online.change_filter import Kept

#: s, interval of the looks for a change, each of which takes the samples of two
STEP = 0.05
#: intervals that are remembered, to go back to before a change
MOST = 16
#: s after a change of the load, and part of its mass that its standard deviation may be, before the next is looked for
SETTLING, SETTLED = 6.0, 0.01
#: s after which the next change is looked for in any case: a motion may not tell the load that well
LONGEST = 20.0
#: s after which a change that is not confirmed is none
DISMISSED = 3.0
#: s between two looks at a change
LOOK = 0.025
#: factors on the covariance of what was known, where that was known less well than it said
WIDER = 10.0, 100.0
#: natural logarithms of the odds beyond which one change is told from another, and beyond which there is one at all
NO_DOUBT, CERTAIN = 5.0, 10.0
#: standard deviations that a changed mass must be from zero
CONFIRMED = 5.0


@dataclass(frozen=True)
class Payload:
    """A change of the load on the platform.

    Attributes
    ----------
    since : ns, when it changed
    parameters : (10,) mass [kg], first moments [kg m], inertia about the platform's origin [kg m^2]: xx xy xz yy yz zz
    covariance : (10, 10) of these
    known : (10,) whether the data tell a parameter, or it is still what was believed before
    """

    since: int
    parameters: Array
    covariance: Array
    known: NDArray[np.bool_]

    @property
    def mass(self) -> float:
        """Mass, kg; negative where a load was taken off."""
        return float(self.parameters[0])

    @property
    def mass_std(self) -> float:
        """Standard deviation of the mass, kg."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def is_decisive(self) -> bool:
        """Whether the mass is beyond doubt."""
        return abs(self.mass) > CONFIRMED * self.mass_std

    @property
    def center(self) -> Array:
        """Centre of mass (3,) m, in the platform's frame; NaN without a mass."""
        return self.parameters[1:4] / self.mass if self.mass != 0.0 else np.full(3, np.nan)

    @property
    def center_std(self) -> Array:
        """Standard deviations (3,) of the centre, m; infinite without a mass."""
        if self.mass == 0.0:
            return np.full(3, np.inf)
        slope = np.concatenate([-self.center[:, None], np.eye(3)], axis=1) / self.mass
        return np.sqrt(np.diag(slope @ self.covariance[:4, :4] @ slope.T))

    @property
    def inertia_about_center(self) -> Array:
        """Inertia (3, 3) about the centre of mass, kg m^2, axes of the platform; zero where the data do not tell it."""
        if not self.known.all():
            return np.zeros((3, 3))
        return body_from_parameters('payload', self.parameters).inertia

    def __str__(self) -> str:
        text = f'{self.mass:+.4g} +- {self.mass_std:.2g} kg'
        if not self.known[1:4].any():
            return f'{text}, centre of mass not known yet'
        parts = [
            f'{axis} {value:.4g} +- {std:.2g} m' if known else f'{axis} not known'
            for axis, value, std, known in zip('xyz', self.center, self.center_std, self.known[1:4], strict=True)
        ]
        return f'{text}, centre of mass {", ".join(parts)}'


class Posterior(NamedTuple):
    """Estimate under a prior.

    Attributes
    ----------
    mean, covariance : (B,), (B, B)
    evidence : natural logarithm of the likelihood of the data under the prior, less that of no change at all
    """

    mean: Array
    covariance: Array
    evidence: float


def posterior(prior: Array, information: Array, moment: Array) -> Posterior:
    """Estimate of changes whose mean is zero before the data.

    Parameters
    ----------
    prior : (B, B) their covariance
    information, moment : (B, B), (B,) of the data: ``A' R^-1 A`` and ``A' R^-1 y`` of rows A, forces y, noise R
    """
    size = np.sqrt(np.diag(prior))
    scale = np.outer(size, size)
    whole = np.linalg.inv(prior / scale) + information * scale
    covariance = np.linalg.inv(whole)
    covariance = 0.5 * (covariance + covariance.T)
    mean = covariance @ (moment * size)
    logarithms = np.linalg.slogdet(prior / scale)[1] + np.linalg.slogdet(whole)[1]
    return Posterior(mean * size, covariance * scale, float(0.5 * (mean @ (moment * size) - logarithms)))


class Judged(NamedTuple):
    """What data say of a change.

    Attributes
    ----------
    payload : that has come; whose deviations allow for friction that jumped with it, unless that is beyond doubt
    is_change : whether something has changed
    is_decisive : whether it is the load, and its mass is beyond doubt
    without : parameters (B,), (B, B) less those before, if it is not the load
    detectable_mass : kg, at the platform's origin, that would be beyond doubt as soon
    """

    payload: Payload
    is_change: bool
    is_decisive: bool
    without: Posterior
    detectable_mass: float


class LoadChange:
    """Hypotheses of what changed at a time, and the parameters since.

    Base parameters before the change plus ``payload_map @ payload`` are those after it. Once these are estimated, the
    payload follows from them alone, by the rules of normal distributions.

    Parameters
    ----------
    since : ns
    before : what was known then
    payload_map : (B, 10), see :class:`~pkm_identification.online.observation.OnlineObservation`
    spread : (10,) standard deviations of the payload's parameters before anything is known
    jump : (B,) standard deviations of what else may have changed

    Attributes
    ----------
    since, before : as given
    covariance : (B, B) of the base parameters to go on from: the load, and all else with it
    is_confirmed : the mass is beyond doubt
    is_settled : it is known well enough, or long enough, for the next change to be looked for
    is_none : it is not confirmed and will not be
    instead : what is known then
    payload : present; ``None`` before it is confirmed
    """

    def __init__(self, since: int, before: Kept, payload_map: Array, spread: Array, jump: Array) -> None:
        self.since, self.before, self._spread = since, before, spread
        self._shift, self._of_mass = payload_map * spread**2, payload_map[:, 0]
        of_load, of_friction = self._shift @ payload_map.T, np.diag(jump**2)
        nothing = before.covariance
        self.covariance = nothing + of_load + of_friction
        wider = (factor * nothing for factor in WIDER)
        self._priors = nothing + of_load, self.covariance, nothing, nothing + of_friction, *wider
        self._inverse = _inverse(self.covariance)
        self.is_confirmed = self.is_settled = self.is_none = False
        self.instead = before
        self.payload: Payload | None = None
        self._next = since

    def judged(self, information: Array, moment: Array) -> Judged:
        """Compare the hypotheses by data since the change, whose forces are beyond those before; see posterior."""
        found = [posterior(prior, information, moment) for prior in self._priors]
        load, both, nothing, *_ = found
        with_load, without = max(load.evidence, both.evidence), max(found[2:], key=lambda one: one.evidence)
        alone, safe = (self._payload(one, prior) for one, prior in zip(found[:2], self._priors[:2], strict=True))
        force = information @ self._of_mass
        told = float(self._of_mass @ force - force @ nothing.covariance @ force)  # beside what may have been before
        likely = alone if load.evidence > both.evidence else safe
        return Judged(
            alone if load.evidence - both.evidence > NO_DOUBT else safe,
            max(with_load, without.evidence) - nothing.evidence > CERTAIN,
            with_load - without.evidence > NO_DOUBT and with_load - nothing.evidence > CERTAIN and likely.is_decisive,
            without,
            float(np.sqrt(2.0 * CERTAIN / max(told, 1e-300))),
        )  # fmt: skip

    def _payload(self, found: Posterior, prior: Array) -> Payload:
        gain = np.linalg.solve(prior, self._shift).T
        spread = np.diag(self._spread**2) - gain @ (prior - found.covariance) @ gain.T
        known = np.sqrt(np.maximum(np.diag(spread), 0.0)) < 0.5 * self._spread
        return Payload(self.since, gain @ found.mean, spread, known)

    def follow(self, stamp: int, parameters: Array, covariance: Array) -> bool:
        """Judge by base parameters (B,), (B, B) at ``stamp``; whether it has settled with this call."""
        if stamp < self._next:
            return False
        self._next = stamp + round(LOOK * 1e9)
        after = _inverse(covariance)
        # what was known before is no part of what the data say
        found = self.judged(after - self._inverse, after @ (parameters - self.before.change))
        if self.is_confirmed or found.is_decisive:
            self.is_confirmed, self.payload = True, found.payload
        elif stamp - self.since > DISMISSED * 1e9:
            self.is_none, without = True, found.without
            self.instead = Kept(stamp, self.before.change + without.mean, without.covariance, self.before.noise)
        if self.is_settled or not self.is_confirmed or stamp - self.since <= SETTLING * 1e9:
            return False
        is_old = stamp - self.since > LONGEST * 1e9
        self.is_settled = is_old or bool(found.payload.mass_std < SETTLED * np.abs(found.payload.mass))
        return self.is_settled


def _inverse(covariance: Array) -> Array:
    """Inverse (B, B) of a covariance, whatever its units."""
    size = np.sqrt(np.diag(covariance))
    return np.asarray(np.linalg.inv(covariance / np.outer(size, size)) / np.outer(size, size))


class SummedInterval(NamedTuple):
    """Normal equations of the samples of one interval of :data:`STEP`, and what was known when it began."""

    known: Kept
    information: Array
    moment: Array


class RecentSteps:
    """The last intervals of :data:`STEP`, up to :data:`MOST` of them."""

    def __init__(self) -> None:
        self._steps: deque[SummedInterval] = deque(maxlen=MOST)

    def restart(self) -> None:
        """Begin anew."""
        self._steps.clear()

    def add(
        self, stamp: int, matrix: Array, target: Array, weights: Array, known: Callable[[int], Kept]
    ) -> tuple[int, Array, Array] | None:
        """Take a sample; begin [ns], information and moment of the last two intervals, each time that they are full.

        Parameters
        ----------
        matrix, target : (A, B), (A,) rows, and forces beyond those of the file
        weights : (A,) inverse variances; 0 leaves a drive out
        known : what is known at a time
        """
        weighed, steps, found = matrix.T * weights, self._steps, None
        sums = weighed @ matrix, weighed @ target
        if steps and stamp - steps[-1].known.stamp < STEP * 1e9:
            last = steps[-1]
            steps[-1] = SummedInterval(last.known, last.information + sums[0], last.moment + sums[1])
            return None
        if len(steps) > 1:
            first, last = steps[-2], steps[-1]
            found = first.known.stamp, first.information + last.information, first.moment + last.moment
        steps.append(SummedInterval(known(stamp), *sums))
        return found

    def known_before(self, stamp: int) -> Kept | None:
        """What was known at a time; ``None`` if that is not remembered."""
        return next((one.known for one in reversed(self._steps) if one.known.stamp <= stamp), None)
