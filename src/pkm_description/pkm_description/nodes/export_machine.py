"""Command: write a machine as URDF or MJCF."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pkm_description.errors import PkmError
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.urdf import urdf_text
from pkm_description.machine import load_machine, machine_names


def main(arguments: Sequence[str] | None = None) -> int:
    """Export a machine; returns 0, or 1 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog='export_machine', description=__doc__)
    parser.add_argument('machine', help=f'machine file, or one of: {", ".join(machine_names())}')
    parser.add_argument('format', choices=['urdf', 'mjcf'])
    parser.add_argument('-o', '--output', type=Path, help='file to write; standard output by default')
    parser.add_argument('--overlay', help='parameter overlay')
    options = parser.parse_args(arguments)
    try:
        if options.format == 'mjcf':
            text = mjcf_text(load_machine(options.machine, options.overlay))
        else:
            text = urdf_text(options.machine, options.overlay)
        if options.output is None:
            sys.stdout.write(text)
        else:
            options.output.write_text(text, encoding='utf-8')
            print(f'{options.output} written')
    except (PkmError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    return 0
