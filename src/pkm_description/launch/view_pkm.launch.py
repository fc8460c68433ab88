"""Look at a machine: sliders move the platform, all joints follow, arrows show what the drives must hold.

Without joint_state_publisher_gui the platform is moved while it runs by ``ros2 param set /platform_poser yaw 0.2``,
by sensor_msgs/JointState on ``platform/sliders``, or by geometry_msgs/PoseStamped on ``platform/reference_pose``.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration
from pkm_description.launching import (
    MACHINE_ARGUMENTS,
    PLACE_ARGUMENTS,
    declared,
    is_installed,
    machine_and_overlay,
    machine_parameters,
    rviz,
    state_publisher,
    suite_node,
)
from pkm_description.loading import load_machine
from pkm_description.viewing.coupled_pose import COORDINATES
from pkm_description.viewing.posing import Poser
from pkm_description.viewing.sliders import slider_name

GUI = 'joint_state_publisher_gui'
WITHOUT_GUI = (
    f'{GUI} is not installed: move the platform by the parameters x, y, z, roll, pitch, yaw of platform_poser, by '
    'sensor_msgs/JointState on platform/sliders, or by geometry_msgs/PoseStamped on platform/reference_pose'
)


def nodes(context: LaunchContext) -> list[Any]:
    """Nodes for the arguments given."""
    pose = {name: float(LaunchConfiguration(name).perform(context)) for name in COORDINATES}
    return [
        suite_node('pkm_description', 'platform_poser', [machine_parameters(), pose]),
        *sliders(context, pose),
    ]


def sliders(context: LaunchContext, pose: dict[str, float]) -> list[Any]:
    """Window with sliders for what the machine lets one move, standing where the launch puts the platform."""
    if LaunchConfiguration('gui').perform(context) == 'false':
        return []
    if not is_installed(GUI):
        return [LogInfo(msg=WITHOUT_GUI)]
    rest = Poser(load_machine(*machine_and_overlay(context))).rest
    zeros = {slider_name(name): float(pose.get(name, value)) for name, value in rest.items()}
    return [
        suite_node(
            GUI,
            GUI,
            [{'zeros': zeros}],
            remappings=[
                ('robot_description', 'platform_sliders/robot_description'),
                ('joint_states', 'platform/sliders'),
            ],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Description, frames, pose, leg forces; sliders and rviz where they are installed."""
    return LaunchDescription(
        [
            *declared(
                **MACHINE_ARGUMENTS,
                **PLACE_ARGUMENTS,
                rviz=('auto', 'start rviz', ['auto', 'true', 'false']),
                gui=('auto', 'window with sliders', ['auto', 'true', 'false']),
                forces=('true', 'arrows of the static drive forces'),
            ),
            *(
                DeclareLaunchArgument(name, default_value='0.0', description=f'platform {name} from home, m or rad')
                for name in COORDINATES
            ),
            state_publisher('joint_states'),
            OpaqueFunction(function=nodes),
            suite_node(
                'pkm_description',
                'force_markers',
                [machine_parameters()],
                condition=IfCondition(LaunchConfiguration('forces')),
            ),
            rviz(
                UnlessCondition(EqualsSubstitution(LaunchConfiguration('rviz'), 'false')),
                'rviz2 is not installed: robot_description, joint_states, tf and leg_forces are published',
            ),
        ]
    )
