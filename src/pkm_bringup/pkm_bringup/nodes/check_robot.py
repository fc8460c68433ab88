"""Program and node ``check_robot``: what is wrong with the wiring of a robot, live or from a bag, and the remedy."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from pkm_description.errors import PkmError
from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_estimation.bags import BagError

from pkm_bringup.robot_check import check_robot
from pkm_bringup.robot_check.recorded import observe_bag
from pkm_bringup.robot_check.wiring import DURATION, tell

#: exit code if nothing could be listened to
NOT_LISTENED = 2


def main(args: Sequence[str] | None = None) -> int:
    """Run the program; returns 0 if all is well, 1 if something is wrong or suspicious, 2 if it could not listen."""
    arguments = list(sys.argv[1:] if args is None else args)
    own = arguments[: arguments.index('--ros-args')] if '--ros-args' in arguments else arguments
    options = _options(own)
    try:
        if options.bag is None:
            # rclpy is not needed for bags
            from pkm_bringup.ros.robot_listener import listen

            return listen(options, arguments[len(own) :])
        machine = machine_of_options(options)
        duration = options.duration or math.inf
        seen = observe_bag(options.bag, machine, options.namespace, options.begin, duration, options.reliability)
        return tell(check_robot(machine, seen), options.json, options.write_driver)
    except (PkmError, BagError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return NOT_LISTENED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='check_robot',
        description=(
            'Say what is wrong with the wiring of a robot, and the remedy for each. Listens to live topics, or reads a'
            ' bag.'
        ),
        epilog='exit code: 0 all is well, 1 something is wrong or suspicious, 2 nothing could be listened to',
    )
    parser.add_argument(
        'machine_name', nargs='?', metavar='MACHINE', help='name of a machine, or path of a machine file'
    )
    parser.add_argument('source', nargs='?', choices=('live',), help='live topics (the default without --bag)')
    parser.add_argument('--machine-file', help='path of a machine file; replaces the name')
    parser.add_argument('--overlay', type=Path, help='parameter overlay for the machine')
    add_driver_arguments(parser)
    parser.add_argument(
        '--bag', type=Path, help='folder or file of a recording; without it live topics are listened to'
    )
    parser.add_argument('--begin', type=float, default=0.0, help='of a bag: leave out what is before [s]')
    parser.add_argument(
        '--duration', type=float, help=f'message time to look at [s] (default: live {DURATION:g}, of a bag all)'
    )
    parser.add_argument('--namespace', default='', help='namespace of the topics')
    parser.add_argument(
        '--reliability', choices=('best_effort', 'reliable'), default='best_effort',
        help='of the subscriptions that the nodes will have (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the report for programs')
    parser.add_argument(
        '--write-driver', type=Path, metavar='FILE', help='write the proposed driver file; it must not exist'
    )
    return parser


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse, and check what argparse cannot; ``machine`` is the file if one is given, else the name."""
    parser = _parser()
    options = parser.parse_args(arguments)
    options.machine = options.machine_file or options.machine_name
    if options.bag is not None and options.machine is None:
        parser.error('name the machine: check_robot MACHINE --bag BAG')
    if options.bag is not None and options.source == 'live':
        parser.error('either live or --bag')
    if options.duration is not None and not options.duration > 0.0:
        parser.error(f'--duration {options.duration:g}: must be more than 0 s')
    return options


if __name__ == '__main__':
    sys.exit(main())
