"""A fast motion for bodies, then a slow one for friction, in one recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.machine import PlatformMotion
from pkm_description.motion.drive_sines import DriveSines
from pkm_description.motion.fourier import FourierSeries


@dataclass(frozen=True)
class FastAndSlow:
    """A motion that begins and ends at home at rest, then another one of the same kind at a small part of its size.

    Fast drives pass the speeds at which friction falls from that at rest to that of motion (Stribeck) in a moment:
    their recordings hardly tell these speeds. Slow drives are there all the time.

    Attributes
    ----------
    fast, slow : the two motions, one after the other
    """

    fast: FourierSeries | DriveSines
    slow: FourierSeries | DriveSines

    @property
    def duration(self) -> float:
        """Time at which the platform is back at home for good, s."""
        return self.fast.duration + self.slow.duration

    def evaluate(self, times: Array) -> PlatformMotion:
        """Motion at ascending times (N,) s.

        Raises
        ------
        KinematicsError
            Drives that swing leave the workspace; names the sample.
        """
        times = np.asarray(times, dtype=float)
        begin = self.fast.duration
        first, then = self.fast.evaluate(times[times < begin]), self.slow.evaluate(times[times >= begin] - begin)
        values = {
            name: np.concatenate([getattr(first, name), getattr(then, name)])
            for name in PlatformMotion.__dataclass_fields__
        }
        return PlatformMotion(**values | {'time': times})
