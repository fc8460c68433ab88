"""Command: write a machine as URDF, MJCF (MuJoCo), SDF (Gazebo) or its inverse dynamics as C code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pkm_description.errors import PkmError
from pkm_description.export.c_code import c_text
from pkm_description.export.limits_of_formats import not_expressed
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.sdf import SdfOptions, sdf_text
from pkm_description.export.urdf import urdf_text
from pkm_description.loading import load_machine, machine_names

FORMATS = ['urdf', 'mjcf', 'sdf', 'c']


def main(arguments: Sequence[str] | None = None) -> int:
    """Export a machine; returns 0, or 1 with one line that says what is wrong."""
    options = _options(arguments)
    try:
        machine = load_machine(options.machine, options.overlay)
        if options.format == 'urdf':
            text = urdf_text(machine)
        elif options.format == 'mjcf':
            text = mjcf_text(machine)
        elif options.format == 'c':
            text = c_text(machine)
        else:
            text = sdf_text(machine, SdfOptions(options.loop, options.gazebo, options.drive, options.world))
        if options.output is None:
            sys.stdout.write(text)
        else:
            options.output.write_text(text, encoding='utf-8')
            print(f'{options.output} written')
    except (PkmError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    for lost in not_expressed(machine, options.format):
        print(f'warning: {machine.name}: {lost}', file=sys.stderr)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='export_machine', description=__doc__)
    parser.add_argument('machine', help=f'machine file, or one of: {", ".join(machine_names())}')
    parser.add_argument('place_format', nargs='?', choices=FORMATS, metavar='{urdf,mjcf,sdf,c}', help='what to write')
    parser.add_argument('--format', choices=FORMATS, help='the same, as an option')
    parser.add_argument('-o', '--output', type=Path, help='file to write; standard output by default')
    parser.add_argument('--overlay', help='parameter overlay')
    sdf = parser.add_argument_group('SDF')
    sdf.add_argument(
        '--loop', choices=['detachable', 'native'], default='detachable',
        help='how loops are closed: by detachable joints at start, or as joints (not supported by Gazebo yet)',
    )  # fmt: skip
    sdf.add_argument('--gazebo', choices=['fortress', 'harmonic'], default='harmonic', help='version of Gazebo')
    sdf.add_argument(
        '--drive', choices=['position', 'force'], default='position', help='commands that the driven joints take'
    )
    sdf.add_argument('--world', action='store_true', help='write a world with physics settings, not only the model')
    options = parser.parse_args(arguments)
    if options.format is None:
        options.format = options.place_format
    elif options.place_format not in (None, options.format):
        parser.error(f'format is given twice: {options.place_format} and {options.format}')
    if options.format is None:
        parser.error(f'give a format: {", ".join(FORMATS)}')
    return options
