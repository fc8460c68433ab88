"""Command: write the machine file of a new machine, or solve the home pose of an existing one."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pkm_description.program import program
from pkm_description.skeleton import KINDS, Sizes, SkeletonError, skeleton_text, with_admissible_home
from pkm_description.writing import hand_out, require_new

_SIZES = [field.name for field in dataclasses.fields(Sizes)]


@program
def main(arguments: Sequence[str] | None = None) -> None:
    """Write a machine file."""
    options = _options(arguments)
    require_new(options.output, options.force)
    sizes = {name: getattr(options, name) for name in _SIZES if getattr(options, name) is not None}
    text = _solved(options) if options.source else skeleton_text(options.kind, options.name, sizes)
    hand_out(text, options.output, 'inspect_machine')


def _solved(options: argparse.Namespace) -> str:
    drives = None if options.drives is None else np.array(options.drives)
    try:
        text, home = with_admissible_home(options.source, options.height, drives)
    except ValueError as error:  # another number of drives than the machine has
        raise SkeletonError(str(error)) from None
    away = f'{home.distance:.4g} m and {np.degrees(home.angle):.4g} deg from the wished pose'
    print(f'home is {away}; drives at {home.joint_positions.tolist()}', file=sys.stderr)
    return text


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    kinds = '\n'.join(f'  {kind}  {what}' for kind, what in KINDS.items())
    parser = argparse.ArgumentParser(
        prog='new_machine', description=__doc__, epilog=f'kinds:\n{kinds}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument('--kind', choices=list(KINDS), metavar='KIND', help='kind of the machine, see below')
    what.add_argument(
        '--from', dest='source', type=Path, metavar='FILE', help='machine file whose home pose is solved'
    )
    parser.add_argument('-o', '--output', type=Path, help='file to write; standard output by default')
    parser.add_argument('--force', action='store_true', help='replace the output file if it exists')
    parser.add_argument('--name', help='name of the machine; by default my_KIND')
    sizes = parser.add_argument_group('lengths in m; the others are in proportion to the base radius')
    for name in _SIZES:
        sizes.add_argument(f'--{name.replace("_", "-")}', type=float, metavar='M')
    solved = parser.add_argument_group('with --from')
    solved.add_argument(
        '--drives', type=float, nargs='+', metavar='Q', help='drive positions at home, m or rad; also: --height'
    )
    options = parser.parse_args(arguments)
    if options.source:
        unused = [name for name in [*_SIZES, 'name'] if name != 'height' and getattr(options, name) is not None]
    else:
        unused = [] if options.drives is None else ['drives']
    if unused:
        parser.error(f'--{unused[0].replace("_", "-")} has no meaning with {"--from" if options.source else "--kind"}')
    return options
