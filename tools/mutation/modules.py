"""The modules that are mutated, in groups, and the tests that may notice it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTION, ESTIMATION, IDENTIFICATION, BRINGUP = (
    f'pkm_{name}' for name in ('description', 'estimation', 'identification', 'bringup')
)


@dataclass(frozen=True)
class Group:
    """Modules of one row of the table.

    Parameters
    ----------
    name : of the row
    package : that holds them
    places : files and folders in the package's source folder
    share : part of the sample in relation to that of other groups
    """

    name: str
    package: str
    places: tuple[str, ...]
    share: float = 1.0

    def files(self) -> Iterator[Path]:
        """Source files, sorted."""
        folder = ROOT / 'src' / self.package / self.package
        for place in self.places:
            path = folder / place
            yield from sorted(path.rglob('*.py')) if path.is_dir() else [path]


GROUPS = (
    Group('filters', ESTIMATION, ('filters',)),
    Group('models', ESTIMATION, ('models',)),
    Group('filter kernels', ESTIMATION, ('kernels',), 1.2),
    Group('filtering', ESTIMATION, ('filtering',), 2.0),
    Group('stream', ESTIMATION, ('stream', 'tracking', 'exchange'), 3.0),
    Group('tuning', ESTIMATION, ('tuning',)),
    Group('calibration', ESTIMATION, ('calibration',)),
    Group('least squares', IDENTIFICATION, (
        'estimator/least_squares.py', 'estimator/interface.py', 'estimator/recursive.py',
    )),
    Group('covariance', IDENTIFICATION, (
        'estimator/residual_covariance.py', 'judgement/significance.py', 'fitting/aliases.py',
    )),
    Group('physical parameters', IDENTIFICATION, ('estimator/bodies.py', 'fitting/physical_machine.py')),
    Group('prepared data', IDENTIFICATION, ('preparation.py',)),
    Group('overlay', IDENTIFICATION, ('fitting/physical_machine.py', 'report/files.py', 'online/stream.py')),
    Group('overlay', DESCRIPTION, ('loading/overlay.py',)),
    Group('recording', IDENTIFICATION, ('recording', 'session.py')),
    Group('recording', BRINGUP, ('recording.py',)),
    Group('servo', BRINGUP, ('control',), 1.5),
    Group('sensors', BRINGUP, ('simulation/sensors.py', 'simulation/faults.py')),
    Group('sensors', ESTIMATION, ('sensors',)),
    Group('closure', DESCRIPTION, ('machine/machine.py', 'machine/model_data.py')),
    Group('closure kernels', DESCRIPTION, (
        'kernels/kinematics/closures.py', 'kernels/kinematics/legs.py', 'kernels/kinematics/pose.py',
        'kernels/forward_kinematics/assembly.py', 'kernels/forward_kinematics/newton.py',
    ), 0.8),
    Group('exports', DESCRIPTION, ('export',)),
)  # fmt: skip

#: words of test files that start programs, which a change in this process does not reach
_STARTS_PROGRAMS = (
    'ros_domain', 'launched_system', 'Popen', 'launch_runner', 'ros_environment', 'run_node', 'subprocess.run',
)  # fmt: skip

#: test files that take part, by package (in ``test_*.py``): those of the groups above whose tests last seconds
_TAKING_PART = {
    ESTIMATION: (
        'absurd_settings', 'backlog', 'backward_pass', 'baseline', 'baseline_series', 'constants',
        'constraints', 'correlated_noise', 'extended', 'filter', 'filter_parts', 'filtering_parts',
        'folds_and_rank', 'imu_constants', 'imu_faults', 'imu_gaps', 'imu_jumps', 'input_noise',
        'input_path', 'judgement', 'lasting', 'leg_faults', 'leg_sets', 'manifold', 'message_noise', 'models',
        'noise_adaptation', 'offline', 'outputs', 'pipeline', 'sensors', 'smoothing', 'stamp_jitter',
        'stream_edges', 'stream_parts', 'stream_rules', 'sums_and_noise', 'time', 'time_edges', 'tuning_motion',
        'tuning_search', 'tuning_static', 'turned_imu', 'user_measurements',
    ),
    IDENTIFICATION: (
        'aliases', 'estimators', 'friction_laws_identified', 'least_squares', 'observation',
        'overlay_numbers', 'physical_machine', 'pipeline', 'pooled_spread', 'preparation_edges', 'prepared_rows',
        'recording', 'recording_edges', 'report', 'residual_covariance', 'result', 'significance', 'stated_deviations',
    ),
    BRINGUP: (
        'control', 'feedforward', 'hydraulic', 'recorded_ends', 'recording', 'safe_stop',
        'sensor_models', 'servo_edges',
    ),
    DESCRIPTION: (
        'c_code', 'closing_legs', 'controllers', 'export_numbers', 'export_round_trip',
        'forward_kinematics', 'forward_kinematics_graphs', 'gazebo_files', 'graph_files', 'graph_kinematics',
        'leg_branches', 'leg_motion', 'mjcf', 'overlay', 'rods', 'ros2_control',
        'sdf', 'turned_plane', 'urdf', 'urdf_and_xacro', 'urdf_loops',
    ),
}  # fmt: skip


def test_files() -> list[str]:
    """Files with tests that run in one process, from the root of the repository."""
    found = []
    for package, names in _TAKING_PART.items():
        for path in (ROOT / 'src' / package / 'test' / f'test_{name}.py' for name in names):
            if not any(word in path.read_text(encoding='utf-8') for word in _STARTS_PROGRAMS):
                found.append(path.relative_to(ROOT).as_posix())
    return found


def module_name(path: Path) -> str:
    """Name by which a source file is imported."""
    parts = path.relative_to(ROOT / 'src').with_suffix('').parts[1:]
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
