"""Command: write a machine as URDF, MJCF (MuJoCo), SDF (Gazebo), C code (inverse dynamics), or for ros2_control.

Format gazebo writes world, model and the configuration of ros_gz_bridge into a directory; format urdf_loops a URDF tree
and a YAML file with its cut loops. Format urdf_constraints is a URDF with <constraint> elements.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError, KinematicsError
from pkm_description.export.gazebo_files import write_gazebo_files
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.ros2_control import (
    HARDWARE,
    ControlOptions,
    controllers_text,
    initial_values_text,
    mujoco_pids_text,
    read_hardware_parameters,
)
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import DRIVES, VERSIONS, WORLD, SdfOptions
from pkm_description.export.texts import not_expressed
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import urdf_with_constraints, write_urdf_with_loops
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine import Machine
from pkm_description.program import program
from pkm_description.viewing.coupled_pose import COORDINATES
from pkm_description.writing import write_text

FORMATS = ['urdf', 'mjcf', 'sdf', 'c', 'gazebo', 'urdf_loops', 'urdf_constraints']
#: parameter files that ros2_control reads
CONTROL_FILES = ['controllers', 'mujoco_pids', 'initial_values']


@program
def main(arguments: Sequence[str] | None = None) -> None:
    """Export a machine."""
    options = _options(arguments)
    machine = load_machine(options.machine, options.overlay)
    written: Sequence[Path] = ()
    if options.format == 'gazebo':
        directory = options.output or Path(f'{options.model_name or machine.name}_gazebo')
        written = write_gazebo_files(machine, sdf_options(options), directory)
    elif options.format == 'urdf_loops':
        written = write_urdf_with_loops(machine, options.output or Path(f'{machine.name}_urdf_loops'))
    elif options.output is None:
        sys.stdout.write(_text(machine, options))
    else:
        written = [write_text(options.output, _text(machine, options))]
    for path in written:
        print(f'{path} written')
    if options.format in FORMATS:
        for lost in not_expressed(machine, options.format):
            print(f'warning: {machine.name}: {lost}', file=sys.stderr)


def _text(machine: Machine, options: argparse.Namespace) -> str:
    """What was asked for."""
    match options.format:
        case 'mjcf':
            return mjcf_text(machine)
        case 'c':
            return c_text(machine)
        case 'sdf':
            return sdf_text(machine, sdf_options(options))
        case 'urdf_constraints':
            return urdf_with_constraints(machine)
        case 'mujoco_pids':
            return mujoco_pids_text(machine)
        case 'initial_values':
            return initial_values_text(machine)
    control = None
    if options.hardware != 'none':
        parameters = read_hardware_parameters(options.hardware_parameters)
        control = ControlOptions(options.hardware, options.plugin, parameters, options.gazebo)
    if options.format == 'urdf':
        return urdf_text(machine, control)
    if control is None:
        raise ConfigurationError(f'controllers depend on the hardware: give --hardware {"|".join(HARDWARE)}')
    return controllers_text(machine, control, options.update_rate)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='export_machine', description=__doc__)
    parser.add_argument('machine', help=f'machine file, or one of: {", ".join(machine_names())}')
    formats = [*FORMATS, *CONTROL_FILES]
    parser.add_argument(
        'place_format', nargs='?', choices=formats, metavar='{' + ','.join(formats) + '}', help='what to write'
    )
    parser.add_argument('--format', choices=formats, help='the same, as an option')
    parser.add_argument(
        '-o', '--output', type=Path,
        help='file to write, standard output by default; of gazebo and urdf_loops a directory',
    )
    parser.add_argument('--overlay', help='parameter overlay')
    add_sdf_arguments(parser.add_argument_group('SDF and Gazebo'))
    control = parser.add_argument_group('ros2_control (URDF and controllers)')
    control.add_argument(
        '--hardware', choices=['none', *HARDWARE], default='none', help='what drives the machine; none: no such block'
    )
    control.add_argument('--plugin', default='', help='class of the hardware interface; needed for real hardware')
    control.add_argument(
        '--hardware-parameters', default='', metavar='"NAME=VALUE ..."', help='of the plugin; or a YAML file'
    )
    control.add_argument('--update-rate', type=int, metavar='HZ', help='default: the rate of the leg sensors')
    options = parser.parse_args(arguments)
    if options.format is None:
        options.format = options.place_format
    elif options.place_format not in (None, options.format):
        parser.error(f'format is given twice: {options.place_format} and {options.format}')
    if options.format is None:
        parser.error(f'give a format: {", ".join(FORMATS)}')
    return options


def add_sdf_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare them."""
    group.add_argument(
        '--loop', choices=['detachable', 'native'], default='detachable',
        help='how loops are closed: by detachable joints at start, or as joints (not supported by Gazebo yet)',
    )  # fmt: skip
    group.add_argument('--gazebo', choices=list(VERSIONS), default='harmonic', help='release of Gazebo')
    group.add_argument('--drive', choices=DRIVES, default='position', help='commands that the driven joints take')
    group.add_argument('--world', action='store_true', help='write a world with physics settings, not only the model')
    group.add_argument('--world-name', default=WORLD, metavar='NAME', help='of the world')
    group.add_argument('--model-name', default='', metavar='NAME', help="of the model; the machine's by default")
    group.add_argument('--time-step', type=_positive, default=0.001, metavar='S', help='of the physics, s')
    for name in COORDINATES:
        unit = 'm' if name in 'xyz' else 'rad'
        group.add_argument(f'--{name}', type=float, default=0.0, help=f'start of the platform, from home, {unit}')
    group.add_argument(
        '--base-pose', type=float, nargs=6, default=(0.0,) * 6, metavar=tuple(name.upper() for name in COORDINATES),
        help='place of base_link in the world, m and rad',
    )  # fmt: skip
    group.add_argument('--frame-prefix', default='', metavar='TEXT', help="goes before the IMU's frame")
    group.add_argument('--namespace', default='', help='of the controller manager, with --drive ros2_control')
    group.add_argument('--controllers', default='', metavar='YAML', help="the controller manager's parameters")


