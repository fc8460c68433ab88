"""Command ``./pkm pictures``: pictures and animation of the documentation, from real runs with fixed seeds."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pkm_description.errors import PkmError

Maker = Callable[[Path, argparse.Namespace], list[str]]


def _gallery(folder: Path, _options: argparse.Namespace) -> list[str]:
    from pictures.studio import gallery

    return gallery(folder / 'gallery.png')


def _estimation(folder: Path, _options: argparse.Namespace) -> list[str]:
    from pictures.results import estimate_against_baseline

    return estimate_against_baseline(folder / 'estimate_against_baseline.png')


def _identification(folder: Path, _options: argparse.Namespace) -> list[str]:
    from pictures.results import identification

    return identification(folder / 'identification.png')


def _animation(folder: Path, _options: argparse.Namespace) -> list[str]:
    from pictures.animation import animation

    return animation(folder / 'animation.webp')


def _live_page(folder: Path, _options: argparse.Namespace) -> list[str]:
    from pictures.live_page import live_page

    return live_page(folder / 'live_page.png', folder / 'live_page_fault.png')


def _demo(folder: Path, options: argparse.Namespace) -> list[str]:
    from pictures.results import demo_run

    if options.demo is None:
        return ['left out: give --demo DIRECTORY, that of a run of ./pkm demo output:=DIRECTORY']
    return demo_run(folder / 'demo.png', options.demo)


#: name -> what makes it and returns the caption; imported when it is made, each needs other libraries
PICTURES: dict[str, Maker] = {
    'gallery': _gallery,
    'estimate_against_baseline': _estimation,
    'identification': _identification,
    'animation': _animation,
    'live_page': _live_page,
    'demo': _demo,
}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog='./pkm pictures', description=__doc__)
    parser.add_argument('pictures', nargs='*', metavar='PICTURE', help=f'which (default: all): {", ".join(PICTURES)}')
    parser.add_argument('-o', '--output', type=Path, required=True, help='folder; pictures there are overwritten')
    parser.add_argument('--demo', type=Path, help='directory of a finished demo, for its picture')
    options = parser.parse_args(args)
    if unknown := sorted(set(options.pictures) - set(PICTURES)):
        parser.error(f'no picture {", ".join(unknown)}; there are {", ".join(PICTURES)}')
    os.environ.setdefault('MUJOCO_GL', 'egl')  # without a screen, before MuJoCo is imported
    for name in options.pictures or PICTURES:
        try:
            lines = PICTURES[name](options.output, options)
        except ImportError as error:
            lines = [f'left out: {error}; ./pkm test --yes installs what pictures need']
        except (PkmError, OSError) as error:
            print(f'error: {name}: {error}', file=sys.stderr)
            return 1
        print(f'{name}: ' + '\n  '.join(lines), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
