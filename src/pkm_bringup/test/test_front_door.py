"""The front door of the package: its names exist, and MuJoCo is imported by those who need it only."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import pkm_bringup
import pkm_description
import pkm_estimation
import pkm_identification
from pkm_description import load_machine, profile


@pytest.mark.parametrize('package', [pkm_description, pkm_estimation, pkm_identification, pkm_bringup])
def test_names_exist_and_unknown_ones_are_told_the_known(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))
    assert [getattr(package, name).__name__ for name in package.__all__] == list(package.__all__)
    with pytest.raises(AttributeError, match=f"'nothing'; there are .*{package.__all__[-1]}"):
        _ = package.nothing


def test_control_needs_no_simulator() -> None:
    program = 'import sys, pkm_bringup; pkm_bringup.LegServo; print("mujoco" in sys.modules, "rclpy" in sys.modules)'
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ['False', 'False']


def test_example_of_the_docstring() -> None:
    pytest.importorskip('mujoco')
    machine = load_machine('srs')
    record = pkm_bringup.simulate(machine, profile('mp1', machine, duration=2.0))
    assert len(record.imu_stamps) > 100
