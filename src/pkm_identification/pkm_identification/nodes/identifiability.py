"""Program ``identifiability MACHINE``: what a motion shows of a machine, before it is made."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pkm_description.errors import ArgumentError
from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import PROFILE_NAMES, profile
from pkm_description.motion.recorded_poses import RecordedPoses
from pkm_description.program import program
from pkm_description.report.words import text_table

from pkm_identification.identifiability.motion_value import MotionValue, motion_value, write_plot

#: Hz
RATE = 50.0


@program
def main(args: Sequence[str] | None = None) -> None:
    """Run the program; 1 for an error, which is printed."""
    options = _parser().parse_args(args)
    machine = machine_of_options(options)
    value = motion_value(machine, _motion(machine, options))
    print_value(value, options.locations)
    if options.output is not None:
        print(f'wrote {write_plot(value, options.output)}')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='identifiability',
        description='Which forces a motion makes (dominance and variation, Oh 2003, Eqs. 2.76 to 2.88), which base '
        'parameters it determines and how well, and how much the forces depend on locations (Eq. 2.89).',
    )
    parser.add_argument('machine', help='name or path of a machine file')
    parser.add_argument(
        '--motion', help=f'{", ".join(PROFILE_NAMES)}, or a CSV file of poses (default: fourier; with fewer than six '
        'degrees of freedom drives)',
    )  # fmt: skip
    parser.add_argument('--duration', type=float, default=30.0, help='of a named motion [s] (default: 30)')
    parser.add_argument('--seed', type=int, default=0, help='of a named motion (default: 0)')
    parser.add_argument('--rate', type=float, default=RATE, help=f'samples [Hz] (default: {RATE:g})')
    parser.add_argument('--locations', type=int, default=12, help='how many locations are listed (default: 12)')
    parser.add_argument('-o', '--output', type=Path, help='picture to write (.png, .svg, .pdf)')
    parser.add_argument('--overlay', type=Path, help='parameter overlay for the machine')
    add_driver_arguments(parser)
    return parser


def _motion(machine: Machine, options: argparse.Namespace) -> PlatformMotion:
    if not options.rate > 0.0:
        raise ArgumentError(f'rate = {options.rate:g}: must be above 0')
    name = options.motion or ('fourier' if machine.degrees_of_freedom == 6 else 'drives')
    if name in PROFILE_NAMES or not Path(name).suffix:
        try:
            return profile(name, machine, options.duration, options.rate, options.seed)
        except ValueError as error:
            raise ArgumentError(str(error)) from error
    return RecordedPoses.from_csv(name).sampled(options.rate)


def print_value(value: MotionValue, locations: int) -> None:
    """Tables of terms, parameters and locations."""
    dominance, variation = value.terms.dominance(), value.terms.variation()
    print('forces by their causes, % of the mean force')
    rows = [(name, f'{dominance[name]:.3g}', f'{variation[name]:.3g}') for name in dominance]
    print(text_table(('term', 'dominance', 'variation'), rows))
    open_ones = [one for one in value.parameters if np.isnan(one.std)]
    known = len(value.parameters) - len(open_ones)
    print(f'{known} base parameters are determined, {len(open_ones)} are not; condition {value.condition:.4g}')
    print(text_table(
        ('base parameter', 'value', 'std. dev.', '% of forces'),
        [
            (one.name, f'{one.value:.5g}', 'open' if np.isnan(one.std) else f'{one.std:.2g}', f'{one.share:.3g}')
            for one in value.parameters
        ],
    ))  # fmt: skip
    print('standard deviations by white noise of the efforts alone; a wrong model and wrong positions come on top')
    print('locations that matter most: change of the forces for 1 mm, and per cent per per cent (largest drive)')
    seen = sorted((one for one in value.locations if one.per_millimetre >= 0.0), key=lambda one: -one.per_millimetre)
    print(text_table(
        ('location', 'm', '% per mm', '% per %'),
        [
            (f'{one.place}, {one.axis}', f'{one.coordinate:.4g}', f'{one.per_millimetre:.3g}',
             f'{float(np.max(one.relative)):.3g}')
            for one in seen[:locations]
        ],
    ))  # fmt: skip
    impossible = sum(np.isnan(one.per_millimetre) for one in value.locations)
    if impossible:
        print(f'{impossible} coordinates cannot be shifted: the machine could not make this motion any more')


if __name__ == '__main__':
    sys.exit(main())
