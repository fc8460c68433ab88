"""Periodic excitation: finite Fourier series in any coordinates (Heimann & Abdellatif, Eq. 11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion, Pose
from pkm_description.motion.coordinates import Envelope, motion_from_coordinates, product
from pkm_description.motion.limits import largest_scale

#: rad, bound on each component of the rotation vector of a random series
_LARGEST_TURN = 0.3


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

    def scaled(self, factor: float) -> Self:
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


@dataclass(frozen=True)
class FourierSeries(FourierCoordinates):
    """Platform motion around home: the six coordinates of :mod:`pkm_description.motion.coordinates` as a series.

    Attributes
    ----------
    home : pose that the coordinates start from
    fade_in, fade_out : s, of usual motions
    """

    fade_in: float = 2.0
    fade_out: float = 2.0
    home: Pose = field(kw_only=True)

    def __post_init__(self) -> None:
        if len(self.sine) != 6:
            raise ValueError(
                f'coefficients have shapes {self.sine.shape} and {self.cosine.shape}, expected (6, n) twice'
            )
        super().__post_init__()

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at any times (N,) s; at rest at home before 0 and after ``duration``."""
        return motion_from_coordinates(time, *self.coordinates(time), self.home)


def random_fourier_series(
    machine: Machine,
    duration: float,
    seed: int,
    harmonics: int = 6,
    periods: int = 1,
    fade: float = 2.0,
    margin: float = 0.1,
) -> FourierSeries:
    """Draw an excitation that uses all six coordinates and keeps every leg inside its limits.

    Each coordinate gets random coefficients, scaled to a peak within its bound (half the stroke, 0.3 rad); then all
    are scaled together until no actuated joint uses more than ``1 - margin`` of its stroke, speed and force (friction
    included). Same seed, same series.

    Parameters
    ----------
    duration : s, fades included
    seed : of the random coefficients
    harmonics, periods : of the series; the period is ``(duration - 2 fade) / periods``
    fade : s, in and out
    margin : part of each limit to keep free
    """
    if duration <= 2.0 * fade:
        raise ValueError(
            f'duration = {duration} s leaves nothing between fades of {fade} s; at least {2 * fade} s needed'
        )
    stroke = float(np.min((machine.position_upper - machine.position_lower)[machine.drive_columns]))
    if not np.isfinite(stroke):
        raise ValueError(f'{machine.name}: the legs have no stroke limits; give them in the machine file')
    random = np.random.default_rng(seed)
    base_frequency = periods / (duration - 2.0 * fade)
    # displacements fall with 1/sqrt(k), accelerations rise with k^1.5: high harmonics excite the inertia
    weight = np.sqrt(np.arange(1, harmonics + 1))
    series = FourierSeries(
        weight * random.normal(size=(6, harmonics)), weight * random.normal(size=(6, harmonics)), base_frequency,
        periods, fade, fade, home=machine.home,
    )  # fmt: skip
    one_period = series.periodic_start + np.linspace(0.0, series.period, 40 * harmonics, endpoint=False)
    peak = np.abs(series.coordinates(one_period)[0]).max(axis=0)
    bound = np.array([0.5 * stroke] * 3 + [_LARGEST_TURN] * 3) * random.uniform(0.7, 1.0, size=6)
    factor = (bound / peak)[:, None]
    series = replace(series, sine=factor * series.sine, cosine=factor * series.cosine)
    # the fades can need more force than the periodic part: check the whole motion
    times = np.arange(0.0, series.duration, 1.0 / (40.0 * harmonics * base_frequency))
    return series.scaled(largest_scale(machine, lambda scale: series.scaled(scale).evaluate(times), margin))
