"""Settings of one identification in sections, one per stage; the same for node, command line and Python."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.errors import ConfigurationError
from pkm_description.friction_laws.laws import friction_law_names
from pkm_description.settings import Settings, section, setting

FRICTION_SETS = ('actuated', 'all', 'none')
TERMS = (
    'offset', 'load_friction', 'transverse_friction', 'thrust_friction', 'quadratic', 'spring', 'inertia', 'gain',
    'ripple', 'delay', 'presliding', 'platform_force',
)  # fmt: skip
PHYSICAL = ('barrier', 'share_out')
ESTIMATORS = ('gls', 'wls', 'ls', 'rls')
MOTION_SOURCES = (
    'low_pass', 'fourier', 'periods', 'savitzky_golay', 'local_regression', 'central_differences', 'estimator',
)  # fmt: skip


#: sources with a window
LOCAL_POLYNOMIALS = ('savitzky_golay', 'local_regression')


@dataclass(frozen=True)
class MotionSettings(Settings):
    """How the platform's motion comes from a recording."""

    source: str = setting(
        'low_pass',
        "'low_pass': forward kinematics of the drive positions, low-pass, splines; 'fourier': a Fourier series; "
        "'periods': mean over the periods, then a series; 'savitzky_golay', 'local_regression': local polynomials; "
        "'central_differences': not filtered; 'estimator': poses of platform/odometry",
        choices=MOTION_SOURCES,
    )
    cutoff_frequency: float = setting(
        0.0, 'zero-phase low-pass on the pose before differentiation [Hz]; 0: automatic', 0.0, 1e4
    )
    base_frequency: float = setting(
        0.0, 'of a periodic motion, for the sources fourier and periods [Hz]; 0: periods finds it', 0.0, 1e4
    )
    harmonics: int = setting(
        0, 'number of harmonics of the Fourier series; 0: periods takes those above the noise', 0, 1000
    )
    window: float = setting(
        0.0, 'length of the window of savitzky_golay and local_regression [s]; 0: by the cut-off frequency', 0.0, 1e3
    )
    degree: int = setting(5, 'degree of the polynomials of savitzky_golay and local_regression', 2, 9)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.source == 'fourier':
            for name in ('base_frequency', 'harmonics'):
                if not getattr(self, name) > 0:
                    raise ConfigurationError(f"{name} = {getattr(self, name)}: source = 'fourier' needs one above 0")
        for name, sources in (('base_frequency', ('fourier', 'periods')), ('window', LOCAL_POLYNOMIALS)):
            if getattr(self, name) > 0.0 and self.source not in sources:
                raise ConfigurationError(
                    f'{name} = {getattr(self, name):g}: is for source = {" or ".join(sources)}, not {self.source!r}'
                )


