"""HTML report of an identification: one self-contained file."""

from __future__ import annotations

from pathlib import Path

from pkm_description.report.page import render, write_page

from pkm_identification.report import plots
from pkm_identification.result import ForceComparison, IdentificationResult


def report_text(result: IdentificationResult) -> str:
    """HTML text of the report."""
    legs = tuple(leg.name for leg in result.machine.legs)
    comparisons = [('Identification data', result.training)]
    if result.validation is not None:
        comparisons.insert(0, ('Held-out data', result.validation))
    return render(
        'pkm_identification',
        'report.html.j2',
        result=result,
        parameters=_parameter_rows(result),
        physical=_physical_rows(result),
        comparisons=[
            {'title': title, 'data': data, 'plot': plots.force_plot(data, legs), 'legs': _leg_rows(data, legs)}
            for title, data in comparisons
        ],
        parameter_plot=plots.parameter_plot(result),
        correlation_plot=plots.correlation_plot(result),
        whiteness_plot=plots.whiteness_plot(result),
    )


def write_report(result: IdentificationResult, path: str | Path) -> Path:
    """Write the report and return its path."""
    return write_page(report_text(result), path)


def _parameter_rows(result: IdentificationResult) -> list[dict[str, object]]:
    rows = zip(
        result.base.names,
        result.nominal_base,
        result.estimate.parameters,
        result.estimate.std,
        result.classification,
        strict=True,
    )
    return [
        {
            'name': name,
            'nominal': float(nominal),
            'value': float(value),
            'std': float(std),
            'relative': abs(float(std / value)) if value else float('inf'),
            'status': status,
        }
        for name, nominal, value, std, status in rows
    ]


def _physical_rows(result: IdentificationResult) -> list[dict[str, object]]:
    physical = result.physical
    rows = zip(physical.names, physical.nominal, physical.values, physical.std, strict=True)
    return [
        {'name': name, 'nominal': float(nominal), 'value': float(value), 'std': float(std)}
        for name, nominal, value, std in rows
    ]


def _leg_rows(comparison: ForceComparison, legs: tuple[str, ...]) -> list[dict[str, object]]:
    return [
        {
            'name': name,
            'rms': float(comparison.error.rms[index]),
            'filtered': float(comparison.filtered_error.rms[index]),
            'relative': float(comparison.error.rms[index] / comparison.error.force_rms[index]),
            'variation': float(comparison.error.rms[index] / comparison.error.variation_rms[index]),
            'nominal': float(comparison.nominal_error.rms[index]),
        }
        for index, name in enumerate(legs)
    ]
