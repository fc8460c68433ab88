"""Parameter files for ros2_control: the controllers of a machine, servo gains for MuJoCo, and start values.

Names as in the parameter files of ros2_control and ros2_controllers. ``/**/`` before each name lets one file serve any
namespace.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import yaml

from pkm_description.errors import ConfigurationError
from pkm_description.export.ros2_control import ControlOptions, initial_values
from pkm_description.machine import Machine, ServoGains

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
    return _yaml(f'ros2_control of {machine.name} ({options.hardware})', content)


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


def _yaml(title: str, nodes: dict[str, Any]) -> str:
    return f'# {title}\n' + _dump({f'/**/{name}': {'ros__parameters': content} for name, content in nodes.items()})


class _Plain(yaml.SafeDumper):
    """Without anchors: rcl reads none."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write a reference to what was written before."""
        return True


def _dump(content: Any, flow: bool | None = None) -> str:
    text: str = yaml.dump(content, Dumper=_Plain, sort_keys=False, width=120, default_flow_style=flow)
    return text
