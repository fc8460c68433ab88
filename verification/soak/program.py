"""Command: does the estimator survive random faults of legs, IMU, stamps and messages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pkm_description.errors import PkmError
from pkm_description.loading import load_machine

from verification.soak.fault_soak import soak


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what happened; returns 0 if no number was not finite and no covariance not positive definite, else 1."""
    parser = argparse.ArgumentParser(prog='soak_estimator', description=__doc__)
    parser.add_argument('--machine', default='srs', help='a hexapod: name or machine file (default: srs)')
    parser.add_argument('--steps', type=int, default=1_000_000, help='leg measurements (default: 1000000)')
    parser.add_argument('--seed', type=int, default=0, help='of the faults (default: 0)')
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error('needs at least one step')

    def progress(step: int) -> None:
        print(f'\r{100.0 * step / options.steps:.0f} %', end='', file=sys.stderr, flush=True)

    try:
        result = soak(load_machine(options.machine), options.steps, options.seed, progress=progress)
    except PkmError as error:
        print(f'soak_estimator: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
    print(file=sys.stderr)
    print('faults:', ', '.join(f'{name} {times}' for name, times in sorted(result.faults.items())))
    print('counters:', ', '.join(f'{name} {times}' for name, times in sorted(result.counters.items())))
    print(f'position error 2 s after a fault: rms {1e6 * result.typical_error:.3g} um, ', end='')
    print(f'largest {1e6 * result.largest_error:.3g} um')
    print(
        f'{result.steps} steps, {sum(result.faults.values())} faults, {result.outputs} estimates: '
        f'{result.not_finite} not finite, {result.not_positive} covariances not positive definite, no exception'
    )
    return 1 if result.not_finite or result.not_positive else 0


if __name__ == '__main__':
    sys.exit(main())
