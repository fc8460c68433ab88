"""Command: make a machine file of a URDF with loops, an MJCF or an SDF, and compare both in MuJoCo.

URDF, xacro too: loops in a YAML file (closed_loop, type, name_mot) or as <constraint> elements. MJCF: equality connect
and weld. SDF: joints whose child has a parent already. What had to be assumed or is lost is said, and stands in the
file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pkm_description.importing.comparison import Figures, compared
from pkm_description.importing.graph import ImportMachineError
from pkm_description.importing.importer import Imported, imported
from pkm_description.importing.selection import Choice
from pkm_description.program import program
from pkm_description.writing import hand_out, require_new

#: share of the largest drive force by which machine and source may differ without a word, and at all
_SAME_FORCE, _OTHER_FORCE = 1e-6, 1e-2


@program
def main(arguments: Sequence[str] | None = None) -> None:
    """Import a machine."""
    options = _options(arguments)
    choice = Choice(options.platform, options.base, tuple(options.drives), tuple(options.hold))
    require_new(options.output, options.force)
    result = imported(options.file, options.loops, choice, options.keyframe)
    for note in result.mechanism.notes:
        print(f'- {note}', file=sys.stderr)
    if options.samples > 0:
        figures = compared(result, options.samples)
        print(figures if isinstance(figures, str) else figures.text, file=sys.stderr)
        if not isinstance(figures, str):
            require_same_forces(result, figures)
    hand_out(result.text, options.output, 'inspect_machine')


def require_same_forces(result: Imported, figures: Figures) -> None:
    """Say why drive forces differ from those of the source, if they do.

    Raises
    ------
    ImportMachineError
        They differ by more than 1 %.
    """
    if figures.force <= _SAME_FORCE:
        return
    raised = ', '.join(result.mechanism.raised)
    why = f'the inertia of {raised} had to be raised' if raised else 'no inertia was changed: check the source'
    reason = f'drive forces differ from those of the source by {100.0 * figures.force:.2g} %; {why}'
    if figures.force > _OTHER_FORCE:
        advice = 'Nothing is written; --samples 0 writes it all the same'
        raise ImportMachineError(f'{result.path.name}: {reason}. {advice}')
    print(f'warning: {reason}', file=sys.stderr)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='import_machine', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('file', type=Path, metavar='FILE', help='URDF, xacro, MJCF or SDF')
    parser.add_argument('-o', '--output', type=Path, help='machine file to write; standard output by default')
    parser.add_argument('--force', action='store_true', help='replace the output file if it exists')
    parser.add_argument(
        '--loops', type=Path, metavar='YAML', help='cut loops of a URDF; by default one of its folder, if there is one'
    )
    parser.add_argument(
        '--platform', default='', metavar='LINK', help='link that is the platform; by default a likely one'
    )
    parser.add_argument(
        '--base', default='', metavar='LINK', help='link that stands still; by default that of the file'
    )
    parser.add_argument(
        '--drives', nargs='+', default=[], metavar='JOINT', help='driven joints; by default those that the file drives'
    )
    parser.add_argument('--hold', nargs='+', default=[], metavar='JOINT', help='joints that are held where they are')
    parser.add_argument('--keyframe', metavar='NAME', help="of an MJCF, to start from; by default 'home'")
    parser.add_argument(
        '--samples', type=int, default=20, metavar='N',
        help='configurations and motions in which machine and source are compared; 0: none',
    )  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == '__main__':
    sys.exit(main())