def sdf_options(options: argparse.Namespace) -> SdfOptions:
    """Options of the exporter from those of the command."""
    names = {field.name for field in dataclasses.fields(SdfOptions)} - {'start'}
    given = {name: getattr(options, name) for name in names} | {'base_pose': tuple(options.base_pose)}
    return SdfOptions(**given, start={name: getattr(options, name) for name in COORDINATES})


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < float('inf'):
        raise argparse.ArgumentTypeError(f'{text}: a positive number is needed')
    return value


def c_text(machine: Machine) -> str:
    """C99 source with ``int NAME_inverse_dynamics(...)``; its comment says what goes in and what comes out.

    Friction is viscous plus Coulomb; for joints with another law the nearest such pair, as in MJCF.

    Raises
    ------
    KinematicsError
        For other machines than hexapods of universal joint and strut on a ball joint.
    """
    if machine.leg_count != 6 or not machine.has_platform or not machine.model.closed_form.all():
        kinds = {' - '.join(joint.kind for joint in leg.joints) for leg in machine.legs}
        raise KinematicsError(
            f'{machine.name}: C code is written for six legs of universal joint and strut on a ball joint; '
            f'this machine has {machine.leg_count} of {" and ".join(sorted(kinds))}'
        )
    template = resources.files('pkm_description.export').joinpath('inverse_dynamics.c.in').read_text(encoding='utf-8')
    replacements = {
        '@NAME@': machine.name,
        '@TABLES@': '\n'.join(_tables(machine)),
        '@LEGS@': str(machine.leg_count),
    }
    for mark, text in replacements.items():
        template = template.replace(mark, text)
    return template


def _tables(machine: Machine) -> list[str]:
    """Every number of the machine as C constants."""
    model, legs = machine.model, machine.leg_count

    def by_leg(values: Array) -> Array:
        return values.reshape(legs, 3, *values.shape[1:])

    crossed = np.cross(np.eye(3), model.axis[:, None])  # rows: e_i x axis, the matrices of the cross products
    sine = model.rotation @ crossed
    tables = {
        'GRAVITY': machine.gravity,
        'BASE_POINT': model.translation[::3],
        'PLATFORM_POINT': model.closure_other_point,
        # columns of the basis as rows: coordinates of a vector are scalar products with them
        'LEG_BASIS': np.swapaxes(model.universal_basis, 1, 2),
        'LEG_SIDE': model.universal_side,
        'LEG_ANGLE_AT_ZERO': model.universal_angle,
        'LENGTH_AT_ZERO': model.strut_length,
        'TIP': model.closure_point,
        'TRANSLATION': by_leg(model.translation),
        'AXIS_IN_PARENT': by_leg((model.rotation @ model.axis[..., None])[..., 0]),
        # a revolute turned by q has the rotation TURN + sin(q) TURN_SINE + (1 - cos(q)) TURN_VERSINE
        'TURN': by_leg(model.rotation),
        'TURN_SINE': by_leg(sine),
        'TURN_VERSINE': by_leg(sine @ crossed),
        'LEG_BODY': by_leg(model.parameters[:-1]),
        'PLATFORM_BODY': model.parameters[-1],
        'ROTOR': by_leg(machine.rotor_inertia),
        'VISCOUS': by_leg(machine.viscous),
        'COULOMB': by_leg(machine.coulomb),
    }
    sizes = {name: ''.join(f'[{size}]' for size in np.shape(values)) for name, values in tables.items()}
    return [
        f'static const double {name}{sizes[name]} = {_braces(np.asarray(values, dtype=float))};'
        for name, values in tables.items()
    ]


def _braces(values: Array) -> str:
    """Nested initialiser; ``repr`` of a float reads back exactly."""
    if values.ndim == 1:
        return '{' + ', '.join(repr(float(value)) for value in values) + '}'
    return '{' + ',\n    '.join(_braces(row) for row in values) + '}'
