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
    Group('filter kernels', ESTIMATION, ('kernels',), 2.0),
    Group('filtering', ESTIMATION, ('filtering',), 2.0),
    Group('legs', ESTIMATION, ('legs',)),
    Group('stream', ESTIMATION, ('stream',), 3.0),
    Group('tuning', ESTIMATION, ('tuning',)),
    Group('least squares', IDENTIFICATION, ('estimator/least_squares.py', 'estimator/interface.py', 'estimator/searches.py')),
    Group('covariance', IDENTIFICATION, ('estimator/residual_covariance.py', 'judgement/significance.py', 'fitting/pooled_spread.py')),
    Group('physical parameters', IDENTIFICATION, ('judgement/physical.py', 'fitting/physical_machine.py', 'estimator/pseudo_inertia.py')),
    Group('prepared data', IDENTIFICATION, ('prepared_data.py', 'preparation.py')),
    Group('overlay', IDENTIFICATION, ('fitting/overlay_values.py', 'report/overlay.py', 'online/overlay.py')),
    Group('overlay', DESCRIPTION, ('loading/overlay.py',)),
    Group('recording', IDENTIFICATION, ('recording',)),
    Group('recording', BRINGUP, ('recording',)),
    Group('servo', BRINGUP, ('control',), 1.5),
    Group('sensors', BRINGUP, ('simulation/sensors.py', 'simulation/faults.py')),
    Group('sensors', ESTIMATION, ('sensors',)),
    Group('closure', DESCRIPTION, ('machine/closure_ends.py', 'machine/closure_rows.py')),
    Group('closure kernels', DESCRIPTION, (
        'kernels/closures.py', 'kernels/assembly.py', 'kernels/legs.py', 'kernels/pose.py', 'kernels/forward.py',
    ), 1.5),
    Group('exports', DESCRIPTION, ('export',), 1.5),
)  # fmt: skip

#: words of test files that start programs, which a change in this process does not reach
_STARTS_PROGRAMS = ('ros_domain', 'launched_system', 'Popen', 'launch_runner', 'ros_environment', 'run_node', 'subprocess.run')


def test_files() -> list[str]:
    """Files with tests that run in one process, from the root of the repository; those for the sample's packages."""
    found = []
    for package in (DESCRIPTION, ESTIMATION, IDENTIFICATION, BRINGUP):
        for path in sorted((ROOT / 'src' / package / 'test').glob('test_*.py')):
            if not any(word in path.read_text(encoding='utf-8') for word in _STARTS_PROGRAMS):
                found.append(path.relative_to(ROOT).as_posix())
    return found


def module_name(path: Path) -> str:
    """Name by which a source file is imported."""
    parts = path.relative_to(ROOT / 'src').with_suffix('').parts[1:]
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
