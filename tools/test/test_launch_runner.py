"""The launch runner with real child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

RUNNER = Path(__file__).parents[1] / 'launch_runner'

HEAD = """
import sys
from launch import LaunchDescription
from launch.actions import *
from launch.conditions import IfCondition, UnlessCondition
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import *
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

def python(code, **options):
    return ExecuteProcess(cmd=[sys.executable, '-c', code], **options)
"""

SLEEPER = "import time; print('ready', flush=True); time.sleep(600)"
STUBBORN = (
    'import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); '
    "print('ready', flush=True); time.sleep(600)"
)


@pytest.fixture
def launch_file(tmp_path):
    def write(body: str, name: str = 'a.launch.py') -> Path:
        path = tmp_path / name
        path.write_text(HEAD + 'def generate_launch_description():\n' + textwrap.indent(textwrap.dedent(body), '    '))
        return path

    return write


def command(path: Path, *arguments: str) -> list[str]:
    return [sys.executable, str(RUNNER), str(path), *arguments]


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(path, *arguments), capture_output=True, text=True, timeout=120, check=False)


def start(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(command(path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read_until(process: subprocess.Popen[str], text: str) -> list[str]:
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.rstrip())
        if text in line:
            return lines
    raise AssertionError(f'{text!r} did not come: {lines}')


def pids(lines: list[str]) -> list[int]:
    return [int(line.split('pid [')[1].rstrip(']')) for line in lines if 'started with pid' in line]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != 'Z'


def group_members(group: int) -> list[int]:
    """Processes of a group that are not merely waiting to be reaped by init."""
    members = []
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            state, _, process_group = stat.read_text().rsplit(')', 1)[1].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(process_group) == group and state != 'Z':
            members.append(int(stat.parent.name))
    return members


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + 100.0
    while is_alive(pid):
        assert time.monotonic() < deadline, f'process {pid} is still there'
        time.sleep(0.02)


def test_arguments_defaults_choices_and_conditions(launch_file):
    path = launch_file("""
        return LaunchDescription([
            DeclareLaunchArgument('who', default_value='world', description='whom to greet', choices=['world', 'moon']),
            DeclareLaunchArgument('loud', default_value='false'),
            python(["print('hello ", LaunchConfiguration('who'), "')"]),
            python("print('LOUD')", condition=IfCondition(LaunchConfiguration('loud'))),
            python("print('quiet')", condition=UnlessCondition(LaunchConfiguration('loud'))),
            LogInfo(msg=['sum ', PythonExpression(['1 + ', '2'])]),
        ])""")
    plain = run(path)
    assert plain.returncode == 0
    assert 'hello world' in plain.stdout and 'quiet' in plain.stdout and 'sum 3' in plain.stdout
    assert 'LOUD' not in plain.stdout
    other = run(path, 'who:=moon', 'loud:=true')
    assert 'hello moon' in other.stdout and 'LOUD' in other.stdout and 'quiet' not in other.stdout
    wrong = run(path, 'who:=mars')
    assert wrong.returncode == 1 and 'choose one of world, moon' in wrong.stdout
    unknown = run(path, 'whom:=moon')
    assert unknown.returncode == 1 and "no argument 'whom'" in unknown.stdout and 'loud' in unknown.stdout
    shown = run(path, '--show-args')
    assert "who:='world', one of world, moon" in shown.stdout and 'whom to greet' in shown.stdout


def test_include_group_scope_environment_and_opaque_function(launch_file):
    launch_file(
        """
        return LaunchDescription([
            DeclareLaunchArgument('x', default_value='0'),
            python(["import os; print('inner x', ", LaunchConfiguration('x'), ", os.environ['COLOUR'])"]),
        ])""",
        'inner.launch.py',
    )
    path = launch_file("""
        def more(context):
            return [LogInfo(msg='x outside is ' + LaunchConfiguration('x').perform(context))]

        return LaunchDescription([
            DeclareLaunchArgument('x', default_value='1'),
            SetEnvironmentVariable('COLOUR', 'blue'),
            GroupAction([
                IncludeLaunchDescription(
                    PythonLaunchDescriptionSource(PathJoinSubstitution([ThisLaunchFileDir(), 'inner.launch.py'])),
                    launch_arguments={'x': '7'}.items(),
                ),
            ]),
            OpaqueFunction(function=more),
        ])""")
    result = run(path)
    assert result.returncode == 0, result.stdout
    assert 'inner x 7 blue' in result.stdout
    assert 'x outside is 1' in result.stdout


def test_exit_codes_and_reactions_to_the_end_of_a_process(launch_file):
    failing = run(launch_file("return LaunchDescription([python('raise SystemExit(3)')])"))
    assert failing.returncode == 1 and 'exit code 3' in failing.stdout
    shutdown = launch_file(f"""
        first = python('raise SystemExit(4)', on_exit=Shutdown(reason='done'))
        return LaunchDescription([python({SLEEPER!r}), first])""")
    result = run(shutdown)
    assert result.returncode == 4 and 'shutting down (done)' in result.stdout
    chain = run(
        launch_file("""
        first = python("print('one')")
        then = OnProcessExit(target_action=first, on_exit=[python("print('two')")])
        later = TimerAction(period=0.1, actions=[LogInfo(msg='three')])
        return LaunchDescription([RegisterEventHandler(then), first, later])
    """)
    )
    assert chain.returncode == 0
    assert 'two' in chain.stdout and 'three' in chain.stdout


def test_a_function_answers_to_the_end_of_a_process(launch_file):
    """With actions, with nothing, or with an error that ends everything."""
    result = run(
        launch_file(f"""
        def react(event, context):
            if context.is_shutdown or event.returncode == 0:
                return None
            if event.returncode == 3:
                return [LogInfo(msg='three it is'), bad]
            raise RuntimeError(f'code {{event.returncode}}: nothing works without it')
        well, odd, bad = python('pass'), python('raise SystemExit(3)'), python('exit(4)')
        handlers = [RegisterEventHandler(OnProcessExit(target_action=one, on_exit=react)) for one in (well, odd, bad)]
        return LaunchDescription([*handlers, python({SLEEPER!r}), well, odd])
    """)
    )
    assert result.returncode == 1
    assert 'three it is' in result.stdout
    assert '[launch] error: code 4: nothing works without it' in result.stdout


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes(launch_file, number):
    # each starts a process of its own, which must go, too
    nest = f'import subprocess, sys; subprocess.run([sys.executable, "-c", {SLEEPER!r}])'
    runner = start(launch_file(f'return LaunchDescription([python({nest!r}), python({SLEEPER!r})])'))
    lines = read_until(runner, '-1] ready')
    if not any('-2] ready' in line for line in lines):
        lines += read_until(runner, '-2] ready')
    children = pids(lines)
    assert len(children) == 2
    groups = [os.getpgid(child) for child in children]
    runner.send_signal(number)
    output, _ = runner.communicate(timeout=120)
    assert runner.returncode == 0, output
    for child in children:
        wait_gone(child)
    for member in (member for group in groups for member in group_members(group)):
        wait_gone(member)
    assert [group_members(group) for group in groups] == [[], []]


@pytest.mark.parametrize('ending', ['signal', 'by itself'])
def test_what_a_process_leaves_behind_goes_with_it(launch_file, ending):
    # the orphan ignores SIGINT and SIGTERM and holds the output open
    leaver = (
        f'import subprocess, sys, time; p = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}]); '
        f'print("pid [%d]" % p.pid, "started with pid", flush=True); time.sleep({600 if ending == "signal" else 0})'
    )
    runner = start(launch_file(f'return LaunchDescription([python({leaver!r})])'))
    orphan = int(read_until(runner, '] pid [')[-1].split('pid [')[1].split(']')[0])
    if ending == 'signal':
        read_until(runner, 'ready')
        runner.send_signal(signal.SIGINT)
    output, _ = runner.communicate(timeout=120)
    assert runner.returncode == 0, output
    wait_gone(orphan)


def test_no_end_of_a_process_is_missed(launch_file):
    # all end at about the same time; one has failed
    gate = Path(str(launch_file('pass')) + '.gate')
    code = f'import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.001)\nraise SystemExit('
    path = launch_file(f"""
        processes = [python({code!r} + str(i // 7) + ')') for i in range(8)]
        return LaunchDescription([*processes, LogInfo(msg='all started')])""")
    runner = start(path)
    read_until(runner, 'all started')
    gate.touch()
    output, _ = runner.communicate(timeout=120)
    assert output.count('process has finished') == 8
    assert runner.returncode == 1


def test_a_signal_during_the_start_is_not_lost(launch_file):
    body = f"""
        def wait_for_signal(context):
            import signal, os
            os.kill(os.getpid(), signal.SIGINT)
            return [python({SLEEPER!r})]

        return LaunchDescription([python({SLEEPER!r}), OpaqueFunction(function=wait_for_signal)])"""
    result = run(launch_file(body))
    assert result.returncode == 0
    started = pids(result.stdout.splitlines())
    assert len(started) == 1
    wait_gone(started[0])


def test_a_process_that_ignores_signals_is_killed(launch_file, monkeypatch):
    code = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(RUNNER.parent)!r})
        sys.argv = [{str(RUNNER)!r}]
        from launch_runner import __main__ as program
        program.provide_launch()
        from launch_runner import runner
        runner.PATIENCE = (0.3, 0.3)
        from pathlib import Path
        sys.exit(runner.Runner().run(Path(sys.stdin.readline().strip()), {{}}))
    """)
    path = launch_file(f'return LaunchDescription([python({STUBBORN!r})])')
    process = subprocess.Popen(
        [sys.executable, '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdin is not None
    process.stdin.write(f'{path}\n')
    process.stdin.flush()
    lines = read_until(process, 'ready')
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert 'sending SIGKILL' in output
    wait_gone(pids(lines)[0])


def test_children_of_a_killed_runner_go_with_it(launch_file):
    runner = start(launch_file(f'return LaunchDescription([python({SLEEPER!r})])'))
    children = pids(read_until(runner, 'ready'))
    runner.kill()
    runner.wait(100)
    wait_gone(children[0])


@pytest.mark.parametrize(
    ('body', 'complaint'),
    [
        ('from launch.actions import Foo', 'Foo'),
        ("return LaunchDescription([Node(package='p', executable='e', respawn=True)])", 'respawn'),
        ("return LaunchDescription([Node(package='no_such', executable='e')])", "'no_such' is not installed"),
        ("return LaunchDescription([LogInfo(msg=LaunchConfiguration('nowhere'))])", "'nowhere' is not set"),
        ('return LaunchDescription([LogInfo(msg=Command(\'sh -c "echo oops >&2"\'))])', 'standard error: oops'),
        ("return LaunchDescription([LogInfo(msg=EnvironmentVariable('NO_SUCH_VARIABLE'))])", 'NO_SUCH_VARIABLE'),
        ("return LaunchDescription([DeclareLaunchArgument('needed')])", 'needed:=VALUE'),
        ('return LaunchDescription([OpaqueFunction(function=lambda context: 1 / 0)])', 'error: division by zero'),
        ("return LaunchDescription(['not an action'])", 'str is not supported'),
        ('return 5', 'returned int'),
    ],
)
def test_what_it_does_not_know_is_refused(launch_file, body, complaint):
    result = run(launch_file(body))
    assert result.returncode == 1
    assert complaint in result.stdout + result.stderr


def test_command_line_of_a_node(launch_file, tmp_path):
    pytest.importorskip('ament_index_python')
    prefix = tmp_path / 'prefix'
    program = prefix / 'lib' / 'some_package' / 'program'
    program.parent.mkdir(parents=True)
    program.touch()
    marker = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'some_package'
    marker.parent.mkdir(parents=True)
    marker.touch()
    path = launch_file("""
        return LaunchDescription([
            DeclareLaunchArgument('rate', default_value='5'),
            PushRosNamespace('outer'),
            Node(
                package='some_package', executable='program', name='me', namespace='inner', arguments=['--flag'],
                parameters=[{'text': ParameterValue('12', value_type=str), 'rate': LaunchConfiguration('rate'),
                             'float': ParameterValue(LaunchConfiguration('rate'), value_type=float),
                             'on': ParameterValue('true', value_type=bool), 'group': {'list': [1, 2]}}],
                remappings=[('a', 'b')],
            ),
        ])""")
    environment = {**os.environ, 'AMENT_PREFIX_PATH': str(prefix)}
    result = subprocess.run(
        command(path, '--dry-run'), capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    line = result.stdout.splitlines()[0]
    assert f'{program} --flag --ros-args -r __node:=me -r __ns:=/outer/inner --params-file' in line
    assert line.endswith('-r a:=b')
    for text in ("text: '12'", 'rate: 5', 'float: 5.0', "'on': true", 'list:'):
        assert text in result.stdout
