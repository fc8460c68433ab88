"""Program ``design_excitation``: a motion that an identification learns most from, inside all limits of a machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pkm_description.errors import PkmError
from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_description.settings import default_of

from pkm_identification.excitation.design import ExcitationDesign, design_excitation
from pkm_identification.excitation.export import RATE, write_all
from pkm_identification.excitation.objective import ExcitationSettings
from pkm_identification.excitation.search import dask_executor

#: settings that have an option of their own; all of them can stand in the file of --config
_OPTIONS = (
    'coordinates', 'objective', 'harmonics', 'base_frequency', 'periods', 'margin', 'friction', 'starts', 'seed',
)  # fmt: skip


def main(args: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, or 1 after an error."""
    options = _parser().parse_args(args)
    try:
        return _run(options)
    except (PkmError, OSError, ValueError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1


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


def _run(options: argparse.Namespace) -> int:
    machine = machine_of_options(options)
    settings = ExcitationSettings.from_file(options.config, 'excitation') if options.config else ExcitationSettings()
    given: dict[str, Any] = {name: getattr(options, name) for name in _OPTIONS if getattr(options, name) is not None}
    settings = replace(settings, **given)
    with dask_executor(options.dask) if options.dask else nullcontext(None) as executor:
        design = design_excitation(machine, settings, executor, options.workers, _progress)
    print_design(design)
    for path in write_all(design, options.output, options.rate):
        print(f'wrote {path}')
    return 0


def _progress(line: str) -> None:
    print(f'  {line}', flush=True)


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
