"""Has the load on the platform changed? The machine's own history says by how much such an estimate scatters.

Every tenth of a second the residuals of the last two are fitted with a mass and its first moments on the platform.
Ripple, bias and forces that the model lacks give such an estimate a mean and a scatter of its own, which are followed.
A payload is an estimate beyond that scatter (Hotelling 1931), twice in a row, that explains the residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

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
