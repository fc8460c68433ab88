"""Command: print a summary of a machine: geometry, masses, limits, workspace, base parameters."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pkm_description.inspection.describe import base_parameter_lines, describe
from pkm_description.loading import machine_file, machine_names
from pkm_description.loading.load import add_driver_arguments, machine_content, machine_of_options
from pkm_description.program import program


@program
def main(arguments: Sequence[str] | None = None) -> None:
    """Print a machine."""
    parser = argparse.ArgumentParser(prog='inspect_machine', description=__doc__)
    parser.add_argument('machine', help=f'machine file, or one of: {", ".join(machine_names())}')
    parser.add_argument('--overlay', help='parameter overlay')
    add_driver_arguments(parser)
    parser.add_argument('--base-parameters', action='store_true', help='list the base parameters with their values')
    options = parser.parse_args(arguments)
    machine = machine_of_options(options)
    content, _ = machine_content(machine_file(options.machine), options.overlay)
    lines = base_parameter_lines(machine) if options.base_parameters else describe(machine, content)
    print('\n'.join(lines))
