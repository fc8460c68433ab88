"""Table of a fit of physical parameters: bounds, design value and estimate (Rosyid & El-Khasawneh 2020, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.report.words import text_table

from pkm_identification.estimator.constrained import FitResult, ForceFit

#: unit by the end of a name, of the usual parameters
UNITS = {
    'm': 'kg', 'mx': 'kg m', 'my': 'kg m', 'mz': 'kg m', 'Ixx': 'kg m^2', 'Ixy': 'kg m^2', 'Ixz': 'kg m^2',
    'Iyy': 'kg m^2', 'Iyz': 'kg m^2', 'Izz': 'kg m^2',
}  # fmt: skip

HEADER = ('parameter', 'unit', 'lower', 'upper', 'design', 'estimate', 'change', 'remark')


def fit_rows(fit: ForceFit, result: FitResult, units: Sequence[str] = ()) -> list[list[str]]:
    """One row per parameter, in the order of the fit; ``units`` of all of them, where those of bodies do not do."""
    rows = []
    for place, (name, value) in enumerate(zip(fit.names, result.values, strict=True)):
        remark = 'runs away' if name in result.runaways else 'at its bound' if name in result.at_bounds else ''
        start = float(fit.start[place])
        change = f'{100.0 * (float(value) / start - 1.0):+.1f} %' if start != 0.0 else ''
        unit = units[place] if units else UNITS.get(name.rpartition('.')[2], '')
        ends = [_number(float(end[place])) for end in (fit.lower, fit.upper)]
        rows.append([name, unit, *ends, _number(start), _number(float(value)), change, remark])
    return rows


def fit_table(fit: ForceFit, result: FitResult, units: Sequence[str] = ()) -> str:
    """Return the rows as an aligned table of text."""
    return text_table(HEADER, fit_rows(fit, result, units))


def _number(value: float) -> str:
    if np.isinf(value):
        return 'inf' if value > 0.0 else '-inf'
    return f'{value:.5g}'
