"""Command: write the machine file of a new machine, or solve the home pose of an existing one."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pkm_description.errors import PkmError
from pkm_description.skeleton import KINDS, Sizes, SkeletonError, skeleton_text, with_admissible_home
from pkm_description.writing import write_text

_SIZES = [field.name for field in dataclasses.fields(Sizes)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a machine file; returns 0, or 1 with one line that says what is wrong."""
    options = _options(arguments)
    try:
        if options.output is not None and options.output.exists() and not options.force:
            raise SkeletonError(f'{options.output} exists; give another file, or --force to replace it')
        sizes = {name: getattr(options, name) for name in _SIZES if getattr(options, name) is not None}
        text = _solved(options) if options.source else skeleton_text(options.kind, options.name, sizes)
        if options.output is None:
            sys.stdout.write(text)
        else:
            write_text(options.output, text)
            print(f'{options.output} written; look at it with inspect_machine {options.output}', file=sys.stderr)
    except (PkmError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    return 0


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
