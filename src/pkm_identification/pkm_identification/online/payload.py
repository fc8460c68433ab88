"""Payload while the machine runs: whether the load has changed, and what the change means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.online.change_filter import Kept

#: s, interval of the tests; an estimate takes the residuals of two
STEP = 0.1
#: tests that the mean and the scatter remember, and that are needed before the first alarm
MEMORY, LEAST = 200, 100
#: tests after a change of the load before the next one can be seen
PAUSE = 20
#: tests beyond what is usual without a change of the load, after which something else has changed: a new history begins
LASTING = 20
#: squared distance from the mean in units of the scatter: of an alarm, and beyond which history learns nothing
ALARM, DOUBT = 80.0, 25.0
#: part of the residuals' squares beyond the usual that a payload must explain
EXPLAINED = 0.5
#: parameters of the test: mass and first moments, which gravity shows
COUNT = 4
#: s after a change of the load, and part of its mass that its standard deviation may be, before the next is looked for
SETTLING, SETTLED = 6.0, 0.01
#: s after which the next change is looked for in any case: a motion may not tell the load that well
LONGEST = 20.0
#: s after which a change that is not confirmed is none
DISMISSED = 3.0
#: s between two looks
LOOK = 0.05
#: natural logarithms of the odds beyond which only the load has changed, and beyond which it has, not something else
NO_DOUBT, CERTAIN = 5.0, 15.0
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
        xx, xy, xz, yy, yz, zz = self.parameters[4:].tolist()
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        c = self.center
        return np.asarray(about_origin - self.mass * (c @ c * np.eye(3) - np.outer(c, c)))

    def __str__(self) -> str:
        text = f'{self.mass:+.4g} +- {self.mass_std:.2g} kg'
        if not self.known[1:4].any():
            return f'{text}, centre of mass not known yet'
        parts = [
            f'{axis} {value:.4g} +- {std:.2g} m' if known else f'{axis} not known'
            for axis, value, std, known in zip('xyz', self.center, self.center_std, self.known[1:4], strict=True)
        ]
        return f'{text}, centre of mass {", ".join(parts)}'


class PayloadPrior:
    """What was believed when the load changed: the same parameters, and a payload that nothing is known of.

    Base parameters before the change plus ``payload_map @ payload`` are those after it. Once these are estimated, the
    payload follows from them alone, by the rules of normal distributions. Other parameters may have changed with the
    load (friction that jumps), or may not: both are weighed against each other by their likelihoods (Bayes factor),
    and only what is beyond doubt is believed not to have changed. The estimate itself need not know: a prior is
    exchanged afterwards.

    Parameters
    ----------
    since : ns
    parameters, covariance : (B,), (B, B) before the change
    payload_map : (B, 10), see :class:`~pkm_identification.online.observation.OnlineObservation`
    spread : (10,) standard deviations of the payload's parameters before anything is known
    jump : (B,) standard deviations of what else may have changed; default: nothing may

    Attributes
    ----------
    covariance : (B, B) to estimate with: of a load that changed, and all else with it
    """

    def __init__(
        self, since: int, parameters: Array, covariance: Array, payload_map: Array, spread: Array,
        jump: Array | None = None,
    ) -> None:  # fmt: skip
        self._since, self._parameters, self._spread = since, parameters, spread
        shift = payload_map * spread**2
        load_alone = covariance + shift @ payload_map.T
        self.covariance = load_alone if jump is None else load_alone + np.diag(jump**2)
        self._gain_alone: Array = np.asarray(np.linalg.solve(load_alone, shift).T, dtype=float)
        self._gain: Array = np.asarray(np.linalg.solve(self.covariance, shift).T, dtype=float)
        self._load_alone = load_alone
        self._exchange = self._without_load = None
        if jump is not None and jump.any():
            self._exchange = PriorExchange(self.covariance, load_alone)
            self._without_load = PriorExchange(self.covariance, covariance + np.diag(jump**2))

    def posterior(self, parameters: Array, covariance: Array) -> tuple[Payload, bool]:
        """Payload by base parameters (B,) and covariance (B, B) that were estimated since; whether there is one at all.

        There is one where its mass is beyond doubt, whatever else has changed; or where a load alone tells the data far
        better than all else without a load, and its mass is beyond doubt if there is nothing else.
        """
        change = parameters - self._parameters
        both = self._payload(change, covariance, self._gain, self.covariance)
        if self._exchange is None or self._without_load is None:
            return both, both.is_decisive
        alone = self._exchange.of(change, covariance)
        only = self._payload(alone.mean, alone.covariance, self._gain_alone, self._load_alone)
        evidence = alone.log_odds - self._without_load.of(change, covariance).log_odds
        found = only if alone.log_odds > NO_DOUBT else both
        return found, found.is_decisive or (evidence > CERTAIN and only.is_decisive)

    def _payload(self, change: Array, covariance: Array, gain: Array, prior: Array) -> Payload:
        spread = np.diag(self._spread**2) - gain @ (prior - covariance) @ gain.T
        known = np.sqrt(np.maximum(np.diag(spread), 0.0)) < 0.5 * self._spread
        return Payload(self._since, gain @ change, spread, known)


class Exchanged(NamedTuple):
    """Estimate with the other prior.

    Attributes
    ----------
    mean, covariance : (B,), (B, B)
    log_odds : natural logarithm of the likelihood of the data with the other prior over that with the first one
    """

    mean: Array
    covariance: Array
    log_odds: float


class PriorExchange:
    """Exchanges the normal prior of an estimate for a narrower one, both of mean zero.

    The data's information is the estimate's less the first prior's. Likelihoods follow from the integral of the
    posterior times the ratio of both priors.

    Parameters
    ----------
    first, other : (B, B) covariances; their difference is not negative
    """

    def __init__(self, first: Array, other: Array) -> None:
        self._size = np.sqrt(np.diag(first))
        self._scale = np.outer(self._size, self._size)
        inverse_first, inverse_other = (np.linalg.inv(one / self._scale) for one in (first, other))
        self._gained = inverse_other - inverse_first
        self._log_priors = np.linalg.slogdet(first / self._scale)[1] - np.linalg.slogdet(other / self._scale)[1]

    def of(self, mean: Array, covariance: Array) -> Exchanged:
        """Exchange the prior of an estimate (B,), (B, B)."""
        scaled, place = covariance / self._scale, mean / self._size
        information = np.linalg.inv(scaled)
        whole = information + self._gained
        narrow = np.linalg.inv(whole)
        moved = narrow @ (information @ place)
        distance = place @ information @ place - moved @ whole @ moved
        logarithms = self._log_priors + np.linalg.slogdet(narrow)[1] - np.linalg.slogdet(scaled)[1]
        return Exchanged(moved * self._size, narrow * self._scale, float(0.5 * (logarithms - distance)))


class LoadChange:
    """Follows the base parameters since a change of the load.

    Parameters
    ----------
    since : ns
    before : what was known then
    payload_map, spread, jump : see :class:`~pkm_identification.online.payload.PayloadPrior`

    Attributes
    ----------
    since, before : as given
    covariance : (B, B) of the base parameters to go on from
    is_confirmed : the mass is beyond doubt
    is_settled : it is known well enough, or long enough, for the next change to be looked for
    is_none : it is not confirmed and will not be
    payload : present; ``None`` before it is confirmed
    """

    def __init__(self, since: int, before: Kept, payload_map: Array, spread: Array, jump: Array) -> None:
        self.since, self.before = since, before
        self._prior = PayloadPrior(since, before.change, before.covariance, payload_map, spread, jump)
        self.covariance = self._prior.covariance
        self.is_confirmed = self.is_settled = self.is_none = False
        self.payload: Payload | None = None
        self._next = since

    def follow(self, stamp: int, parameters: Array, covariance: Array) -> bool:
        """Judge by base parameters (B,), (B, B) at ``stamp``; whether it has settled with this call."""
        if stamp < self._next:
            return False
        self._next = stamp + round(LOOK * 1e9)
        found, is_load = self._prior.posterior(parameters, covariance)
        if self.is_confirmed or is_load:
            self.is_confirmed, self.payload = True, found
        elif stamp - self.since > DISMISSED * 1e9:
            self.is_none = True
        if self.is_settled or not self.is_confirmed or stamp - self.since <= SETTLING * 1e9:
            return False
        is_old = stamp - self.since > LONGEST * 1e9
        self.is_settled = is_old or bool(found.mass_std < SETTLED * np.abs(found.mass))
        return self.is_settled


# Has the load on the platform changed? The machine's own history says by how much such an estimate scatters.
#
# Every tenth of a second the residuals of the last two are fitted with a mass and its first moments on the platform.
# Ripple, bias and forces that the model lacks give such an estimate a mean and a scatter of its own, which are
# followed. A payload is an estimate beyond that scatter (Hotelling 1931), twice in a row, that explains the residuals.
@dataclass
class _Sums:
    """Normal equations of residuals and payload."""

    matrix: Array
    right: Array
    squares: float
    first: int

    @classmethod
    def of(cls, stamp: int) -> _Sums:
        return cls(np.zeros((COUNT, COUNT)), np.zeros(COUNT), 0.0, stamp)


class PayloadWatch:
    """Tests residuals for a change of the load on the platform.

    Parameters
    ----------
    mass, radius : kg and m that say which payloads are usual: the prior of a test is as wide

    Attributes
    ----------
    distance : squared distance of the last test, see :data:`ALARM`
    tests : how many the history has
    has_forgotten : whether the last sample began a new history
    """

    def __init__(self, mass: float, radius: float) -> None:
        self._prior = 1.0 / np.array([mass, *3 * [mass * radius]]) ** 2
        self.distance, self.tests, self.has_forgotten = 0.0, 0, False
        self._mean, self._scatter, self._usual = np.zeros(COUNT), np.zeros((COUNT, COUNT)), 0.0
        self._now: _Sums | None = None
        self._before: _Sums | None = None
        self._suspects = 0
        self._since = 0

    @property
    def is_suspicious(self) -> bool:
        """Whether the last test was beyond what is usual."""
        return self._suspects > 0

    @property
    def detectable_mass(self) -> float:
        """Change of the mass alone [kg] at which a test alarms; infinite while there is too little history."""
        if self.tests < LEAST - PAUSE:
            return np.inf
        unit = np.eye(COUNT)[0]
        return float(np.sqrt(ALARM / self._distance(unit)))

    def _distance(self, change: Array) -> float:
        """Squared distance of a change of the estimate in units of the scatter."""
        size = np.sqrt(np.diag(self._scatter)) + 1e-300
        scaled = self._scatter / np.outer(size, size) + 1e-6 * np.eye(COUNT)
        return float(change / size @ np.linalg.solve(scaled, change / size))

    def forget(self) -> None:
        """Begin a new history: something else than the load has changed, and what was usual is not any more."""
        self.tests, self.distance, self._suspects = 0, 0.0, 0
        self._mean[:], self._scatter[:], self._usual = 0.0, 0.0, 0.0
        self._now = self._before = None

    def restart(self) -> None:
        """Go on after a change of the load: ripple and noise are as they were, the first tests only confirm this."""
        self.tests, self.distance, self._suspects = min(self.tests, LEAST - PAUSE), 0.0, 0
        self._now = self._before = None

    def add(self, stamp: int, platform: Array, residual: Array, weights: Array) -> int | None:
        """Take the residuals of one sample; the time [ns] of a change of the load if there is one.

        Parameters
        ----------
        platform : (A, 10) columns of the platform's inertial parameters
        residual : (A,) N, N m
        weights : (A,) inverse variances; 0 leaves a drive out
        """
        self.has_forgotten = False
        if self._now is None:
            self._now = _Sums.of(stamp)
        columns = platform[:, :COUNT]
        weighted = columns.T * weights
        now = self._now
        now.matrix += weighted @ columns
        now.right += weighted @ residual
        now.squares += float(weights @ residual**2)
        if stamp - now.first < STEP * 1e9:
            return None
        before, self._before, self._now = self._before, now, None
        return None if before is None else self._test(before, now)

    def _test(self, before: _Sums, now: _Sums) -> int | None:
        matrix, right = before.matrix + now.matrix, before.right + now.right
        if not np.trace(matrix) > 0.0:
            return None
        squares = before.squares + now.squares
        estimate = np.linalg.solve(matrix + np.diag(self._prior), right)
        change = estimate - self._mean
        if self.tests >= LEAST:
            self.distance = self._distance(change)
        if self.tests >= LEAST and self.distance > DOUBT:
            if self._suspects == 0:
                self._since = before.first
            self._suspects += 1
            gain = float(2.0 * change @ right - change @ matrix @ change)
            explains = gain > EXPLAINED * (squares - self._usual)
            if self._suspects > 1 and self.distance > ALARM and explains:
                return self._since
            if self._suspects > LASTING:
                self.forget()
                self.has_forgotten = True
            return None
        self._suspects = 0
        self.tests += 1
        share = max(1.0 / self.tests, 1.0 / MEMORY)
        self._scatter = (1.0 - share) * (self._scatter + share * np.outer(change, change))
        self._mean = self._mean + share * change
        self._usual += share * (squares - self._usual)
        return None
