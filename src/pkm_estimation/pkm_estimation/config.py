"""Settings of the estimator: one description for the node's parameters, the YAML file and offline use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any

from pkm_description.errors import PkmError

from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.models.extra_states import EXTRA_STATES

FILTERS = ('manifold', 'paper', 'ekf', 'iekf')
ADAPTATIONS = ('off', 'q', 'q_and_r')
STARTS = ('forward_kinematics', 'printed')


class ConfigurationError(PkmError):
    """A setting has a value that the estimator cannot work with."""


def _setting(
    default: Any, description: str, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """Declare a setting with what its users and the parameter server need to know."""
    metadata = {'description': description, 'low': low, 'high': high, 'choices': choices}
    if isinstance(default, list):
        return field(default_factory=lambda: tuple(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class EstimatorConfig:
    """Settings, SI units; every field carries its description and range as metadata.

    Raises
    ------
    ConfigurationError
        Naming the setting, its value and what is allowed.
    """

    filter: str = _setting(
        'manifold',
        "'manifold': attitude without limits, iterated where the measurement surprises; 'paper': as printed; 'ekf', "
        "'iekf': extended filters on the same model, for comparison",
        choices=FILTERS,
    )
    integrator: str = _setting(
        'rk3',
        "integration of the process model: 'euler' replicates the paper; 'heun' errs by a standard deviation of the "
        'velocity on fast motions',
        choices=tuple(INTEGRATORS),
    )
    alpha: float = _setting(0.1, 'spread of the sigma points', 0.002, 1.0)
    beta: float = _setting(2.0, 'sigma point weight for the distribution, 2 for Gaussian', 0.0, 10.0)
    kappa: float = _setting(0.0, 'secondary sigma point scaling', -10.0, 100.0)
    noise_inflation: float = _setting(
        1.0, 'factor on all noise variances; the paper takes 1.1 against rounding (Miletovic Eq. 23)', 1e-3, 1e3
    )
    q_scale: float = _setting(
        1.0, 'further factor on the IMU noise variances; the experiment needed about 900', 1e-6, 1e9
    )
    r_scale: float = _setting(1.0, 'further factor on the leg length noise variances', 1e-6, 1e9)
    adapt_noise: str = _setting(
        'off',
        "adapt noise while running to the size of the innovations ('q': of the IMU), or to size and colour ('q_and_r')",
        choices=ADAPTATIONS,
    )

    start: str = _setting(
        'forward_kinematics', "where the filter starts; 'printed' is the paper's far-off start", choices=STARTS
    )
    printed_start_position: tuple[float, ...] = _setting(
        [0.0, 0.0, 1.0], "position of the IMU's point for start 'printed', base_link [m]"
    )
    printed_start_position_deviation: float = _setting(1.0, 'its standard deviation [m]', 1e-6, 1e3)
    printed_start_attitude_deviation: float = _setting(
        0.1, "standard deviation of the quaternion's vector part for start 'printed'", 1e-6, 1.0
    )
    start_position_deviation: float = _setting(1e-4, 'standard deviation of the forward kinematics [m]', 1e-9, 10.0)
    start_attitude_deviation: float = _setting(
        1e-4, "standard deviation of the forward kinematics' quaternion vector part", 1e-9, 1.0
    )
    start_velocity_deviation: float = _setting(
        1.0, 'standard deviation of the velocity 0 at the start [m/s]', 1e-9, 1e3
    )
    start_accelerometer_bias_deviation: float = _setting(1.0, 'accelerometer bias at the start [m/s^2]', 1e-9, 100.0)
    start_gyroscope_bias_deviation: float = _setting(0.1, 'gyroscope bias at the start [rad/s]', 1e-9, 10.0)

    estimate: tuple[str, ...] = _setting(
        [], f'further constants to estimate, any of {", ".join(EXTRA_STATES)}; they need motion to be seen'
    )
    leg_offset_deviation: float = _setting(1e-3, 'leg length offsets at the start [m]', 1e-9, 1.0)
    imu_delay: float = _setting(0.0, 'known lateness of the IMU stamps against the leg stamps [s]', -1.0, 1.0)
    imu_delay_deviation: float = _setting(0.03, 'its uncertainty at the start, where estimated [s]', 1e-6, 1.0)
    imu_rotation_deviation: float = _setting(0.05, 'mounting rotation of the IMU at the start [rad]', 1e-6, 3.0)
    imu_position_deviation: float = _setting(0.05, 'place of the IMU at the start [m]', 1e-6, 10.0)
    accelerometer_bias_walk: float = _setting(0.0, 'random walk of the bias [m/s^2 per sqrt(s)]', 0.0, 10.0)
    gyroscope_bias_walk: float = _setting(0.0, 'random walk of the bias [rad/s per sqrt(s)]', 0.0, 1.0)
    leg_offset_walk: float = _setting(0.0, 'random walk of the offsets [m per sqrt(s)]', 0.0, 1.0)

    constraint_deviation: float = _setting(
        1e-6, 'how exactly legs and plane hold the platform of a machine with few freedoms [m]', 1e-9, 1.0
    )

    iteration_nis: float = _setting(
        100.0, 'normalised innovation squared above which the manifold filter iterates its update', 0.0, 1e12
    )

    maximum_step: float = _setting(0.02, 'longest integration step, longer intervals are divided [s]', 1e-4, 1.0)
    maximum_imu_gap: float = _setting(0.1, 'IMU silence after which the filter starts anew [s]', 1e-3, 60.0)
    maximum_leg_gap: float = _setting(1.0, 'leg silence after which the filter starts anew [s]', 1e-3, 600.0)
    clock_jump: float = _setting(
        1.0, 'stamps that jump by more than this, confirmed by a second sample, are a new time base [s]', 1e-3, 3600.0
    )
    history: float = _setting(
        0.0,
        'how late a sample may come to be fused at its own time [s]; 0: samples of a topic must come in order. Costs a '
        'snapshot per measurement',
        0.0,
        60.0,
    )
    queue_length: int = _setting(4000, 'samples per topic that wait for the other topic', 10, 1_000_000)
    minimum_legs: int = _setting(3, 'legs that a measurement must have to be used', 1, 100)

    leg_gate: float = _setting(
        6.0,
        "deviation from its prediction at which a leg is left out [standard deviations]; 0: never, as for 'paper'",
        0.0,
        1e3,
    )
    maximum_condition: float = _setting(
        1e3, 'condition number of the length Jacobian (m and rad) beyond which a pose counts as near-singular', 1.0, 1e9
    )
    divergence_nis: float = _setting(1000.0, 'normalised innovation squared that counts as lost', 10.0, 1e12)
    divergence_samples: int = _setting(50, 'lost samples in a row after which the filter starts anew', 1, 1_000_000)

    reference_point: tuple[float, ...] = _setting(
        [0.0, 0.0, 0.0], 'point of the platform whose pose and velocity are given, platform_link [m]'
    )
    angular_acceleration_time_constant: float = _setting(
        0.01, 'of the derivative of the angular rate, which lags by sqrt(2) times this [s]', 1e-4, 10.0
    )
    differentiator_time_constant: float = _setting(0.04, 'baseline: time constant of B2 [s]', 1e-4, 10.0)
    differentiator_damping: float = _setting(2.0**0.5, 'baseline: damping of B2, sqrt(2) is Butterworth', 1e-2, 10.0)
    baseline: bool = _setting(True, 'run the conventional baseline beside the filter')

    def __post_init__(self) -> None:
        for entry in fields(self):
            self._check(entry.name, getattr(self, entry.name), entry.type == 'int', entry.metadata)
        if not isinstance(self.baseline, bool):
            raise ConfigurationError(f'baseline = {self.baseline!r}: must be true or false')
        known = tuple(EXTRA_STATES)
        if isinstance(self.estimate, str):
            raise ConfigurationError(f'estimate = {self.estimate!r}: needs a list of any of {", ".join(known)}')
        for name in self.estimate:
            if name not in known:
                raise ConfigurationError(f'estimate = {self.estimate!r}: {name!r} is none of {", ".join(known)}')
        for name in ('printed_start_position', 'reference_point'):
            value = getattr(self, name)
            if not (isinstance(value, tuple | list) and len(value) == 3 and all(map(_is_finite, value))):
                raise ConfigurationError(f'{name} = {value!r}: needs three numbers')

    def _check(self, name: str, value: Any, whole: bool, metadata: Mapping[str, Any]) -> None:
        if metadata['choices'] and value not in metadata['choices']:
            raise ConfigurationError(f'{name} = {value!r}: choose one of {", ".join(metadata["choices"])}')
        low, high = metadata['low'], metadata['high']
        if low is not None and not (_is_finite(value) and low <= value <= high and (not whole or value == int(value))):
            kind = 'whole number' if whole else 'number'
            raise ConfigurationError(f'{name} = {value!r}: must be a {kind} from {low:g} to {high:g}')

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> EstimatorConfig:
        """Build from names and values, e.g. the ``ros__parameters`` of a YAML file."""
        known = {entry.name for entry in fields(cls)}
        for name in settings:
            if name not in known:
                raise ConfigurationError(f'{name} is no setting of the estimator; there are {", ".join(sorted(known))}')
        # sequences come as list (YAML), tuple or array (parameter server)
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
            for name, value in settings.items()
        }
        return cls(**values)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
