"""Settings of the estimator, shared by node parameters, YAML file and offline use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pkm_description.machine import Machine
from pkm_description.settings import Settings, setting

from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.models.extra_states import EXTRA_STATES

FILTERS = ('manifold', 'paper', 'ekf', 'iekf')
ADAPTATIONS = ('off', 'q', 'q_and_r')
IMU_NOISES = ('machine_file', 'messages')
CLAIMS = ('accuracy', 'repeatability')
STARTS = ('forward_kinematics', 'printed')


@dataclass(frozen=True)
class EstimatorConfig(Settings):
    """Settings, SI units; every field carries its description and range as metadata.

    Raises
    ------
    ConfigurationError
        Naming the setting, its value and what is allowed.
    """

    filter: str = setting(
        'manifold',
        "'manifold': UKF for any attitude, iterated for measurements with a large NIS; 'paper': UKF and process noise "
        "as printed; 'ekf', 'iekf': extended Kalman filters on the same model, for comparison",
        choices=FILTERS,
    )
    integrator: str = setting(
        'rk3',
        "integration of the process model: 'euler' replicates the paper; on fast motions the "
        "error of 'heun' is one standard deviation of the velocity",
        choices=tuple(INTEGRATORS),
    )
    alpha: float = setting(0.1, 'spread of the sigma points', 0.002, 1.0)
    beta: float = setting(2.0, 'sigma point weight for the distribution, 2 for Gaussian', 0.0, 10.0)
    kappa: float = setting(0.0, 'secondary sigma point scaling', -10.0, 100.0)
    noise_inflation: float = setting(
        1.0, 'factor on all noise variances; the paper takes 1.1 against rounding (Miletovic Eq. 23)', 1e-3, 1e3
    )
    q_scale: float = setting(
        1.0, 'further factor on the IMU noise variances; the experiment needed about 900', 1e-6, 1e9
    )
    r_scale: float = setting(1.0, 'further factor on the leg length noise variances', 1e-6, 1e9)
    adapt_noise: str = setting(
        'off',
        "adapt noise variances to the innovations: 'q': IMU noise, to their size; 'q_and_r': IMU and leg noise, to "
        'size and correlation',
        choices=ADAPTATIONS,
    )

    imu_noise: str = setting(
        'machine_file',
        "where the noise of an IMU sample is from: 'messages' takes the covariances of the first sensor_msgs/Imu, for "
        'all of them; what it does not state is from the machine file',
        choices=IMU_NOISES,
    )

    claim: str = setting(
        'accuracy',
        "what covariances contain: 'accuracy': noise and the tolerances of the machine's geometry; 'repeatability': "
        'noise alone, as if the geometry were exact',
        choices=CLAIMS,
    )

    start: str = setting(
        'forward_kinematics', "where the filter starts; 'printed' is the paper's far-off start", choices=STARTS
    )
    printed_start_position: tuple[float, ...] = setting(
        [0.0, 0.0, 1.0], "position of the IMU's point for start 'printed', base_link [m]", -1e4, 1e4
    )
    printed_start_position_std: float = setting(1.0, 'its standard deviation [m]', 1e-6, 1e3)
    printed_start_attitude_std: float = setting(
        0.1, "standard deviation of the quaternion's vector part for start 'printed'", 1e-6, 1.0
    )
    start_position_std: float = setting(1e-4, 'standard deviation of the forward kinematics [m]', 1e-9, 10.0)
    start_attitude_std: float = setting(
        1e-4, "standard deviation of the forward kinematics' quaternion vector part", 1e-9, 1.0
    )
    start_velocity_std: float = setting(
        1.0, 'standard deviation of the velocity 0 at the start [m/s]', 1e-9, 1e3
    )
    start_accelerometer_bias_std: float = setting(1.0, 'std of the accelerometer bias [m/s^2]', 1e-9, 100.0)
    start_gyroscope_bias_std: float = setting(0.1, 'std of the gyroscope bias [rad/s]', 1e-9, 10.0)

    estimate: tuple[str, ...] = setting(
        [], f'constants to estimate, any of {", ".join(EXTRA_STATES)}; they are observable in motion only',
        choices=EXTRA_STATES,
    )
    leg_offset_std: float = setting(
        1e-3, 'standard deviation of the offsets of the drives [m; rad where they turn]', 1e-9, 1.0
    )
    imu_delay: float = setting(0.0, 'known delay of the IMU stamps relative to the leg stamps [s]', -1.0, 1.0)
    imu_delay_std: float = setting(0.03, 'its standard deviation at the start, if estimated [s]', 1e-6, 1.0)
    imu_rotation_std: float = setting(0.05, 'standard deviation of the mounting rotation of the IMU [rad]', 1e-6, 3.0)
    imu_position_std: float = setting(0.05, 'standard deviation of the position of the IMU [m]', 1e-6, 10.0)
    imu_stamp_jitter: float = setting(
        -1.0,
        "standard deviation of the errors of the IMU's stamps, independent from sample to sample [s]; negative: by the "
        'scatter of the stamps, where that is above 2 us',
        -1.0,
        0.1,
    )
    leg_stamp_jitter: float = setting(-1.0, 'the same of the stamps of leg positions [s]', -1.0, 0.1)
    accelerometer_bias_walk: float = setting(
        -1.0,
        "random walk of the bias [m/s^2 per sqrt(s)]; negative: the machine file's, 3e-4 where it gives none",
        -1.0,
        10.0,
    )
    gyroscope_bias_walk: float = setting(
        -1.0,
        "random walk of the bias [rad/s per sqrt(s)]; negative: the machine file's, 2e-5 where it gives none",
        -1.0,
        1.0,
    )
    leg_offset_walk: float = setting(0.0, 'random walk of the offsets [m per sqrt(s)]', 0.0, 1.0)
    imu_delay_walk: float = setting(
        0.0, 'random walk of the delay, if estimated [s per sqrt(s)]; clocks 20 ppm apart need about 2e-5', 0.0, 1.0
    )

    constraint_std: float = setting(
        1e-6, 'standard deviation of the constraints of a machine with fewer than six degrees of freedom [m]', 1e-9, 1.0
    )

    iteration_nis: float = setting(
        100.0, 'normalised innovation squared above which the manifold filter iterates its update', 0.0, 1e12
    )

    maximum_step: float = setting(0.02, 'longest integration step, longer intervals are divided [s]', 1e-4, 1.0)
    maximum_imu_gap: float = setting(
        0.1,
        'gap of the IMU samples that is bridged by the legs alone; where legs_alone is off, the filter restarts [s]',
        1e-3,
        60.0,
    )
    imu_silence: float = setting(
        0.0,
        'time without IMU samples, by the stamps of the legs, after which they are not waited for [s]; 0: always wait',
        0.0,
        3600.0,
    )
    maximum_leg_gap: float = setting(1.0, 'gap of the leg samples after which the filter restarts [s]', 1e-3, 600.0)
    clock_jump: float = setting(
        1.0, 'jump of the stamps that counts as a clock reset or gap if a second sample confirms it [s]', 1e-3, 3600.0
    )
    history: float = setting(
        0.0,
        'how late a sample may arrive and still be fused at its own time [s]; 0: samples of a topic must be in order. '
        'Stores a snapshot per measurement',
        0.0,
        60.0,
    )
    queue_length: int = setting(4000, 'samples per topic that wait for the other topic', 10, 1_000_000)
    minimum_legs: int = setting(
        1, 'legs that a measurement must have to be used; all of a machine that has fewer', 1, 100
    )

    leg_gate: float = setting(
        6.0,
        "residual at which a leg is left out [standard deviations]; 0: never, as for 'paper'",
        0.0,
        1e3,
    )
    legs_alone: bool = setting(
        True, "leave out an IMU that fails and estimate by the legs alone; not for 'paper' and without leg_gate"
    )
    follow_modes: bool = setting(
        True, "follow all assembly modes that are possible behind a singular pose; with the filter 'manifold' only"
    )
    maximum_condition: float = setting(
        1e3, 'condition number of the length Jacobian (m and rad) beyond which a pose counts as near-singular', 1.0, 1e9
    )
    divergence_nis: float = setting(1000.0, 'normalised innovation squared (NIS) that counts as lost', 10.0, 1e12)
    divergence_samples: int = setting(50, 'samples in a row above divergence_nis before a restart', 1, 1_000_000)

    reference_point: tuple[float, ...] = setting(
        [0.0, 0.0, 0.0], 'point of the platform whose pose and velocity are published, platform_link [m]', -1e3, 1e3
    )
    angular_acceleration_time_constant: float = setting(
        0.01, 'time constant of the derivative of the angular rate; its lag is sqrt(2) times this [s]', 1e-4, 10.0
    )
    differentiator_time_constant: float = setting(0.04, 'baseline: time constant of B2 [s]', 1e-4, 10.0)
    differentiator_damping: float = setting(2.0**0.5, 'baseline: damping of B2, sqrt(2) is Butterworth', 1e-2, 10.0)
    baseline: bool = setting(True, 'run the conventional baseline next to the filter')

    def changed(self) -> dict[str, Any]:
        """Settings that are not the defaults, by name, as plain data of the kind that a node's parameters have."""
        usual = EstimatorConfig().mapping()
        return {
            name: float(value) if isinstance(usual[name], float) else value
            for name, value in self.mapping().items() if value != usual[name]
        }  # fmt: skip

    def require_fitting(self, machine: Machine) -> None:
        """Refuse what no recording of a machine can fulfil.

        Raises
        ------
        ConfigurationError
            Naming the setting, its value, what is allowed and the file.
        """
        drives = machine.actuated_count
        if self.minimum_legs > drives:
            reason = f'must be a whole number from 1 to {drives}, the legs of {machine.name}'
            raise self.refusal('minimum_legs', reason)
