"""A finite Fourier series of any number of coordinates, faded in and out, with analytic derivatives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.motion.envelope import Envelope, product


@dataclass(frozen=True)
class FourierCoordinates:
    """C coordinates, ``x(t) = x_0 + sum_k mu_k/(k w) sin(k w t) - nu_k/(k w) cos(k w t)``, times a C3 envelope.

    The form of Swevers (1997) that the papers of this field use: Mata et al. (2008), Eq. 25, for drives; Rosyid and
    El-Khasawneh (2020), Eq. 35, in a plane; Heimann and Abdellatif, Eq. 11, for a free platform. Between
    :attr:`periodic_start` and :attr:`periodic_end` the envelope is 1 and the motion has ``periods`` whole periods.

    Attributes
    ----------
    sine, cosine : (C, n) coefficients mu and nu, m/s and rad/s
    base_frequency : Hz
    periods : whole periods at full amplitude
    fade_in, fade_out : s; 0: the motion begins, or ends, at full amplitude
    offset : (C,) constant part x_0, m and rad; None: zero
    """

    sine: Array
    cosine: Array
    base_frequency: float
    periods: int = 1
    fade_in: float = 0.0
    fade_out: float = 0.0
    offset: Array | None = None

    def __post_init__(self) -> None:
        if self.sine.ndim != 2 or self.sine.shape != self.cosine.shape:
            raise ValueError(
                f'coefficients have shapes {self.sine.shape} and {self.cosine.shape}, expected (C, n) twice'
            )
        if not (self.base_frequency > 0.0 and self.periods >= 1):
            raise ValueError(
                f'base_frequency = {self.base_frequency} Hz, periods = {self.periods}: both must be positive'
            )
        Envelope(self.duration, self.fade_in, self.fade_out)  # checks the fades

    @property
    def harmonics(self) -> int:
        """Number n of harmonics."""
        return int(self.sine.shape[1])

    @property
    def period(self) -> float:
        """Length of one period, s."""
        return 1.0 / self.base_frequency

    @property
    def periodic_start(self) -> float:
        """Time at which full amplitude is reached, s."""
        return self.fade_in

    @property
    def periodic_end(self) -> float:
        """Time at which the fade-out begins, s: a whole number of periods after the start."""
        return self.fade_in + self.periods * self.period

    @property
    def duration(self) -> float:
        """Time at which the coordinates are back at zero, s."""
        return self.periodic_end + self.fade_out

    def scaled(self, factor: float) -> FourierCoordinates:
        """Return the same series with all amplitudes multiplied."""
        offset = None if self.offset is None else factor * self.offset
        return replace(self, sine=factor * self.sine, cosine=factor * self.cosine, offset=offset)

    def periodic(self, time: Array) -> tuple[Array, Array, Array]:
        """Coordinates (N, C) without the envelope and their first two derivatives, at times (N,) s from the start."""
        frequency = 2.0 * np.pi * self.base_frequency * np.arange(1, self.harmonics + 1)
        phase = np.asarray(time, dtype=float)[:, None] * frequency
        sine, cosine = np.sin(phase), np.cos(phase)
        value = (sine / frequency) @ self.sine.T - (cosine / frequency) @ self.cosine.T
        if self.offset is not None:
            value = value + self.offset
        rate = cosine @ self.sine.T + sine @ self.cosine.T
        return value, rate, (cosine * frequency) @ self.cosine.T - (sine * frequency) @ self.sine.T

    def coordinates(self, time: Array) -> tuple[Array, Array, Array]:
        """Coordinates (N, C) and their first two derivatives at any times (N,) s, envelope included.

        Where there is a fade they are zero before 0 and after :attr:`duration`.
        """
        time = np.asarray(time, dtype=float)
        fade = Envelope(self.duration, self.fade_in, self.fade_out).evaluate(time)
        level, slope, curvature = (part[:, None] for part in fade)
        return product((level, slope, curvature), self.periodic(time - self.periodic_start))
