"""Read a machine file into a :class:`Machine`; options of programs that say which machine is meant."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.errors import MachineFileError, UnknownMachineError
from pkm_description.loading.checks import check_machine, check_provenance
from pkm_description.loading.driver_values import texts
from pkm_description.loading.overlay import apply_overlay, blame_overlay
from pkm_description.loading.read_driver import COPY, driver_of
from pkm_description.loading.read_joints import read_platform, read_rotation
from pkm_description.loading.read_legs import read_legs
from pkm_description.loading.yaml_reader import Section, by_name, read_yaml
from pkm_description.machine import NO_IMU, NO_LEG_SENSORS, NO_SERVO, ImuSensor, LegSensors, Machine, ServoGains
from pkm_description.machine.tolerances import USUAL_TOLERANCE, USUAL_TOLERANCES, Calibrated, Tolerances

SCHEMA = 1


def config_directory() -> Path:
    """Folder of the machine files: of the installed package, or of the source tree."""
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory('pkm_description')) / 'config'
    except (ImportError, LookupError, OSError):  # no such package, no AMENT_PREFIX_PATH
        return Path(__file__).parents[2] / 'config'


def machine_names() -> list[str]:
    """Names of the machines that come with the package."""
    return sorted(path.parent.name for path in config_directory().glob('*/machine.yaml'))


def machine_file(name_or_path: str | Path) -> Path:
    """Path of a machine file, given the name of a machine of the package, or a path.

    Raises
    ------
    UnknownMachineError
        There is no such machine and no such file.
    """
    text = os.fspath(name_or_path)
    named = config_directory() / text / 'machine.yaml'
    if os.sep not in text and named.is_file():
        return named
    path = Path(text).expanduser()  # launch arguments reach us with their ~
    if path.is_dir():
        path = path / 'machine.yaml'
    if not path.is_file():
        raise UnknownMachineError(text, machine_names())
    return path


def load_machine(
    name_or_path: str | Path, overlay: str | Path | None = None, driver: str | Path | None = None
) -> Machine:
    """Read and check a machine file.

    Parameters
    ----------
    name_or_path : machine of the package (``'srs'``) or path of a machine file
    overlay : path of an overlay whose values replace those of the file
    driver : path of a settings file that says what the machine's driver publishes, in place of the file's section
        ``driver``; ``'standard'``: the streams follow the suite's convention, whatever the file says

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    path = machine_file(name_or_path)
    content, keys = machine_content(path, overlay)
    try:
        return machine_of_content(path, content, driver)
    except MachineFileError as error:
        if overlay is None or error.path != path:
            raise
        raise blame_overlay(error, Path(overlay), keys) from None


def machine_of_content(path: Path, content: dict[str, Any], driver: str | Path | None = None) -> Machine:
    """Read and check the content of a machine file; ``path`` is what messages name; ``driver`` as of load_machine.

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    content = by_name(path, content)
    machine = unchecked_machine(path, content)
    check_provenance(path, content)
    check_machine(machine)
    own = driver_of(machine, content, driver)
    return machine if own is machine.driver else replace(machine, driver=own)


def machine_content(path: Path, overlay: str | Path | None = None) -> tuple[dict[str, Any], list[str]]:
    """Content of a machine file with the overlay's values, not checked, and the dotted keys of the overlay."""
    content = by_name(path, read_yaml(path))
    if overlay is None:
        return content, []
    return apply_overlay(content, str(content.get('name')), Path(overlay))


