"""The coefficients of an excitation as free variables: end conditions are eliminated, so that all values meet them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.motion.fourier_coordinates import FourierCoordinates
from scipy.linalg import null_space

#: what can be held at zero where the period begins and ends; all coordinates are zero at home
END_CONDITIONS = ('position', 'velocity', 'acceleration')


@dataclass(frozen=True)
class SeriesSpace:
    """All series of C coordinates and n harmonics that meet linear end conditions.

    Per coordinate there are 2 n + 1 amplitudes: the offset, n of sines, n of cosines. Amplitudes of harmonic k are
    measured in ``scale / k``, so that variables of one size make speeds of one size. Conditions at the ends of the
    period are linear in them (Rosyid and El-Khasawneh 2020, Eq. 37: ``sum k A_k = 0``, ``sum k^2 B_k = 0``); with an
    orthonormal basis of their null space, ``amplitudes = basis @ variables`` meets them to rounding.

    Attributes
    ----------
    scale : (C,) m and rad
    harmonics : n
    end_conditions : of :data:`END_CONDITIONS`, what is zero at the ends of the period
    """

    scale: Array
    harmonics: int
    end_conditions: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in self.end_conditions:
            if name not in END_CONDITIONS:
                raise ConfigurationError(f'end_conditions: {name!r}; choose of {", ".join(END_CONDITIONS)}')
        if self.harmonics < 1 or not self.basis.shape[1]:
            raise ConfigurationError(
                f'harmonics = {self.harmonics}: {len(self.end_conditions)} end conditions leave nothing to choose'
            )

    @property
    def numbers(self) -> Array:
        """1 .. n."""
        return np.arange(1, self.harmonics + 1, dtype=float)

    @cached_property
    def conditions(self) -> Array:
        """Rows (E, 2 n + 1) that are zero on the amplitudes [offset, sines, cosines] of a coordinate."""
        k, none = self.numbers, np.zeros(self.harmonics)
        rows = {
            'position': [1.0, *none, *np.ones(self.harmonics)],
            'velocity': [0.0, *k, *none],
            'acceleration': [0.0, *none, *k**2],
        }
        return np.array([rows[name] for name in self.end_conditions]).reshape(-1, 2 * self.harmonics + 1)

    @cached_property
    def basis(self) -> Array:
        """Amplitudes per variable (2 n + 1, M), for a scale of 1."""
        size = 1.0 / np.concatenate([[1.0], self.numbers, self.numbers])
        if not len(self.conditions):
            return np.diag(size)
        return size[:, None] * null_space(self.conditions * size)

    @property
    def shape(self) -> tuple[int, int]:
        """Coordinates C and variables M of each."""
        return len(self.scale), self.basis.shape[1]

    def shapes(self, phase: Array) -> tuple[Array, Array, Array]:
        """Value per variable (N, M) at phases (N,) rad, and its first two derivatives by the phase."""
        k = self.numbers
        angle = np.asarray(phase, dtype=float)[:, None] * k
        one, none = np.ones((len(angle), 1)), np.zeros((len(angle), 1))
        sine, cosine = np.sin(angle), np.cos(angle)
        parts = (
            np.hstack([one, sine, cosine]),
            np.hstack([none, k * cosine, -k * sine]),
            np.hstack([none, -(k**2) * sine, -(k**2) * cosine]),
        )
        return tuple(part @ self.basis for part in parts)  # type: ignore[return-value]

    def series(
        self, variables: Array, base_frequency: float, periods: int = 1, fade_in: float = 0.0, fade_out: float = 0.0
    ) -> FourierCoordinates:
        """The series of variables (C, M)."""
        amplitudes = self.scale[:, None] * (variables @ self.basis.T)
        speed = 2.0 * np.pi * base_frequency * self.numbers
        offset, sines, cosines = np.split(amplitudes, [1, 1 + self.harmonics], axis=1)
        return FourierCoordinates(
            sines * speed, -cosines * speed, base_frequency, periods, fade_in, fade_out, offset[:, 0]
        )

    def random(self, random: np.random.Generator) -> Array:
        """Variables (C, M) of a random series: all conditions met, all amplitudes drawn.

        Every draw has its own decay of the amplitudes over the harmonics, from ``k^-1.5`` to none.
        """
        coordinates, _ = self.shape
        exponent = random.uniform(-0.5, 1.0)
        colour = np.concatenate([[0.3], self.numbers**exponent, self.numbers**exponent])
        amplitudes = random.normal(size=(coordinates, len(colour))) * colour
        amplitudes /= np.concatenate([[1.0], self.numbers, self.numbers])
        # the nearest amplitudes that meet the conditions
        found: Array = np.linalg.lstsq(self.basis, amplitudes.T, rcond=None)[0].T
        return found
