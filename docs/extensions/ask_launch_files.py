"""Print as JSON the arguments of every launch file."""

from __future__ import annotations

import json
import sys
from typing import Any

from suite_contents import ROOT, launch_files

# the look-alikes of tools/launch_runner also where launch is installed: theirs can be asked for texts
sys.path.insert(0, str(ROOT / 'tools' / 'launch_runner' / 'look_alikes'))

from launch_runner.runner import declared_arguments, load_description
from launch_runner.substitutions import FindPackageShare, PathJoinSubstitution, Substitution, TextSubstitution


def main() -> int:
    """Ask all launch files."""
    print(json.dumps([_answer(package, path) for package, path in launch_files()]))
    return 0


def _answer(package: str, path: Any) -> dict[str, Any]:
    description = load_description(path)
    first_line = next(line for line in path.read_text(encoding='utf-8').splitlines() if line.startswith('"""'))
    return {
        'package': package,
        'file': path.name,
        'doc': first_line.strip('"'),
        'arguments': [
            {
                'name': argument.name,
                'default': _text(argument.default_value),
                'choices': list(argument.choices or []),
                'description': argument.description or '',
            }
            for argument in declared_arguments(description)
        ],
    }


def _text(value: Any) -> str:
    if value is None:
        return '(needed)'
    if isinstance(value, TextSubstitution):
        return value.text
    if isinstance(value, PathJoinSubstitution):
        return '/'.join(_text(part) for part in value.substitutions)
    if isinstance(value, FindPackageShare):
        return _text(value.package)
    if isinstance(value, list | tuple):
        return ''.join(_text(part) for part in value)
    if isinstance(value, Substitution):
        return f'({type(value).__name__})'
    return str(value)


if __name__ == '__main__':
    sys.exit(main())
