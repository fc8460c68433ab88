"""Node ``simulator``: the embedded MuJoCo simulation with the topics of a real machine."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.joint_states import DriverStreams
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine
from pkm_description.ros.conversions import stamp, vector3
from pkm_description.ros.diagnostics import CLOCK, DiagnosticsPublisher, Level
from pkm_description.ros.frames import Frames, declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import REFERENCE_QOS, RELIABLE_STREAM_QOS
from pkm_description.ros.serialized import OdometryWriter
from pkm_description.settings import Settings, setting
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from pkm_bringup.control import BeliefSettings, ServoSettings
from pkm_bringup.ros.fault_parameter import LiveParameters
from pkm_bringup.ros.servo_interface import ServoInterface, controller_belief
from pkm_bringup.simulation import CONTROLLERS, ControlledSimulation, JointSample, Sample, SimulatedImuSample
from pkm_bringup.simulation.faults import SensorFaults
from pkm_bringup.simulation.mujoco_simulation import SimulationError
from pkm_bringup.simulation.sensors import Encoder

#: ns of wall time; what a simulation is behind by more than this is given up instead of caught up
LARGEST_LAG = 500_000_000

#: ns of wall time, the same where a controller outside closes the loop: what is caught up goes by without its commands
LARGEST_LAG_OF_COMMANDS = 8_000_000


#: ns of a followed clock; steps of it that are longer are no lag but another time: a simulator that was started again,
#: a bag that began anew
_LONGEST_STEP = 10_000_000_000

#: ns, the times at which a simulation takes up a followed clock are multiples of it, so that the samples of simulations
#: side by side have the same stamps
_GRID = 100_000_000


class ClockFollower:
    """Lets a simulation follow a clock that another program sets; what it is behind is never given up."""

    def __init__(self) -> None:
        self._clock_ns = 0

    def begin(self, clock_ns: int) -> int | None:
        """Time [ns] at which the simulation is to go on, if the clock [ns] has begun or jumped; else ``None``."""
        before, self._clock_ns = self._clock_ns, clock_ns
        if clock_ns <= 0 or (before > 0 and 0 <= clock_ns - before <= _LONGEST_STEP):
            return None
        return -(-clock_ns // _GRID) * _GRID


class Pacer:
    """Relates simulation time to wall-clock time; decides nothing but when to step, never a stamp.

    Parameters
    ----------
    real_time_factor : simulation seconds per wall-clock second, 0: no limit
    largest_lag : ns of wall time; what a simulation is behind by more than this is given up
    """

    def __init__(self, real_time_factor: float, largest_lag: int = LARGEST_LAG) -> None:
        if not real_time_factor >= 0.0:
            raise ValueError(f'real_time_factor = {real_time_factor}, expected 0 (as fast as possible) or more')
        self._factor, self._largest_lag = real_time_factor, largest_lag
        self._wall_ns: int | None = None
        self._simulation_ns = 0
        self._last = (0, 0)

    def target(self, wall_ns: int, simulation_ns: int) -> int | None:
        """Simulation time to be reached by now, ns; None: as far as possible. The first call starts the pace."""
        if self._factor == 0.0:
            return None
        if self._wall_ns is None:
            self._wall_ns, self._simulation_ns = wall_ns, simulation_ns
        target = self._simulation_ns + round((wall_ns - self._wall_ns) * self._factor)
        largest = simulation_ns + round(self._largest_lag * self._factor)
        if target > largest:
            self._wall_ns, self._simulation_ns = wall_ns, largest
            return largest
        return target

    def pause(self) -> None:
        """Start the pace anew with the next target: wall-clock time up to then is not made up for."""
        self._wall_ns = None

    def achieved(self, wall_ns: int, simulation_ns: int) -> float:
        """Real-time factor since the last call (since zero at the first)."""
        wall, simulated = self._last
        self._last = wall_ns, simulation_ns
        return (simulation_ns - simulated) / max(wall_ns - wall, 1)


#: ns of wall time between two bursts of physics steps, at a real-time factor and without one; while it is paused
_BURST_PERIOD, _NO_PERIOD, _PAUSED_PERIOD = 4_000_000, 100_000, 50_000_000

#: s behind a followed clock before that is told
_TOLERATED_LAG = 0.5

#: physics steps after which messages are served even when the simulation is behind
_BURST_STEPS = 50


@dataclass(frozen=True)
class SimulatorSettings(Settings):
    """What the simulator does, and how fast."""

    seed: int = setting(0, 'seed of the sensor noise', 0, 2**31 - 1)
    noise: bool = setting(True, 'noise and bias of the sensors, as in the machine file')
    real_time_factor: float = setting(1.0, 'simulated seconds per second; 0: as fast as possible', 0.0, 1e3)
    controller: str = setting('platform_reference', 'what drives the legs', choices=CONTROLLERS)
    servo_sensors: str = setting(
        'ideal', "what the simulator's own servo sees of the drives: truth, or noise and quantisation",
        choices=('ideal', 'real'),
    )  # fmt: skip
    encoder_resolution: float = setting(0.0, 'step of the real positions of the servo [m, rad]; 0: none', 0.0, 1.0)
    friction_laws: bool = setting(
        False, "the friction laws of the machine file; else the viscous and Coulomb friction nearest to each"
    )
    command_timeout: float = setting(0.2, 'time without a command after which the pose is held [s]', 1e-3, 1e3)
    start_paused: bool = setting(False, 'wait at t = 0 without publishing until ~/start is called')
    publish_clock: bool = setting(
        True, 'set the time on /clock; else follow it (use_sim_time) or the time of the system'
    )
    publish_ground_truth: bool = setting(True, 'publish ground_truth/odometry')


class SimulatorNode(Node):
    """Steps the physics at a wall-clock pace, or as another clock goes; every stamp is simulation time."""

    def __init__(self) -> None:
        super().__init__('simulator')
        machine = declare_machine(self)
        settings = declare_settings(self, SimulatorSettings)
        self._driver = machine.driver  # which this node plays
        self._factor = settings.real_time_factor
        encoder = None
        if settings.servo_sensors == 'real':
            encoder = Encoder(machine.leg_sensors, settings.seed, settings.encoder_resolution)
        self._controlled = ControlledSimulation(
            machine,
            settings.seed,
            noise=settings.noise,
            controller=settings.controller,
            settings=declare_settings(self, ServoSettings),
            belief=controller_belief(machine, declare_settings(self, BeliefSettings).controller_overlay),
            encoder=encoder,
            friction_laws=settings.friction_laws,
            command_timeout=settings.command_timeout,
        )
        frames = declare_frames(self, machine)
        self._servo = ServoInterface(self, self._controlled.servo, lambda: self._controlled.simulation.time_ns, frames)
        self._faults = SensorFaults(machine.drive_labels, seed=settings.seed)
        self._live = LiveParameters(self, machine.drive_labels, self._faults, self._controlled.simulation)
        self._messages = SampleMessages(machine, frames, settings.noise)
        takes_commands = settings.controller == 'effort'
        self._pacer = Pacer(self._factor, LARGEST_LAG_OF_COMMANDS if takes_commands else LARGEST_LAG)
        self._follower = None if settings.publish_clock else ClockFollower()
        self._lag = 0.0
        self._failure = ''
        self._closure_error = 0.0

        self._clock_publisher = self.create_publisher(ClockMessage, CLOCK, 10) if settings.publish_clock else None
        self._joint_states = self.create_publisher(JointState, self._driver.joint_topic, RELIABLE_STREAM_QOS)
        self._imu = self.create_publisher(Imu, self._driver.imu_topic, RELIABLE_STREAM_QOS)
        self._diagnostics = DiagnosticsPublisher(self, publishes_clock=settings.publish_clock)
        self._truth = None
        if settings.publish_ground_truth:
            self._truth = self.create_publisher(Odometry, 'ground_truth/odometry', RELIABLE_STREAM_QOS)
        if takes_commands:
            self.create_subscription(Float64MultiArray, self._driver.command_topic, self._take_command, 10)
        else:
            self.create_subscription(MultiDOFJointTrajectory, 'platform/reference', self._take_reference, REFERENCE_QOS)
        self.create_service(Trigger, '~/start', partial(self._switch, True))
        self.create_service(Trigger, '~/pause', partial(self._switch, False))

        wall = Clock(clock_type=ClockType.STEADY_TIME)  # /clock may stand still, or be this node's own
        self._burst_period = _BURST_PERIOD if self._factor > 0.0 or self._follower else _NO_PERIOD
        self._timer = self.create_timer(1e-9 * self._burst_period, self._advance, clock=wall)
        self._run(not settings.start_paused)
        self.create_timer(1.0, self._diagnose, clock=wall)
        state = 'runs' if self._running else f'waits for {self.get_fully_qualified_name()}/start'
        rate = 1.0 / self._controlled.simulation.time_step
        self.get_logger().info(f'{machine.name}: physics at {rate:g} Hz, {settings.controller} controller; {state}')

    def _switch(self, runs: bool, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Let the simulation run, or pause."""
        said = 'running' if runs else 'paused'
        response.success = not self._failure
        response.message = self._failure or (f'was {said} already' if runs == self._running else said)
        self._run(runs and response.success)
        if not runs:
            self._pacer.pause()
        return response

    def _run(self, running: bool) -> None:
        self._running = running
        self._timer.timer_period_ns = self._burst_period if running else _PAUSED_PERIOD

    def _take_reference(self, message: MultiDOFJointTrajectory) -> None:
        self._servo.follow(message)

    def _take_command(self, message: Float64MultiArray) -> None:
        try:
            self._controlled.receive_command(self._driver.forces_of_command(message.data))
        except PkmError as error:
            self._servo.rejections.add(self._driver.command_topic, error)

    def _advance(self) -> None:
        if not self._running:
            return
        simulation = self._controlled.simulation
        target = self._target()
        try:
            for _ in range(_BURST_STEPS):
                if target is not None and simulation.time_ns >= target:
                    break
                sample = self._controlled.step()
                if sample is not None:
                    self._publish(sample)
                    self._servo.update()
        except SimulationError as error:
            self._failure = str(error)
            self._run(False)
            self.get_logger().fatal(f'{error}; the simulation stops, restart the node')

    def _target(self) -> int | None:
        """Simulation time to be reached by now, ns; None: as far as possible."""
        simulation = self._controlled.simulation
        if self._follower is None:
            return self._pacer.target(time.monotonic_ns(), simulation.time_ns)
        now_ns = self.get_clock().now().nanoseconds
        begin_ns = self._follower.begin(now_ns)
        if begin_ns is not None:
            self._controlled.set_time(begin_ns)
            self.get_logger().info(f'goes on at t = {begin_ns * 1e-9:.3f} s of the clock that it follows')
        self._lag = (now_ns - simulation.time_ns) * 1e-9
        return now_ns

    def _publish(self, sample: Sample) -> None:
        sample = self._faults.apply(sample)
        time_stamp = stamp(sample.stamp_ns)
        self._closure_error = max(self._closure_error, sample.closure_error)
        if self._clock_publisher is not None:
            self._clock_publisher.publish(ClockMessage(clock=time_stamp))
        if sample.imu is not None:
            self._imu.publish(self._messages.imu(time_stamp, sample.imu))
        if sample.joints is not None:
            self._joint_states.publish(self._messages.joint_state(time_stamp, sample.joints, self._faults.missing_legs))
        if self._truth is not None:
            self._truth.publish(self._messages.odometry(sample))

    def _diagnose(self) -> None:
        controlled, simulation = self._controlled, self._controlled.simulation
        factor = self._pacer.achieved(time.monotonic_ns(), simulation.time_ns)
        level, text = Level.OK, 'running' if self._running else 'paused'
        if self._servo.rejections.recent():
            level, text = Level.WARN, self._servo.rejections.last
        elif self._running and self._follower is not None:
            if simulation.step_index == 0:
                level, text = Level.WARN, 'waits for the clock that it follows; is /clock published?'
            elif self._lag > _TOLERATED_LAG:
                level, text = Level.WARN, f'{self._lag:.1f} s behind the clock that it follows: computer too slow'
        elif self._running and factor < 0.9 * self._factor:
            level, text = (
                Level.WARN,
                f'slower than asked: real-time factor {factor:.2f} instead of {self._factor:g}',
            )
        if self._failure:
            level, text = Level.ERROR, self._failure
        values = {
            'simulation time [s]': simulation.time,
            'real-time factor': factor,
            'largest closure error [m]': self._closure_error,
            'saturated control periods': (controlled.servo.saturation_count + simulation.saturation_count).tolist(),
            'command time-outs': controlled.timeout_count,
            'rejected messages': self._servo.rejections.count,
        }
        statuses = {'physics': (level, text, values), 'servo': self._servo.diagnosis()}
        self._diagnostics.publish({**statuses, **self._live.statuses()}, simulation.time_ns)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    # a timer drives it, not messages
    return run_node(SimulatorNode, args, SingleThreadedExecutor)


