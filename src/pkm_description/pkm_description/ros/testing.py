"""Test helpers: start nodes as processes in a separate ROS domain."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from ament_index_python.packages import get_package_prefix

#: domains that DDS can use on every operating system with default ports
_DOMAINS = range(1, 100)


def ros_environment() -> dict[str, str]:
    """Environment with a domain of this test process and nothing that leaves the machine.

    colcon's domain coordinator (or the user) may have chosen a domain; else it follows from the process id, so that
    test runs side by side do not hear each other.
    """
    environment = dict(os.environ)
    environment.setdefault('ROS_DOMAIN_ID', str(_DOMAINS[os.getpid() % len(_DOMAINS)]))
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    environment['PYTHONUNBUFFERED'] = '1'
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


def wait_for(condition: Callable[[], bool], what: str, timeout: float = 30.0, spin: object = None) -> None:
    """Wait until ``condition()``; spins the node ``spin`` meanwhile.

    Raises
    ------
    TimeoutError
        Naming ``what`` did not come.
    """
    import rclpy

    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f'{what} did not come within {timeout} s')
        if spin is not None:
            rclpy.spin_once(spin, timeout_sec=0.05)  # type: ignore[arg-type]
        else:
            time.sleep(0.02)


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
        program = Path(get_package_prefix(package)) / 'lib' / package / executable
        # two handles: reading must not move the place where the child writes
        self._log = tempfile.NamedTemporaryFile(prefix=f'{executable}-', suffix='.log')  # noqa: SIM115 (closed at the end)
        self.process = subprocess.Popen(
            [str(program), *arguments],
            env=ros_environment(),
            stdout=open(self._log.name, 'ab'),  # noqa: SIM115 (the child keeps it)
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

    def wait_for_output(self, text: str, timeout: float = 30.0) -> None:
        """Wait until it has printed ``text``; an early end is an error, too."""
        wait_for(lambda: text in self.output or self.returncode is not None, f'{text!r} in the output', timeout)
        if text not in self.output:
            raise RuntimeError(f'ended with {self.returncode} before it printed {text!r}:\n{self.output}')

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for its end by itself; returns the exit code."""
        return self.process.wait(timeout)

    def stop(self, timeout: float = 10.0) -> int:
        """Send SIGINT, wait, and kill what is left; returns the exit code (negative: killed by that signal)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(5.0)
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
