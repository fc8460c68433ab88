"""Settings of the design of an excitation, the same for program and Python."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.errors import ConfigurationError
from pkm_description.settings import Settings, setting

from pkm_identification.configuration import FRICTION_SETS
from pkm_identification.excitation.coordinates import COORDINATES
from pkm_identification.excitation.objective import OBJECTIVES

LEGS = ('auto', 'identical', 'different')
WEIGHTS = ('noise', 'equal')


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