def unchecked_machine(path: Path, content: dict[str, Any]) -> Machine:
    """Read the content of a machine file without looking whether the machine as a whole is possible.

    For what completes a file, e.g. by a home pose that the legs admit.

    Raises
    ------
    MachineFileError
        A single entry is missing, unknown or impossible.
    """
    content = by_name(path, content)
    top = Section(path, '', content)
    # type: YAML's true equals 1
    if 'schema' in content and (content['schema'] != SCHEMA or type(content['schema']) is not int):
        raise top.error('schema', content['schema'], f'this version reads schema {SCHEMA}')
    needed = ['schema', 'name', 'description', 'gravity', 'legs']
    optional = ['sensors', 'servo', 'driver', 'tolerances', 'provenance']
    if 'leg_chains' in content:
        platform_keys = ['platform'] if 'platform' in content else []
        top.expect_keys([*needed, 'leg_chains', *platform_keys], [*optional, 'drive_forces'])
    elif 'platform' in content:
        top.expect_keys([*needed, 'leg_chain', 'platform', 'leg_tip'], [*optional, 'ball_joint', 'drive_forces'])
    else:
        _require_open_chain(top)
        top.expect_keys([*needed, 'leg_chain'], optional)
    freedom, home, platform = read_platform(top)
    legs = read_legs(top, freedom)
    drives = [joint.name for leg in legs for joint in leg.joints if joint.actuated]
    if not drives:
        key = 'leg_chains' if 'leg_chains' in content else 'leg_chain'
        raise top.error(key, None, 'no joint is driven; set actuated: true for those with a drive')
    imu, leg_sensors, servo = read_sensors(top, len(drives), 'leg' if len(drives) == len(legs) else 'drive')
    return Machine(
        name=top.identifier('name'),
        path=path,
        description=top.text('description'),
        gravity=top.vector('gravity', 3),
        home=home,
        platform=platform,
        legs=legs,
        imu=imu,
        leg_sensors=leg_sensors,
        servo=servo,
        provenance=dict(top.section('provenance').content) if 'provenance' in content else {},
        freedom=freedom,
        drive_weights=read_drive_weights(top, drives),
        tolerances=read_tolerances(top, len(legs), len(drives)),
    )


def _require_open_chain(top: Section) -> None:
    """Refuse a file that has parts of a closed machine and no platform."""
    for key in ('leg_tip', 'ball_joint'):
        if key in top.content:
            raise top.error(
                'platform', None,
                f'is missing, but there is {key!r}: add platform with link, home and body; an open chain, which has no '
                f"platform, has no leg_tip, no ball_joint and no platform_point",
            )  # fmt: skip


def read_drive_weights(top: Section, drives: Sequence[str]) -> tuple[float, ...]:
    """Weights of the drives; empty for ``minimum_norm``, the default, which treats all alike.

    Parameters
    ----------
    drives : names of the driven joints
    """
    if 'drive_forces' not in top.content or top.content['drive_forces'] == 'minimum_norm':
        return ()
    if not isinstance(top.content['drive_forces'], dict):
        raise top.error(
            'drive_forces', top.content['drive_forces'],
            "choose minimum_norm, or give weights: {weights: {leg1_prismatic: 2.0}}; a drive with twice the weight "
            'takes twice the share, drives that are not named have 1',
        )  # fmt: skip
    section = top.section('drive_forces')
    section.expect_keys(['weights'])
    weights = section.section('weights')
    weights.expect_keys([], drives)
    return tuple(weights.number(name, 1.0, above=0.0) for name in drives)


def read_tolerances(top: Section, legs: int, drives: int) -> Tolerances:
    """Standard deviations of the geometry: one number for all, or some for each kind; usual ones where it says nothing.

    Parameters
    ----------
    legs, drives : numbers of them
    """
    if 'tolerances' not in top.content:
        return USUAL_TOLERANCES
    if not isinstance(top.content['tolerances'], dict):
        whole = top.number('tolerances', least=0.0)
        return Tolerances(whole, whole)
    section = top.section('tolerances')
    others = ['gravity', 'imu_position', 'imu_rotation', 'imu_scale']
    section.expect_keys([], ['joint_centres', 'leg_zeros', 'calibrated', *others])
    gravity, position, rotation, scale = (section.number(key, 0.0, least=0.0) for key in others)
    return Tolerances(
        section.per_leg('joint_centres', legs, USUAL_TOLERANCE, least=0.0),
        section.per_leg('leg_zeros', drives, USUAL_TOLERANCE, least=0.0, each='drive'),
        gravity, position, rotation, scale,
        calibrated=_read_calibrated(section.section('calibrated')) if 'calibrated' in section.content else Calibrated(),
    )  # fmt: skip


def _read_calibrated(section: Section) -> Calibrated:
    """What a calibration left of the uncertainty of constants."""
    section.expect_keys(['constants', 'root'])
    names = texts(section, 'constants')
    root = section.rows('root', range(1, len(names) + 1))
    if not (root.diagonal() > 0.0).all():
        raise section.error('root', section.content['root'], 'must have numbers greater than 0 at the end of its rows')
    return Calibrated(names, root)


