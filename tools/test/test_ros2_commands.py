"""``./pkm topic|service|param|node|lifecycle`` where ros2 is not installed, against nodes of the test."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

import rclpy
import yaml
from geometry_msgs.msg import PoseStamped
from node_processes import PATIENCE, ros_environment, wait_for
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros2_commands import graph as graph_module
from ros2_commands.__main__ import answer
from ros2_commands.arguments import COMMANDS, commands, parse
from ros2_commands.graph import Graph
from ros2_commands.message_text import Style, csv_line, filled, plain, yaml_text
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = REPOSITORY / 'tools' / 'ros2_commands'


class Machine(Node):
    """Two topics, two services, a few parameters."""

    def __init__(self, context: Context) -> None:
        super().__init__('machine', namespace='left', context=context)
        self.heard: list[Float64MultiArray] = []
        self.said: list[bool] = []
        self.states = self.create_publisher(JointState, 'joint_states', 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_publisher(String, '/description', latched).publish(String(data='x' * 200))
        self.create_subscription(Float64MultiArray, 'commands', self.heard.append, 10)
        self.create_service(Trigger, '~/start', self.start)
        self.create_service(SetBool, '~/switch', self.switch)
        limits = FloatingPointRange(from_value=0.0, to_value=2.0)
        self.declare_parameter(
            'gain', 1.5, ParameterDescriptor(description='of the loop', floating_point_range=[limits])
        )
        self.declare_parameter('filter.name', 'ukf', ParameterDescriptor(read_only=True))
        self.declare_parameter('order', [3, 1, 2])
        self.add_on_set_parameters_callback(self.accept)
        self.create_timer(0.02, self.publish)

    def accept(self, parameters: list[rclpy.Parameter]) -> SetParametersResult:
        bad = [one for one in parameters if one.name == 'order' and len(one.value) != 3]
        return SetParametersResult(successful=not bad, reason='three numbers are needed' if bad else '')

    def start(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, 'started'
        return response

    def switch(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.said.append(request.data)
        return response

    def publish(self) -> None:
        self.states.publish(JointState(name=['leg1', 'leg2'], position=[0.25, -1.0], effort=[float('nan')]))


class Filter(LifecycleNode):
    def on_configure(self, state: object) -> TransitionCallbackReturn:
        return TransitionCallbackReturn.SUCCESS


@pytest.fixture(scope='module')
def machine(request: pytest.FixtureRequest):
    """Running nodes; commands of this process find them by the test's domain."""
    environment = ros_environment()
    patch = pytest.MonkeyPatch()
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        patch.setenv(name, environment[name])
    context = Context()
    context.init(args=[])
    node, lifecycle = Machine(context), Filter('filter', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    executor.add_node(lifecycle)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield node
    executor.shutdown()
    thread.join(10.0)
    context.try_shutdown()
    patch.undo()


def _is_whole(graph: Graph) -> bool:
    """Whether both nodes are known by name, with what they made last: names come on a topic of their own."""
    nodes = [('machine', '/left'), ('filter', '/')]
    if not {f'{space.rstrip("/")}/{name}' for name, space in nodes} <= set(graph.nodes()):
        return False
    own, lifecycle = ({name for name, _ in graph.node.get_service_names_and_types_by_node(*node)} for node in nodes)
    topics = dict(graph.node.get_subscriber_names_and_types_by_node('machine', '/left'))
    return {'/left/machine/start', '/left/machine/switch'} <= own and '/filter/get_state' in lifecycle and bool(topics)


@pytest.fixture(scope='module')
def graph(machine: Machine):
    """One for all commands: discovery takes most of the time."""
    patch = pytest.MonkeyPatch()
    patch.setattr(graph_module, '_QUIET', 0.1)
    with Graph(20.0) as found:
        assert found.wait(lambda: _is_whole(found), PATIENCE)
        yield found
    patch.undo()


@pytest.fixture
def run(graph: Graph, capsys: pytest.CaptureFixture[str]):
    """Run a command; give its exit code, output and error lines."""

    def command(*words: str) -> tuple[int, str, str]:
        options = parse(words)
        patience, graph._spin_time = graph._spin_time, options.spin_time
        try:
            code = answer(lambda: commands()[options.command, options.verb](graph, options))
        finally:
            graph._spin_time = patience
        return code, *capsys.readouterr()

    return command


def test_topics_are_listed_with_their_types(run):
    code, out, _ = run('topic', 'list', '-t')
    assert code == 0
    lines = out.splitlines()
    assert '/left/joint_states [sensor_msgs/msg/JointState]' in lines
    assert '/description [std_msgs/msg/String]' in lines
    assert run('topic', 'type', 'left/joint_states')[1] == 'sensor_msgs/msg/JointState\n'
    information = ['Type: std_msgs/msg/Float64MultiArray', 'Publisher count: 0', 'Subscription count: 1']
    assert run('topic', 'info', 'left/commands')[1].splitlines() == information
    assert 'Node name: machine' in run('topic', 'info', '-v', '/left/joint_states')[1]


def test_echo(run):
    code, out, _ = run('topic', 'echo', '/left/joint_states', '--once')
    assert code == 0 and out.endswith('---\n')
    message = yaml.safe_load(out.removesuffix('---\n'))
    assert (message['name'], message['position']) == (['leg1', 'leg2'], [0.25, -1.0])
    assert message['effort'][0] != message['effort'][0] and message['velocity'] == []
    assert run('topic', 'echo', '/left/joint_states', '--once', '--field', 'position')[1] == '- 0.25\n- -1.0\n---\n'
    line = run('topic', 'echo', '/left/joint_states', 'sensor_msgs/JointState', '--once', '--csv')[1]
    assert line == '0,0,,leg1,leg2,0.25,-1.0,nan\n'


def test_echo_hears_what_was_published_before(run):
    """Where the publisher keeps it; long texts are cut unless asked for."""
    assert run('topic', 'echo', '/description', '--once')[1] == f'data: {"x" * 128}...\n---\n'
    assert run('topic', 'echo', '/description', '--once', '-f')[1] == f'data: {"x" * 200}\n---\n'


def test_publish_reaches_the_node(run, machine: Machine):
    code, out, _ = run('topic', 'pub', '--once', '/left/commands', 'std_msgs/msg/Float64MultiArray', '{data: [1, 2.5]}')
    assert code == 0 and 'publishing #1: ' in out
    wait_for(lambda: bool(machine.heard), 'the message')
    assert machine.heard[0].data.tolist() == [1.0, 2.5]


def test_services(run, machine: Machine):
    assert '/left/machine/start [std_srvs/srv/Trigger]' in run('service', 'list', '-t')[1].splitlines()
    assert run('service', 'type', '/left/machine/start')[1] == 'std_srvs/srv/Trigger\n'
    code, out, _ = run('service', 'call', '/left/machine/start', 'std_srvs/srv/Trigger')
    assert code == 0
    assert out.splitlines()[-3:-1] == ['response:', "std_srvs.srv.Trigger_Response(success=True, message='started')"]
    run('service', 'call', '/left/machine/switch', 'std_srvs/SetBool', '{data: true}')
    assert machine.said == [True]


def test_parameters(run, machine: Machine, tmp_path: Path):
    names = run('param', 'list', '/left/machine')[1].split()
    assert [name for name in names if name in ('gain', 'filter.name', 'order')] == ['filter.name', 'gain', 'order']
    assert run('param', 'get', '/left/machine', 'gain')[1] == 'Double value is: 1.5\n'
    assert run('param', 'get', '/left/machine', 'order', '--hide-type')[1] == '[3, 1, 2]\n'
    assert run('param', 'set', '/left/machine', 'gain', '0.5')[:2] == (0, 'Set parameter successful\n')
    assert machine.get_parameter('gain').value == 0.5
    code, _, error = run('param', 'set', '/left/machine', 'order', '[1, 2]')
    assert (code, error) == (1, 'Setting parameter failed: three numbers are needed\n')
    described = run('param', 'describe', '/left/machine', 'gain')[1].splitlines()
    assert described == [
        'Parameter name: gain', '  Type: double', '  Description: of the loop', '  Constraints:', '    Min value: 0.0',
        '    Max value: 2.0',
    ]  # fmt: skip
    dumped = run('param', 'dump', '/left/machine')[1]
    content = yaml.safe_load(dumped)['/left/machine']['ros__parameters']
    assert content['filter'] == {'name': 'ukf'} and content['order'] == [3, 1, 2]
    file = tmp_path / 'parameters.yaml'
    file.write_text('/left/machine:\n  ros__parameters:\n    gain: 1.25\n')
    assert run('param', 'load', '/left/machine', str(file))[:2] == (0, 'Set parameter gain successful\n')
    assert machine.get_parameter('gain').value == 1.25


def test_nodes(run):
    """This program's own node is hidden."""
    assert run('node', 'list')[1].splitlines() == ['/filter', '/left/machine']
    assert run('node', 'list', '-c')[1] == '2\n'
    lines = run('node', 'info', '/left/machine')[1].splitlines()
    assert lines[0] == '/left/machine'
    assert '    /left/commands: std_msgs/msg/Float64MultiArray' in lines[: lines.index('  Publishers:')]
    assert '    /left/machine/start: std_srvs/srv/Trigger' in lines[lines.index('  Service Servers:') :]


def test_lifecycle(run):
    assert run('lifecycle', 'nodes')[1] == '/filter\n'
    assert run('lifecycle', 'get')[1] == '/filter: unconfigured [1]\n'
    assert run('lifecycle', 'list', '/filter')[1].splitlines()[0] == '- configure [1]'
    assert run('lifecycle', 'set', '/filter', 'configure')[:2] == (0, 'Transitioning successful\n')
    assert run('lifecycle', 'get', '/filter')[1] == 'inactive [2]\n'
    code, _, error = run('lifecycle', 'set', '/filter', 'fly')
    assert code == 1 and error.startswith('Unknown transition requested, available ones are:\n- ')


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        ('topic echo /left/joint_state --spin-time 0.5', "'/left/joint_state'; did you mean /left/joint_states"),
        ('topic echo /left/joint_states sensor_msgs/msg/Joint', "type 'sensor_msgs/msg/Joint': sensor_msgs has "),
        ('topic echo /left/joint_states no_msgs/msg/Joint', 'there is no package no_msgs'),
        ('topic echo /left/joint_states --once --field pos', "Invalid field 'pos': JointState has header, name,"),
        ('topic pub --once /left/commands std_msgs/msg/String {}', 'has the type std_msgs/msg/Float64MultiArray, not'),
        ('topic pub /left/commands std_msgs/msg/Float64MultiArray "{dat: 1}"', "no field 'dat'; Float64MultiArray has"),
        ('service call /left/machine/go std_srvs/srv/Trigger --timeout 0.2', "Unknown service '/left/machine/go'"),
        ('service call /left/machine/start std_srvs/srv/SetBool', 'has the type std_srvs/srv/Trigger, not'),
        ('service call /left/machine/switch std_srvs/srv/SetBool "{data: 3}"', 'data = 3: expected true or false'),
        ('param get /machine gain --spin-time 0.5', "Unknown node '/machine'; did you mean /left/machine"),
        ('param get /left/machine gains', "Unknown parameter of /left/machine 'gains'; did you mean gain?"),
        ('param load /left/machine /nowhere.yaml', 'there is no file /nowhere.yaml'),
        ('lifecycle get /left/machine --spin-time 0.5', "Unknown lifecycle node '/left/machine'"),
    ],
)
def test_errors_are_one_line_that_says_what_there_is(run, words: str, text: str):
    code, _, error = run(*shlex.split(words))
    assert code == 1
    assert text in error and error.count('\n') == 1, error


