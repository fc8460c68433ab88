"""Program ``design_excitation``: a motion that an identification learns most from, inside all limits of a machine.

Its files: CSV of poses and of drives, a trajectory message as YAML, a bag, a picture, and the design itself.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_description.motion.recorded_poses import QUATERNION_COLUMNS
from pkm_description.program import program
from pkm_description.settings import default_of
from pkm_description.writing import replacing, replacing_together, write_text

from pkm_identification.excitation.design import ExcitationDesign, design_excitation
from pkm_identification.excitation.objective import ExcitationSettings
from pkm_identification.excitation.search import dask_executor

#: settings that have an option of their own; all of them can stand in the file of --config
_OPTIONS = (
    'coordinates', 'objective', 'harmonics', 'base_frequency', 'periods', 'margin', 'friction', 'starts', 'seed',
)  # fmt: skip

#: Hz of the exported files unless another rate is asked for: that of a controller's set-points
RATE = 100.0

#: topic and type of a reference, which the leg controller follows
REFERENCE_TOPIC, REFERENCE_TYPE = 'platform/reference', 'trajectory_msgs/msg/MultiDOFJointTrajectory'


def write_poses(design: ExcitationDesign, path: Path, rate: float = RATE) -> Path:
    """CSV of time, position and quaternion, which the motion player takes as ``motion_file``."""
    motion = design.sampled(rate)
    rows = np.column_stack([motion.time, motion.position, quaternion_from_matrix(motion.rotation_base_platform)])
    return _write_csv(path, QUATERNION_COLUMNS, rows)


def write_drives(design: ExcitationDesign, path: Path, rate: float = RATE) -> Path:
    """CSV of the drives' set-points: positions, velocities, accelerations, and forces of the nominal machine."""
    time, *values = design.drive_values(design.sampled(rate))
    names = [
        f'{joint}.{quantity}'
        for quantity in ('position', 'velocity', 'acceleration', 'force')
        for joint in design.machine.actuated_joint_names
    ]
    return _write_csv(path, ('time', *names), np.column_stack([time, *values]))


def write_trajectory(design: ExcitationDesign, path: Path, rate: float = RATE) -> Path:
    """YAML of a ``trajectory_msgs/MultiDOFJointTrajectory``, as ``topic pub`` takes it; stamp 0 starts at once."""
    message = asdict(_reference(design, rate))
    write_text(path, yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=200))
    return path


def write_bag(design: ExcitationDesign, path: Path, rate: float = RATE) -> Path:
    """Bag (MCAP) with the reference as one message, and the set-points of the drives as joint states.

    Raises
    ------
    BagError
        The folder exists already.
    """
    from pkm_estimation.bags import BagWriter
    from pkm_estimation.bags.decoding import TYPESTORE

    time, positions, velocities, _, forces = design.drive_values(design.sampled(rate))
    stamps = np.round(time * 1e9).astype(np.int64)
    with BagWriter(path) as writer:
        writer.add_topic(f'/{REFERENCE_TOPIC}', REFERENCE_TYPE)
        message = TYPESTORE.serialize_cdr(_reference(design, rate), REFERENCE_TYPE)
        writer.write(f'/{REFERENCE_TOPIC}', 0, bytes(message))
        writer.write_joint_states(
            stamps, design.machine.actuated_joint_names, positions, velocities, forces, 'excitation/joint_setpoints'
        )
    return path


def write_design(design: ExcitationDesign, path: Path) -> Path:
    """YAML of the result: settings, coefficients, objective, margins; enough to make the motion again."""
    series, settings = design.series, design.settings
    content = {
        'machine': design.machine.name,
        'summary': design.summary,
        'objective': {
            settings.objective: _number(design.objective), 'start': _number(design.start_objective),
            'best_random': _number(design.random_objective), 'random_series': design.random_count,
            **{name: _number(value) for name, value in design.measures.items()},
        },
        'series': {
            'coordinates': list(design.coordinates.names), 'units': list(design.coordinates.units),
            'base_frequency': _number(series.base_frequency), 'periods': series.periods,
            'fade_in': _number(series.fade_in), 'fade_out': _number(series.fade_out),
            'offset': (np.zeros(len(series.sine)) if series.offset is None else series.offset).tolist(),
            'sine': series.sine.tolist(), 'cosine': series.cosine.tolist(),
        },
        'limits': [{'limit': one.limit, 'of': one.name, 'use': _number(one.use)} for one in design.margins],
        'base_parameters': list(design.base.names),
        'settings': settings.mapping(),
    }  # fmt: skip
    write_text(path, yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=200))
    return path