def read_sensors(top: Section, count: int, each: str = 'leg') -> tuple[ImuSensor, LegSensors, ServoGains]:
    """IMU, sensors of ``count`` drives and servo of the whole file; ``each``: what messages call one of them."""
    imu, legs, servo = NO_IMU, NO_LEG_SENSORS, NO_SERVO
    if 'sensors' in top.content:
        sensors = top.section('sensors')
        # an open chain has no platform to mount an IMU on
        sensors.expect_keys([], ['legs', 'imu'] if 'platform' in top.content else ['legs'])
        imu = _read_imu(sensors.section('imu')) if 'imu' in sensors.content else imu
        legs = _read_leg_sensors(sensors.section('legs'), count, each) if 'legs' in sensors.content else legs
    if 'servo' in top.content:
        gains = top.section('servo')
        gains.expect_keys(['stiffness', 'damping'])
        servo = ServoGains(gains.number('stiffness', above=0.0), gains.number('damping', least=0.0))
    return imu, legs, servo


def _read_imu(section: Section) -> ImuSensor:
    """IMU on the platform."""
    section.expect_keys(['link', 'xyz', 'rpy', 'rate', 'accelerometer', 'gyroscope'])
    parts: dict[str, Any] = {}
    for name in ('accelerometer', 'gyroscope'):
        sensor = section.section(name)
        sensor.expect_keys(['noise', 'bias'], ['bias_walk', 'resolution', 'range', 'matrix'])
        for key in sensor.content:
            if key == 'range':
                parts[f'{name}_{key}'] = sensor.number(key, above=0.0)
            elif key == 'matrix':
                parts[f'{name}_{key}'] = matrix = sensor.rows(key, (3, 3, 3))
                if not np.linalg.det(matrix) > 0.0:
                    raise sensor.error(key, matrix.tolist(), 'must be near [[1, 0, 0], [0, 1, 0], [0, 0, 1]]')
            else:
                parts[f'{name}_{key}'] = sensor.vector(key, 3, None if key == 'bias' else 0.0)
    place = section.vector('xyz', 3), read_rotation(section, 'rpy')
    return ImuSensor(section.identifier('link'), *place, section.number('rate', above=0.0), **parts)


def _read_leg_sensors(section: Section, count: int, each: str) -> LegSensors:
    """Sensors of the drives."""
    noise = ['position_noise', 'velocity_noise', 'effort_noise']
    section.expect_keys(['rate', *noise], ['position_resolution', 'effort_delay', 'effort_lag'])
    there = [key for key in (*noise, 'position_resolution') if key in section.content]
    values: dict[str, Any] = {key: section.per_leg(key, count, least=0.0, each=each) for key in there}
    return LegSensors(
        section.number('rate', above=0.0), **values,
        effort_delay=section.number('effort_delay', 0.0), effort_lag=section.number('effort_lag', 0.0, least=0.0),
    )  # fmt: skip


def add_driver_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--driver``, ``--joint-topic`` and ``--imu-topic``."""
    parser.add_argument(
        '--driver', help="settings file of the machine's driver; 'standard': none, whatever the machine file says"
    )
    parser.add_argument('--joint-topic', default='', help="topic of the joint states (default: the driver's)")
    parser.add_argument('--imu-topic', default='', help="topic of the raw IMU (default: the driver's)")


def machine_of_options(options: argparse.Namespace) -> Machine:
    """Machine of the options ``machine`` and ``overlay`` and of those of :func:`add_driver_arguments`.

    Without ``--driver`` the settings count that the recorder left in the folder of the bag (option ``bag``).

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    driver = options.driver or _kept_with(getattr(options, 'bag', None))
    machine = load_machine(options.machine, options.overlay, driver)
    return machine.on_topics(options.joint_topic, options.imu_topic)


def _kept_with(bag: str | None) -> Path | None:
    if not bag or not (kept := Path(bag) / COPY).is_file():
        return None
    print(f'driver: {kept}, kept with the recording (--driver standard: none)')
    return kept