@dataclass(frozen=True)
class ColumnSettings(Settings):
    """Which forces the model has, and which of their parameters are identified."""

    identical_legs: bool = setting(True, 'one set of body parameters for all legs')
    friction: str = setting(
        'actuated',
        "joints whose friction is identified: 'actuated', 'all' (passive joints too) or 'none'",
        choices=FRICTION_SETS,
    )
    friction_law: str = setting(
        '',
        'friction law of the driven joints to identify, such as stribeck or asymmetric_coulomb; empty: those of the '
        'machine file',
    )
    pooled_laws: bool = setting(
        True,
        'drives of the same kind share the nonlinear parameters of their friction laws (Stribeck velocity, exponent), '
        'unless a chi-square test refuses it; false: one exponent for all, velocities of each',
    )
    terms: tuple[str, ...] = setting(
        [],
        'further forces of the drives to identify: ' + ', '.join(TERMS) + ". With friction = 'all' friction by load is "
        'that of passive joints, too; thrust_friction is theirs alone',
        commas=True,
    )
    extend: bool = setting(
        True,
        'add forces that the recording shows and the model lacks: further terms, Stribeck friction, legs that differ. '
        'The result names them',
    )
    time_limit: float = setting(
        600.0,
        'after this time [s] no further force is tried, and a fit that has not settled ends, with no value identified; '
        '0: no limit',
        0.0,
        1e6,
    )
    fixed: tuple[str, ...] = setting(
        [], "shell patterns of parameters held at their nominal values, e.g. 'leg*_cross.*,leg*_rod.*'", commas=True
    )
    rank_tolerance: float = setting(1e-8, 'relative tolerance of the base-parameter reduction', 1e-15, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [name for name in self.terms if name not in TERMS]
        if unknown:
            raise ConfigurationError(f'terms = {unknown[0]!r} is unknown; choose from {", ".join(TERMS)}')
        if self.friction_law and self.friction_law not in friction_law_names():
            raise ConfigurationError(
                f'friction_law = {self.friction_law!r} is unknown; choose from {", ".join(friction_law_names())}, or '
                'leave it empty'
            )
        if self.friction_law and self.friction == 'none':
            raise ConfigurationError(
                f"friction_law = {self.friction_law!r} is for driven joints: use friction = 'actuated' or 'all', not "
                "'none'"
            )
        if 'thrust_friction' in self.terms and self.friction != 'all':
            raise ConfigurationError(
                f"terms = 'thrust_friction' is for passive joints: use friction = 'all', not {self.friction!r}"
            )


@dataclass(frozen=True)
class RowSettings(Settings):
    """How samples become the rows of the least squares."""

    cutoff_frequency: float = setting(0.0, 'parallel filter on forces and regressor [Hz]; 0: automatic', 0.0, 1e4)
    dead_band: float = setting(
        -1.0,
        'a drive slower than this for some time is at rest and may stick, its samples are left out [m/s]; negative: '
        'chosen from the position noise. Samples at and after reversals are left out in any case',
        -1.0,
        1e3,
    )


@dataclass(frozen=True)
class EstimatorSettings(Settings):
    """How base parameters are fitted, and how a machine that can exist comes from them."""

    method: str = setting(
        'gls',
        "'gls': generalised least squares, noise correlated in time; 'wls': weighted least squares, noise by drive; "
        "'ls'; 'rls'",
        choices=ESTIMATORS,
    )
    physical: str = setting(
        'barrier',
        "how physical parameters come from base parameters: 'barrier' gives a machine that can exist; 'share_out' the "
        'most likely parameters, whether or not',
        choices=PHYSICAL,
    )
    keep_base_values: bool = setting(
        True,
        'the machine keeps every base parameter within one standard deviation of its identified value, as far as such '
        'machines can exist; false: the most probable machine under the trust in the nominal bodies, which may correct '
        'identified values',
    )
    platform_uncertainty: float = setting(
        0.3,
        'relative standard deviation of the nominal platform parameters; decides how a base parameter is shared out '
        'among the bodies, never the identified base parameters; how far those of the machine may differ from them '
        'says keep_base_values',
        1e-9,
        1e9,
    )
    leg_uncertainty: float = setting(
        0.05, 'relative standard deviation of the nominal leg parameters, see platform_uncertainty', 1e-9, 1e9
    )


@dataclass(frozen=True)
class JudgementSettings(Settings):
    """What a value must reach to be called identified, and forces to be called right."""

    max_relative_std: float = setting(
        0.15,
        'a base parameter counts as identified when its standard deviation is below this part of its value '
        '(Mata et al. 2008: 15 %)',
        1e-9,
        1e9,
    )
    max_scaled_std: float = setting(
        0.01,
        "a base parameter counts as 'identified as small' when its standard deviation is below this part of the size "
        'of its bodies (mass, mass times size, mass times size squared) or of the force of the drives',
        1e-9,
        1e9,
    )
    max_relative_absolute: float = setting(
        0.0,
        'limit of the held-out verdict: relative absolute force error eps_RA of all drives (Mata et al. 2008, Eq. 33), '
        'below the force cut-off; 0: none',
        0.0,
        1e9,
    )
    max_normalised_rms: float = setting(
        0.0, 'limit of the held-out verdict: force error rms as a part of the span of the force; 0: none', 0.0, 1e9
    )
    max_rms: float = setting(
        0.0, 'limit of the held-out verdict: force error rms of every drive [N or N m]; 0: none', 0.0, 1e9
    )
    bootstrap: int = setting(0, 'repetitions of a block bootstrap of the base parameters; 0: none', 0, 100_000)
    monte_carlo: int = setting(
        0, 'recordings made by the fitted machine with the noise of the sensors, and identified; 0: none', 0, 100_000
    )
    seed: int = setting(0, 'of the random numbers of bootstrap and Monte Carlo', 0, 2**31 - 1)
    direct_window: float = setting(
        0.0, 'simulate the identified machine with the measured efforts in windows of this length [s]; 0: not', 0.0, 1e3
    )


@dataclass(frozen=True)
class IdentificationConfig(Settings):
    """How to identify, stage by stage; every setting carries its description and range as metadata.

    Raises
    ------
    ConfigurationError
        Naming the setting, its value and what is allowed.

    Examples
    --------
    >>> IdentificationConfig.from_mapping({'columns.terms': ['offset'], 'motion.cutoff_frequency': 20.0})
    """

    motion: MotionSettings = section(MotionSettings)  # noqa: RUF009
    columns: ColumnSettings = section(ColumnSettings)  # noqa: RUF009
    rows: RowSettings = section(RowSettings)  # noqa: RUF009
    estimator: EstimatorSettings = section(EstimatorSettings)  # noqa: RUF009
    judgement: JudgementSettings = section(JudgementSettings)  # noqa: RUF009