def test_messages_are_filled_from_yaml():
    message, stamps = filled(PoseStamped, '{header: auto, pose: {position: {x: 1, y: "2"}}}')
    assert stamps == [message.header.stamp] and (message.pose.position.x, message.pose.position.y) == (1.0, 2.0)
    text = '{points: [{positions: [0.1, 2], time_from_start: {sec: 3}}], joint_names: [a, 7]}'
    trajectory, _ = filled(JointTrajectory, text)
    assert trajectory.points[0].positions.tolist() == [0.1, 2.0] and trajectory.points[0].time_from_start.sec == 3
    assert trajectory.joint_names == ['a', '7']
    imu, _ = filled(Imu, '{orientation_covariance: [-1, 0, 0, 0, 0, 0, 0, 0, 0]}')
    assert imu.orientation_covariance[0] == -1.0


@pytest.mark.usefixtures('machine')
def test_as_a_program():
    """What a pipe has seen enough of ends it quietly."""
    words = f'{shlex.quote(sys.executable)} {shlex.quote(str(PROGRAM))} topic echo /left/joint_states --flow-style'
    command = ['bash', '-o', 'pipefail', '-c', f'{words} | head -n 1']
    done = subprocess.run(command, env=ros_environment(), capture_output=True, text=True, timeout=170, check=False)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.endswith('name: [leg1, leg2], position: [0.25, -1.0], velocity: [], effort: [.nan]}\n')


