"""Run the benchmarks of benchmarks/bench_*.py: all, or those named, e.g. ``run_benchmarks.py ukf``.

One alone takes options of its own: ``run_benchmarks.py online_node --estimator ukf``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'benchmarks'


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Return 0 if every benchmark ran and met its target."""
    files = {file.stem.removeprefix('bench_'): file for file in sorted(FOLDER.glob('bench_*.py'))}
    first = next((place for place, one in enumerate(arguments) if one.startswith('-')), len(arguments))
    names, options = arguments[:first], arguments[first:]
    unknown = [name for name in names if name not in files]
    if unknown:
        print(f'no benchmark {", ".join(unknown)}; there are: {", ".join(files)}', file=sys.stderr)
        return 2
    if options and len(names) != 1:
        print(f'options ({" ".join(options)}) need the name of one benchmark before them', file=sys.stderr)
        return 2
    failed = []
    # peers from verification/ and helpers that start nodes are not installed
    helpers = ROOT / 'src' / 'pkm_description' / 'test'
    path = [str(ROOT), str(helpers), *filter(None, [os.environ.get('PYTHONPATH')])]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(path)}
    for name in names or files:
        print(f'--- {name}', flush=True)
        if subprocess.run([sys.executable, str(files[name]), *options], env=environment, check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f'failed or below target: {", ".join(failed)}', file=sys.stderr)
    return int(bool(failed))


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
