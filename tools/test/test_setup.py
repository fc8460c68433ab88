"""The set-up's shell functions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SETUP = Path(__file__).resolve().parents[1] / 'setup'


def outside_venv(root: Path, python: str) -> str:
    script = f'root={root}; source {SETUP}/messages.sh; source {SETUP}/wheels.sh; outside_venv {python}'
    environment = {**os.environ, 'PATH': f'{root}/.venv/bin:{os.environ["PATH"]}'}
    done = subprocess.run(
        ['bash', '-ec', script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_python_of_the_own_environment_is_not_what_the_environment_is_made_with(tmp_path):
    # sourcing install/setup.bash puts .venv/bin first: a set-up from that shell deletes .venv and then needs a Python
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', tmp_path / '.venv'], check=True, timeout=120)
    chosen = Path(outside_venv(tmp_path, 'python3'))
    assert chosen.exists()
    assert tmp_path not in chosen.parents


def test_another_python_is_taken_as_it_is_named(tmp_path):
    (tmp_path / '.venv').mkdir()
    assert outside_venv(tmp_path, 'python3.99') == 'python3.99'
    assert outside_venv(tmp_path, 'python3') == 'python3'


def checked_place(root: str) -> subprocess.CompletedProcess[str]:
    script = f'source {SETUP}/messages.sh; root=$1; check_place'
    command = ['bash', '-ec', script, 'bash', root]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_places_by_which_the_set_up_fails_late_are_refused_at_once():
    for root in ('/home/a b/pkm', '/home/me/Übung', "/home/o'k", '/srv/a:b', '/srv/$x', '/srv/a\nb'):
        done = checked_place(root)
        assert done.returncode == 1
        assert root in done.stderr
        assert 'Move or clone it' in done.stderr
    for root in ('/home/me/pkm', '/srv/pkm-1.2_x+y@z/~a,b=c'):
        assert checked_place(root).returncode == 0
    # before anything else is done
    entry = (SETUP.parents[1] / 'pkm').read_text()
    assert entry.index('check_place') < entry.index('trap interrupted')
