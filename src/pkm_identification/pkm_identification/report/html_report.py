"""HTML report of an identification: one self-contained file, the verdict first."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pkm_description.machine import Machine
from pkm_description.report.page import (
    MEASURED,
    NOMINAL,
    PREDICTED,
    RESIDUAL,
    STYLE,
    Margins,
    inline,
    new_figure,
    render,
    write_page,
)
from pkm_description.report.words import sentence_of
from scipy.signal import welch

from pkm_identification.columns.joint_terms import PLATFORM
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.judgement.significance import KNOWN
from pkm_identification.result import COMPLETE, INFEASIBLE, INSUFFICIENT, IdentificationResult
from pkm_identification.validation.held_out import NOT_JUDGED, ForceComparison

#: units of a body's parameters
_OF_BODIES = {'m': 'kg', 'mx': 'kg m', 'my': 'kg m', 'mz': 'kg m'} | dict.fromkeys(
    ('Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz'), 'kg m^2'
)
#: units of a drive's parameters, where it pushes and where it turns
_OF_DRIVES = {
    'viscous': ('N s/m', 'N m s/rad'),
    'quadratic': ('N s^2/m^2', 'N m s^2/rad^2'),
    'stiffness': ('N/m', 'N m/rad'),
    'rotor_inertia': ('kg', 'kg m^2'),
    'stribeck_velocity': ('m/s', 'rad/s'),
    'ripple_period': ('m', 'rad'),
    'presliding_stiffness': ('N/m', 'N m/rad'),
    'load_friction': ('', ''),
    'transverse_friction': ('', 'm'),
    'thrust_friction': ('', 'm'),
    'exponent': ('', ''),
    'gain_error': ('', ''),
}
#: of what is not in the table: forces
_FORCE = 'N', 'N m'
Row = dict[str, object]

#: of strips with numbers of up to seven digits
MARGINS = Margins(0.8, 0.12, 0.45, 0.3, 0.6, 0.12)
#: part of its standard deviation below which a value is rounding
ROUNDING = 1e-9


def report_text(result: IdentificationResult) -> str:
    """HTML text of the report."""
    labels, units = result.machine.drive_labels, result.machine.effort_units
    comparisons = [('Identification data', result.training)]
    if result.validation is not None:
        comparisons.insert(0, ('Held-out data', result.validation))
    floor = result.noise_floor
    return render(
        'pkm_identification',
        'report.html.j2',
        result=result,
        sentence=verdict_sentence(result),
        sentence_of=sentence_of,
        residual_sentence='cannot be said: the motion does not come from the drives' if floor is None else str(floor),
        # those of the parameters that head the combinations
        base_units=[unit_of(result.machine, result.base.full_names[place]) for place in result.base.independent],
        known=KNOWN,
        unit_of=unit_of,
        physical=_physical_groups(result),
        drives=list(zip(labels, units, strict=True)),
        comparisons=[
            {'title': title, 'data': data, 'plot': force_plot(data, labels, units), 'totals': _totals(data)}
            for title, data in comparisons
        ],
        parameter_plot=parameter_plot(result),
        ratio_plot=ratio_plot(result),
        correlation_plot=correlation_plot(result),
        whiteness_plot=whiteness_plot(result),
    )  # fmt: skip


def write_report(result: IdentificationResult, path: str | Path) -> Path:
    """Write the report and return its path."""
    return write_page(report_text(result), path)


def _physical_groups(result: IdentificationResult) -> list[Row]:
    """Rows of each body and each joint."""
    physical = result.physical
    rows: list[dict[str, str | float]] = [
        {
            'owner': name.rpartition('.')[0],
            'name': name.rpartition('.')[2],
            'unit': unit_of(result.machine, name),
            'nominal': float(nominal),
            'value': float(value) if abs(value) > ROUNDING * std else 0.0,
            'std': float(std),
            'ratio': f'{value / nominal:.4f}' if nominal else '-',
        }
        for name, nominal, value, std in zip(
            physical.names, physical.nominal, physical.values, physical.std, strict=True
        )
    ]
    return [{'owner': owner, 'rows': list(own)} for owner, own in groupby(rows, lambda row: row['owner'])]


def _totals(comparison: ForceComparison) -> list[Row]:
    """Errors below the cut-off of what predicts forces."""
    predictions = (
        ('the fit', comparison.fitted),
        ('the machine as delivered (file and overlay)', comparison.delivered),
        ('the same, and forces that an overlay does not carry', comparison.with_the_rest),
    )
    return [{'name': name, 'error': one.filtered_error} for name, one in predictions if one is not None]


def verdict_sentence(result: IdentificationResult) -> str:
    """Say what the result is worth: parameters, forces on held-out data, declared limits."""
    known = sum(status in KNOWN for status in result.classification)
    count = len(result.base) + len(result.not_excited)
    if result.status == INSUFFICIENT:
        first = 'The model does not suffice for these data, so no parameter is identified'
    elif result.status == INFEASIBLE:
        first = f'No machine that can exist has these values ({known} of {count} base parameters are determined)'
    elif result.status == COMPLETE:
        first = f'All {count} base parameters are identified'
    else:
        first = f'{known} of {count} base parameters are identified, the others are not determined by this motion'
    return f'{first}; {_forces(result)}.'


def _forces(result: IdentificationResult) -> str:
    held_out = result.validation
    if held_out is None:
        error = result.training.filtered_error.relative_absolute
        return f'on the data of the fit itself forces are wrong by {100 * error:.3g} % (eps_RA), nothing was held out'
    prediction, what = held_out.fitted, 'the fit'
    if held_out.delivered is not None:
        prediction, what = held_out.delivered, 'the machine as delivered'
    error = prediction.filtered_error.relative_absolute
    text = f'on held-out data {what} predicts forces with an error of {100 * error:.3g} % (eps_RA)'
    if result.verdict.status == NOT_JUDGED:
        return f'{text}; no limit was declared'
    return f'{text}; declared limits: {result.verdict.status}'


def unit_of(machine: Machine, name: str) -> str:
    """Unit of a parameter such as ``leg_rod.Ixx`` or ``leg1_prismatic.viscous``; empty where it has none."""
    owner, _, kind = name.rpartition('.')
    if kind in _OF_BODIES:
        return _OF_BODIES[kind]
    if kind in ('effort_delay', 'effort_lag'):
        return 's'
    if kind.endswith('coefficient'):
        return ''
    if owner == PLATFORM:
        return {'force': 'N', 'lever': 'N m', 'stiffness': 'N/m'}[kind.partition('_')[0]]
    # what belongs to no joint belongs to all drives
    own = [joint for joint in machine.joints if joint.name == owner] or machine.actuated_joints
    units = {_OF_DRIVES.get(kind, _FORCE)[joint.kind != 'prismatic'] for joint in own}
    return ' or '.join(sorted(units))


def force_plot(comparison: ForceComparison, labels: tuple[str, ...], units: tuple[str, ...]) -> str:
    """Measured force, predicted force and residual of every drive over time, each in a strip of its own.

    Strips of one kind share their scale, over all drives with the same unit; measured and predicted forces share one.
    """
    residual = comparison.measured - comparison.predicted
    signals = (comparison.measured, MEASURED), (comparison.predicted, PREDICTED), (residual, RESIDUAL)
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(11.0, 1.05 * len(labels) + 0.7, len(labels), 3, MARGINS)
        for drive, (label, unit) in enumerate(zip(labels, units, strict=True)):
            alike = [place for place, other in enumerate(units) if other == unit]
            both = np.concatenate([comparison.measured[:, alike], comparison.predicted[:, alike]])
            largest = float(np.abs(residual[:, alike]).max())
            scales = (both.min(), both.max()), (both.min(), both.max()), (-largest, largest)
            for column, ((values, colour), scale) in enumerate(zip(signals, scales, strict=True)):
                axis = axes[3 * drive + column]
                axis.plot(comparison.time, values[:, drive], color=colour, lw=0.6)
                room = 0.04 * max(scale[1] - scale[0], 1e-12)
                axis.set_ylim(scale[0] - room, scale[1] + room)
                if column == 0:
                    axis.set_ylabel(f'{label} [{unit}]')
        finer = np.ptp(comparison.measured) / max(2.0 * float(np.abs(residual).max()), 1e-300)
        for axis, title in zip(
            axes[:3], ('measured', 'predicted, same scale', f'residual, scale {finer:.0f} times finer'), strict=True
        ):
            axis.set_title(title)
        for axis in axes[-3:]:
            axis.set_xlabel('time [s]')
        return inline(figure, dots_per_inch=220)


def ratio_plot(result: IdentificationResult) -> str:
    """Parameters of bodies and friction as a ratio to the nominal ones, body by body, bars of two standard deviations.

    Those that are small beside the others of their body (products of inertia, say) have no ratio worth a place.
    """
    physical = result.physical
    places = np.flatnonzero(physical.std < np.abs(physical.nominal))
    names = [physical.names[place] for place in places]
    values, std, nominal = (of[places] for of in (physical.values, physical.std, physical.nominal))
    with matplotlib.rc_context(STYLE):
        figure, (axis,) = new_figure(9.0, 0.17 * len(names) + 0.8, 1, 1)
        lines, bars = np.arange(len(names)), 2.0 * std / np.abs(nominal)
        axis.errorbar(values / nominal, lines, xerr=bars, fmt='o', ms=3, lw=1, capsize=2, color=PREDICTED)
        axis.axvline(1.0, color=NOMINAL, lw=1.5)
        owners = [name.rpartition('.')[0] for name in names]
        for row in range(1, len(names)):
            if owners[row] != owners[row - 1]:
                axis.axhline(row - 0.5, color=NOMINAL, lw=0.5)
        axis.set_yticks(lines, names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlabel('value / nominal value, bars: 2 standard deviations')
        return inline(figure, vector=True)


def parameter_plot(result: IdentificationResult) -> str:
    """Base parameters relative to the nominal machine, with error bars of two standard deviations."""
    with matplotlib.rc_context(STYLE):
        count = len(result.base)
        figure, (axis,) = new_figure(9.0, 0.21 * count + 0.8, 1, 1)
        values, std, nominal = result.estimate.parameters, result.estimate.std, result.nominal_base
        scale = np.maximum(np.abs(nominal), 2.0 * std)
        place = np.arange(count)
        good = np.array([status in KNOWN for status in result.classification])
        for chosen, colour, label in ((good, PREDICTED, 'identified'), (~good, RESIDUAL, 'not identified')):
            if chosen.any():
                axis.errorbar(
                    (values / scale)[chosen], place[chosen], xerr=(2.0 * std / scale)[chosen],
                    fmt='o', ms=3, lw=1, capsize=2, color=colour, label=label,
                )  # fmt: skip
        axis.plot(nominal / scale, place, '|', color=NOMINAL, ms=9, mew=2, label='nominal')
        axis.set_yticks(place, [_short(name) for name in result.base.names])
        axis.set_ylim(count - 0.5, -0.5)
        axis.set_xlabel('value / max(|nominal|, 2 std), bars: 2 std')
        axis.legend(loc='best')
        return inline(figure, vector=True)


def correlation_plot(result: IdentificationResult) -> str:
    """Correlation of the base parameters' errors."""
    with matplotlib.rc_context(STYLE | {'axes.grid': False}):
        count = len(result.base)
        figure, (axis,) = new_figure(7.5, 6.0, 1, 1)
        image = axis.imshow(result.estimate.correlation, vmin=-1.0, vmax=1.0, cmap='RdBu_r')
        numbers = np.arange(count)
        axis.set_xticks(numbers, [str(number + 1) for number in numbers], fontsize=5)
        axis.set_yticks(
            numbers, [f'{_short(name, 22)} {number + 1}' for number, name in enumerate(result.base.names)], fontsize=5
        )
        figure.colorbar(image, ax=axis, shrink=0.8)
        return inline(figure, vector=True)


