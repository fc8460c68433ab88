"""What a motion shows of a machine: locations by laws of mechanics, parameters by the covariance, and the program."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_identification.identifiability.motion_value import location_sensitivities, motion_value
from pkm_identification.nodes.identifiability import main


def test_the_base_and_the_motion_may_change_places(srs: Machine) -> None:
    """First joints that all move one way are a platform that moves the other way."""
    motion, step = profile('fourier', srs, 6.0, 5.0), 1e-4
    found = location_sensitivities(srs, motion)
    for axis, name in enumerate('xyz'):
        together = np.sum([one.slope for one in found if one.axis == name and 'first joint' in one.place], axis=0)
        shift = step * np.eye(3)[axis]
        there, back = (
            inverse_dynamics(srs, dataclasses.replace(motion, position=motion.position + sign * shift))
            for sign in (1.0, -1.0)
        )
        expected = (back - there) / (2.0 * step)
        np.testing.assert_allclose(together, expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())
    # a load's first moments are linear in its place: one millimetre is what the slope says
    (place,) = [one for one in found if 'platform_link' in one.place and one.axis == 'x']
    body = srs.platform
    moved = dataclasses.replace(body, center_of_mass=body.center_of_mass + np.array([1e-3, 0.0, 0.0]))
    change = inverse_dynamics(dataclasses.replace(srs, platform=moved), motion) - inverse_dynamics(srs, motion)
    size = np.sqrt(np.mean(inverse_dynamics(srs, motion) ** 2))
    assert place.per_millimetre == pytest.approx(100.0 * np.sqrt(np.mean(change**2)) / size, rel=1e-2)
    assert place.relative == pytest.approx(
        np.sqrt(np.mean(change**2, axis=0) / np.mean(inverse_dynamics(srs, motion) ** 2, axis=0))
        * body.center_of_mass[0] / 1e-3, rel=1e-2,
    )  # fmt: skip


def test_what_a_motion_does_not_show_is_open(srs: Machine) -> None:
    moving, held = (motion_value(srs, profile(name, srs, 8.0, 10.0), False) for name in ('fourier', 'hold'))
    assert not any(np.isnan(one.std) for one in moving.parameters)
    known = [one for one in held.parameters if np.isfinite(one.std)]
    assert 0 < len(known) < 10
    assert not any('Ixx' in one.name or 'viscous' in one.name for one in known)
    assert held.terms.variation()['total'] < 1e-6 < moving.terms.variation()['pm']
    # twice as long, half the variance
    longer = motion_value(srs, profile('fourier', srs, 8.0, 20.0), False)
    ratio = [one.std / other.std for one, other in zip(moving.parameters, longer.parameters, strict=True)]
    assert np.median(ratio) == pytest.approx(np.sqrt(2.0), rel=0.05)


@pytest.mark.parametrize('name', ['valencia_3rps', 'khalifa_3prr'])
def test_the_program(name: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Machines with fewer degrees of freedom; places that their motion does not allow are counted."""
    picture = tmp_path / 'value.png'
    assert main([name, '--duration', '6', '--rate', '10', '-o', str(picture)]) == 0
    said = capsys.readouterr().out
    assert 'dominance' in said and 'centre of mass of platform_link' in said
    assert ('cannot be shifted' in said) is (name == 'valencia_3rps')
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert known_machine(name).platform.name in said
    assert main([name, '--motion', 'nothing']) == 1
    assert 'nothing' in capsys.readouterr().err
    assert main([name, '--motion', str(tmp_path / 'poses.csv')]) == 1
