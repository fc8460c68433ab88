"""Program ``compare``: results of several identifications, or models of one machine over one recording, in a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations

from pkm_description.program import program
from pkm_description.report.words import text_table

from pkm_identification.compare import compared_on_other_data, parameter_differences, read_results, results_table
from pkm_identification.errors import RecordingError
from pkm_identification.nodes.recording_options import add_recording_options, read_inputs
from pkm_identification.validation.other_motions import ladder_table, model_ladder


@program
def main(args: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, or 1 after an error."""
    options = _parser().parse_args(args)
    if bool(options.results) == bool(options.bag):
        raise RecordingError('give folders of results, or --bag with --split or --validation; see --help')
    return _ladder(options) if options.bag else _results(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='compare',
        description='Compare results of identify by their held-out error and their parameters, or models of one '
        'machine over one recording: all base parameters, the significant ones, legs as drawn, friction only, nothing.',
    )
    parser.add_argument('results', nargs='*', help='folders that identify wrote')
    parser.add_argument('--differences', type=int, default=10, help='base parameters to list per pair (default: 10)')
    parser.add_argument('--bag', help='recording on which models are compared')
    add_recording_options(parser)
    return parser


def _results(options: argparse.Namespace) -> int:
    results = read_results(options.results)
    print(text_table(*results_table(results)))
    if text := compared_on_other_data(results):
        print(f'warning: {text}')
    for (first, one), (second, other) in combinations(results.items(), 2):
        found = parameter_differences(one, other)
        print(f'\n{first} and {second}: {len(found)} base parameters in common, the largest differences first')
        rows = [
            (row.name, f'{row.first:.5g}', f'{row.second:.5g}', f'{row.sigmas:.2f}')
            for row in found[: max(options.differences, 0)]
        ]
        if rows:
            print(text_table(('base parameter', first, second, 'in std. dev.'), rows))
    return 0


def _ladder(options: argparse.Namespace) -> int:
    machine, config, recording, validation = read_inputs(options)
    if validation is None:
        raise RecordingError('models are compared on data that were not fitted: give --validation, or two intervals')
    rungs = model_ladder(machine, recording, validation, config, progress=lambda line: print(f'  {line}', flush=True))
    print(text_table(*ladder_table(rungs)))
    print('errors below the force cut-off; real: whether a machine that can exist has such values')
    return 0


if __name__ == '__main__':
    sys.exit(main())
