"""Constant normal load on the guides of planar machines by gravity (Rosyid & El-Khasawneh 2020)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array


def guide_loads(
    slider_mass: ArrayLike,
    leg_mass: ArrayLike,
    platform_mass: float,
    platform_shares: ArrayLike,
    gravity: float = 9.80665,
) -> Array:
    """Normal forces (L,) [N] of the guides of a machine that lies flat: ``(m_s + m_L + share m_p) g``.

    Rosyid & El-Khasawneh 2020, Eq. 39. How the guides share the platform's weight is statically indeterminate; the
    paper found (0.7, 0.2, 0.1) by trial.

    Parameters
    ----------
    slider_mass, leg_mass : kg, one value or (L,)
    platform_mass : kg
    platform_shares : (L,), each >= 0, sum 1
    gravity : m/s^2; the paper's figures are for 9.81

    Raises
    ------
    ValueError
        A share is negative or their sum is not 1.
    """
    shares = np.asarray(platform_shares, dtype=float)
    if shares.ndim != 1 or (shares < 0.0).any() or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(
            f'platform_shares = {shares.tolist()}, sum {shares.sum():.9g}: give one share >= 0 per guide, with sum 1'
        )
    return (np.asarray(slider_mass, dtype=float) + np.asarray(leg_mass, dtype=float) + shares * platform_mass) * gravity
