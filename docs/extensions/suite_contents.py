"""What the packages install: their programs and nodes, and their launch files; read from the source tree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(os.environ.get('PKM_DOCS', Path(__file__).parents[1])).resolve().parent
PACKAGES = ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup')


class Program(NamedTuple):
    """One entry of ``console_scripts``."""

    package: str
    name: str
    module: str


def programs() -> list[Program]:
    """All programs of the suite, nodes included, in the order of the packages' ``setup.py``."""
    entry = re.compile(r"'(\w+) = ([\w.]+):main'")
    return [
        Program(package, *match)
        for package in PACKAGES
        for match in entry.findall((ROOT / 'src' / package / 'setup.py').read_text(encoding='utf-8'))
    ]


def launch_files() -> list[tuple[str, Path]]:
    """Package and path of every launch file."""
    return [
        (package, path)
        for package in PACKAGES
        for path in sorted((ROOT / 'src' / package / 'launch').glob('*.launch.py'))
    ]


@cache
def asked_elsewhere(script: str, *arguments: str) -> Any:
    """Run a script of this folder in a process of its own, which prints JSON last."""
    folders = [*(str(ROOT / 'src' / package) for package in PACKAGES), str(ROOT / 'tools'), str(ROOT)]
    environment = os.environ | {
        'AMENT_PREFIX_PATH': os.environ.get('AMENT_PREFIX_PATH', sys.prefix),
        'PYTHONPATH': os.pathsep.join([*folders, *filter(None, [os.environ.get('PYTHONPATH')])]),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF',  # nodes that are made here to be asked are not seen by others
        'COLUMNS': '110',
        'NO_COLOR': '1',
    }
    command = [sys.executable, str(Path(__file__).parent / script), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode != 0:
        raise RuntimeError(f'{script} failed:\n{run.stderr}')
    return json.loads(run.stdout.splitlines()[-1])
