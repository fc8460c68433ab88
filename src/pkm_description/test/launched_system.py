"""Start launch files as a user does: real ``ros2 launch``, or the runner for machines without it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

import pytest
from node_processes import PATIENCE, ros_environment
from warm_programs import run_program

#: arguments of a demo that is over after a minute
SHORT = [
    'tracking_duration:=4',
    'excitation_duration:=6',
    'validation_duration:=5',
    'payload_duration:=5',
    # no faster: where other tests take the other core, the demo would notice too late that a recording has to begin
    'real_time_factor:=0.6',
    'machine:=srs',
]
RUNNER = Path(__file__).resolve().parents[3] / 'tools' / 'launch_runner'


def has_real_launch() -> bool:
    """Whether ROS's own launch is installed."""
    return shutil.which('ros2') is not None and find_spec('launch_ros') is not None


def launch_command(file: str, *arguments: str, package: str = 'pkm_bringup') -> list[str]:
    """Command line that starts a launch file of a package."""
    if has_real_launch():
        return ['ros2', 'launch', package, file, *arguments]
    if RUNNER.exists():
        return [sys.executable, str(RUNNER), package, file, *arguments]
    pytest.skip('neither ros2 launch nor the launch runner of the repository is there')


def run_launch(environment: dict[str, str], file: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a launch file of pkm_bringup to its end."""
    command = launch_command(file, *arguments)
    if has_real_launch():
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return run_program(command, environment, timeout=120.0)


def processes_with(mark: str) -> dict[int, str]:
    """Process ids and command lines of the living that inherited a mark in their environment, in any session."""
    found = {}
    for environ in Path('/proc').glob('[0-9]*/environ'):
        try:
            if mark.encode() in environ.read_bytes().split(b'\0'):
                command = environ.with_name('cmdline').read_bytes()
                found[int(environ.parent.name)] = command.replace(b'\0', b' ').decode(errors='replace')
        except OSError:
            continue  # gone, or of somebody else; a zombie has no environment any more
    return found


class LaunchedSystem:
    """A launch file running in a session of its own, its output in a file, its processes marked."""

    def __init__(
        self, log: Path, file: str, *arguments: str, environment: dict[str, str] | None = None,
        package: str = 'pkm_bringup',
    ) -> None:  # fmt: skip
        self._log = log
        self._mark = f'PKM_TEST_RUN={os.getpid()}-{time.monotonic_ns()}'
        name, _, value = self._mark.partition('=')
        with log.open('wb') as stream:
            self.process = subprocess.Popen(
                launch_command(file, *arguments, package=package),
                env=(environment or ros_environment()) | {name: value},
                cwd=log.parent,
                stdout=stream,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return self._log.read_text(errors='replace')

    def wait_for_output(self, text: str, timeout: float = PATIENCE) -> None:
        """Wait until a text was printed; an early end is an error."""
        deadline = time.monotonic() + timeout
        while text not in self.output:
            ended = self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                assert text in self.output, f'{text!r} did not come (ended: {ended})\n{self.output[-4000:]}'
            time.sleep(0.05)

    def interrupt(self) -> None:
        """Press Ctrl-C: the terminal sends SIGINT to everything in it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for the end by itself."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f'still running after {timeout} s\n{self.output[-4000:]}') from None

    def survivors(self, patience: float = 20.0) -> dict[int, str]:
        """List what is left of it, after some patience."""
        deadline = time.monotonic() + patience
        while (left := processes_with(self._mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def __enter__(self) -> LaunchedSystem:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if processes_with(self._mark):
            self.interrupt()
            for process in self.survivors(40.0):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self.process.wait(PATIENCE)
