"""Test helpers: start nodes as processes in a separate ROS domain."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ament_index_python.packages import get_package_prefix

#: domains that DDS can use on every operating system with default ports
_DOMAINS = range(1, 100)

#: s; what must come is waited for so long, which only a test that fails ever does. A computer with two cores and other
#: work takes several times as long as an idle one: what is short enough for that one is too short
PATIENCE = 120.0
#: s in which a process that is killed ends
_DUMPING = 5.0


@cache
def _own_domain() -> tuple[int, IO[str] | None]:
    """Take a domain that no other test process of this computer has, with the lock that holds it until the end."""
    first = os.getpid() % len(_DOMAINS)
    for domain in (*_DOMAINS[first:], *_DOMAINS[:first]):
        try:
            lock = Path(tempfile.gettempdir(), f'pkm_test_ros_domain_{domain}.lock').open('a')  # noqa: SIM115 (kept until the end)
        except OSError:  # of another user
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
        else:
            return domain, lock
    return _DOMAINS[first], None


def ros_environment() -> dict[str, str]:
    """Environment with a domain of this test process and nothing that leaves the machine.

    colcon's domain coordinator (or the user) may have chosen a domain; else this process takes one that no other test
    process has, so that test runs side by side do not hear each other.
    """
    environment = dict(os.environ)
    if not environment.get('ROS_DOMAIN_ID'):
        environment['ROS_DOMAIN_ID'] = str(_own_domain()[0])
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    environment['PYTHONUNBUFFERED'] = '1'
    environment['PYTHONFAULTHANDLER'] = '1'  # a node that hangs or crashes says where
    return environment


@contextmanager
def ros_domain() -> Iterator[None]:
    """Use :func:`ros_environment` in this process, with rclpy initialised in it."""
    import rclpy

    wanted = ros_environment()
    names = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: wanted[name] for name in names})
    rclpy.init(args=[])  # what this program was called with is not for ROS
    try:
        yield
    finally:
        rclpy.try_shutdown()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def wait_for(condition: Callable[[], bool], what: str, timeout: float = PATIENCE, spin: object = None) -> None:
    """Wait until ``condition()``, which is looked at 200 times a second; spins the node ``spin`` meanwhile.

    Raises
    ------
    TimeoutError
        Naming ``what`` did not come.
    """
    import rclpy

    deadline = time.monotonic() + timeout
    while not condition():
        if (now := time.monotonic()) > deadline:
            raise TimeoutError(f'{what} did not come within {timeout} s')
        if spin is None:
            time.sleep(0.02)
            continue
        rclpy.spin_once(spin, timeout_sec=0.05)  # type: ignore[arg-type]
        # a condition that sends what its own node hears would take the processor from the nodes that are waited for
        while (left := now + 0.005 - time.monotonic()) > 0.0:
            rclpy.spin_once(spin, timeout_sec=left)  # type: ignore[arg-type]


def call_service(
    spin: Any, kind: Any, name: str, request: Any = None, wait: Callable[[Callable[[], bool], str], None] | None = None
) -> Any:
    """Response of a service, as soon as there is one that answers.

    Parameters
    ----------
    spin : node that asks, spun meanwhile
    kind : of the service, e.g. ``std_srvs.srv.Trigger``
    request : default an empty one
    wait : waits for a condition of a name in place of :func:`wait_for`, where something else has to go on meanwhile
    """

    def plainly(condition: Callable[[], bool], what: str) -> None:
        wait_for(condition, what, spin=spin)

    client = spin.create_client(kind, name)
    try:
        (wait or plainly)(client.service_is_ready, f'the service {name}')
        future = client.call_async(kind.Request() if request is None else request)
        (wait or plainly)(future.done, f'the answer of {name}')
        return future.result()
    finally:
        spin.destroy_client(client)


def wait_for_node(spin: Any, name: str, *publishers: Any) -> None:
    """Wait until a node is at work, publishes to all subscriptions that ``spin`` has, and hears what ``spin`` says.

    That a topic is in the graph, or that a subscription has seen its publisher, is not enough: each side learns of the
    other in its own time, and what is published before the *publisher* knows its subscription is lost. DDS tells a
    participant's subscriptions in the order in which they were made. The answer to a service call comes only when the
    node knows the subscription to the answer, which is made here, after all others: then it knows those, too.

    Parameters
    ----------
    spin : node of the test, with all its subscriptions made
    name : of the node that is waited for, relative to the namespace of ``spin`` or absolute
    publishers : publishers of ``spin`` that the node subscribes to
    """
    from rcl_interfaces.srv import ListParameters

    call_service(spin, ListParameters, f'{name}/list_parameters')
    wait_for(
        lambda: all(publisher.get_subscription_count() > 0 for publisher in publishers),
        f'the subscriptions of {name} to {", ".join(publisher.topic_name for publisher in publishers)}',
        spin=spin,
    )


class NodeProcess:
    """An executable of an installed package, in a process group of its own.

    Parameters
    ----------
    package, executable : as for ``ros2 run``
    arguments : command line, e.g. ``['--ros-args', '-p', 'machine:=srs']``

    Attributes
    ----------
    output : what it printed so far (standard output and error together)
    """

    def __init__(self, package: str, executable: str, arguments: Sequence[str] = ()) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # as a shell starts what runs in the background; programs would inherit it and could not be interrupted
            signal.signal(signal.SIGINT, signal.default_int_handler)
        program = Path(get_package_prefix(package)) / 'lib' / package / executable
        # two handles: reading must not move the place where the child writes
        self._log = tempfile.NamedTemporaryFile(prefix=f'{executable}-', suffix='.log')  # noqa: SIM115 (closed at the end)
        self.process = self._start([str(program), *arguments], self._log.name)

    def _start(self, words: Sequence[str], log: str) -> Any:
        """Process as of ``subprocess.Popen``, its output at the end of a file."""
        return subprocess.Popen(
            words,
            env=ros_environment(),
            stdout=open(log, 'ab'),
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return Path(self._log.name).read_text(errors='replace')

    @property
    def returncode(self) -> int | None:
        """Exit code, None while it runs."""
        return self.process.poll()

    def wait_for_output(self, text: str, timeout: float = PATIENCE) -> None:
        """Wait until it has printed ``text``; an early end is an error, too."""
        wait_for(lambda: text in self.output or self.returncode is not None, f'{text!r} in the output', timeout)
        if text not in self.output:
            raise RuntimeError(f'ended with {self.returncode} before it printed {text!r}:\n{self.output}')

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for its end by itself; returns the exit code."""
        return self.process.wait(timeout)

    def stop(self, timeout: float = 60.0) -> int:
        """Send SIGINT, wait, and kill what is left; returns the exit code (negative: killed by that signal).

        What does not end gets SIGABRT first: then the output has the place where it hangs.
        """
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGABRT)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(_DUMPING)
                with suppress(ProcessLookupError):  # the whole group is gone
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(_DUMPING)
        return int(self.process.returncode)

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = self.stop()
        if error is not None:
            print(f'--- output of {self.process.args!r} (exit code {code}):\n{self.output}')
        self._log.close()