def whiteness_plot(result: IdentificationResult) -> str:
    """Residual: histogram in units of its standard deviation, spectrum and autocorrelation, all legs."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 2.8), layout='constrained')
        histogram, spectrum, correlation = figure.subplots(1, 3)
        estimate = result.estimate
        used = estimate.residuals != 0.0
        scaled = (estimate.residuals / estimate.force_std)[used]
        bins = np.linspace(-4.0, 4.0, 41)
        histogram.hist(scaled, bins=bins, density=True, color=RESIDUAL, alpha=0.6)
        histogram.plot(bins, np.exp(-0.5 * bins**2) / np.sqrt(2.0 * np.pi), color=MEASURED, lw=1)
        histogram.set_xlabel('residual / standard deviation')
        _spectrum(spectrum, result)
        _autocorrelation(correlation, estimate, used)
        return inline(figure, vector=True)


def _spectrum(axis: matplotlib.axes.Axes, result: IdentificationResult) -> None:
    comparison = result.training
    rate = (len(comparison.time) - 1) / (comparison.time[-1] - comparison.time[0])
    segment = min(len(comparison.time), 512)
    for values, colour, label in (
        (comparison.measured, MEASURED, 'force'),
        (comparison.measured - comparison.predicted, RESIDUAL, 'residual'),
    ):
        frequency, density = welch(values, fs=rate, nperseg=segment, axis=0)
        axis.semilogy(frequency[1:], np.sqrt(density.mean(axis=1))[1:], color=colour, lw=0.9, label=label)
    floor = result.noise_floor
    if floor is not None:
        density = np.sqrt(floor.noise_density.mean(axis=1))
        axis.semilogy(floor.frequency, density, color=NOMINAL, lw=1.2, ls='--', label='noise floor')
    axis.axvline(result.bands.force_cutoff, color=PREDICTED, lw=1, ls='--', label='force cut-off')
    axis.set_xlabel('frequency [Hz]')
    axis.set_ylabel('N / sqrt(Hz)')
    axis.legend()


def _autocorrelation(axis: matplotlib.axes.Axes, estimate: Estimate, used: NDArray[np.bool_]) -> None:
    lags = np.arange(len(estimate.autocorrelation))
    axis.plot(lags, estimate.autocorrelation, 'o-', ms=2, lw=0.7)
    limit = 2.0 / np.sqrt(max(int(used.sum(axis=0).min()), 1))
    axis.axhspan(-limit, limit, color=NOMINAL, alpha=0.3, label='white, 95 %')
    axis.set_xlabel('lag [rows]')
    axis.set_ylabel('autocorrelation, per drive')
    axis.legend()


def _short(name: str, length: int = 46) -> str:
    return name if len(name) <= length else name[: length - 3] + '...'
