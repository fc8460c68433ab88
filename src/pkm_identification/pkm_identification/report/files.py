"""Writes all output files of an identification to one folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml

from pkm_identification.report.html_report import write_report
from pkm_identification.report.overlay import write_overlay
from pkm_identification.result import INFEASIBLE, IdentificationResult


@dataclass(frozen=True)
class WrittenFiles:
    """Paths of ``report.html``, ``parameters.yaml`` and ``overlay.yaml`` (None if the bodies are infeasible)."""

    report: Path
    parameters: Path
    overlay: Path | None

    def __str__(self) -> str:
        overlay = f'overlay {self.overlay}' if self.overlay else 'no overlay (infeasible bodies, see the report)'
        return f'report {self.report}, {overlay}, numbers {self.parameters}'


def write_result(result: IdentificationResult, directory: str | Path) -> WrittenFiles:
    """Write report, numbers and overlay; deletes the overlay of an earlier run if the new result is infeasible."""
    folder = Path(directory).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    overlay = folder / 'overlay.yaml'
    overlay.unlink(missing_ok=True)
    if result.status != INFEASIBLE:
        write_overlay(result, overlay)
    parameters = folder / 'parameters.yaml'
    parameters.write_text(yaml.safe_dump(parameter_data(result), sort_keys=False, width=120), encoding='utf-8')
    report = write_report(result, folder / 'report.html')
    return WrittenFiles(report, parameters, overlay if overlay.exists() else None)


def parameter_data(result: IdentificationResult) -> dict[str, object]:
    """All numbers of a result as plain data: base parameters with covariance, bodies, force errors, settings."""
    rows = zip(
        result.base.names,
        result.nominal_base.tolist(),
        result.estimate.parameters.tolist(),
        result.estimate.std.tolist(),
        result.classification,
        strict=True,
    )
    physical = result.physical
    bodies = zip(
        physical.names,
        physical.nominal.tolist(),
        physical.values.tolist(),
        physical.std.tolist(),
        strict=True,
    )
    errors = {}
    for name, comparison in (('training', result.training), ('validation', result.validation)):
        if comparison is not None:
            errors[name] = {
                'source': comparison.source,
                'relative_to_force_rms': comparison.error.relative,
                'relative_to_variation': comparison.error.relative_to_variation,
                'relative_below_cutoff': comparison.filtered_error.relative,
                'rms_per_leg': comparison.error.rms.tolist(),
                'nominal_relative_to_force_rms': comparison.nominal_error.relative,
            }
    return {
        'status': result.status,
        'provenance': dict(result.provenance),
        'warnings': list(result.warnings),
        'base_parameters': [
            {'name': name, 'nominal': nominal, 'value': value, 'std': std, 'status': status}
            for name, nominal, value, std, status in rows
        ],
        'not_excited': list(result.not_excited),
        # base parameters = combination @ parameters
        'parameters': list(result.base.full_names),
        'combination': result.base.combination.tolist(),
        'covariance': np.asarray(result.estimate.covariance).tolist(),
        'physical_parameters': [
            {'name': name, 'nominal': nominal, 'value': value, 'std': std}
            for name, nominal, value, std in bodies
        ],
        'force_error': errors,
        'condition': result.estimate.condition,
        'bands': asdict(result.bands),
        'settings': {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(result.config).items()
        },
    }
