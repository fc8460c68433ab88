"""Overlapping Allan deviation and noise coefficients (IEEE Std 952-1997, Annex C)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi, sqrt
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.report.page import AXIS_COLOURS, STYLE
from pkm_description.writing import replacing
from scipy.optimize import nnls
from scipy.special import chdtri

_SENSORS = (('accelerometer', 'm/s^2'), ('gyroscope', 'rad/s'))
#: Allan deviation of flicker noise over its bias instability
FLICKER = sqrt(2.0 * log(2.0) / pi)
#: coefficients below so many of their standard deviations count as not seen
_SEEN = 3.0
#: fewest samples that can tell white noise, flicker and random walk apart
LEAST_SAMPLES = 16
#: times that the fit is weighted anew
_ITERATIONS = 3
#: fewest degrees of freedom of a point that is used: fewer say nothing
_LEAST_FREEDOMS = 3.0


@dataclass(frozen=True)
class AllanDeviation:
    """Allan deviations of C channels at T averaging times.

    Attributes
    ----------
    tau : (T,) s, octaves of the sampling interval
    deviation : (T, C)
    degrees_of_freedom : (T,) equivalent degrees of freedom (for white noise)
    """

    tau: Array
    deviation: Array
    degrees_of_freedom: Array

    def interval(self, part: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper bound (T, C) each, of the true deviation with this confidence."""
        tail = 0.5 * (1.0 - part)
        dof = self.degrees_of_freedom
        factors = [np.sqrt(dof / chdtri(dof, side)) for side in (tail, 1.0 - tail)]
        return self.deviation * factors[0][:, None], self.deviation * factors[1][:, None]


@dataclass(frozen=True)
class AllanCoefficients:
    """Noise coefficients of C channels in the unit u of the channel.

    Attributes
    ----------
    white : (C,) u/sqrt(Hz), velocity or angle random walk
    bias_instability : (C,) u, lowest point of the curve over 0.664
    instability_time : (C,) s, where that point lies
    at_the_end : (C,) True where it is the last point: the curve still falls, the bias instability is at most this
    random_walk : (C,) u/sqrt(s), of the bias
    random_walk_bound : (C,) upper bound (95 %), as if all of the last octave were random walk
    random_walk_seen : (C,) False where the random walk is not significant
    """

    white: Array
    bias_instability: Array
    instability_time: Array
    at_the_end: NDArray[np.bool_]
    random_walk: Array
    random_walk_bound: Array
    random_walk_seen: NDArray[np.bool_]

    def variance(self, tau: Array, channel: int) -> Array:
        """White noise and random walk (T,) of a channel at averaging times (T,) s."""
        variance: Array = self.white[channel] ** 2 / tau + self.random_walk[channel] ** 2 * tau / 3.0
        return variance


def overlapping_allan_deviation(values: Array, interval: float) -> AllanDeviation:
    """Allan deviation of equidistant samples (N, C), ``interval`` s apart.

    Averages over m samples start at every sample: with x the running sum,
    ``sum (x[k+2m] - 2 x[k+m] + x[k])^2 / (2 m^2 (N - 2m + 1))``. The degrees of freedom are those of white noise
    (Howe, Allan and Barnes 1981).
    """
    if len(values) < LEAST_SAMPLES:
        raise ValueError(f'{len(values)} samples are too few for an Allan deviation')
    # less the mean: the running sum keeps its digits, and differences do not see it
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values - values.mean(axis=0), axis=0)])
    points = len(total)
    sizes, deviations, degrees_of_freedom = [], [], []
    m = 1
    while 2 * m < points:
        freedom = (1.5 * (points - 1) / m - 2.0 * (points - 2) / points) * 4.0 * m**2 / (4.0 * m**2 + 5.0)
        if freedom < _LEAST_FREEDOMS:
            break
        second = total[2 * m :] - 2.0 * total[m:-m] + total[: -2 * m]
        deviations.append(np.sqrt(np.mean(second**2, axis=0) / 2.0) / m)
        sizes.append(m)
        degrees_of_freedom.append(freedom)
        m *= 2
    return AllanDeviation(interval * np.array(sizes, dtype=float), np.array(deviations), np.array(degrees_of_freedom))


