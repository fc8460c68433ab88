"""Settings of one identification, the same for node, command line and Python."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.errors import ConfigurationError
from pkm_description.settings import Settings, setting

FRICTION_SETS = ('actuated', 'all', 'none')
MOTION_SOURCES = ('forward_kinematics', 'estimator')


@dataclass(frozen=True)
class IdentificationConfig(Settings):
    """How to identify; every field carries its description and range as metadata.

    Raises
    ------
    ConfigurationError
        Naming the setting, its value and what is allowed.
    """

    identical_legs: bool = setting(True, 'one set of body parameters for all legs')
    friction: str = setting(
        'actuated',
        "joints with viscous and Coulomb friction: 'actuated', 'all' (passive joints too) or 'none'",
        choices=FRICTION_SETS,
    )
    fixed: tuple[str, ...] = setting(
        [],
        "shell patterns of parameters held at their nominal values, e.g. 'leg*_cross.*,leg*_rod.*'",
        commas=True,
    )
    motion_source: str = setting(
        'forward_kinematics',
        "'forward_kinematics' of every sample of the drive positions, or 'estimator': poses of platform/odometry",
        choices=MOTION_SOURCES,
    )
    motion_cutoff_frequency: float = setting(
        0.0, 'zero-phase low-pass on the pose before differentiation [Hz]; 0: automatic', 0.0, 1e4
    )
    force_cutoff_frequency: float = setting(
        0.0, 'parallel filter on forces and regressor [Hz]; 0: automatic', 0.0, 1e4
    )
    fourier_base_frequency: float = setting(
        0.0, 'fit a Fourier series of this base frequency to the motion [Hz]; 0: use the low-pass', 0.0, 1e4
    )
    fourier_harmonics: int = setting(0, 'number of harmonics of the Fourier series', 0, 1000)
    dead_band: float = setting(
        -1.0,
        'a drive slower than this is at rest and may stick, its samples are left out [m/s]; negative: chosen from the '
        'position noise. Samples around reversals are left out in any case',
        -1.0,
        1e3,
    )
    rank_tolerance: float = setting(1e-8, 'relative tolerance of the base-parameter reduction', 1e-15, 1.0)
    max_relative_std: float = setting(
        0.15,
        'a base parameter counts as identified when its standard deviation is below this part of its value '
        '(Mata et al. 2008: 15 %)',
        1e-9,
        1e9,
    )
    platform_uncertainty: float = setting(
        0.3,
        'relative standard deviation of the nominal platform parameters; decides only how a base parameter is shared '
        'out among the bodies, never the base parameters',
        1e-9,
        1e9,
    )
    leg_uncertainty: float = setting(
        0.05, 'relative standard deviation of the nominal leg parameters, see platform_uncertainty', 1e-9, 1e9
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fourier_base_frequency > 0.0 and self.fourier_harmonics < 1:
            raise ConfigurationError(f'fourier_harmonics = {self.fourier_harmonics}: a Fourier fit needs at least 1')
