"""Writes all output files of an identification to one folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml
from pkm_description.writing import replacing_together, write_text

from pkm_identification.judgement.physical import PhysicalParameters, least_eigenvalues
from pkm_identification.report.figures_data import (
    comparison_data,
    direct_data,
    floor_data,
    resampled_data,
    verdict_data,
)
from pkm_identification.report.html_report import write_report
from pkm_identification.report.overlay import write_overlay
from pkm_identification.result import IdentificationResult


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
    parameters, report, overlay = (folder / name for name in ('parameters.yaml', 'report.html', 'overlay.yaml'))
    with replacing_together(folder) as beside:
        write_text(
            beside / parameters.name, yaml.safe_dump(parameter_data(result), sort_keys=False, width=120)
        )
        write_report(result, beside / report.name)
        if result.identified_machine is not None:
            write_overlay(result, beside / overlay.name)
    if result.identified_machine is None:
        overlay.unlink(missing_ok=True)
    return WrittenFiles(report, parameters, overlay if overlay.exists() else None)


def parameter_data(result: IdentificationResult) -> dict[str, object]:
    """All numbers of a result as plain data: base parameters with covariance, bodies, force errors, settings."""
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
            errors[name] = comparison_data(comparison)
    return {
        'status': result.status,
        'verdict': verdict_data(result.verdict),
        'provenance': dict(result.provenance),
        'warnings': list(result.warnings),
        'base_parameters': base_parameter_data(result),
        'not_excited': list(result.not_excited),
        'nonlinear_parameters': [
            {'name': name, 'value': value, 'std': std}
            for name, value, std in zip(
                result.shape.names, result.shape.values.tolist(), result.shape.std.tolist(), strict=True
            )
        ],
        'added_to_the_model': list(result.added),
        # base parameters = combination @ parameters
        'parameters': list(result.base.full_names),
        'combination': result.base.combination.tolist(),
        'covariance': np.asarray(result.estimate.covariance).tolist(),
        'physical_parameters': [
            {'name': name, 'nominal': nominal, 'value': value, 'std': std}
            for name, nominal, value, std in bodies
        ],
        'bodies': body_data(result.physical),
        'force_error': errors,
        'noise_floor': None if result.noise_floor is None else floor_data(result.noise_floor),
        'resampled': [resampled_data(one) for one in result.resampled],
        'direct_dynamics': None if result.direct is None else direct_data(result.direct),
        'not_in_the_overlay': [] if result.delivered is None else list(result.delivered.lost),
        'repeatability': _repeatability(result),
        'condition': result.estimate.condition,
        'bands': asdict(result.bands),
        'settings': result.config.mapping(),
    }


def base_parameter_data(result: IdentificationResult) -> list[dict[str, object]]:
    """Values with their standard deviations, beside value and size of the bodies, and what they are worth."""
    known, estimate = result.significance, result.estimate
    columns = {
        'nominal': result.nominal_base, 'value': estimate.parameters, 'std': estimate.std,
        'std_of_value': known.relative, 'scale': known.scale, 'std_of_scale': known.scaled,
    }  # fmt: skip
    return [
        {
            'name': name,
            **{key: float(values[place]) for key, values in columns.items()},
            'feasibility': known.possible[place],
            'status': result.classification[place],
        }
        for place, name in enumerate(result.base.names)
    ]


def body_data(physical: PhysicalParameters) -> list[dict[str, object]]:
    """Feasibility of each body: it can exist where its pseudo-inertia has no negative eigenvalue."""
    return [
        {'name': body, 'least_eigenvalue_of_pseudo_inertia': least, 'feasible': bool(least > 0.0)}
        for body, least in least_eigenvalues(physical).items()
    ]


def _repeatability(result: IdentificationResult) -> dict[str, object] | None:
    """Noise figures of a recording that was averaged over its periods."""
    mean = result.repeatability
    if mean is None:
        return None
    return {
        'base_frequency': mean.base_frequency,
        'base_frequency_was_found': mean.found,
        'periods': mean.periods,
        'position_noise': mean.position_noise.tolist(),
        'effort_noise': mean.effort_noise.tolist(),
    }
