"""Command line: ``launch_runner PACKAGE FILE [name:=value ...]`` or ``launch_runner PATH [name:=value ...]``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == '__main__':
    # nothing is running yet: Ctrl-C while modules are imported needs no traceback (the runner takes over later)
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(0))
    # run as a directory: the package's parent has to be on the path
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from launch_runner.context import LaunchError


def provide_launch() -> None:
    """Put the look-alikes of launch and launch_ros on the path where the real ones are not installed."""
    try:
        from launch import LaunchDescription  # noqa: F401
        from launch_ros.actions import Node  # noqa: F401
    except ImportError:
        for name in [name for name in sys.modules if name.split('.')[0] in ('launch', 'launch_ros')]:
            del sys.modules[name]
        sys.path.insert(0, str(Path(__file__).resolve().parent / 'look_alikes'))
    else:
        raise LaunchError('launch and launch_ros are installed here; use ros2 launch')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a launch file; returns the exit code."""
    parser = argparse.ArgumentParser(prog='launch_runner', description='Run a Python launch file without ros2 launch.')
    parser.add_argument('words', nargs='+', metavar='PACKAGE FILE [name:=value ...]', help='or PATH [name:=value ...]')
    parser.add_argument('-n', '--dry-run', action='store_true', help='print the command lines and start nothing')
    parser.add_argument('-s', '--show-args', action='store_true', help='print the arguments of the launch file')
    options = parser.parse_args(arguments)
    try:
        provide_launch()
        return _launch(options.words, options.dry_run, options.show_args)
    except LaunchError as error:
        print(f'error: {error}', file=sys.stderr)
        return 1


def _launch(words: list[str], dry_run: bool, show_arguments: bool) -> int:
    # these need the look-alikes: launch files share their classes
    from launch_runner.runner import Runner, declared_arguments, load_description

    places = [word for word in words if ':=' not in word]
    given = dict(word.split(':=', 1) for word in words if ':=' in word)
    path = _find(places)
    if show_arguments:
        for argument in declared_arguments(load_description(path)):
            choices = f', one of {", ".join(argument.choices)}' if argument.choices else ''
            print(f"{argument.name}:={argument.default_value!r}{choices}\n    {argument.description or ''}")
        return 0
    return Runner(dry_run).run(path, given)


def _find(places: list[str]) -> Path:
    if len(places) == 1:
        return Path(places[0])
    if len(places) != 2:
        raise LaunchError(f'give a package and a launch file, or a path; got {places}')
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    package, name = places
    try:
        directory = Path(get_package_share_directory(package)) / 'launch'
    except PackageNotFoundError:
        raise LaunchError(f'package {package!r} is not installed') from None
    if not (directory / name).is_file():
        known = ', '.join(sorted(file.name for file in directory.glob('*.launch.py')))
        raise LaunchError(f'{package} has no launch file {name!r}; it has: {known or "none"}')
    return directory / name


if __name__ == '__main__':
    sys.exit(main())
