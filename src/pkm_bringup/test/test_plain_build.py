"""A plain ``colcon build`` in a folder of its own, as on build farms: every file is installed, and programs run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from estimated import write_bag
from launched_system import SHORT, LaunchedSystem
from node_processes import ros_environment
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import read_bag
from pkm_estimation.sensors import measure

pytest.importorskip('rclpy')
pytest.importorskip('colcon_core')

ROOT, SRS = Path(__file__).resolve().parents[3], load_machine('srs')
PACKAGES = ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup')
COLCON = 'import sys; from colcon_core.command import main; sys.exit(main())'


@pytest.fixture(scope='module')
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the packages without links."""
    folder = tmp_path_factory.mktemp('plain_build')
    sources = folder / 'src'
    shutil.copytree(ROOT / 'src', sources, ignore=shutil.ignore_patterns('__pycache__', '*.egg-info', 'test'))
    for package in PACKAGES:
        (sources / package / 'test').mkdir()
    subprocess.run(
        [sys.executable, '-c', COLCON, 'build', '--base-paths', 'src', '--metas', str(ROOT / 'colcon.meta')],
        cwd=folder, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    return folder / 'install'


@pytest.fixture(scope='module')
def environment(installed: Path) -> dict[str, str]:
    """Environment of the installed packages; those of the workspace are not seen."""
    environment = ros_environment()
    library = f'lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages'
    for variable, below in (('AMENT_PREFIX_PATH', ''), ('PYTHONPATH', library)):
        others = [path for path in environment.get(variable, '').split(os.pathsep) if 'pkm_' not in path and path]
        mine = [str(installed / package / below) for package in PACKAGES]
        environment[variable] = os.pathsep.join([*mine, *(path for path in others if Path(path) != ROOT)])
    return environment


def _modules(installed: Path, package: str) -> Path:
    (folder,) = (installed / package).glob(f'lib/python*/site-packages/{package}')
    return folder


@pytest.fixture(scope='module')
def kernels(installed: Path) -> None:
    """Let what was compiled for the sources serve their copies: Numba names its folders by where the sources are."""
    for package in PACKAGES[:3]:
        sources = Path(import_module(f'{package}.kernels').__path__[0]).resolve()
        copies = _modules(installed, package).resolve() / 'kernels'
        for room in [sources, *(path.parent for path in sources.glob('*/__init__.py'))]:
            places = room, copies / room.relative_to(sources)
            here, there = (f'{room.name}_{hashlib.sha1(str(place).encode()).hexdigest()}' for place in places)
            for kept in sources.glob(f'__pycache__/compiled/*/{here}'):
                shutil.copytree(kept, copies / kept.parent.relative_to(sources) / there, dirs_exist_ok=True)


@pytest.fixture(scope='module')
def demo(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str], kernels: None) -> Path:
    """Folder in which the demo has run."""
    folder = tmp_path_factory.mktemp('demo')
    output = folder / 'run'
    log = folder / 'launch.log'
    with LaunchedSystem(log, 'demo.launch.py', f'output:={output}', *SHORT, environment=environment) as system:
        code = system.wait(300.0)
        assert code == 0, system.output
        assert not system.survivors()
    return output


@pytest.mark.parametrize('package', PACKAGES)
def test_every_file_is_installed(installed: Path, package: str) -> None:
    source = ROOT / 'src' / package / package
    sources = [file for file in source.rglob('*') if file.is_file() and '__pycache__' not in file.parts]
    wanted = {file.relative_to(source) for file in sources}
    present = {file.relative_to(_modules(installed, package)) for file in _modules(installed, package).rglob('*')}
    assert len(wanted) > 20
    assert not wanted - present
    shared = [file for name in ('config', 'launch', 'urdf', 'rviz') for file in (source.parent / name).rglob('*.*')]
    share = installed / package / 'share' / package
    files = [file for file in shared if file.is_file() and '__pycache__' not in file.parts]
    assert not [file for file in files if not (share / file.relative_to(source.parent)).exists()]


def test_short_demo_ends_with_a_verdict_and_reproduces_itself(demo: Path) -> None:
    text = (demo.parent / 'launch.log').read_text(errors='replace')
    assert 'Traceback' not in text, text
    assert 'compiling kernels' not in text, text
    for expected in (
        'position error, rms',
        'platform mass, error',
        'kg drops on the platform',
        'try next:',
        'PASSED',
        'recomputed bit by bit',
    ):
        assert expected in text, text
    verdict = json.loads((demo / 'verdict.json').read_text())
    limits = {item['name']: item for item in verdict['limits']}
    assert verdict['passed'] is True
    assert limits['live estimates that differ offline']['value'] == 0
    assert limits['sensor samples missing in the bag']['verdict'] == 'ok'
    assert any(name.startswith('payload, error of its mass') for name in limits)
    assert limits['position error, rms']['value'] < 1e-4
    assert limits['platform mass, error']['value'] < 0.05
    assert (demo / 'identification' / 'report.html').stat().st_size > 10_000
    assert (demo / 'identification' / 'overlay.yaml').exists()
    assert 'PASSED' in (demo / 'demo.log').read_text()
    data = read_bag(demo / 'bag', require=('joint_states', 'imu/data_raw', 'platform/odometry'))
    assert data.warnings == ()


@pytest.mark.parametrize(
    ('package', 'program', 'arguments', 'written'),
    [
        ('pkm_estimation', 'tune', ['{still}', '--static', '-o', '{output}'], 'report.html'),
        ('pkm_bringup', 'check_robot', ['srs', '--bag', '{bag}', '--json', '{output}/check.json'], 'check.json'),
    ],
    ids=['tune', 'check_robot'],
)
def test_programs_write_their_reports(
    demo: Path, installed: Path, environment: dict[str, str], tmp_path: Path, package: str, program: str,
    arguments: list[str], written: str,
) -> None:  # fmt: skip
    """Those that the demo does not run: it estimates and identifies."""
    output = tmp_path / 'output'
    output.mkdir()
    still = write_bag(tmp_path / 'still', SRS, measure(SRS, profile('hold', SRS, 11.0)))
    words = [argument.format(bag=demo / 'bag', still=still, output=output) for argument in arguments]
    ended = subprocess.run(
        [str(installed / package / 'lib' / package / program), *words],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode in (0, 3), ended.stdout + ended.stderr  # 3: a verdict on the data, which this is not about
    assert 'Traceback' not in ended.stderr
    assert (output / written).stat().st_size > 500
