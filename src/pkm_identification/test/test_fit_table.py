"""The table of a fit: bounds, design values, estimates, and what stands at a bound or runs away."""

from __future__ import annotations

import numpy as np
from pkm_identification.estimator.constrained import ForceFit, bounded_least_squares
from pkm_identification.report.files import HEADER, fit_rows, fit_table


def test_rows_hold_what_was_fitted() -> None:
    truth = np.array([3.0, 0.5, 1e6])
    names = ('rod.m', 'rod.mx', 'joint.stribeck_velocity')
    fit = ForceFit(
        names, np.array([2.0, 0.25, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([2.5, 1.0, np.inf]),
        lambda x: x / truth - 1.0, lambda x: np.diag(1.0 / truth),
    )  # fmt: skip
    found = bounded_least_squares(fit)
    rows = fit_rows(fit, found, ('kg', 'kg m', 'm/s'))
    assert [row[0] for row in rows] == list(names)
    assert rows[0][1:] == ['kg', '1', '2.5', '2', '2.5', '+25.0 %', 'at its bound']
    assert rows[1][1:] == ['kg m', '0', '1', '0.25', '0.5', '+100.0 %', '']
    assert rows[2][2:4] == ['0', 'inf'] and rows[2][-1] == 'runs away'
    lines = fit_table(fit, found).splitlines()
    assert len(lines) == 5 and lines[0].split() == list(HEADER)
    assert 'kg m' in lines[3]
