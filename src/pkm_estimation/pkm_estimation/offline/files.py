"""Estimates as files: everything as NPZ, motion and innovations as CSV, summary and report as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.writing import replacing_together

from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream.innovations import innovation_names, innovation_rows

_CSV_COLUMNS = (
    ('position', ('x', 'y', 'z')),
    ('orientation', ('x', 'y', 'z', 'w')),
    ('linear_velocity', ('x', 'y', 'z')),
    ('angular_velocity', ('x', 'y', 'z')),
)


def write_result(
    result: EstimationResult, folder: Path, summary: str, report: str, drives: Sequence[str]
) -> list[Path]:
    """Write report, arrays, motion, innovations and summary; returns their paths.

    Parameters
    ----------
    drives : names, in the order of the result's columns

    Raises
    ------
    UnwritableError
        The files of an earlier run stay as they were.
    """
    with replacing_together(folder) as beside:
        arrays: dict[str, Any] = {
            f'{prefix}{name}': value
            for prefix, part in (('', result.motion), ('baseline_', result.baseline), ('', result))
            for name, value in vars(part).items()
            if isinstance(value, np.ndarray)
        }
        np.savez_compressed(beside / 'estimate.npz', **arrays)
        names = ['stamp_ns'] + [f'{field}_{axis}' for field, axes in _CSV_COLUMNS for axis in axes] + ['nis']
        table = np.column_stack([*(getattr(result.motion, field) for field, _ in _CSV_COLUMNS), result.nis])
        _write_table(beside / 'estimate.csv', names, result.motion.stamps, table)
        rows = innovation_rows(result.innovation, result.innovation_std, result.nis)
        _write_table(beside / 'innovations.csv', ['stamp_ns', *innovation_names(drives)], result.motion.stamps, rows)
        (beside / 'summary.txt').write_text(summary + '\n', encoding='utf-8')
        (beside / 'report.html').write_text(report, encoding='utf-8')
    files = ('report.html', 'estimate.npz', 'estimate.csv', 'innovations.csv', 'summary.txt')
    return [folder / name for name in files]


def _write_table(path: Path, names: Sequence[str], stamps: NDArray[np.int64], table: Array) -> None:
    """Write a row of numbers for each stamp; their digits give the same doubles again."""
    with path.open('w', encoding='utf-8') as file:
        file.write(','.join(names) + '\n')
        for stamp, row in zip(stamps, table.tolist(), strict=True):
            file.write(f'{stamp},' + ','.join(map(repr, row)) + '\n')
