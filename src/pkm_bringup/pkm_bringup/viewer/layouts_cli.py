"""Command ``write_layouts``: layouts of Foxglove and PlotJuggler for a machine, a driver and a namespace."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pkm_description.errors import PkmError
from pkm_description.loading import load_machine
from pkm_description.writing import make_folder, write_text

from pkm_bringup.viewer.layouts import foxglove_layout, plotjuggler_layout


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog='write_layouts', description=__doc__)
    parser.add_argument('machine', nargs='?', default='srs', help='name of a machine, or path of a machine file')
    parser.add_argument('-o', '--output', type=Path, required=True, help='folder; layouts there are overwritten')
    parser.add_argument('--driver', type=Path, help="settings file of the robot's driver: names of its joints")
    parser.add_argument('--namespace', default='', help='of the robot')
    parser.add_argument('--frame-prefix', default='', help="of the robot's frames")
    options = parser.parse_args(args)
    try:
        machine = load_machine(options.machine, driver=options.driver)
        names = machine.driver.joint_names or machine.actuated_joint_names
        make_folder(options.output)
        for name, content in (
            ('foxglove.json', foxglove_layout(machine.actuated_count, options.namespace, options.frame_prefix)),
            ('plotjuggler.xml', plotjuggler_layout(names, options.namespace)),
        ):
            write_text(options.output / name, content)
            print(options.output / name)
    except (PkmError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
