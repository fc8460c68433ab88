"""What sdformat, where it is installed, says of the SDF for Gazebo, and what it makes of the URDF."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from exported_machines import KINDS, exported_machine
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.export.urdf import urdf_text
from pkm_description.machine import Machine

from verification.engines.sdf_reader import SdfModel

needs_sdformat = pytest.mark.skipif(
    shutil.which('ign') is None, reason='ign (ignition-tools, libsdformat-dev) is not installed'
)


@pytest.fixture(params=KINDS)
def one_of_a_kind(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    return exported_machine(request.param, tmp_path)


@needs_sdformat
@pytest.mark.parametrize('loop', ['detachable', 'native'])
def test_sdformat_finds_it_valid(one_of_a_kind: Machine, loop: str, tmp_path: Path) -> None:
    """With welded legs in a world, with native loops alone."""
    path = tmp_path / 'machine.sdf'
    path.write_text(sdf_text(one_of_a_kind, SdfOptions(loop=loop, gazebo='fortress', world=loop == 'detachable')))
    done = subprocess.run(['ign', 'sdf', '-k', path], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, 'Valid.'), done.stderr


@needs_sdformat
def test_sdformat_keeps_every_body_of_the_urdf(one_of_a_kind: Machine, tmp_path: Path) -> None:
    """It drops links without mass, and what hangs on them, without a word; frames on fixed joints may go."""
    machine, path = one_of_a_kind, tmp_path / 'machine.urdf'
    path.write_text(urdf_text(machine))
    done = subprocess.run(['ign', 'sdf', '-p', path], capture_output=True, text=True, timeout=60, check=False)
    read = SdfModel(done.stdout)
    platform = [machine.platform.name] if machine.has_platform else []
    bodies = [joint.body.name for leg in machine.legs for joint in leg.joints] + platform
    assert set(read.links) == {'base_link', *bodies}
    assert set(read.joints) == set(machine.joint_names)
    assert 'Error' not in done.stderr
