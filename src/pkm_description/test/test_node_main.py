"""How nodes end."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

from node_processes import ros_environment

_PROGRAM = """
import os, signal, sys, time, weakref
from pkm_description.ros.node_main import run_node

def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    # not signal.pause(): where another thread takes the signal, that would wait for ever
    while True:
        time.sleep(0.01)

class Loop:
    def run(self):
        {body}
    def destroy_node(self):
        print('cleaned up', flush=True)

sys.exit(run_node(Loop))
"""


def _ended(script: str) -> subprocess.CompletedProcess[str]:
    """A process that has run a script to its end."""
    return subprocess.run(
        [sys.executable, '-c', script], env=ros_environment(), capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ('body', 'code'),
    [
        ('interrupted()', 0),
        # what pybind11 makes of an interrupt inside one of its callbacks
        (
            """
        try:
            interrupted()
        except KeyboardInterrupt:
            raise RuntimeError('Unable to convert call argument') from None
        """,
            0,
        ),
        # what is raised in a finalizer is dropped by Python
        (
            """
        class Ending:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.05)
        Ending()
        while True:
            time.sleep(0.01)
        """,
            0,
        ),
        # so is what is raised in the callback of a weak reference
        (
            """
        class Referred:
            pass
        def ended(reference):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        referred = Referred()
        reference = weakref.ref(referred, ended)
        del referred
        while True:
            time.sleep(0.01)
        """,
            0,
        ),
        # another exception there is still printed
        (
            """
        class Ending:
            def __del__(self):
                raise ValueError('in a finalizer')
        Ending()
        sys.exit(1)
        """,
            1,
        ),
        ("raise RuntimeError('a real one')", 1),
        ('raise SystemExit(3)', 3),
    ],
)
def test_exit_code_and_clean_up(body: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, '-c', _PROGRAM.format(body=body)],
        env=ros_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert 'cleaned up' in done.stdout
    assert ('Traceback' in done.stderr) == (code == 1)


_LATE = """
import os, signal, sys
from pkm_description.ros.node_main import run_node

class Loop:
    def run(self):
        pass
    def destroy_node(self):
        pass

class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)

late = Late()
sys.exit(run_node(Loop))
"""


def test_a_sigint_while_python_ends_changes_nothing() -> None:
    """Python restores the default of handled signals before it takes modules apart."""
    done = subprocess.run([sys.executable, '-c', _LATE], env=ros_environment(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr


_SPUN = """
import os, signal, sys
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions, get_current_signal_handlers_options
from pkm_description.ros.node_main import run_node

def say(what):
    # by the handler of SIGTERM, which goes with the thread; that of SIGINT may be replaced before
    listens = get_current_signal_handlers_options() in (SignalHandlerOptions.ALL, SignalHandlerOptions.SIGTERM)
    print(what, 'with' if listens else 'without', flush=True)

class Spinner(SingleThreadedExecutor):
    def spin(self):
        say('spinning')
        os.kill(os.getpid(), signal.SIGINT)
        super().spin()
    def shutdown(self, timeout_sec=None):
        # its guard conditions are destroyed once, whatever the garbage collector meets first
        done = super().shutdown(timeout_sec)
        say('executor shut down' if done else 'executor busy')
        return done
    def __del__(self):
        say('executor gone')
        super().__del__()

class Quiet(Node):
    def __init__(self):
        super().__init__('quiet')
    def destroy_node(self):
        say('destroying')
        super().destroy_node()

sys.exit(run_node(Quiet, executor=Spinner))
"""


def test_the_signal_thread_of_rclpy_ends_before_the_executor() -> None:
    """It reads the executor's guard conditions without a lock: the other way round, one node in thousands crashed."""
    done = _ended(_SPUN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'spinning with', 'executor shut down without', 'destroying without', 'executor gone without',
    ]  # fmt: skip


_SWALLOWED = """
import os, signal, sys
from rclpy.node import Node
from pkm_description.ros.node_main import run_node

class Deaf(Node):
    def __init__(self):
        super().__init__('deaf')
        self.create_timer(0.01, self.tick)
        self.count = 0
    def tick(self):
        self.count += 1
        try:
            if self.count == 3:
                os.kill(os.getpid(), signal.SIGINT)
                while True:
                    pass
        except BaseException:
            print('swallowed', flush=True)
    def destroy_node(self):
        print('cleaned up', flush=True)
        super().destroy_node()

sys.exit(run_node(Deaf))
"""


def test_an_interrupt_that_something_swallows_ends_the_node_all_the_same() -> None:
    done = _ended(_SWALLOWED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ['swallowed', 'cleaned up']


_OVERLOADED = """
import sys
from diagnostic_msgs.msg import DiagnosticArray
from pkm_description.ros.diagnostics import DiagnosticsPublisher
from pkm_description.ros.node_main import run_node
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String

works = Publisher.publish

def publish(self, message):
    if self.topic_name == '/overloaded':
        raise rclpy_implementation.RCLError('failed to publish message: timeout')
    works(self, message)

Publisher.publish = publish

class Talker(Node):
    def __init__(self):
        super().__init__('talker')
        self.words = self.create_publisher(String, 'overloaded', 10)
        self.diagnostics_ = DiagnosticsPublisher(self)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.hear, 10)
        self.create_timer(0.05, self.talk)

    def talk(self):
        self.words.publish(String())
        self.diagnostics_.publish({})

    def hear(self, message):
        for status in message.status:
            counts = {item.key: int(item.value) for item in status.values}
            if counts.get('lost on /overloaded', 0) > 2:
                print(status.level, status.name, status.message, flush=True)
                raise SystemExit(5)

sys.exit(run_node(Talker))
"""


def test_a_message_that_cannot_be_published_is_counted_and_told() -> None:
    done = _ended(_OVERLOADED)
    assert done.returncode == 5, done.stderr
    assert done.stdout == (
        "b'\\x01' /talker: publishing messages are lost: /overloaded: failed to publish message: timeout\n"
    )