def write_all(design: ExcitationDesign, folder: str | Path, rate: float = RATE) -> list[Path]:
    """Write every file into a folder, which is made; an existing bag in it is an error, other files are replaced.

    Raises
    ------
    ArgumentError
        A bag of an earlier design stands there.
    UnwritableError
        A file cannot be written; those of an earlier design stay as they were.
    """
    from pkm_identification.excitation.plots import write_plot

    folder = Path(folder)
    bag = folder / 'excitation_bag'
    if bag.exists():
        raise ArgumentError(f'{bag} exists already and is not overwritten; choose another output or move it away')
    with replacing_together(folder) as beside:
        written = [
            write_design(design, beside / 'excitation.yaml'),
            write_poses(design, beside / 'excitation_poses.csv', rate),
            write_drives(design, beside / 'excitation_drives.csv', rate),
            write_trajectory(design, beside / 'excitation_trajectory.yaml', rate),
            write_bag(design, beside / bag.name, rate),
            write_plot(design, beside / 'excitation.png'),
        ]
    return [folder / path.name for path in written]


def _reference(design: ExcitationDesign, rate: float) -> Any:
    """The whole motion as one message; ``base_link`` axes, accelerations included."""
    from pkm_estimation.bags.decoding import TYPESTORE

    header, reference, point = (TYPESTORE.types[name] for name in (
        'std_msgs/msg/Header', REFERENCE_TYPE, 'trajectory_msgs/msg/MultiDOFJointTrajectoryPoint',
    ))  # fmt: skip
    vector, turn, transform, twist = (
        TYPESTORE.types[f'geometry_msgs/msg/{name}'] for name in ('Vector3', 'Quaternion', 'Transform', 'Twist')
    )
    time, duration = (TYPESTORE.types[f'builtin_interfaces/msg/{name}'] for name in ('Time', 'Duration'))
    motion = design.sampled(rate)
    turns = quaternion_from_matrix(motion.rotation_base_platform)
    points = []
    for row, now in enumerate(motion.time):
        place, *rates = (vector(*values[row].tolist()) for values in (
            motion.position, motion.linear_velocity, motion.angular_velocity, motion.linear_acceleration,
            motion.angular_acceleration,
        ))  # fmt: skip
        since = duration(*divmod(round(float(now) * 1e9), 10**9))
        points.append(
            point([transform(place, turn(*turns[row].tolist()))], [twist(*rates[:2])], [twist(*rates[2:])], since)
        )
    return reference(header(time(0, 0), 'base_link'), [design.machine.platform.name], points)


def _write_csv(path: Path, names: Sequence[str], rows: Array) -> Path:
    with replacing(path) as beside:
        np.savetxt(beside, rows, fmt='%.12g', delimiter=',', header=','.join(names), comments='')
    return path


def _number(value: float) -> float:
    return float(f'{value:.12g}')


@program
def main(args: Sequence[str] | None = None) -> None:
    """Run the program; returns 0, or 1 after an error."""
    options = _parser().parse_args(args)
    machine = machine_of_options(options)
    settings = ExcitationSettings.from_file(options.config, 'excitation') if options.config else ExcitationSettings()
    given: dict[str, Any] = {name: getattr(options, name) for name in _OPTIONS if getattr(options, name) is not None}
    settings = replace(settings, **given)
    with dask_executor(options.dask) if options.dask else nullcontext(None) as executor:
        design = design_excitation(
            machine, settings, executor, options.workers, lambda line: print(f'  {line}', flush=True)
        )
    print_design(design)
    for path in write_all(design, options.output, options.rate):
        print(f'wrote {path}')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='design_excitation',
        description='Design a periodic motion for identification: the best conditioned one inside all limits of the '
        'machine. Writes the motion as CSV, trajectory message and bag, and a picture.',
    )
    parser.add_argument(
        '-o', '--output', type=Path, default=Path('excitation'), help='folder to write (default: ./excitation)'
    )
    parser.add_argument('--machine', default='srs', help='name or path of a machine file (default: srs)')
    parser.add_argument('--overlay', type=Path, help='parameter overlay for the machine')
    add_driver_arguments(parser)
    parser.add_argument('--config', type=Path, help='settings: a YAML file of names and values')
    settings = parser.add_argument_group('settings', 'more of them in the file of --config')
    for entry in fields(ExcitationSettings):
        if entry.name in _OPTIONS:
            default = default_of(entry)
            settings.add_argument(
                f'--{entry.name.replace("_", "-")}', type=type(default), choices=entry.metadata['choices'] or None,
                help=f'{entry.metadata["description"]} (default: {default})'.replace('%', '%%'),
            )  # fmt: skip
    parser.add_argument('--rate', type=float, default=RATE, help=f'of the files [Hz] (default: {RATE:g})')
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        '--workers', type=int, default=os.cpu_count() or 1, help='processes for the starts (default: all processors)'
    )
    where.add_argument('--dask', metavar='ADDRESS', help='run the starts in the Dask cluster of this scheduler')
    return parser


def print_design(design: ExcitationDesign) -> None:
    """Condition numbers, and the most used limit of each kind."""
    for name, value in design.measures.items():
        print(f'{name:<40s} {value:12.5g}')
    for limit in dict.fromkeys(one.limit for one in design.margins):
        worst = max((one for one in design.margins if one.limit == limit), key=lambda one: one.use)
        print(f'{limit + " limit, used by " + worst.name:<55s} {worst.use:7.1%}')
    print(design.summary)


if __name__ == '__main__':
    sys.exit(main())
