"""The ``<ros2_control>`` block of a URDF, and the parameter files of its controllers.

Keys as in the sources of ros2_control, gz_ros2_control and mujoco_ros2_control. Only driven joints stand in the block:
passive ones have neither motor nor sensor. The IMU has the interfaces that imu_sensor_broadcaster asks for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from pkm_description.bounded_yaml import bounded_file
from pkm_description.errors import ConfigurationError
from pkm_description.export.rest import home_configuration
from pkm_description.machine import Joint, Machine, ServoGains

JOINT_STATES = 'joint_state_broadcaster'
IMU = 'imu_sensor_broadcaster'
EFFORTS = 'leg_effort_controller'
TRAJECTORIES = 'joint_trajectory_controller'

#: controller -> its class
CONTROLLER_TYPES = {
    JOINT_STATES: 'joint_state_broadcaster/JointStateBroadcaster',
    IMU: 'imu_sensor_broadcaster/IMUSensorBroadcaster',
    EFFORTS: 'forward_command_controller/ForwardCommandController',
    TRAJECTORIES: 'joint_trajectory_controller/JointTrajectoryController',
}

#: Hz, of a machine whose file does not tell how often its drives are sampled
_UPDATE_RATE = 500

#: where imu_sensor_broadcaster publishes, instead of ~/imu
IMU_TOPIC = 'imu/data_raw'
Hardware = Literal['mock', 'gz', 'mujoco', 'real']
HARDWARE: tuple[str, ...] = get_args(Hardware)

#: hardware plugins; Gazebo's depends on its version, a real robot's on the robot
PLUGINS = {
    'mock': 'mock_components/GenericSystem',
    'gz': 'gz_ros2_control/GazeboSimSystem',
    'mujoco': 'mujoco_ros2_control/MujocoSystemInterface',
    'real': '',
}
_PLUGIN_OF_FORTRESS = 'ign_ros2_control/IgnitionSystem'

#: parameters of the hardware plugins, where nothing else is asked for
PARAMETERS: dict[str, dict[str, str]] = {
    # with dynamics calculated, GenericSystem refuses controllers that command efforts alone
    'mock': {'calculate_dynamics': 'false'},
    'gz': {},
    'mujoco': {'initial_keyframe': 'home'},
    'real': {},
}

#: the file of servo gains (:func:`mujoco_pids_text`) that mujoco_ros2_control needs to take positions
PIDS_FILE = 'pids_config_file'

#: what the MJCF calls the IMU's sensors, without their suffixes _accel, _gyro and _quat
MUJOCO_IMU = 'imu'

STATES = ('position', 'velocity', 'effort')
IMU_STATES = tuple(
    f'{quantity}.{axis}'
    for quantity, axes in (('orientation', 'xyzw'), ('angular_velocity', 'xyz'), ('linear_acceleration', 'xyz'))
    for axis in axes
)


@dataclass(frozen=True)
class ControlOptions:
    """What drives the machine.

    Attributes
    ----------
    hardware : ``mock`` (commands come back as states), ``gz`` (Gazebo), ``mujoco`` or ``real``
    plugin : class of the hardware interface; empty: the one of ``hardware``, which ``real`` does not have
    parameters : of the plugin; they take the place of those in :data:`PARAMETERS`
    gazebo : version of Gazebo, such as ``fortress`` or ``harmonic``, whose names the plugin gets

    Raises
    ------
    ConfigurationError
        Unknown hardware, or real hardware without a plugin.
    """

    hardware: Hardware
    plugin: str = ''
    parameters: Mapping[str, str] = field(default_factory=dict)
    gazebo: str = 'harmonic'

    def __post_init__(self) -> None:
        if self.hardware not in HARDWARE:
            raise ConfigurationError(f'hardware = {self.hardware!r}, expected one of {", ".join(HARDWARE)}')
        if self.hardware == 'real' and not self.plugin:
            raise ConfigurationError(
                'hardware real needs the class of its ros2_control plugin, such as plugin:=my_robot_driver/MySystem'
            )

    @property
    def plugin_class(self) -> str:
        """Class of the hardware interface."""
        if self.hardware == 'gz' and self.gazebo == 'fortress':
            return self.plugin or _PLUGIN_OF_FORTRESS
        return self.plugin or PLUGINS[self.hardware]

    @property
    def all_parameters(self) -> dict[str, str]:
        """Parameters of the plugin, defaults included."""
        return {**PARAMETERS[self.hardware], **self.parameters}

    @property
    def commands(self) -> tuple[str, ...]:
        """Command interfaces of each driven joint.

        Gazebo takes efforts only: its joints count from home, so that position limits would not fit. MuJoCo takes
        positions only with servo gains, see :data:`PIDS_FILE`.
        """
        if self.hardware == 'gz' or (self.hardware == 'mujoco' and PIDS_FILE not in self.parameters):
            return ('effort',)
        return 'effort', 'position'


def read_hardware_parameters(text: str) -> dict[str, str]:
    """Parameters of a hardware plugin from ``name=value name=value``, or from a YAML file ``name: value``.

    Raises
    ------
    ConfigurationError
        Neither a YAML file that is there, nor words of that form.
    """
    if re.search(r'\.ya?ml$', text.strip()) and '=' not in text:
        try:
            content = bounded_file(Path(text.strip()))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigurationError(f'hardware_parameters: {text.strip()}: {error}') from None
        if not isinstance(content, dict) or any(isinstance(value, dict | list) for value in content.values()):
            raise ConfigurationError(f'hardware_parameters: {text.strip()}: expected lines of the form name: value')
        return {
            str(name): str(value).lower() if isinstance(value, bool) else str(value) for name, value in content.items()
        }
    words = [word.partition('=') for word in text.split()]
    for name, equals, value in words:
        if not (name and equals and value):
            raise ConfigurationError(
                f'hardware_parameters: {name + equals + value!r}: expected name=value, or the path of a YAML file'
            )
    return {name: value for name, _, value in words}


def initial_values(machine: Machine) -> dict[str, float]:
    """What a machine at rest at home measures: ``joint/interface`` and ``imu/interface`` -> m, rad, N, N m, m/s^2."""
    home = home_configuration(machine)
    values: dict[str, float] = {}
    for joint, force in zip(machine.actuated_joints, home.drive_forces.tolist(), strict=True):
        values |= {f'{joint.name}/position': home.joint_positions[joint.name], f'{joint.name}/effort': force}
    if machine.has_imu:
        rotation_base_imu = machine.home.rotation_base_platform @ machine.imu.rotation_platform_imu
        specific_force = -rotation_base_imu.T @ machine.gravity
        for axis, value in zip('xyz', specific_force.tolist(), strict=True):
            values[f'{machine.imu.frame}/linear_acceleration.{axis}'] = value
    return values


def control_values(machine: Machine, options: ControlOptions) -> dict[str, object]:
    """What the template of the URDF says in its block of ros2_control.

    The mock hardware starts as the machine at rest at home: else an estimator would see it fall.
    """
    return {
        'values_at_start': initial_values(machine) if options.hardware == 'mock' else {},
        'command_bounds': _bounds, 'joint_states': STATES, 'imu_states': IMU_STATES, 'mujoco_imu': MUJOCO_IMU,
    }  # fmt: skip


def _bounds(joint: Joint, interface: str) -> dict[str, float]:
    """Finite limits of a command."""
    limits = joint.limits
    both = (limits.lower, limits.upper) if interface == 'position' else (-limits.effort, limits.effort)
    return {name: value for name, value in zip(('min', 'max'), both, strict=True) if isfinite(value)}


# Parameter files for ros2_control: the controllers of a machine, servo gains for MuJoCo, and start values.
#
# Names as in the parameter files of ros2_control and ros2_controllers. ``/**/`` before each name lets one file serve
# any namespace.
def controller_names(machine: Machine, options: ControlOptions) -> list[str]:
    """Controllers of a machine in the order in which they start.

    No trajectories where neither the hardware takes positions nor the machine file has a servo.
    """
    present = {IMU: machine.has_imu, TRAJECTORIES: 'position' in options.commands or machine.has_servo}
    return [name for name in CONTROLLER_TYPES if present.get(name, True)]


def controllers_text(
    machine: Machine,
    options: ControlOptions,
    update_rate: int | None = None,
    frame_prefix: str = '',
    gains: ServoGains | None = None,
) -> str:
    """Write the parameters of controller_manager and controllers as YAML.

    Positions, velocities and efforts of the driven joints go to ``joint_states``, the IMU to ``imu/data_raw``, and
    ``leg_effort_controller/commands`` takes one number per driven joint in the order of ``machine.actuated_joints``.

    Parameters
    ----------
    options : hardware that they run on; with positions among its commands, joint_trajectory_controller sends
        positions, otherwise efforts of a PD loop
    update_rate : Hz; default: :func:`default_update_rate`
    frame_prefix : put before the names of frames
    gains : of that PD loop; default: the machine file's servo

    Raises
    ------
    ConfigurationError
        ``update_rate`` is no positive number.
    """
    rate = default_update_rate(machine) if update_rate is None else update_rate
    if rate < 1:
        raise ConfigurationError(f'update_rate = {rate} Hz, expected 1 or more')
    manager: dict[str, Any] = {'update_rate': rate}
    if options.hardware == 'gz':
        # Gazebo counts joints from home, so that position limits of the URDF would stop efforts at wrong places
        manager['enforce_command_limits'] = False
    names = controller_names(machine, options)
    manager |= {name: {'type': CONTROLLER_TYPES[name]} for name in names}
    joints = [joint.name for joint in machine.actuated_joints]
    content: dict[str, Any] = {
        JOINT_STATES: {
            'joints': joints, 'interfaces': ['position', 'velocity', 'effort'], 'frame_id': f'{frame_prefix}base_link'
        },
        EFFORTS: {'joints': joints, 'interface_name': 'effort'},
    }  # fmt: skip
    if TRAJECTORIES in names:
        content[TRAJECTORIES] = _trajectories(machine, options, joints, gains)
    if IMU in names:
        manager[IMU]['node_options_args'] = ['--ros-args', '-r', f'~/imu:={IMU_TOPIC}']
        content[IMU] = _imu(machine, frame_prefix)
    content = {'controller_manager': manager} | content
    nodes = {f'/**/{name}': {'ros__parameters': parameters} for name, parameters in content.items()}
    return f'# ros2_control of {machine.name} ({options.hardware})\n' + _dump(nodes)


def mujoco_pids_text(machine: Machine, gains: ServoGains | None = None) -> str:
    """Write the gains with which mujoco_ros2_control holds positions; default: the machine file's servo.

    Raises
    ------
    ConfigurationError
        No gains were given, and the machine file has no section ``servo``.
    """
    pids = {'pid_gains': {'position': _gains(machine, gains)}}
    return f'# servo gains of {machine.name} for mujoco_ros2_control\n' + _dump({'/**': {'ros__parameters': pids}})


def initial_values_text(machine: Machine) -> str:
    """Write what the machine measures at rest at home, for ``initial_values_file`` of ``pkm.urdf.xacro``."""
    return f'# {machine.name} at rest at home: joint/interface, imu/interface\n' + _dump(initial_values(machine), False)


def default_update_rate(machine: Machine) -> int:
    """Rate of the machine file's leg sensors, Hz; 500 where it has none."""
    return round(machine.leg_sensors.rate) if machine.has_leg_sensors else _UPDATE_RATE


