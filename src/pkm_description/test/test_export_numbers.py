"""Numbers of exported files that no engine shows: bodies without mass, turned planes, defaults, many joints at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.export.gazebo_files import write_gazebo_files
from pkm_description.export.mjcf import inertial, mjcf_text
from pkm_description.export.ros2_control import read_hardware_parameters
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Pose, RigidBody
from pkm_description.machine.machine import closure_ends


def test_a_body_without_mass_gets_the_same_little_inertia_about_all_axes() -> None:
    attributes = inertial(RigidBody('cross'))
    full = np.array(attributes['fullinertia'].split(), dtype=float)
    assert 0.0 < float(attributes['mass']) < 1e-3
    assert 0.0 < full[0] < 1e-3 and full.tolist() == [full[0]] * 3 + [0.0] * 3


@pytest.mark.parametrize('angle', [0.0, 0.4, -2.5])
def test_a_plane_platform_turns_by_the_angle_of_its_home(angle: float) -> None:
    """At zero angle its body has no turn, and the key of home has the angle."""
    machine = load_machine('khalifa_3prr')
    turned = replace(machine, home=Pose(machine.home.position, rotation_exp(np.array([0.0, 0.0, angle]))))
    root = fromstring(mjcf_text(turned))
    body = root.find(f".//body[@name='{machine.platform.name}']")
    assert body is not None
    assert np.array(body.get('quat', '').split(), dtype=float) == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-12)
    names = [joint.get('name') for joint in root.findall('worldbody//joint')]
    key = root.find('keyframe/key')
    assert key is not None
    place = np.array(key.get('qpos', '').split(), dtype=float)[names.index('platform_rotation')]
    assert place == pytest.approx(angle, abs=1e-9)


def test_the_clock_of_gazebo_is_bridged_unless_it_is_not_wanted(tmp_path: Path) -> None:
    machine, options = load_machine('palida'), SdfOptions()
    assert '/clock' in write_gazebo_files(machine, options, tmp_path).bridge.read_text()
    assert '/clock' not in write_gazebo_files(machine, options, tmp_path, clock=False).bridge.read_text()


def test_parameters_of_hardware_are_names_and_single_values(tmp_path: Path) -> None:
    file = tmp_path / 'hardware.yaml'
    for text in ('gains: [1, 2]\n', 'axis: {gain: 1}\n', '- ip\n'):
        file.write_text(text)
        with pytest.raises(ConfigurationError, match='expected lines of the form name: value'):
            read_hardware_parameters(str(file))


@pytest.mark.parametrize('name', ['srs', 'delta'])
def test_where_a_leg_ends_its_own_mark_is_larger_than_that_of_the_platform(name: str) -> None:
    """They lie in one another: else nobody would see where the leg ends."""
    machine = load_machine(name)
    root = fromstring(mjcf_text(machine))
    sizes = {site.get('name'): float(site.get('size', '').split()[0]) for site in root.iter('site')}
    for end in closure_ends(machine):
        assert 0.5 * sizes[end.tip] < sizes[end.anchor] < sizes[end.tip]
