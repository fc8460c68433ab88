"""Test helpers: programs in processes of their own that begin with the libraries imported already.

A process of this file imports them once and is copied (``fork``) for every program: one to three seconds of processor
time less for each. What runs is the installed script itself, with its own arguments, folder, environment, session and
signals. Tests of how a program starts use :class:`~node_processes.NodeProcess`, which starts it anew.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from node_processes import NodeProcess, ros_environment

#: what most programs import; those of packages that are not installed are left out
_IMPORTED = (
    'scipy.interpolate', 'scipy.optimize', 'scipy.signal', 'scipy.stats', 'matplotlib.figure', 'yaml',
    'rosbags.rosbag2',
    'rclpy.executors', 'geometry_msgs.msg', 'nav_msgs.msg', 'sensor_msgs.msg', 'std_srvs.srv', 'tf2_msgs.msg',
    'diagnostic_msgs.msg', 'trajectory_msgs.msg', 'rosgraph_msgs.msg', 'visualization_msgs.msg',
    'pkm_description.ros.node_main', 'pkm_description.launching', 'pkm_estimation.offline.report',
    'pkm_estimation.nodes.estimator', 'pkm_identification.nodes.identification', 'pkm_bringup.nodes.simulator',
    'pkm_bringup.nodes.recorder', 'pkm_bringup.nodes.player',
)  # fmt: skip


class WarmProcess:
    """A program that runs beside this one; used as :class:`subprocess.Popen` is.

    Attributes
    ----------
    pid, args, returncode : as those of ``Popen``
    """

    def __init__(self, server: _Server, pid: int, args: Sequence[str]) -> None:
        self._server, self.pid, self.args = server, pid, list(args)

    @property
    def returncode(self) -> int | None:
        """Exit code, None while it runs; negative: the signal that ended it."""
        return self._server.codes.get(self.pid)

    def poll(self) -> int | None:
        """Exit code, None while it runs."""
        self._server.listen(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        deadline = time.monotonic() + (timeout if timeout is not None else float('inf'))
        while (code := self.poll()) is None:
            if (left := deadline - time.monotonic()) <= 0.0:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._server.listen(min(left, 1.0))
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


class _Server:
    """The process that is copied. It ends with this one, and ends what still runs."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=os.environ | {'OPENBLAS_NUM_THREADS': '1', 'PYTHONUNBUFFERED': '1'},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.codes: dict[int, int] = {}
        self._begun: list[int] = []
        self._unread = b''

    def start(
        self, words: Sequence[str], environment: Mapping[str, str], place: str | Path, out: str, err: str
    ) -> WarmProcess:
        """Start a program whose streams go to the end of files."""
        job = {'words': list(map(str, words)), 'environment': dict(environment), 'place': str(place)}
        job |= {'out': out, 'err': err}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job).encode() + b'\n')
        self._process.stdin.flush()
        while not self._begun:
            self.listen(1.0)
        return WarmProcess(self, self._begun.pop(), words)

    def listen(self, patience: float) -> None:
        """Hear which programs have begun and ended; waits for so many seconds at most."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        if not select.select([pipe], [], [], patience)[0]:
            return
        told = os.read(pipe, 65536)
        if not told:
            raise RuntimeError('the process that starts programs has ended')
        *lines, self._unread = (self._unread + told).split(b'\n')
        for line in lines:
            pid, _, code = line.decode().partition(' ')
            if code:
                self.codes[int(pid)] = int(code)
            else:
                self._begun.append(int(pid))


@cache
def _server() -> _Server:
    return _Server()


def run_program(
    words: Sequence[str],
    environment: Mapping[str, str] | None = None,
    place: str | Path | None = None,
    timeout: float = 300.0,
) -> subprocess.CompletedProcess[str]:
    """Run a script, ``python [-P] SCRIPT``, ``python [-P] -m MODULE`` or ``python -c TEXT`` to its end.

    Parameters
    ----------
    words : command line
    environment : default: that of this process
    place : folder in which it runs; default: the present one
    timeout : s
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ('out', 'err')]
        process = _server().start(words, environment or os.environ, place or Path.cwd(), *map(str, files))
        try:
            process.wait(timeout)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        texts = [file.read_text(errors='replace') for file in files]
        return subprocess.CompletedProcess(list(words), process.wait(), *texts)


class WarmNode(NodeProcess):
    """An executable of an installed package, as :class:`~node_processes.NodeProcess`."""

    def _start(self, words: Sequence[str], log: str) -> WarmProcess:
        return _server().start(words, ros_environment(), Path.cwd(), log, log)


def parameters(**values: object) -> list[str]:
    """Command line of a node with these parameters."""
    return ['--ros-args', *(word for name, value in values.items() for word in ('-p', f'{name}:={value}'))]


def started(package: str, executable: str, **values: object) -> WarmNode:
    """A node of the small machine, unless told otherwise, with these parameters."""
    return WarmNode(package, executable, parameters(**{'machine': 'palida', **values}))


def _become(job: dict) -> None:
    """Make this process the program: session, signals, streams, folder, arguments, path; then run it."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, 'out'), (2, 'err')):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.stdin = open(0)  # noqa: SIM115 (as long as the process)
    os.chdir(job['place'])
    os.environ.clear()
    os.environ.update(job['environment'] | {'PWD': job['place']})
    tempfile.tempdir = None  # that of the environment
    folders = [folder for folder in os.environ.get('PYTHONPATH', '').split(os.pathsep) if folder]
    sys.path[:] = dict.fromkeys([*folders, *sys.path])
    words = job['words']
    if words[0] == sys.executable:
        words = words[1:]
    words = words[words[0] == '-P' :]
    if words[0] == '-m':
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name='__main__', alter_sys=True)
    elif words[0] == '-c':
        sys.argv = ['-c', *words[2:]]
        sys.modules['__main__'] = module = types.ModuleType('__main__')
        exec(words[1], module.__dict__)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name='__main__')


def _end_as(program: Callable[[], None]) -> NoReturn:
    """Run a program to its end, and leave as Python does, but for taking modules apart.

    Their order is that in which the copied process has imported them, by which rclpy's C++ objects do not end well.
    """
    code: Any = 0
    try:
        program()
    except SystemExit as request:
        code = request.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(int(code or 0))


def _serve() -> None:
    for name in _IMPORTED:
        with suppress(ImportError):
            import_module(name)
    from pkm_description.loading import load_machine

    load_machine('srs')  # numba, and the kernels of kinematics and dynamics
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    running: set[int] = set()
    unread = b''
    while True:
        ready = select.select([0, ended], [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            while running:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                running.discard(pid)
                os.write(1, f'{pid} {os.waitstatus_to_exitcode(status)}\n'.encode())
        if 0 in ready:
            told = os.read(0, 65536)
            if not told:
                for pid in running:
                    with suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                return
            *lines, unread = (unread + told).split(b'\n')
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    os.close(ended)
                    os.close(wake)
                    _end_as(partial(_become, json.loads(line)))
                running.add(pid)
                os.write(1, f'{pid}\n'.encode())


if __name__ == '__main__':
    _serve()
