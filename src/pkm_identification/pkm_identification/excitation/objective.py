"""What an excitation minimises, its free variables and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.motion.fourier import FourierCoordinates
from pkm_description.settings import Settings, setting
from scipy.linalg import null_space

from pkm_identification.configuration import FRICTION_SETS
from pkm_identification.excitation.coordinates import COORDINATES

LEGS = ('auto', 'identical', 'different')
WEIGHTS = ('noise', 'equal')
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
        ends, slopes = [0, -1], np.array([self._weights[0] / figure, -1.0]) / values[-1]
        found = Sensitivity((slopes / values[ends])[:, None] * (right[ends] @ scaled.T), right[ends])
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
        of_condition, of_least = self._weights
        return (of_condition * most + of_least) / least

    @property
    def _weights(self) -> tuple[float, float]:
        """Factors of the condition number and of the inverse least singular value."""
        return (self.condition_weight, self.sigma_weight) if self.name == 'combined' else (1.0, 0.0)


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


@dataclass(frozen=True)
class ExcitationSettings(Settings):
    """How to design an excitation; every field carries its description and range as metadata.

    Raises
    ------
    ConfigurationError
        Naming the setting, its value and what is allowed.
    """

    coordinates: str = setting(
        'auto', "'platform', 'planar', 'drives', or 'auto': of the platform where it is free, otherwise of the drives",
        choices=COORDINATES,
    )  # fmt: skip
    objective: str = setting(
        'scaled_condition',
        "'condition' of the observation matrix, 'scaled_condition' (its columns of unit norm), 'd_optimal' "
        "(-log det), or 'combined' (condition_weight * condition + sigma_weight / least singular value)",
        choices=OBJECTIVES,
    )
    condition_weight: float = setting(1.0, 'w1 of the combined objective', 0.0, 1e12)
    sigma_weight: float = setting(0.0, 'w2 of the combined objective', 0.0, 1e12)
    harmonics: int = setting(5, 'of the Fourier series', 1, 100)
    base_frequency: float = setting(0.1, 'of the Fourier series [Hz]', 1e-4, 1e3)
    frequency_ratio: float = setting(
        1.0, 'the base frequency is chosen, too, up to so many times lower or higher; 1: it stays', 1.0, 100.0
    )
    end_conditions: tuple[str, ...] = setting(
        [], "what is zero (position: at home) where a period begins and ends, of 'position,velocity,acceleration'",
        commas=True,
    )  # fmt: skip
    periods: int = setting(3, 'periods of the exported motion', 1, 10_000)
    samples: int = setting(0, 'samples of a period while designing; 0: 12 per harmonic, at least 80', 0, 100_000)
    margin: float = setting(0.05, 'part of every limit that the motion keeps free', 0.0, 0.9)
    max_acceleration: float = setting(0.0, 'of every drive [m/s^2, rad/s^2]; 0: no limit', 0.0, 1e9)
    max_displacement: float = setting(0.0, 'of each coordinate that is a length, from home [m]; 0: no limit', 0.0, 1e3)
    max_rotation: float = setting(0.0, 'of each coordinate that is an angle, from home [rad]; 0: no limit', 0.0, 1e3)
    guideway_clearance: float = setting(
        0.0, 'least distance between sliders that share a guideway [m]; they never pass each other', 0.0, 1e3
    )
    condition_ratio: float = setting(
        3.0, 'how many times worse than at home the Jacobians of joints and drives may become', 1.01, 1e6
    )
    legs: str = setting(
        'auto', "'identical': one set of body parameters for all legs, 'different', or 'auto': as the machine file has "
        'them', choices=LEGS,
    )  # fmt: skip
    friction: str = setting(
        'actuated', "joints with friction parameters: 'actuated', 'all' or 'none'", choices=FRICTION_SETS
    )
    fixed: tuple[str, ...] = setting(
        [], 'shell patterns of parameters that will not be identified, as of identify', commas=True
    )
    eliminated: tuple[str, ...] = setting(
        [], 'shell patterns of parameters that are regrouped into others where they can be; the plain condition number '
        'depends on it', commas=True,
    )  # fmt: skip
    weights: str = setting(
        'noise', "rows of the drives weighted by their effort noise in the machine file, where it has one, or 'equal'",
        choices=WEIGHTS,
    )  # fmt: skip
    sign_width: float = setting(
        0.0, 'velocity of a tanh in place of the sign of friction while designing [m/s, rad/s]; 0: chosen', 0.0, 1e3
    )
    starts: int = setting(4, 'optimisations from different random series', 1, 100_000)
    draws: int = setting(15, 'random series of which each start is the best', 1, 100_000)
    iterations: int = setting(80, 'of each optimisation, in all its rounds', 3, 100_000)
    seed: int = setting(0, 'of the random series', 0, 2**31 - 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < self.samples < 4 * self.harmonics:
            raise ConfigurationError(
                f'samples = {self.samples}: {self.harmonics} harmonics need at least {4 * self.harmonics}'
            )

    @property
    def design_samples(self) -> int:
        """Samples of a period while designing."""
        return self.samples or max(80, 12 * self.harmonics)
