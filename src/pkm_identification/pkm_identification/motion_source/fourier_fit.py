"""Least-squares fit of a finite Fourier series, and its analytic derivatives (Heimann & Abdellatif, Eq. 11)."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array


def fourier_basis(time: Array, base_frequency: float, harmonics: int, derivative: int = 0) -> Array:
    """Basis (N, 1 + 2 n): constant, then sine and cosine of each harmonic, or a derivative of all of them.

    ``base_frequency`` in Hz.
    """
    omega = 2.0 * np.pi * base_frequency * np.arange(1, harmonics + 1)
    # each derivative advances the phase by a quarter turn and multiplies by the frequency
    phase = time[:, None] * omega + 0.5 * np.pi * derivative
    waves = np.stack([np.sin(phase), np.cos(phase)], axis=-1) * (omega**derivative)[:, None]
    constant = np.full((len(time), 1), 1.0 if derivative == 0 else 0.0)
    return np.concatenate([constant, waves.reshape(len(time), -1)], axis=1)


def fourier_fit(
    time: Array, values: Array, base_frequency: float, harmonics: int, at: Array | None = None
) -> tuple[Array, Array, Array]:
    """Fit periodic samples (N, M) and return the fitted values and their first two derivatives, each (N, M).

    Parameters
    ----------
    time : (N,) s; whole periods give the best-conditioned fit
    base_frequency : Hz, of the excitation
    harmonics : number of harmonics; take more than were commanded, friction adds some
    at : (T,) s, times of the result; default: ``time``
    """
    basis = fourier_basis(time, base_frequency, harmonics)
    if len(time) < basis.shape[1]:
        raise ValueError(f'{len(time)} samples cannot determine {basis.shape[1]} Fourier coefficients')
    coefficients = np.linalg.lstsq(basis, values, rcond=None)[0]
    first, second = (
        fourier_basis(time if at is None else at, base_frequency, harmonics, order) @ coefficients for order in (1, 2)
    )
    return (basis if at is None else fourier_basis(at, base_frequency, harmonics)) @ coefficients, first, second
