"""HTML report of an identification: one self-contained file, the verdict first."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.machine import Machine
from pkm_description.report.page import render, write_page
from pkm_description.report.words import sentence_of

from pkm_identification.judgement.significance import KNOWN
from pkm_identification.report import plots
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
        base_units=units_of_base(result.machine, result.base),
        known=KNOWN,
        unit_of=unit_of,
        physical=_physical_groups(result),
        drives=list(zip(labels, units, strict=True)),
        comparisons=[
            {'title': title, 'data': data, 'plot': plots.force_plot(data, labels, units), 'totals': _totals(data)}
            for title, data in comparisons
        ],
        parameter_plot=plots.parameter_plot(result),
        ratio_plot=plots.ratio_plot(result),
        correlation_plot=plots.correlation_plot(result),
        whiteness_plot=plots.whiteness_plot(result),
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
    if kind == 'effort_delay':
        return 's'
    if kind.endswith('coefficient'):
        return ''
    # what belongs to no joint belongs to all drives
    own = [joint for joint in machine.joints if joint.name == owner] or machine.actuated_joints
    units = {_OF_DRIVES.get(kind, _FORCE)[joint.kind != 'prismatic'] for joint in own}
    return ' or '.join(sorted(units))


def units_of_base(machine: Machine, base: BaseParameters) -> tuple[str, ...]:
    """Units of base parameters: those of the parameters that head the combinations."""
    return tuple(unit_of(machine, base.full_names[place]) for place in base.independent)
