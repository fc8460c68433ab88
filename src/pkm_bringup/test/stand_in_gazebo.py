"""Stand-ins for ros_gz_sim, ros_gz_bridge and the program of Gazebo, which write down how they are started."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from node_processes import ros_environment

#: what ros_gz_sim's launch file has about its version, and a process in place of Gazebo
_LAUNCH_FILE = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration

def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('gz_args', default_value='',
                              description='Arguments to be passed to Gazebo Sim'),
        # Gazebo Sim's major version
        DeclareLaunchArgument('gz_version', default_value='{version}',
                              description='Gazebo Sim major version'),
        DeclareLaunchArgument('on_exit_shutdown', default_value='false', description=''),
        ExecuteProcess(cmd=['stand_in_gazebo', LaunchConfiguration('gz_args'), LaunchConfiguration('on_exit_shutdown')],
                       name='gazebo'),
    ])
"""

_PROGRAM = """#!{python}
import os, sys, time
with open({log!r}, 'a') as log:
    words = [str(time.time_ns()), os.path.basename(sys.argv[0]), *sys.argv[1:]]
    log.write(' '.join(words) + chr(10))
if os.path.basename(sys.argv[0]) == 'stand_in_gazebo':
    try:
        time.sleep(120)
    except KeyboardInterrupt:
        pass
"""

#: plays a paused Gazebo behind its bridge: the machine stands at its start; notes commands and what comes of them
_BRIDGE = """#!{python}
import sys, time, yaml, rclpy
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

rclpy.init()
node = Node('bridge', use_global_arguments=True)
file = node.declare_parameter('config_file', '').value
entries = yaml.safe_load(open(file))
drives = [entry for entry in entries if entry['direction'] == 'ROS_TO_GZ']
names = [entry['gz_topic_name'].split('/joint/')[1].split('/')[0] for entry in drives]
states = node.create_publisher(JointState, 'gazebo/joint_states', 10)
heard, told = dict(), set()
milliseconds = 0

def say(*words, at=None):
    with open({log!r}, 'a') as log:
        log.write(' '.join(map(str, [at or time.time_ns(), *words])) + chr(10))

def taker(name):
    # rclpy tells when the message was sent to a callback with a second argument
    def take(message, info):
        heard[name] = message.data
        if name not in told:
            told.add(name)
            say('command', name, message.data, at=info['source_timestamp'])
    return take

def seen(message):
    if len(message.effort) and len(heard) == len(names) and 'effort' not in told:
        told.add('effort')
        say('states', *message.position)
        say('efforts', *message.effort)

def step():
    global milliseconds
    milliseconds += 5 if len(heard) == len(names) else 0
    message = JointState(name=names, position=[0.0] * len(names), velocity=[0.0] * len(names))
    message.header.stamp.nanosec = milliseconds * 1000000 % 1000000000
    message.header.stamp.sec = milliseconds // 1000
    states.publish(message)

for entry, name in zip(drives, names):
    node.create_subscription(Float64, entry['ros_topic_name'], taker(name), 10)
node.create_subscription(JointState, 'joint_states', seen, 10)
node.create_timer(0.05, step, clock=Clock(clock_type=ClockType.STEADY_TIME))
say('bridge', file, node.get_namespace())
try:
    rclpy.spin(node)
except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    pass
"""


class StandInGazebo:
    """Packages and programs in a folder.

    Parameters
    ----------
    folder : where they are made
    version : number of gz-sim for which ros_gz says it was built
    packages : those that are "installed"
    programs : words in ``$PATH``

    Attributes
    ----------
    environment : in which they are found
    """

    def __init__(
        self,
        folder: Path,
        version: int = 8,
        packages: tuple[str, ...] = ('ros_gz_sim', 'ros_gz_bridge'),
        programs: tuple[str, ...] = ('gz', 'ign'),
    ) -> None:
        self._log = folder / 'started.log'
        for package in packages:
            index = folder / 'share/ament_index/resource_index/packages' / package
            index.parent.mkdir(parents=True, exist_ok=True)
            index.touch()
            (folder / 'share' / package).mkdir(parents=True, exist_ok=True)
        launch = folder / 'share/ros_gz_sim/launch/gz_sim.launch.py'
        launch.parent.mkdir(parents=True, exist_ok=True)
        launch.write_text(_LAUNCH_FILE.format(version=version))
        scripts = {'lib/ros_gz_sim/create': _PROGRAM, 'lib/ros_gz_bridge/parameter_bridge': _BRIDGE}
        scripts |= {f'bin/{program}': _PROGRAM for program in (*programs, 'stand_in_gazebo')}
        for name, text in scripts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(python=sys.executable, log=str(self._log)))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        environment = ros_environment()
        self.environment = environment | {
            'AMENT_PREFIX_PATH': os.pathsep.join([str(folder), environment['AMENT_PREFIX_PATH']]),
            'PATH': os.pathsep.join([str(folder / 'bin'), str(Path(sys.executable).parent), '/usr/bin', '/bin']),
        }

    @property
    def started(self) -> list[str]:
        """Lines that the stand-ins have written."""
        return [words for _, words in self._lines()]

    def time_of(self, beginning: str) -> int:
        """Time [ns] of the first line that begins so: of a command, that of its sending."""
        return min(time for time, words in self._lines() if words.startswith(beginning))

    def _lines(self) -> list[tuple[int, str]]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        pairs = (line.split(' ', 1) for line in lines)
        return [(int(time), words) for time, words in pairs]
