"""Command line: ``ros2_commands {topic,service,param,node,lifecycle} VERB ...``, with the words of ``ros2``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

INTERRUPTED = 128 + signal.SIGINT

if __name__ == '__main__':
    # nothing is under way yet: Ctrl-C while modules are imported needs no traceback
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
    # run as a directory: the package's parent has to be on the path
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import argparse  # noqa: E402

from ros2_commands.arguments import commands, parse  # noqa: E402
from ros2_commands.errors import CommandError  # noqa: E402


def answer(command: Callable[[], int | None]) -> int:
    """Exit code of a command; errors go to standard error as one line."""
    try:
        code = command()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # who read the output has seen enough; nothing is left to be flushed at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code or 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    options = parse(arguments)
    return answer(lambda: _run(options))


def _run(options: argparse.Namespace) -> int | None:
    # these import rclpy, which a wrong word on the command line need not wait for
    from ros2_commands.graph import Graph

    verb = commands()[options.command, options.verb]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Graph(options.spin_time) as graph:
        return verb(graph, options)


if __name__ == '__main__':
    sys.exit(main())
