"""The SDF in DART: machines of all kinds, wrong machines, a missing engine, drives near their limits."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot
from other_machines import CLOSED
from pkm_description.export.rest import home_configuration
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, Machine

from verification.engines import dart, dart_checks

#: those marked are built like srs or like one of CLOSED
FILES = [
    'srs',
    *(
        pytest.param(name, marks=pytest.mark.campaign)
        for name in ('palida', 'valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus')
    ),
]


def built(name: str) -> Machine:
    return CLOSED[name]() if name in CLOSED else load_machine(name)


def home_of_drives(machine: Machine) -> np.ndarray:
    positions = home_configuration(machine).joint_positions
    return np.array([positions[joint.name] for joint in machine.actuated_joints])


@pytest.mark.parametrize('name', [*FILES, *CLOSED])
def test_dart_needs_the_forces_of_the_inverse_dynamics(name: str) -> None:
    pytest.importorskip('dartpy', exc_type=ImportError)  # on a bare Debian libGL.so.1 is missing
    checks = list(dart_checks.checks(built(name), quick=True))
    assert [check for check in checks if check.status != 'met'] == []
    assert len(checks) == 4


@pytest.mark.campaign
def test_a_heavy_machine_needs_a_smaller_step() -> None:
    """18 kN: 20 mN are a millionth of it."""
    pytest.importorskip('dartpy', exc_type=ImportError)
    checks = list(dart_checks.checks(built('ford'), quick=True))
    assert [check.status for check in checks] == 5 * ['met']
    assert 'at 0.25 ms' in checks[1].what


@pytest.mark.parametrize('name', [pytest.param('palida', marks=pytest.mark.campaign), '3-RPS', 'planar 3-PRR'])
def test_a_wrong_mass_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDF gets a platform that is heavier by one per cent: what is left no longer halves with the step."""
    pytest.importorskip('dartpy', exc_type=ImportError)
    right = dart.sdf_text

    def of_wrong_machine(machine: Machine, *options: object) -> str:
        body = dataclasses.replace(machine.platform, mass=1.01 * machine.platform.mass)
        return right(dataclasses.replace(machine, platform=body), *options)

    monkeypatch.setattr(dart, 'sdf_text', of_wrong_machine)
    failed = {check.what for check in dart_checks.checks(built(name), quick=True) if check.status == 'not met'}
    assert 'controllers at 0.5 ms over those at 1 ms' in failed


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_loaded(name: str) -> None:
        raise ImportError('libGL.so.1: cannot open shared object file')

    monkeypatch.setattr(dart, 'importlib', SimpleNamespace(import_module=not_loaded))
    (check,) = dart_checks.checks(heimann_check_robot(), quick=True)
    assert check.status == 'not reachable'
    assert 'libGL.so.1' in check.measured and 'libgl1' in check.measured


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'dartpy', None)
    (check,) = dart_checks.checks(heimann_check_robot(), quick=True)
    assert check.status == 'not reachable'
    assert 'pip install dartpy' in check.measured


@pytest.mark.parametrize(('below', 'above', 'reach'), [
    (1.0, 1.0, 0.04),
    (0.03, 1.0, 0.04),  # to the side with more room
    (0.0, 1.0, 0.04),
    (0.01, 0.02, 0.016),  # 0.8 of the room
])  # fmt: skip
def test_drives_stay_within_their_limits(below: float, above: float, reach: float) -> None:
    machine = built('palida')
    home = home_of_drives(machine)
    driven = {joint.name: q for joint, q in zip(machine.actuated_joints, home, strict=True)}

    def narrowed(joint: Joint) -> Joint:
        if joint.name not in driven:
            return joint
        q = driven[joint.name]
        return dataclasses.replace(joint, limits=dataclasses.replace(joint.limits, lower=q - below, upper=q + above))

    legs = tuple(dataclasses.replace(leg, joints=tuple(map(narrowed, leg.joints))) for leg in machine.legs)
    machine = dataclasses.replace(machine, legs=legs)
    frequencies = np.linspace(3.0, 5.0, len(home))
    time = np.sort(np.append(np.linspace(0.0, 1.2, 100), np.pi / frequencies))
    positions = dart.drive_motion(machine, home, time)[1]
    moved = positions - home
    assert moved.min() >= -below
    assert moved.max() <= above
    assert np.abs(moved).max() == pytest.approx(reach)
