"""What is looked at a segment at a time while the machine runs: forces that the model lacks, and friction that drifts.

Nothing here changes an estimate. The work of a segment is done in steps between the samples of the next one, so that
no sample waits for long; the same samples give the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.online.friction_watch import FrictionWatch
from pkm_identification.online.model_watch import ModelWatch
from pkm_identification.online.observation import OnlineObservation, Rows
from pkm_identification.online.segment import Segment, SegmentCollector
from pkm_identification.online.segment_fit import fit_segment
from pkm_identification.online.sliding_polynomial import SlidingPolynomial, WindowSample

#: part of the force below which residuals are what smoothing and differentiation get wrong
ACCURACY = 1e-4
#: standard deviations of the accelerations' noise up to which they count as none: what that makes of forces is no lack
NOISE = 3.0


class Watches:
    """Collects segments and has them tested.

    Parameters
    ----------
    observation : of the identification
    prior : (B,) standard deviations of the parameters before anything is known

    Attributes
    ----------
    model, friction : what was found
    """

    def __init__(self, observation: OnlineObservation, prior: Array) -> None:
        self._observation = observation
        self.model, self.friction = ModelWatch(observation), FrictionWatch(observation, prior)
        self._prior, self._floor = prior, ACCURACY * observation.typical_force
        self._collector = SegmentCollector(len(observation.typical_force), len(prior))
        self._work: Generator[None, None, None] | None = None

    def load_has_changed(self) -> None:
        """Bodies are others now: segments begin anew, and what friction is compared with, too."""
        self.interrupt()
        self.friction.reset()

    def interrupt(self) -> None:
        """What was collected is no one motion."""
        self._collector.clear()
        self._work = None

    def add(
        self, sample: WindowSample, rows: Rows, used: NDArray[np.bool_], slow: Array,
        polynomial: SlidingPolynomial, std: Callable[[], Array],
    ) -> None:  # fmt: skip
        """Take a sample and do one step of the work.

        Parameters
        ----------
        used : (A,) False where friction is not known
        slow : (A,) rad/s or m/s, below which it is not
        polynomial : that smoothed the sample
        std : gives the standard deviations (B,) that are stated at present
        """
        if not self._collector.is_due(sample.stamp):
            return
        segment = self._collector.add(sample, rows, used, slow, polynomial)
        if segment is not None:
            self._work = self._test(segment, std)
        elif self._work is not None and next(self._work, True):
            self._work = None

    def _test(self, segment: Segment, std: Callable[[], Array]) -> Generator[None, None, None]:
        noise = self._observation.inertia**2 @ np.mean(segment.acceleration_std**2, axis=0)
        floor = np.maximum(self._floor, NOISE * np.sqrt(noise))
        fit = yield from fit_segment(segment, self.friction.order, self._prior, floor)
        yield
        yield from self.model.test(fit, std())
        self.friction.take(fit, self.model.lack is None)
