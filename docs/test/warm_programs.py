"""Run the suite's programs, each in a process of its own that begins with the libraries imported already.

A process of this file imports them once and is copied (``fork``) for every program: two seconds of processor time less
for each. What runs is the installed script itself, with its own arguments, folder and environment.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType


class WarmPrograms:
    """Starts programs one after the other, as :func:`subprocess.run` does.

    Parameters
    ----------
    environment : of all programs
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], env=dict(environment), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, words: Sequence[str], place: Path) -> subprocess.CompletedProcess[str]:
        """Run a script, or ``python [-P] SCRIPT`` or ``python [-P] -m MODULE``, in a folder."""
        with tempfile.TemporaryDirectory() as folder:
            job = {'words': list(words), 'place': str(place), 'folder': folder}
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(job) + '\n')
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(
                list(words), code, *((Path(folder) / name).read_text(errors='replace') for name in ('out', 'err'))
            )

    def __enter__(self) -> WarmPrograms:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)  # it ends with its input


def _become(job: dict) -> None:
    """Make this process the program: streams, folder, arguments, path; then run it."""
    for number, name in enumerate(('in', 'out', 'err')):
        os.dup2(os.open(os.path.join(job['folder'], name), os.O_RDWR | os.O_CREAT, 0o600), number)
    sys.stdin = open(0)  # noqa: SIM115 (as long as the process)
    os.chdir(job['place'])
    os.environ['PWD'] = job['place']
    words = job['words']
    if words[0] == sys.executable:
        words = words[1:]
    words = words[words[0] == '-P' :]
    if words[0] == '-m':
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name='__main__', alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name='__main__')


def _serve() -> None:
    import matplotlib.figure  # noqa: F401 (reports)
    import rosbags.rosbag2  # noqa: F401
    import scipy.interpolate
    import scipy.optimize
    import scipy.signal
    import scipy.stats  # noqa: F401
    from pkm_description.loading import load_machine

    load_machine('srs')  # numba, and the kernels of kinematics and dynamics
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == '__main__':
    _serve()