def test_styles_of_output():
    message = JointState(name=['a'], position=[float(number) for number in range(5)])
    assert plain(message, Style(3))['position'] == [0.0, 1.0, 2.0, '...']
    assert plain(message, Style(arrays=False))['position'] == '<sequence type: double, length: 5>'
    assert plain(String(data='abc'), Style(strings=False)) == {'data': '<string length: <3>>'}
    assert csv_line(message, Style(2)) == '0,0,,a,0.0,1.0,...'
    assert yaml_text(String(data='ä'), Style(), flow=True) == '{data: ä}\n'


def test_every_command_of_the_documentation_is_understood():
    """Pages, READMEs and what programs print; prompts, comments and output aside."""
    found = []
    pages = [*REPOSITORY.glob('*.md'), *REPOSITORY.glob('docs/**/*.md'), *REPOSITORY.glob('src/*/README.md')]
    for page in pages:
        for line in page.read_text(encoding='utf-8').replace('\\\n', ' ').splitlines():
            if re.match(rf'\s*(\./pkm|ros2) ({"|".join(COMMANDS)}) ', line):
                found.append((page, shlex.split(line, comments=True)[1:]))
    assert found
    for page, words in found:
        try:
            parse(words)
        except SystemExit:
            pytest.fail(f'{page}: {" ".join(words)}')


@pytest.mark.parametrize('library', ['librcl.so', 'librmw_fastrtps_cpp.so'])
def test_ctrl_c_ends_without_a_traceback(library: str):
    """While it imports, and while it listens; before that Python itself starts, which answers with a traceback."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), 'topic', 'hz', '/nothing', '--spin-time', '60'],
        env=ros_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    maps = Path(f'/proc/{process.pid}/maps')
    wait_for(lambda: library in maps.read_text(), library)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert 'Traceback' not in output, output
    assert process.returncode in (130, -signal.SIGINT)
