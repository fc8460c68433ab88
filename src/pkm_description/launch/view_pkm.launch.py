"""Look at a machine: its description, the platform at a pose of your choice, all joints following.

Change the pose while it runs: ``ros2 param set /platform_poser yaw 0.2``, or publish geometry_msgs/PoseStamped on
``platform/reference_pose``.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import UnlessCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration
from pkm_description.launching import machine_arguments, machine_parameters, rviz, state_publisher, suite_node

POSE = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')


def nodes(context: LaunchContext) -> list:
    """Nodes for the arguments given."""
    pose = {name: float(LaunchConfiguration(name).perform(context)) for name in POSE}
    return [
        state_publisher('joint_states'),
        suite_node('pkm_description', 'platform_poser', [machine_parameters(), pose]),
        rviz(
            UnlessCondition(EqualsSubstitution(LaunchConfiguration('rviz'), 'false')),
            'rviz2 is not installed: robot_description, joint_states and tf are published',
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    """Description, state publisher, pose by parameters, and rviz where it is installed."""
    return LaunchDescription(
        [
            *machine_arguments(use_sim_time='false'),
            DeclareLaunchArgument(
                'rviz', default_value='auto', choices=['auto', 'true', 'false'], description='start rviz'
            ),
            *(
                DeclareLaunchArgument(name, default_value='0.0', description=f'platform {name} from home, m or rad')
                for name in POSE
            ),
            OpaqueFunction(function=nodes),
        ]
    )
