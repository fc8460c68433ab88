"""Estimates as files: everything as NPZ, the motion as CSV, summary and report as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pkm_description.errors import PkmError

from pkm_estimation.offline.result import EstimationResult

_CSV_COLUMNS = (
    ('position', ('x', 'y', 'z')),
    ('orientation', ('x', 'y', 'z', 'w')),
    ('linear_velocity', ('x', 'y', 'z')),
    ('angular_velocity', ('x', 'y', 'z')),
)


def write_result(result: EstimationResult, folder: Path, summary: str, report: str) -> list[Path]:
    """Write ``report.html``, ``estimate.npz``, ``estimate.csv`` and ``summary.txt``; returns their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {
            f'{prefix}{name}': value
            for prefix, part in (('', result.motion), ('baseline_', result.baseline), ('', result))
            for name, value in vars(part).items()
            if isinstance(value, np.ndarray)
        }
        np.savez_compressed(folder / 'estimate.npz', **arrays)
        names = ['stamp_ns'] + [f'{field}_{axis}' for field, axes in _CSV_COLUMNS for axis in axes] + ['nis']
        table = np.column_stack([*(getattr(result.motion, field) for field, _ in _CSV_COLUMNS), result.nis])
        with open(folder / 'estimate.csv', 'w', encoding='utf-8') as file:
            file.write(','.join(names) + '\n')
            for stamp, row in zip(result.motion.stamps, table, strict=True):
                file.write(f'{stamp},' + ','.join(repr(float(value)) for value in row) + '\n')
        (folder / 'summary.txt').write_text(summary + '\n', encoding='utf-8')
        (folder / 'report.html').write_text(report, encoding='utf-8')
    except OSError as error:
        raise PkmError(f'cannot write to {folder}: {error}') from None
    return [folder / name for name in ('report.html', 'estimate.npz', 'estimate.csv', 'summary.txt')]
