"""Read which column of a CSV recording is what."""

from __future__ import annotations

from pkm_description.driver.csv_names import JOINT_FIELDS, NAMES
from pkm_description.loading.yaml_reader import Section


def read_columns(section: Section, names: tuple[str, ...]) -> dict[str, str]:
    """Read ``csv``: column of the file -> name that the suite knows (see the page on CSV recordings).

    Parameters
    ----------
    names : the driver's names of the joints

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    section.expect_keys(['columns'])
    columns = section.section('columns')
    targets: dict[str, str] = {}
    for column in columns.content:
        target = columns.text(column)
        name, _, part = target.rpartition('.')
        if target not in NAMES and (part not in JOINT_FIELDS or not name):
            raise columns.error(
                str(column), target,
                f'is no name that can be read: use time (s), time_ms, time_us or stamp (ns), {names[0]}.position, '
                f'{names[0]}.velocity, {names[0]}.effort, or imu.linear_acceleration.x and the like',
            )  # fmt: skip
        if target in targets.values():
            raise columns.error(str(column), target, 'two columns have this meaning; leave one out')
        targets[str(column)] = target
    return targets
