"""The filter of Miletovic et al. 2017 for one machine: start, prediction, correction, and motion of any point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine, Pose
from scipy.linalg import block_diag

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filtering.constant_columns import (
    ConstantScore,
    changes_of,
    considered_tolerances,
    constant_columns,
    input_constants,
    prior_covariance,
    root_of,
)
from pkm_estimation.filtering.parts import (
    constant_states,
    make_filter,
    measurement_model,
    walk_variances,
)
from pkm_estimation.filtering.point_motion import FilterStates, PlatformPoints, PointMotion, observed, point_motions
from pkm_estimation.filtering.start import likeliest_update, start_sensitivity, start_spread, start_std
from pkm_estimation.filtering.step_record import StepRecord
from pkm_estimation.filters import INTEGRATORS, FunctionModel, Innovation, Reading, UnscentedKalmanFilter
from pkm_estimation.kernels.carried import VARIANCE, add_score
from pkm_estimation.kernels.input_noise import correct_input
from pkm_estimation.kernels.steps import score
from pkm_estimation.models import ATTITUDE, POSITION, STATE_SIZE, VELOCITY, EstimatorGeometry, InertialProcess
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import InertialStep, move_chart, rotation_of
from pkm_estimation.models.leg_model import whole_sixes


class PlatformFilter:
    """Unscented filter whose state describes the IMU's point (Miletovic Eq. 25); IMU samples come in platform axes.

    ``filter: manifold`` keeps the attitude states near zero in a chart that moves with the platform; with
    ``filter: paper`` the chart is always the base frame, a step's input goes through two samples (by Euler's rule: it
    is the first one), and the noise of each step is its own, as printed. ``ekf`` and ``iekf`` are extended Kalman
    filters in that frame.

    Parameters
    ----------
    geometry : joint centres, IMU mounting, gravity; in any frames
    imu_covariance : (6, 6) of one IMU sample, specific force and angular rate in platform axes
    length_covariance : (A, A) m^2, of the drives' positions
    config : settings
    machine : needed for machines whose legs are not U-P struts; constraints are then measured, too

    Attributes
    ----------
    ukf : the Kalman filter, in its own coordinates
    legs : measurement model of the legs
    walk : growth of the variances (n,) per second
    moves : whether the chart moves
    record : takes note of all steps, for smoothing; default: nothing does
    length_covariance : (m, m) of the leg measurements, including constraints
    columns : of the sensitivity to constants that are not estimated
    prior : (p, p) covariance of them before anything is measured, in their units
    constraint_nis : normalised innovation squared of the constraints at the last :meth:`update`

    Raises
    ------
    KinematicsError
        The machine's drives do not determine the platform's pose.
    """

    def __init__(
        self,
        geometry: EstimatorGeometry,
        imu_covariance: Array,
        length_covariance: Array,
        config: EstimatorConfig,
        machine: Machine | None = None,
    ) -> None:
        self.geometry, self.config = geometry, config
        self.layout = StateLayout.of(STATE_SIZE, len(geometry.lengths_at_zero), config.estimate)
        # as printed, a step knows two samples
        longest_gap = 0.0 if config.filter == 'paper' else config.maximum_imu_gap
        considered, units = considered_tolerances(machine, self.layout, config)
        of_input = input_constants(units, config)
        self.process = InertialProcess(
            geometry.gravity, INTEGRATORS[config.integrator], self.layout.imu_rotation, longest_gap, of_input,
            None if machine is None else machine.imu.rotation_platform_imu,
        )  # fmt: skip
        # as printed it is as the file says; where innovations adapt it, they say it
        self.process.data.is_measured[0] = config.filter != 'paper' and config.adapt_noise == 'off'
        self._step = InertialStep(self.process)
        paper = config.filter == 'paper'
        self.process.set_stamp_jitter(*(0.0, 0.0) if paper else (config.imu_stamp_jitter, config.leg_stamp_jitter))
        self.legs = measurement_model(geometry, self.layout, machine, units)
        self.constraint_nis = 0.0
        self._nominal_noise = imu_covariance, length_covariance
        changes = changes_of(self.legs, config)
        count = self.legs.constant_count + whole_sixes(len(changes)) + whole_sixes(len(of_input))
        self.ukf = make_filter(config, self.layout, geometry, count, changes, self.legs.at_zero)
        self.columns = constant_columns(self.legs, changes, of_input, considered, count)
        self.prior = prior_covariance(machine, self.columns, count)
        root = root_of(self.prior)
        self.weigh_constants(root * (config.claim == 'accuracy'), root)
        self.walk = walk_variances(self.layout, config, machine)
        self._constants = constant_states(self.layout, geometry, config, self.legs)
        self._set_chart(np.eye(3))
        self.moves = config.filter == 'manifold'
        self.record: StepRecord | None = None
        self.set_noise(1.0, 1.0)

    def set_noise(self, q_factor: float, r_factor: float) -> None:
        """Set the noise covariances to the configured ones times factors."""
        config, (imu, legs) = self.config, self._nominal_noise
        self._noise_factors = q_factor, r_factor
        self.imu_covariance = config.noise_inflation * config.q_scale * q_factor * imu
        noise: Array = config.noise_inflation * config.r_scale * r_factor * legs
        if self.legs.constraint_count:
            noise = block_diag(noise, config.constraint_std**2 * np.eye(self.legs.constraint_count))
        self.length_covariance = noise
        self.process.set_noise(self.imu_covariance)
        if config.filter == 'paper':  # noise as printed
            self.process.set_loudness(0.0, inf)
        elif len(self.geometry.base_points):  # other drives: it is not known what they measure of a motion
            self.process.set_loudness(self.geometry.radius, float(noise.diagonal().min()) ** 0.5)
        self.ukf.noise_carried[:] = 0.0  # what was carried was that of other noise

    def set_imu_noise(self, covariance: Array) -> None:
        """Set the noise (6, 6) of one IMU sample that is nominal from now on, platform axes."""
        self._nominal_noise = covariance, self._nominal_noise[1]
        self.set_noise(*self._noise_factors)

    @property
    def state(self) -> Array:
        """State (n,), position in base axes, attitude as quaternion vector part; a copy where the chart has moved."""
        if not self.moves:
            return self.ukf.state
        state = self.ukf.state.copy()
        state[POSITION] = self.chart @ state[POSITION]
        state[ATTITUDE] = quaternion_from_matrix(self.rotation)[:3]
        return state

    @property
    def covariance(self) -> Array:
        """Covariance (n, n) in the filter's own coordinates: position and attitude in the axes of the current chart."""
        return self.ukf.covariance

    @property
    def imu_point(self) -> Array:
        """Position (3,) m of the IMU's point in base axes."""
        position: Array = self.chart @ self.ukf.state[POSITION]
        return position

    @property
    def outside_unit_sphere(self) -> int:
        """Number of sigma points with ``q.q > 1`` so far."""
        return self.process.outside_unit_sphere + self.legs.outside_unit_sphere

    @property
    def pose(self) -> Pose:
        """Pose of the platform's origin."""
        arm, place = self.geometry.imu_position, self.layout.imu_position
        if place is not None:
            arm = arm + self.ukf.state[place]
        return Pose(self.imu_point - self.rotation @ arm, self.rotation)

    def start_at(
        self,
        pose: Pose,
        position_std: float | None = None,
        attitude_std: float | None = None,
        imu: Array | None = None,
        age: float = 0.0,
    ) -> None:
        """Start from a known pose of the platform origin, at rest, biases unknown (S3-33); default: stds as set.

        ``imu`` (6,) is the sample of that instant, if there is one; the pose may be that of ``age`` s before.
        """
        config, late = self.config, self._late_variance() + age**2
        rotation = pose.rotation_base_platform
        position = pose.position + rotation @ self.geometry.imu_position
        if position_std is None:
            position_std = hypot(config.start_position_std, sqrt(late) * config.start_velocity_std)
        if attitude_std is None:
            turning = 3.0 * config.start_gyroscope_bias_std**2 + (0.0 if imu is None else float(imu[3:] @ imu[3:]))
            attitude_std = hypot(config.start_attitude_std, 0.5 * sqrt(late * turning))
        self._start(position, rotation, position_std, attitude_std)
        if self.legs.constant_count:
            self.ukf.sensitivity[:, : self.legs.constant_count] = start_sensitivity(self.ukf.state, self.legs)

    def _late_variance(self) -> float:
        """Variance [s^2] of the time of the first leg positions: stamps that jitter, a delay that is not known.

        The state is that at the time of the IMU's samples, so the pose of the legs is off by this time's speed.
        """
        delay = 0.0 if self.layout.imu_delay is None else self.config.imu_delay_std
        return float(self.process.data.leg_scatter[VARIANCE]) + delay**2

    def start_as_printed(self) -> None:
        """Start from the paper's far-off state (Miletovic Eq. 22)."""
        config = self.config
        position = np.array(config.printed_start_position)
        deviations = config.printed_start_position_std, config.printed_start_attitude_std
        self._start(position, np.eye(3), *deviations)

    def _start(self, position: Array, rotation: Array, position_std: float, attitude_std: float) -> None:
        self._set_chart(rotation if self.moves else np.eye(3))
        state = np.zeros(self.layout.size)
        state[POSITION] = self.chart.T @ position
        state[ATTITUDE] = quaternion_from_matrix(self.chart.T @ rotation)[:3]
        if self.record is not None:
            self.record.started(state)
        std = start_std(self.config, self.layout, position_std, attitude_std)
        spread = start_spread(self.layout, state, self.legs.observe) * std
        self.ukf.state[:] = state
        self.ukf.covariance[:] = spread @ spread.T
        self.ukf.carried[:] = 0.0
        self.process.forget()
        if self._constants is not None:
            self._constants.start()

    def first_update(self, drive_positions: Array, is_home_mode: Callable[[Array, Array], bool]) -> Innovation | None:
        """Correct a broad prior, such as :meth:`start_as_printed`, with the first positions of the drives (A,).

        The manifold filter searches the most likely pose on the home assembly mode; the other filters do an ordinary
        update.

        Parameters
        ----------
        is_home_mode : whether a pose of the IMU's point, (3,) m and (3, 3), is on the home assembly mode

        Returns
        -------
        The innovation, ``None`` if no pose on the home mode explains the positions
        """
        if not self.moves:
            innovation = self.update(drive_positions)
            # these filters never leave the mirror assembly mode
            return innovation if is_home_mode(self.imu_point, self.rotation) else None
        values, drives = self.legs.measured(drive_positions), np.arange(len(drive_positions))
        reading = Reading(self.legs, values, self._leg_noise(1.0), drives)

        def here() -> bool:
            return is_home_mode(self.imu_point, self.rotation)

        return likeliest_update(self.ukf, lambda begin: self.ukf.update_from(begin, reading), here)

    def predict(self, imu_start: Array, imu_end: Array, duration: float) -> None:
        """Predict over the ``duration`` s between two IMU samples (6,) that follow each other.

        A sample that ends one call and begins the next is the same one: the input goes through those before, too.
        """
        self.process.take_next(imu_start, imu_end, duration)
        self._predict(0.0, duration)

    def predict_between(self, stamps: Sequence[int], samples: Sequence[Array], begin: float, duration: float) -> None:
        """Predict over ``duration`` s within the interval of the first two of the samples around it.

        Parameters
        ----------
        stamps, samples : newest first: the end of the interval, its beginning, and up to two before; ns and (6,)
        begin : s after the beginning of the interval
        """
        self.process.take(stamps, samples)
        self.process.observe_imu_stamp(stamps[0])
        self._predict(begin, duration)

    def _predict(self, begin: float, duration: float) -> None:
        """Predict between the samples that the process has taken."""
        process, ukf, record = self.process, self.ukf, self.record
        step = self._step.over(begin, duration)
        if record is not None:
            record.before_step(self)
        ukf.predict(step)
        if record is not None:
            record.after_step(self, begin + duration, duration)
        ukf.covariance.ravel()[:: len(self.walk) + 1] += duration * self.walk
        if self.moves and step.left_chart:
            self._move_chart()
            if isinstance(ukf, UnscentedKalmanFilter):
                process.set_rates(ukf.state, begin + duration, ukf.memory.data.rates)
        if self._constants is not None:
            ends = process.input_at(begin), process.input_at(begin + duration)
            self.legs.follow(*ends, duration)
            self._constants.grow(ukf, self.geometry.gravity, self.rotation, *ends, duration)
        if record is not None:
            record.settled(self)
        if self._constants is not None:
            self._constants.look(ukf)

    def _move_chart(self) -> None:
        """Move the chart to the present attitude."""
        ukf = self.ukf
        chart, transport = move_chart(self.chart, ukf.state, ukf.covariance, ukf.carried, POSITION, ATTITUDE)
        self._set_chart(chart)
        if self.record is not None:
            self.record.moved(transport)

    @property
    def can_be_smoothed(self) -> bool:
        """Whether corrections are those of one estimate: not while constants are considered beside constraints."""
        return self._constants is None or not (self.legs.constraint_count and self._constants.are_considered)

    def weigh_constants(self, claim: Array, judge: Array, scale: float = 1.0, found: Array | float = 0.0) -> None:
        """Consider constants in what is claimed, and in how innovations are judged, from now on.

        By roots (p, p) of their covariance. ``scale`` multiplies the covariance in what is claimed, ``found`` (p,) are
        constants in it, in their units.
        """
        self.ukf.weigh_constants(claim, judge, scale, found)

    def score_constants(self) -> None:
        """Let the last correction count in what innovations say of the constants."""
        if isinstance(self.ukf, UnscentedKalmanFilter):
            score(self.ukf.memory.struct, self.process.struct, self.ukf.correction(len(self.length_covariance)).struct)

    @property
    def score(self) -> ConstantScore:
        """What innovations say of the constants since this was set; a copy."""
        block, _, *sums = self.score_memory
        add_score(block, *sums)
        score, information, squares = sums
        return ConstantScore(score, np.tril(information) + np.tril(information, -1).T, squares)

    @score.setter
    def score(self, score: ConstantScore) -> None:
        assert isinstance(self.ukf, UnscentedKalmanFilter)
        data = self.ukf.memory.data
        data.block[:], data.score[:], data.information[:], data.scored[:] = 0.0, *score

    @property
    def score_memory(self) -> tuple[NDArray[Any], ...]:
        """The same as kernels have it, with the innovations that are not in the score yet; a copy."""
        return tuple(part.copy() for part in self._score_parts)

    @score_memory.setter
    def score_memory(self, memory: tuple[NDArray[Any], ...]) -> None:
        for part, kept in zip(self._score_parts, memory, strict=True):
            part[:] = kept

    @property
    def _score_parts(self) -> tuple[NDArray[Any], ...]:
        assert isinstance(self.ukf, UnscentedKalmanFilter)
        data = self.ukf.memory.data
        return data.block, data.block_begin, data.score, data.information, data.scored

    @property
    def elapsed(self) -> float:
        """Time [s] since the first sample of the IMU."""
        data = self.process.data
        return 1e-9 * float(data.stamps[0] - data.reference[0])

    def take_constants_as_known(self) -> None:
        """Neither correct estimated constants nor add to their covariance from now on."""
        self._constants = None

    def widen(self, velocity_std: float, angle_std: float) -> None:
        """Know velocity [m/s] and attitude [rad] less certainly, in all directions: the input was, or may be, wrong."""
        diagonal = self.covariance.ravel()[:: self.layout.size + 1]
        diagonal[VELOCITY] += velocity_std**2
        diagonal[ATTITUDE] += (0.5 * angle_std) ** 2

    def forget_rates(self) -> None:
        """Let jitter of stamps count nothing before the next prediction: how fast the platform moves is not known."""
        if isinstance(self.ukf, UnscentedKalmanFilter):
            self.ukf.memory.data.rates[:] = self.ukf.memory.data.rate_variances[:] = 0.0

    def observe_leg_stamp(self, stamp: int) -> None:
        """Take the stamp [ns] of the next leg measurement: stamps that scatter make it less certain."""
        variance = self.process.observe_leg_stamp(stamp)
        if isinstance(self.ukf, UnscentedKalmanFilter):
            self.ukf.memory.data.stamp_variance[0] = variance

    def doubt_leg_stamp(self, std: float) -> None:
        """Know the time [s] of the present leg measurement less certainly than the stamps so far say."""
        if isinstance(self.ukf, UnscentedKalmanFilter):
            self.ukf.memory.data.stamp_variance[0] = float(self.process.data.leg_scatter[VARIANCE]) + std**2

    def update(
        self,
        drive_positions: Array,
        used: NDArray[np.intp] | None = None,
        limit: float = inf,
        noise_scale: float = 1.0,
    ) -> Innovation:
        """Correct with the positions of the drives (A,), m or rad, or with those of the drives ``used``.

        If the NIS is above ``iteration_nis``, the manifold filter iterates: it linearises again around its own result.
        Returns the innovation of the prediction. If its NIS is above ``limit``, the state is not corrected.
        ``noise_scale`` multiplies the noise variances of the legs. Raises CovarianceError.
        """
        legs, noise = self.legs, self._leg_noise(noise_scale)
        values, drives = legs.measured(drive_positions), len(drive_positions)
        if not legs.constraint_count:
            return self._correct(values, noise, used, limit)
        self.constraint_nis = self._correct_with_constraints(values)
        found = self._correct(values, noise, np.arange(drives) if used is None else used, limit)
        residual, variance, shared = (
            np.broadcast_to(part, len(values))[:drives] for part in (found.residual, found.variance, found.shared)
        )
        return Innovation(residual, variance, found.nis, shared)

    def _correct_with_constraints(self, values: Array) -> float:
        """Correct with the constraints, the last of ``values`` (m,), before the drives' part; returns their NIS."""
        of_constraints = np.arange(self.legs.drive_count, len(values))
        return self._correct(values, self._leg_noise(1.0), of_constraints, inf).nis

    def _correct(self, values: Array, noise: Array, used: NDArray[np.intp] | None, limit: float) -> Innovation:
        """Correct with those ``used`` of what the legs' model predicts; what is estimated beside the motion settles."""
        ukf, constants, reading = self.ukf, self._constants, Reading(self.legs, values, noise, used)
        if constants is None:
            return ukf.update_iterated(reading, limit)
        before = ukf.estimate
        innovation = ukf.update_iterated(reading, limit)
        if innovation.nis <= limit:
            constants.after_update(ukf, *before)
        return innovation

    def _leg_noise(self, scale: float) -> Array:
        """Covariance (m, m) of the leg measurements, times ``scale``, with the effect of unknown constants."""
        noise = self.length_covariance
        if self._constants is not None:
            noise = noise + self._constants.drive_variance(self.ukf) * np.eye(len(noise))
        return noise if scale == 1.0 else scale * noise

    def update_with(
        self,
        observe: Callable[[PlatformPoints], Array],
        value: Array,
        noise_covariance: Array,
        imu: Array,
        limit: float = inf,
    ) -> Innovation:
        """Correct with any measurement (m,) of the platform's motion; ``limit`` as in :meth:`update`.

        ``observe`` returns the predictions (m, N) for N motions, see :class:`PlatformPoints`; ``imu`` (6,) is the
        current sample. If the prediction uses the angular rate, add the gyroscope's noise to ``noise_covariance``.
        Raises ObservationError if a prediction is not finite or has another shape, and CovarianceError.
        """
        count = len(value)
        model = FunctionModel(lambda points: observed(observe, self.points(points, imu), count).T)
        reading = Reading(model, value, noise_covariance)
        if not isinstance(self.ukf, UnscentedKalmanFilter):
            return self.ukf.update(reading, limit)
        stamps = self.ukf.memory.data.stamp_variance
        of_legs, stamps[0] = stamps.item(), 0.0  # their stamps say nothing about this one
        try:
            return self.ukf.update(reading, limit)
        finally:
            stamps[0] = of_legs

    def points(self, states: Array, imu: Array) -> PlatformPoints:
        """Motions of the platform for the filter's own states (N, n), with the current IMU sample (6,)."""
        return PlatformPoints(self.layout, self.geometry, self.chart, states, imu, self.legs.angular_acceleration)

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`."""
        constants = None if self._constants is None else self._constants.memory
        carried = self.ukf.carried.copy(), self.ukf.carried_count, int(self.process.data.newest[0])
        state, covariance, legs = self.ukf.state.copy(), self.ukf.covariance.copy(), self.legs.snapshot()
        return state, covariance, self.chart, legs, self._noise_factors, constants, carried, self.process.snapshot()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot exactly, bit by bit."""
        state, covariance, chart, legs, noise_factors, constants, carried, process = snapshot
        self.ukf.state[:], self.ukf.covariance[:] = state, covariance
        if chart is not self.chart:
            self._set_chart(chart)
        if noise_factors != self._noise_factors:
            self.set_noise(*noise_factors)
        self.ukf.carried[:], self.ukf.carried_count, self.process.data.newest[0] = carried
        if self._constants is not None and constants is None:
            self._constants.start()  # of a filter that took them as known
        elif self._constants is not None:
            self._constants.memory = constants
        self.legs.restore(legs)
        self.process.restore(process)

    def predicted_innovation(self, drive_positions: Array, noise_scale: float = 1.0) -> tuple[Array, Array]:
        """Innovation (A,) and its covariance (A, A) for positions (A,) of the drives; the state is not changed."""
        ukf, constants, drives = self.ukf, self._constants, len(drive_positions)
        values, noise = self.legs.measured(drive_positions), self._leg_noise(noise_scale)
        if not self.legs.constraint_count:
            return ukf.predicted_innovation(Reading(self.legs, values, noise))
        before, memory = ukf.estimate, None if constants is None else constants.memory
        self._correct_with_constraints(values)
        residual, spread = ukf.predicted_innovation(Reading(self.legs, values, noise))
        ukf.estimate = before
        if constants is not None and memory is not None:
            constants.memory = memory
        return residual[:drives], spread[:drives, :drives]

    def _set_chart(self, rotation: Array) -> None:
        """Express positions in the axes of a chart from now on."""
        self.chart, self.chart_quaternion = rotation, quaternion_from_matrix(rotation)
        self.process.set_chart(rotation, self.geometry.gravity)
        self.legs.set_chart(rotation)

    @property
    def rotation(self) -> Array:
        """Rotation (3, 3) from platform axes to base axes."""
        rotation: Array = self.chart @ rotation_of(self.ukf.state[ATTITUDE])
        return rotation

    def point_motion(self, imu: Array, point: Array | None = None) -> PointMotion:
        """Pose and twist of a point (3,) of the platform with the current IMU sample (6,): :func:`point_motions`."""
        known = FilterStates(*(values[None] for values in self.known(imu)))
        return point_motions(self.layout, self.geometry, known, point)[0]

    def known(
        self, imu: Array, uncertain: tuple[float, float] | None = None, duration: float = 0.0
    ) -> tuple[Array, ...]:
        """Current values for :class:`FilterStates`, without its leading axis.

        ``imu`` (6,) is the current sample; its specific force [m/s^2] and angular rate [rad/s] may have been wrong by
        ``uncertain`` standard deviations for the last ``duration`` s.
        """
        state, covariance = self.ukf.claimed_state, self.ukf.claimed
        turning = self.legs.angular_acceleration
        noise, imu = self.imu_covariance, imu.copy()
        correct_input(self.process.struct, self.ukf.found, imu)
        if uncertain is not None:
            noise = noise + np.diag(np.repeat(np.square(uncertain), 3))
            covariance[VELOCITY, VELOCITY] += (duration * uncertain[0]) ** 2 * np.eye(3)
        known = state, covariance, self.chart, self.chart_quaternion, imu, turning, noise
        if self.record is not None:
            self.record.estimated(self, known)
        return known