def allan_coefficients(allan: AllanDeviation) -> AllanCoefficients:
    """Read white noise, bias instability and random walk off the curves.

    White noise N and random walk K are least squares with non-negative terms: ``N^2/tau + B^2 0.664^2 + K^2 tau/3``,
    every octave weighted by its relative uncertainty. That is of the fitted curve, iterated: weighted by the measured
    one, octaves that happen to be low would count most. The bias instability is read in the usual way, from the lowest
    point.
    """
    tau, degrees_of_freedom = allan.tau, allan.degrees_of_freedom
    terms = np.stack([1.0 / tau, np.full_like(tau, FLICKER**2), tau / 3.0], axis=1)
    channels = allan.deviation.shape[1]
    squares, walk_deviation = np.zeros((channels, 3)), np.zeros(channels)
    for channel in range(channels):  # non-negative least squares takes one channel at a time
        variance = allan.deviation[:, channel] ** 2
        if not (variance > 0.0).all():
            continue
        fitted = variance
        for _ in range(_ITERATIONS):
            weights = np.sqrt(degrees_of_freedom / 2.0) / fitted
            weighted = terms * weights[:, None]
            scale = np.sqrt(np.sum(weighted**2, axis=0))
            solution, _ = nnls(weighted / scale, variance * weights)
            squares[channel] = solution / scale
            fitted = terms @ squares[channel]
        # without the non-negativity: what the last octaves cannot tell apart makes the deviation large
        walk_deviation[channel] = sqrt(np.linalg.inv((weighted / scale).T @ (weighted / scale))[2, 2]) / scale[2]
    lowest = np.argmin(allan.deviation, axis=0)
    walk = squares[:, 2]
    most = allan.deviation[-1] * sqrt(3.0 / tau[-1] * degrees_of_freedom[-1] / chdtri(degrees_of_freedom[-1], 0.95))
    return AllanCoefficients(
        white=np.sqrt(squares[:, 0]),
        bias_instability=allan.deviation.min(axis=0) / FLICKER,
        instability_time=tau[lowest],
        at_the_end=lowest == len(tau) - 1,
        random_walk=np.sqrt(walk),
        random_walk_bound=most,
        random_walk_seen=walk > _SEEN * walk_deviation,
    )


def allan_figure(allan: AllanDeviation, coefficients: AllanCoefficients, title: str) -> Figure:
    """Draw both sensors with 95 % bands, fitted white noise and random walk dashed."""
    lower, upper = allan.interval()
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 5.0), layout='constrained')  # without pyplot: no backend, no global state
        axes = figure.subplots(1, 2)
        for sensor, (name, unit) in enumerate(_SENSORS):
            axis = axes[sensor]
            for number, (letter, colour) in enumerate(zip('xyz', AXIS_COLOURS, strict=True)):
                channel = 3 * sensor + number
                axis.loglog(allan.tau, allan.deviation[:, channel], 'o-', color=colour, ms=3, lw=1.0, label=letter)
                axis.fill_between(
                    allan.tau, lower[:, channel], upper[:, channel], color=colour, alpha=0.15, linewidth=0
                )
                fitted = np.sqrt(coefficients.variance(allan.tau, channel))
                axis.loglog(allan.tau, fitted, '--', color=colour, lw=0.8)
            axis.set_title(f'{name} (dashed: white noise and random walk as fitted)')
            axis.set_xlabel('averaging time [s]')
            axis.set_ylabel(f'Allan deviation [{unit}]')
            axis.legend()
        figure.suptitle(title)
    return figure


def write_allan_table(path: Path, allan: AllanDeviation, names: tuple[str, ...]) -> Path:
    """Write the curves as CSV."""
    header = ','.join(['tau_s', 'degrees_of_freedom', *(name.replace(' ', '_') for name in names)])
    rows = np.column_stack([allan.tau, allan.degrees_of_freedom, allan.deviation])
    with replacing(path) as beside:
        np.savetxt(beside, rows, delimiter=',', header=header, comments='', fmt='%.9g')
    return path


def allan_report(
    allan: AllanDeviation, coefficients: AllanCoefficients, names: tuple[str, ...], units: tuple[str, ...]
) -> list[str]:
    """Report as lines of text; methods are those of :func:`pkm_estimation.tuning.allan.allan_coefficients`."""
    lines = [
        f'Allan deviation, averaging times {allan.tau[0]:g} to {allan.tau[-1]:g} s; white noise and random walk by '
        f'least squares over all octaves, bias instability: lowest point / {FLICKER:.3f}',
        f'{"":16s} {"white [u/sqrt(Hz)]":>19s} {"bias instability [u]":>32s} {"random walk [u/sqrt(s)]":>24s}',
    ]
    for channel, (name, unit) in enumerate(zip(names, units, strict=True)):
        sign = '<=' if coefficients.at_the_end[channel] else ''
        lowest, at = coefficients.bias_instability[channel], coefficients.instability_time[channel]
        instability = f'{sign} {lowest:.2e} at {at:g} s'
        walk = (
            f'{coefficients.random_walk[channel]:.2e}'
            if coefficients.random_walk_seen[channel]
            else f'not seen, < {coefficients.random_walk_bound[channel]:.1e}'
        )
        lines.append(f'{name:16s} {coefficients.white[channel]:19.3e} {instability:>32s} {walk:>24s}  u = {unit}')
    if coefficients.at_the_end.any():
        lines.append('<=: the curve still falls at the longest averaging time; a longer recording shows more')
    return lines


def walk_settings(coefficients: AllanCoefficients) -> dict[str, float]:
    """Settings of the estimator for random walks that are significant: the largest of a sensor's axes."""
    settings = {}
    for offset, name in ((0, 'accelerometer_bias_walk'), (3, 'gyroscope_bias_walk')):
        seen = coefficients.random_walk_seen[offset : offset + 3]
        if seen.any():
            settings[name] = float(coefficients.random_walk[offset : offset + 3][seen].max())
    return settings
