"""What an excitation minimises: measures of an observation matrix, with their derivatives by its entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.motion.fourier import FourierCoordinates
from scipy.linalg import null_space

#: what can be held at zero where the period begins and ends; all coordinates are zero at home
END_CONDITIONS = ('position', 'velocity', 'acceleration')
OBJECTIVES = ('condition', 'scaled_condition', 'd_optimal', 'combined')


@dataclass(frozen=True)
class Sensitivity:
    """A derivative (M, B) by the entries of a matrix, ``sum_k left_k right_k^T``: left (K, M), right (K, B)."""

    left: Array
    right: Array


@dataclass(frozen=True)
class Objective:
    """A measure of an observation matrix W (M, B) with singular values s_1 >= .. >= s_B.

    ``condition``: s_1 / s_B (Heimann and Abdellatif, Eq. 10; Mata et al. 2008, Eq. 24). ``scaled_condition``: the same
    of W with columns of unit norm, which no unit of a parameter changes (Mata, Eq. 27). ``d_optimal``:
    -log det(W^T W) (Mata, Eq. 26; with W weighted by the drives' noise). ``combined``: ``condition_weight s_1 / s_B +
    sigma_weight / s_B`` (Rosyid and El-Khasawneh 2020, Eq. 38).

    Attributes
    ----------
    name : of :data:`OBJECTIVES`
    condition_weight, sigma_weight : of ``combined``
    """

    name: str = 'scaled_condition'
    condition_weight: float = 1.0
    sigma_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in OBJECTIVES:
            raise ConfigurationError(f'objective = {self.name!r}: choose {", ".join(OBJECTIVES)}')
        if self.name == 'combined' and not (
            min(self.condition_weight, self.sigma_weight) >= 0.0 < self.condition_weight + self.sigma_weight
        ):
            raise ConfigurationError(
                f'condition_weight = {self.condition_weight}, sigma_weight = {self.sigma_weight}: must be at least 0, '
                'and not both 0'
            )

    def value(self, matrix: Array) -> float:
        """The measure; infinite where a column is missing."""
        return self._figure(_singular(self._scaled(matrix))[0])

    def cost(self, matrix: Array) -> tuple[float, Sensitivity]:
        """What is minimised, and its derivative: the measure of ``d_optimal``, the logarithm of the others.

        Singular values are differentiated as ``d s_i = u_i^T dW v_i``.
        """
        scaled = self._scaled(matrix)
        values, right = _singular(scaled)
        figure = self._figure(values)
        if not np.isfinite(figure):
            raise FloatingPointError('the observation matrix has a column of zeros or lost its rank')
        if self.name == 'd_optimal':
            return figure, Sensitivity(-2.0 * right @ scaled.T / values[:, None] ** 2, right)
        most, least, ends = values[0], values[-1], [0, -1]
        left = right[ends] @ scaled.T / values[ends, None]
        if self.name == 'combined':
            slopes = np.array([self.condition_weight / least, -figure / least]) / figure
        else:
            slopes = np.array([1.0 / most, -1.0 / least])
        found = Sensitivity(slopes[:, None] * left, right[ends])
        if self.name == 'scaled_condition':
            found = _of_columns(found, matrix)
        return float(np.log(figure)), found

    def figure_of_cost(self, cost: float) -> float:
        """The measure whose cost this is."""
        return cost if self.name == 'd_optimal' else float(np.exp(cost))

    def _scaled(self, matrix: Array) -> Array:
        if self.name != 'scaled_condition':
            return matrix
        norms = np.linalg.norm(matrix, axis=0)
        return matrix / np.where(norms > 0.0, norms, 1.0)

    def _figure(self, values: Array) -> float:
        most, least = float(values[0]), float(values[-1])
        if not least > 0.0:
            return np.inf
        if self.name == 'd_optimal':
            return float(-2.0 * np.log(values).sum())
        if self.name == 'combined':
            return (self.condition_weight * most + self.sigma_weight) / least
        return most / least


def _singular(matrix: Array) -> tuple[Array, Array]:
    """Singular values (B,), descending, and right singular vectors (B, B), in rows, of a tall matrix (M, B).

    By way of the triangle of its QR decomposition, block by block: these small matrices stay on one processor, where
    the linear algebra of a tall one starts threads that only stand in each other's way.
    """
    columns = matrix.shape[1]
    rows = 4 * columns
    while len(matrix) > rows:
        blocks = -(-len(matrix) // rows)
        padded = np.zeros((blocks * rows, columns))
        padded[: len(matrix)] = matrix
        triangles = np.asarray(np.linalg.qr(padded.reshape(blocks, rows, columns), mode='r'))
        matrix = triangles.reshape(-1, columns)
    _, values, right = np.linalg.svd(matrix, full_matrices=False)
    return values, right


def _of_columns(by_scaled: Sensitivity, matrix: Array) -> Sensitivity:
    """Derivative by W from that by ``W / |columns|``: each column's change along itself does nothing."""
    norms = np.linalg.norm(matrix, axis=0)
    inner = np.sum(by_scaled.right * (by_scaled.left @ matrix), axis=0)
    # one term per column: W with its columns multiplied
    left = np.concatenate([by_scaled.left, -(inner / norms**3)[:, None] * matrix.T])
    return Sensitivity(left, np.concatenate([by_scaled.right / norms, np.eye(len(norms))]))


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
