"""Plot and table of the Allan deviation of an IMU's six channels."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from pkm_description.report.figures import AXIS_COLOURS, STYLE
from pkm_description.writing import replacing

from pkm_estimation.tuning.allan import FLICKER, AllanCoefficients, AllanDeviation

_SENSORS = (('accelerometer', 'm/s^2'), ('gyroscope', 'rad/s'))


def draw_allan(path: Path, allan: AllanDeviation, coefficients: AllanCoefficients, title: str) -> Path:
    """Write :func:`allan_figure` as PNG."""
    with replacing(path) as beside:
        allan_figure(allan, coefficients, title).savefig(beside, dpi=110, metadata={'Software': None})
    return path


def allan_figure(allan: AllanDeviation, coefficients: AllanCoefficients, title: str = '') -> Figure:
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
