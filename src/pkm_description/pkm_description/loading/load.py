"""Read a machine file into a :class:`Machine`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from pkm_description.errors import MachineFileError, UnknownMachineError
from pkm_description.loading.checks import check_machine, check_provenance
from pkm_description.loading.overlay import apply_overlay, blame_overlay
from pkm_description.loading.read_drive_forces import read_drive_weights
from pkm_description.loading.read_driver import driver_of
from pkm_description.loading.read_legs import read_legs
from pkm_description.loading.read_parts import read_platform
from pkm_description.loading.read_sensors import read_sensors
from pkm_description.loading.yaml_reader import Section, read_yaml
from pkm_description.machine import Machine

SCHEMA = 1


def config_directory() -> Path:
    """Folder of the machine files: of the installed package, or of the source tree."""
    try:
        from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

        try:
            return Path(get_package_share_directory('pkm_description')) / 'config'
        except (PackageNotFoundError, LookupError, OSError):  # OSError: no AMENT_PREFIX_PATH
            pass
    except ImportError:
        pass
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
    machine = unchecked_machine(path, content)
    check_provenance(path, content)
    check_machine(machine)
    own = driver_of(machine, content, driver)
    return machine if own is machine.driver else replace(machine, driver=own)


def machine_content(path: Path, overlay: str | Path | None = None) -> tuple[dict[str, Any], list[str]]:
    """Content of a machine file with the overlay's values, not checked, and the dotted keys of the overlay."""
    content = read_yaml(path)
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
    top = Section(path, '', content)
    # type: YAML's true equals 1
    if 'schema' in content and (content['schema'] != SCHEMA or type(content['schema']) is not int):
        raise top.error('schema', content['schema'], f'this version reads schema {SCHEMA}')
    needed = ['schema', 'name', 'description', 'gravity', 'legs']
    optional = ['sensors', 'servo', 'driver', 'provenance']
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
