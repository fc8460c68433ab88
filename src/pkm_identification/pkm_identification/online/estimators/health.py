"""What an estimator that runs sample by sample says about itself: settled, wound up, diverged, not observable."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Protocol

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.recursive import checked_vector

#: standard deviations by which the mean square of the innovations may be beside 1
BESIDE_ONE = 5.0
#: factor by which a standard deviation has grown since its smallest, without the motion bringing it back
WOUND_UP = 10.0
#: share of the prior's standard deviation above which a direction counts as not observed
STILL_OPEN = 0.5


class SampleEstimator(Protocol):
    """Any estimator of this package."""

    samples: int
    normalised_innovations: Array

    @property
    def parameters(self) -> Array:
        """Parameters (P,)."""

    @property
    def covariance(self) -> Array:
        """Covariance (P, P)."""


@dataclass(frozen=True)
class EstimatorHealth:
    """State of an estimator.

    Attributes
    ----------
    samples : taken so far
    determined : whether there is an estimate at all
    converged : within the last window no parameter moved by more than the tolerance, and there is no other finding
    innovation_ratio : root of the mean square of the normalised innovations of the last window; 1 if model and noise
        are right, NaN while nothing is known
    diverged : parameters that are not finite, or innovations larger than model and noise allow
    overcautious : innovations much smaller than the noise that was given
    wound_up : names of parameters whose standard deviation has grown tenfold since its smallest
    unobserved : directions that the samples hardly determine: parameters' names and their shares of a unit vector, in
        units of the prior
    """

    samples: int
    determined: bool
    converged: bool
    innovation_ratio: float
    diverged: bool
    overcautious: bool
    wound_up: tuple[str, ...]
    unobserved: tuple[dict[str, float], ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings in words; none if all is well."""
        said = []
        if self.diverged:
            said.append(f'the innovations are {self.innovation_ratio:.3g} times what model and noise allow')
        if self.overcautious:
            said.append(f'the innovations are {self.innovation_ratio:.3g} of the noise that was given: it is too large')
        if self.wound_up:
            said.append(f'the uncertainty has wound up, the motion says too little of: {", ".join(self.wound_up)}')
        said += [
            'not observed: ' + ' '.join(f'{share:+.2f} {name}' for name, share in direction.items())
            for direction in self.unobserved
        ]
        return tuple(said)


class ParameterMonitor:
    """Watches an estimator: call :meth:`take` after each of its updates, and :meth:`health` when it is asked for.

    Parameters
    ----------
    names : of the parameters (P,)
    scale : (P,) of the parameters: the prior's standard deviations, or sizes that are worth telling apart
    window : samples over which is judged
    tolerance : in units of ``scale``
    """

    def __init__(self, names: tuple[str, ...], scale: Array, window: int = 100, tolerance: float = 1e-3) -> None:
        self._names, self._scale = names, checked_vector('scale', scale, len(names))
        if not (self._scale > 0.0).all():
            raise ValueError(f'scale must be above 0, got {scale!r}')
        if window < 2:
            raise ValueError(f'window = {window}: must be at least 2 samples')
        self._window, self._tolerance = window, tolerance
        self._smallest = np.full(len(names), inf)
        self._present = np.full(len(names), inf)
        self._squares, self._rows, self._samples = 0.0, 0, 0
        self._reference: Array | None = None
        self._moved, self._finite = 0.0, True
        self._last: tuple[float, int, float] = (0.0, 0, inf)  # of the last whole window

    def take(self, estimator: SampleEstimator) -> None:
        """Look at an estimator after an update. Whole covariances are looked at once per window."""
        innovations = estimator.normalised_innovations
        for value in innovations:
            if value == value:  # not NaN: used
                self._squares += float(value) ** 2
                self._rows += 1
        self._samples += 1
        whole = self._samples % self._window == 0
        parameters = None
        if self._reference is not None or whole:
            parameters = _or_none(estimator, 'parameters')
        if parameters is not None:
            self._finite = bool(np.isfinite(parameters).all())
            if self._reference is not None:
                self._moved = max(self._moved, float(np.abs((parameters - self._reference) / self._scale).max()))
        if whole:
            self._last = (self._squares, self._rows, self._moved if self._reference is not None else inf)
            self._squares, self._rows, self._moved, self._reference = 0.0, 0, 0.0, parameters
            covariance = _or_none(estimator, 'covariance')
            if covariance is not None:
                self._present = np.sqrt(np.diagonal(covariance))
                self._smallest = np.minimum(self._smallest, self._present)

    def health(self, estimator: SampleEstimator) -> EstimatorHealth:
        """What there is to say at present."""
        squares, rows, moved = self._last
        if not rows:
            squares, rows = self._squares, self._rows
        ratio = sqrt(squares / rows) if rows else float('nan')
        margin = BESIDE_ONE * sqrt(2.0 / rows) if rows else inf
        covariance = _or_none(estimator, 'covariance')
        diverged = not self._finite or (rows > 0 and not squares / rows < 1.0 + margin)
        with np.errstate(invalid='ignore'):
            wound = np.isfinite(self._smallest) & (self._present > WOUND_UP * self._smallest)
        unobserved = self._unobserved(estimator, covariance)
        wound_up = tuple(name for name, is_wound in zip(self._names, wound, strict=True) if is_wound)
        settled = moved < self._tolerance and covariance is not None
        return EstimatorHealth(
            estimator.samples, covariance is not None, settled and not (diverged or wound_up or unobserved), ratio,
            diverged, bool(rows and margin < 1.0 and squares / rows < 1.0 - margin), wound_up, unobserved,
        )  # fmt: skip

    def _unobserved(self, estimator: SampleEstimator, covariance: Array | None) -> tuple[dict[str, float], ...]:
        """Directions whose standard deviation is not much less than the scale."""
        if covariance is None:
            # the information of an estimator without a prior, in units of the scale
            information = getattr(estimator, 'information', None)
            if information is None:
                return ()
            values, vectors = np.linalg.eigh(information * np.outer(self._scale, self._scale))
            open_ = values < 1.0 / STILL_OPEN**2
        else:
            values, vectors = np.linalg.eigh(covariance / np.outer(self._scale, self._scale))
            open_ = values > STILL_OPEN**2
        found = []
        for vector in vectors.T[open_]:
            leading = vector * np.sign(vector[np.argmax(np.abs(vector))])
            shares = [place for place in np.argsort(-np.abs(leading)) if abs(leading[place]) > 0.1]
            found.append({self._names[place]: float(leading[place]) for place in shares})
        return tuple(found)


def _or_none(estimator: SampleEstimator, attribute: str) -> Array | None:
    """An attribute, or None where the samples do not determine it."""
    try:
        return np.asarray(getattr(estimator, attribute))
    except NotExcitedError:
        return None
