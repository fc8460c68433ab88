"""The front door of the package: its names exist, and MuJoCo is imported by those who need it only."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pkm_bringup
from pkm_description import load_machine, profile


@pytest.mark.parametrize('name', pkm_bringup.__all__)
def test_names_exist(name: str) -> None:
    assert getattr(pkm_bringup, name).__name__ == name
    assert name in dir(pkm_bringup)


def test_unknown_names_are_told_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"'simulator'; there are .*MujocoSimulation"):
        _ = pkm_bringup.simulator


def test_control_needs_no_simulator() -> None:
    program = 'import sys, pkm_bringup; pkm_bringup.LegServo; print("mujoco" in sys.modules, "rclpy" in sys.modules)'
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ['False', 'False']


def test_example_of_the_docstring() -> None:
    pytest.importorskip('mujoco')
    machine = load_machine('srs')
    record = pkm_bringup.simulate(machine, profile('mp1', machine, duration=2.0))
    assert len(record.imu_stamps) > 100
