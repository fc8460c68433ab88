"""Look at a machine: its description, the platform at a pose of your choice, all joints following.

Change the pose while it runs: ``ros2 param set /platform_poser yaw 0.2``, or publish geometry_msgs/PoseStamped on
``platform/reference_pose``.
"""

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

POSE = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')


def installed(package: str) -> bool:
    """Whether a package is there."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def nodes(context: LaunchContext) -> list:
    """Nodes for the arguments given."""
    from pkm_description.export.urdf import urdf_text

    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    machine = {name: value(name) for name in ('machine', 'machine_file', 'overlay')}
    if installed('robot_state_publisher'):
        text = urdf_text(machine['machine_file'] or machine['machine'], machine['overlay'] or None)
        # as text: launch_ros would read a YAML value into it
        parameters = [{'robot_description': ParameterValue(text, value_type=str)}]
        state_publisher = Node(
            package='robot_state_publisher', executable='robot_state_publisher', parameters=parameters
        )
    else:
        state_publisher = Node(package='pkm_description', executable='state_publisher', parameters=[machine])
    actions: list = [
        state_publisher,
        Node(
            package='pkm_description',
            executable='platform_poser',
            parameters=[machine, {name: float(value(name)) for name in POSE}],
        ),
    ]
    if value('rviz') == 'true' or (value('rviz') == 'auto' and installed('rviz2')):
        config = get_package_share_directory('pkm_description') + '/rviz/pkm.rviz'
        actions.append(Node(package='rviz2', executable='rviz2', arguments=['-d', config]))
    elif value('rviz') == 'auto':
        actions.append(LogInfo(msg='rviz2 is not installed: robot_description, joint_states and tf are published'))
    return actions


def generate_launch_description() -> LaunchDescription:
    """Description, state publisher, pose by parameters, and rviz where it is installed."""
    return LaunchDescription(
        [
            DeclareLaunchArgument('machine', default_value='srs', description='machine of pkm_description'),
            DeclareLaunchArgument('machine_file', default_value='', description='path of a machine file instead'),
            DeclareLaunchArgument('overlay', default_value='', description='path of a parameter overlay'),
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