class SampleMessages:
    """Builds messages of one machine; what never changes (names, frames, covariances) is prepared once.

    Parameters
    ----------
    machine : names, driver and IMU data
    frames : frame ids of the headers
    noise : whether the sensors are noisy; covariances say so (REP 145: zero would mean unknown)
    """

    def __init__(self, machine: Machine, frames: Frames, noise: bool) -> None:
        self._streams = DriverStreams(machine)
        self._drive_names = machine.driver.joint_names or machine.actuated_joint_names
        self._frames = frames
        self._odometry = OdometryWriter(frames.base, frames.platform)
        self._accelerometer_covariance = _covariance(machine.imu.accelerometer_noise, noise)
        self._gyroscope_covariance = _covariance(machine.imu.gyroscope_noise, noise)

    def joint_state(self, stamp: Time, sample: JointSample, missing: Collection[int] = ()) -> JointState:
        """Positions, velocities and efforts of the drives, as the driver publishes them; not of ``missing`` legs."""
        shown = self._streams.joint_states(sample.positions, sample.velocities, sample.efforts)
        columns = [list(shown.names), *(values.tolist() for values in shown[1:])]
        if missing:
            lost = {self._drive_names[leg] for leg in missing}
            there = [place for place, name in enumerate(shown.names) if name not in lost]
            columns = [[values[place] for place in there] for values in columns]
        message = JointState()
        message.header.stamp = stamp
        message.name, message.position, message.velocity, message.effort = columns
        return message

    def imu(self, stamp: Time, sample: SimulatedImuSample) -> Imu:
        """Specific force and angular rate; no orientation, which REP 145 marks by -1."""
        message = Imu()
        message.header.stamp = stamp
        message.header.frame_id = self._frames.imu
        specific_force, angular_rate = self._streams.imu(sample.specific_force, sample.angular_rate)
        message.linear_acceleration, message.angular_velocity = vector3(specific_force), vector3(angular_rate)
        message.orientation_covariance[0] = -1.0
        message.linear_acceleration_covariance = self._accelerometer_covariance
        message.angular_velocity_covariance = self._gyroscope_covariance
        return message

    def odometry(self, sample: Sample) -> bytes:
        """True pose in base_link, twist in platform_link axes, serialised; covariances are zero."""
        truth, unknown = sample.truth, np.zeros(36)
        rotation = truth.rotation_base_platform[0]
        pose = truth.position, quaternion_from_matrix(rotation), unknown
        twist = truth.linear_velocity @ rotation, truth.angular_velocity @ rotation, unknown
        return self._odometry(sample.stamp_ns, *pose, *twist)


def _covariance(std: Array, noise: bool) -> Array:
    """Row-major 3 x 3 covariance; a noise-free sensor gets a tiny one, because zeros mean unknown."""
    variance = std**2 if noise else np.full(3, 1e-18)
    return np.diag(variance).ravel()
