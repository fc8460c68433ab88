"""The package's front door: a notebook's few lines from arrays to parameters, without slow or optional imports."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import profile

from pkm_identification import (
    IdentificationConfig,
    IdentificationResult,
    Recording,
    RecordingError,
    compare_physical_with_truth,
    compare_with_truth,
    identify,
    predict_forces,
)

WITHOUT_OPTIONAL = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {'rosbags', 'matplotlib', 'jinja2', 'rclpy', 'mujoco'}:
            raise ImportError(f'{name} must not be needed')

sys.meta_path.insert(0, Refuse())
import pkm_identification
assert not [name for name in sys.modules if name.startswith('pkm_identification.')], 'the front door is lazy'
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile

machine = load_machine('five_bar')
motion = profile('drives', machine, 8.0, 100.0)
positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
recording = pkm_identification.Recording(motion.time, positions, inverse_dynamics(machine, motion))
print(pkm_identification.identify(machine, recording).status)
"""


@pytest.fixture(scope='module')
def motion(srs: Machine) -> PlatformMotion:
    """Return the motion of the notebook."""
    return profile('mp1', srs, 14.0, 100.0)


@pytest.fixture(scope='module')
def arrays(srs: Machine, motion: PlatformMotion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return time, drive positions and forces of the notebook's motion."""
    positions = drive_positions(srs, motion.position, motion.rotation_base_platform)
    return motion.time, positions, inverse_dynamics(srs, motion)


@pytest.fixture(scope='module')
def held_out(srs: Machine) -> Recording:
    """Return a motion that yaws, as that of the notebook does not."""
    other = profile('fourier_validation', srs, 12.0, 100.0)
    positions = drive_positions(srs, other.position, other.rotation_base_platform)
    return Recording(other.time, positions, inverse_dynamics(srs, other))


@pytest.fixture(scope='module')
def found(srs: Machine, arrays: tuple, held_out: Recording) -> IdentificationResult:
    """Return what the notebook's motion identifies."""
    return identify(srs, Recording(*arrays), held_out)


def test_optional_libraries_are_not_needed() -> None:
    run = subprocess.run([sys.executable, '-c', WITHOUT_OPTIONAL], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() in {'complete', 'partial'}


def test_what_a_motion_does_not_excite_is_not_identified(found: IdentificationResult, srs: Machine) -> None:
    """MP1 circles and heaves without yaw: the platform's inertia about z has no force of its own."""
    assert found.status == 'partial'
    assert any('platform_link.Izz' in name for name in found.not_excited)
    assert len(found.base) + len(found.not_excited) == 35
    assert any('not excited' in text and found.not_excited[0] in text for text in found.warnings)
    assert f'of {len(found.base) + len(found.not_excited)} base parameters' in found.summary


def test_what_it_excites_is_right(found: IdentificationResult, srs: Machine) -> None:
    """Within its standard deviation; combinations with parameters that are open are stated as such."""
    rows = compare_with_truth(found, srs)
    assert sum(row.status == 'identified' for row in rows) >= 20
    assert max(abs(row.standardised_error) for row in rows) < 4.0
    friction = [row for row in compare_physical_with_truth(found, srs) if 'prismatic' in row.name]
    assert len(friction) == 12 and max(row.relative_error for row in friction) < 0.01


def test_other_motions_are_predicted_with_nominal_values_for_the_rest(
    found: IdentificationResult, held_out: Recording
) -> None:
    """A yawing validation motion needs the inertia about z: the nominal one stands in."""
    assert found.validation is not None
    assert found.validation.filtered_error.relative < 0.01
    time, forces = predict_forces(found, replace(held_out, forces=np.zeros_like(held_out.forces)))
    np.testing.assert_array_equal(time, found.validation.time)
    np.testing.assert_array_equal(forces, found.validation.predicted)


def test_wrong_shapes_name_the_expected_one(srs: Machine, arrays: tuple) -> None:
    time, positions, forces = arrays
    with pytest.raises(RecordingError, match=rf'forces has shape .*, expected \({len(time)}, 6\)'):
        Recording(time, positions, forces[: len(time) - 2])
    with pytest.raises(RecordingError, match=r'drive_positions has shape \(6,\)'):
        Recording(time, positions[0], forces)
    with pytest.raises(RecordingError, match=r'time has shape \(\)'):
        Recording(0.0, positions, forces)
    with pytest.raises(RecordingError, match=rf'expected \({len(time)}, 6\).*leg1_prismatic'):
        identify(srs, Recording(time, positions[:, :5], forces[:, :5]))
    with pytest.raises(RecordingError, match='not uniform'):
        Recording(time**2, positions, forces)
    broken = forces.copy()
    broken[7, 2] = np.nan
    with pytest.raises(RecordingError, match='forces of sample 7 is not finite'):
        Recording(time, positions, broken)


def test_lists_are_taken() -> None:
    recording = Recording([0.0, 0.1, 0.2], [[0.0], [0.1], [0.2]], [[1.0], [2.0], [3.0]])  # type: ignore[arg-type]
    assert recording.drive_positions.shape == (3, 1)
    assert recording.sample_rate == pytest.approx(10.0)
    assert IdentificationConfig().motion.source == 'low_pass'
