"""Writes all output files of an identification to one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml
from pkm_description.arrays import Array
from pkm_description.dynamics.friction import joint_friction_law
from pkm_description.loading.yaml_reader import joint_key
from pkm_description.machine import Machine
from pkm_description.writing import replacing_together, write_text

from pkm_description import loading
from pkm_identification.columns.joint_terms import DRIVE_INERTIA, OFFSET, TRANSVERSE_FRICTION
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.bodies import body_from_parameters, least_eigenvalues, places_of_bodies
from pkm_identification.fitting.physical_machine import BODY_KEYS, body_values, friction_key, overlay_values
from pkm_identification.report.html_report import write_report
from pkm_identification.result import IdentificationResult
from pkm_identification.validation.held_out import ForceComparison, Prediction

#: keys in the file, and the attributes that have their values: of force errors, figures of the verdict, the noise
#: floor, direct dynamics, repetitions, and the mean over the periods
_ERROR = {
    'relative_absolute': 'relative_absolute', 'normalised_rms': 'normalised_rms', 'relative_to_force_rms': 'relative',
    'relative_absolute_per_drive': 'relative_absolute_of_drives',
    'normalised_rms_per_drive': 'normalised_rms_of_drives', 'rms_per_drive': 'rms',
}  # fmt: skip
_FIGURE = {name: name for name in ('name', 'value', 'limit', 'unit', 'kept')}
_FLOOR = {
    'is_noise': 'is_noise', 'ratio': 'total', 'ratio_per_drive': 'ratio', 'residual_per_drive': 'residual',
    'noise_per_drive': 'noise', 'noise_from_efforts_per_drive': 'from_efforts',
    'noise_from_positions_per_drive': 'from_positions',
}  # fmt: skip
_DIRECT = {
    'window': 'window', 'windows': 'count', 'speed_error_of_speed_change_per_drive': 'relative',
    'position_rms_per_drive': 'position_rms', 'velocity_rms_per_drive': 'velocity_rms',
}  # fmt: skip
_RESAMPLED = {
    'method': 'method', 'repetitions': 'count', 'seed': 'seed', 'mean': 'mean', 'std': 'std',
    'relative_uncertainty_of_std': 'uncertainty',
}  # fmt: skip
_REPEATABILITY = {
    'base_frequency': 'base_frequency', 'base_frequency_was_found': 'found', 'periods': 'periods',
    'position_noise': 'position_noise', 'effort_noise': 'effort_noise',
}  # fmt: skip


@dataclass(frozen=True)
class WrittenFiles:
    """Paths of ``report.html``, ``parameters.yaml`` and ``overlay.yaml`` (None where no overlay loads)."""

    report: Path
    parameters: Path
    overlay: Path | None

    def __str__(self) -> str:
        overlay = f'overlay {self.overlay}' if self.overlay else 'no overlay (see the report)'
        return f'report {self.report}, {overlay}, numbers {self.parameters}'


def write_result(result: IdentificationResult, directory: str | Path) -> WrittenFiles:
    """Write report, numbers and overlay; deletes the overlay of an earlier run if the new one has none."""
    folder = Path(directory).expanduser()
    parameters, report, overlay = (folder / name for name in ('parameters.yaml', 'report.html', 'overlay.yaml'))
    with replacing_together(folder) as beside:
        write_text(beside / parameters.name, yaml.safe_dump(parameter_data(result), sort_keys=False, width=120))
        write_report(result, beside / report.name)
        if result.has_overlay:
            write_overlay(result, beside / overlay.name)
    if not result.has_overlay:
        overlay.unlink(missing_ok=True)
    return WrittenFiles(report, parameters, overlay if overlay.exists() else None)


def parameter_data(result: IdentificationResult) -> dict[str, object]:
    """All numbers of a result as plain data: base parameters with covariance, bodies, force errors, settings."""
    physical, comparisons = result.physical, {'training': result.training, 'validation': result.validation}
    return {
        'status': result.status,
        'verdict': {
            'status': result.verdict.status, 'reason': result.verdict.reason,
            'figures': [_plain(one, _FIGURE) for one in result.verdict.figures],
        },
        'provenance': dict(result.provenance),
        'warnings': list(result.warnings),
        'base_parameters': base_parameter_data(result),
        'not_excited': list(result.not_excited),
        'nonlinear_parameters': _rows(result.shape.names, value=result.shape.values, std=result.shape.std),
        'added_to_the_model': list(result.added),
        # base parameters = combination @ parameters
        'parameters': list(result.base.full_names),
        'combination': result.base.combination.tolist(),
        'covariance': np.asarray(result.estimate.covariance).tolist(),
        'physical_parameters': _rows(
            physical.names, nominal=physical.nominal, value=physical.values, std=physical.std
        ),
        # a body can exist where its pseudo-inertia has no negative eigenvalue
        'bodies': [
            {'name': body, 'least_eigenvalue_of_pseudo_inertia': least, 'feasible': bool(least > 0.0)}
            for body, least in least_eigenvalues(physical.names, physical.values).items()
        ],
        'force_error': {name: comparison_data(one) for name, one in comparisons.items() if one is not None},
        'noise_floor': result.noise_floor and {'says': str(result.noise_floor), **_plain(result.noise_floor, _FLOOR)},
        'resampled': [_plain(one, _RESAMPLED) for one in result.resampled],
        'direct_dynamics': result.direct and _plain(result.direct, _DIRECT),
        'not_in_the_overlay': [] if result.delivered is None else list(result.delivered.lost),
        'repeatability': result.repeatability and _plain(result.repeatability, _REPEATABILITY),
        'condition': result.estimate.condition,
        'bands': asdict(result.bands),
        'settings': result.config.mapping(),
    }  # fmt: skip


def _plain(source: object, keys: Mapping[str, str]) -> dict[str, object]:
    """Attributes of an object as plain data, by their keys in the file."""
    values = {key: getattr(source, name) for key, name in keys.items()}
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in values.items()}


def base_parameter_data(result: IdentificationResult) -> list[dict[str, object]]:
    """Values with their standard deviations, beside value and size of the bodies, and what they are worth."""
    known, estimate = result.significance, result.estimate
    rows = _rows(
        result.base.names, nominal=result.nominal_base, value=estimate.parameters, std=estimate.std,
        std_of_value=known.relative, scale=known.scale, std_of_scale=known.scaled,
    )  # fmt: skip
    words = zip(rows, known.possible, result.classification, strict=True)
    return [{**row, 'feasibility': possible, 'status': status} for row, possible, status in words]


def _rows(names: Sequence[str], **columns: Array) -> list[dict[str, object]]:
    """A mapping for each name, with its values (P,) of the columns."""
    values = {key: column.tolist() for key, column in columns.items()}
    return [{'name': name, **{key: of[place] for key, of in values.items()}} for place, name in enumerate(names)]


def comparison_data(comparison: ForceComparison) -> dict[str, object]:
    """Errors of the fit, of the machine as delivered, and of the nominal machine."""
    data: dict[str, object] = {
        'source': comparison.source,
        'relative_to_force_rms': comparison.error.relative,
        'relative_to_variation': comparison.error.relative_to_variation,
        'relative_below_cutoff': comparison.filtered_error.relative,
        'rms_per_leg': comparison.error.rms.tolist(),
        'nominal_relative_to_force_rms': comparison.nominal_error.relative,
        'fit': prediction_data(comparison.fitted),
    }
    for name, one in (('overlay', comparison.delivered), ('overlay_and_the_rest', comparison.with_the_rest)):
        if one is not None:
            data[name] = prediction_data(one)
    return data


def prediction_data(prediction: Prediction) -> dict[str, object]:
    """Figures of the raw samples, and below the force cut-off."""
    return {'raw': _plain(prediction.error, _ERROR), 'below_cutoff': _plain(prediction.filtered_error, _ERROR)}


def write_overlay(result: IdentificationResult, path: str | Path) -> Path:
    """Write bodies and friction of a result as an overlay.

    Raises
    ------
    InfeasibleParametersError
        If a body cannot exist; a machine file with it would be refused when read.
    FileExistsError
        If the file is there already.
    """
    if result.identified_machine is None:
        raise InfeasibleParametersError('no overlay: ' + '; '.join(result.physical.infeasible))
    model = result.model
    values = overlay_values(result.identified_machine, model.identical_legs, model.rubbing)
    provenance, lost = result.provenance, result.delivered.lost if result.delivered is not None else ()
    besides = f'; identified besides, and not in an overlay: {"; ".join(lost)}' if lost else ''
    return loading.write_overlay(
        path,
        result.machine.name,
        values,
        date=provenance['date'],
        data=f"{provenance['data']} ({provenance['time of the data']})",
        method=provenance['method'] + besides,
        standard_deviations=overlay_std(result),
    )


def overlay_std(result: IdentificationResult) -> dict[str, float]:
    """Standard deviations by dotted key, of all values that were free; a leg's own value ends with the leg's name."""
    physical = result.physical
    place = {name: index for index, name in enumerate(physical.names)}
    keys = _body_places(result.machine)
    found: dict[str, float] = {}
    for body, index in places_of_bodies(physical.names).items():
        key, suffix = keys[body]
        # the map to centre of mass and inertia is not linear: propagate through its derivative
        derivative = _derivative(physical.values[index])
        variance = np.diag(derivative @ physical.covariance[np.ix_(index, index)] @ derivative.T)
        for name, value in zip(BODY_KEYS, np.sqrt(np.maximum(variance, 0.0)), strict=True):
            found[f'{key}.{name}{suffix}'] = float(value)
    identified = {joint.name: joint for joint in (result.identified_machine or result.machine).joints}
    for leg in result.machine.legs:
        for joint in leg.joints:
            key = joint_key(result.machine, joint)
            friction = friction_key(result.machine, joint)
            law = joint_friction_law(identified[joint.name])
            keys_of = {name: f'{friction}.{name}' for name in law.linear_parameter_names}
            keys_of[TRANSVERSE_FRICTION.parameter] = f'{friction}.coulomb_coefficient'
            keys_of[OFFSET.parameter] = f'{friction}.offset'
            keys_of[DRIVE_INERTIA.parameter] = f'{key}.rotor_inertia'
            for name, parameter in keys_of.items():
                at = place.get(f'{joint.name}.{name}')
                # what the motion did not excite is nominal: there is no standard deviation to state
                if at is not None and np.isfinite(physical.std[at]):
                    found[f'{parameter}.{leg.name}'] = float(physical.std[at])
    return found


def _body_places(machine: Machine) -> dict[str, tuple[str, str]]:
    """Dotted key and suffix of every body name, shared (``leg_rod``) and single (``leg1_rod``)."""
    places = {machine.platform.name: ('platform.body', '')}
    for leg in machine.legs:
        for joint in leg.joints:
            key = f'{joint_key(machine, joint)}.body'
            places[joint.body.name] = (key, f'.{leg.name}')
            places[f'leg_{joint.body.name.removeprefix(leg.name + "_")}'] = (key, '')
    return places


def _derivative(parameters: Array) -> Array:
    """Derivative (10, 10) of :func:`body_values`, central differences on a map that is at most cubic in 1 / mass."""
    steps = 1e-6 * np.maximum(np.abs(parameters), 1e-3 * np.abs(parameters).max())
    ends = [[body_values(body_from_parameters('', parameters + sign * step)) for sign in (1.0, -1.0)]
            for step in np.diag(steps)]  # fmt: skip
    return np.array([(high - low) / (2.0 * step) for (high, low), step in zip(ends, steps, strict=True)]).T
