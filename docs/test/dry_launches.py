"""Check launch commands by dry runs, all in one process; argument: JSON list of package, file and arguments of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / 'tools'))

from launch_runner.__main__ import provide_launch


def main() -> int:
    """Return 1 if a command was refused."""
    provide_launch()
    from launch_runner.__main__ import _launch

    codes = []
    for words in json.loads(sys.argv[1]):
        print('---', *words, flush=True)
        codes.append(_launch(words, True, False))
    return int(any(codes))


if __name__ == '__main__':
    sys.exit(main())