def _imu(machine: Machine, frame_prefix: str) -> dict[str, Any]:
    def covariance(deviations: Any) -> list[float]:
        x, y, z = (float(value) ** 2 for value in deviations)
        return [x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z]

    return {
        'sensor_name': machine.imu.frame,
        'frame_id': frame_prefix + machine.imu.frame,
        # -1: the message has no orientation (REP 145, sensor_msgs/Imu)
        'static_covariance_orientation': [-1.0] + [0.0] * 8,
        'static_covariance_angular_velocity': covariance(machine.imu.gyroscope_noise),
        'static_covariance_linear_acceleration': covariance(machine.imu.accelerometer_noise),
    }


def _trajectories(
    machine: Machine, options: ControlOptions, joints: list[str], gains: ServoGains | None
) -> dict[str, Any]:
    parameters: dict[str, Any] = {'joints': joints, 'state_interfaces': ['position', 'velocity']}
    if 'position' in options.commands:
        return parameters | {'command_interfaces': ['position']}
    return parameters | {'command_interfaces': ['effort'], 'gains': _gains(machine, gains)}


def _gains(machine: Machine, gains: ServoGains | None) -> dict[str, dict[str, float]]:
    """Joint -> parameters of its PD loop, limited to the drive's effort."""
    gains = gains or machine.servo
    pd = {'p': gains.stiffness, 'i': 0.0, 'd': gains.damping}
    found = {}
    for joint in machine.actuated_joints:
        limit = joint.limits.effort
        found[joint.name] = pd | ({'u_clamp_max': limit, 'u_clamp_min': -limit} if isfinite(limit) else {})
    return found


class _Plain(yaml.SafeDumper):
    """Without anchors: rcl reads none."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write a reference to what was written before."""
        return True


def _dump(content: Any, flow: bool | None = None) -> str:
    return yaml.dump(content, Dumper=_Plain, sort_keys=False, width=120, default_flow_style=flow)
