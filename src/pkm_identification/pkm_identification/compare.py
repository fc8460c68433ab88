"""Comparison of results: with the truth, with each other, and what a payload makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_file
from pkm_description.dynamics import friction_parameter_names
from pkm_description.dynamics.parameter_reduction.reduction import reduce_parameters
from pkm_description.machine import INERTIAL_PARAMETERS, Machine

from pkm_identification.errors import NotExcitedError, RecordingError
from pkm_identification.estimator.least_squares import solve, white_covariance
from pkm_identification.judgement.significance import KNOWN
from pkm_identification.result import IdentificationResult


@dataclass(frozen=True)
class ComparisonRow:
    """One parameter: ``identified`` with ``std`` against ``truth``; ``status`` as in the result."""

    name: str
    identified: float
    std: float
    truth: float
    status: str

    @property
    def standardised_error(self) -> float:
        """Error in units of its own standard deviation."""
        return (self.identified - self.truth) / self.std

    @property
    def relative_error(self) -> float:
        """Error as a part of the true value; infinite where that is zero."""
        return abs(self.identified - self.truth) / abs(self.truth) if self.truth else float('inf')


def compare_with_truth(result: IdentificationResult, true_machine: Machine) -> list[ComparisonRow]:
    """Base parameters against those of the true machine, in the result's order.

    Left out are forces that a machine file does not know (offsets, ripples), for it does not state their true values.
    ``true_machine`` must have the geometry of the machine that was identified: base parameters are combinations with
    factors from the geometry.
    """
    truth = result.base.values(result.model.parameters(true_machine))
    stated = ~(result.base.combination[:, ~_is_stated(result, true_machine)] != 0.0).any(axis=1)
    estimate = result.estimate
    return _rows(result.base.names, estimate.parameters, estimate.std, truth, result.classification, stated)


def compare_physical_with_truth(result: IdentificationResult, true_machine: Machine) -> list[ComparisonRow]:
    """Physical parameters (platform mass, friction ...) against the true machine's, in the result's order."""
    physical, truth = result.physical, result.model.parameters(true_machine)
    status = ('given nominal',) * len(truth)
    stated = _is_stated(result, true_machine)
    return _rows(physical.names, physical.values, physical.std, truth, status, stated)


def _rows(
    names: Sequence[str], values: Array, std: Array, truth: Array, status: Sequence[str], stated: NDArray[np.bool_]
) -> list[ComparisonRow]:
    """Rows of the parameters (P,) whose truth is stated."""
    numbers = np.stack([values, std, truth], axis=1).tolist()
    rows = zip(names, numbers, status, stated, strict=True)
    return [ComparisonRow(name, p, s, t, word) for name, (p, s, t), word, known in rows if known]


def _is_stated(result: IdentificationResult, machine: Machine) -> NDArray[np.bool_]:
    """Which free parameters (P,) a machine file states: those of its bodies, friction laws and rotors."""
    model = result.model
    own = set(model.all_names[: model.structure_count]) | {f'{j.name}.rotor_inertia' for j in machine.actuated_joints}
    own |= set(friction_parameter_names(machine, joints='all'))
    return np.array([name in own for name in model.names])


@dataclass(frozen=True)
class ParameterDifference:
    """One base parameter in two results: ``sigmas`` is the difference in its standard deviation."""

    name: str
    first: float
    second: float
    sigmas: float


def read_results(paths: Sequence[str | Path]) -> dict[str, dict[str, Any]]:
    """Numbers of results by the names of their folders.

    Parameters
    ----------
    paths : folders that ``identify`` wrote, or their files ``parameters.yaml``

    Raises
    ------
    RecordingError
        A file that is not there, or not one of these; names it.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in map(Path, paths):
        file = path / 'parameters.yaml' if path.is_dir() else path
        try:
            content = bounded_file(file)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise RecordingError(f'{file}: cannot be read ({error}); give folders that identify wrote') from None
        if not isinstance(content, dict) or not {'base_parameters', 'force_error', 'condition'} <= content.keys():
            raise RecordingError(f'{file}: is not a parameters.yaml of identify')
        name = file.parent.name or str(file)
        while name in found:
            name += "'"
        found[name] = content
    return found


#: prediction and figure of the columns of held-out errors
_FIGURES = ('fit', 'relative_to_force_rms'), ('overlay', 'relative_to_force_rms'), ('fit', 'relative_absolute')


def results_table(results: dict[str, dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows of a table of results, the one with the least held-out error first."""
    header = (
        'result', 'held-out of fit', 'of overlay', 'eps_RA', 'training', 'parameters', 'known', 'condition', 'status',
    )  # fmt: skip
    ordered = sorted(results.items(), key=lambda item: _held_out(item[1], 'fit', 'relative_to_force_rms') or inf)
    return header, [
        (
            name, *(_percent(_held_out(content, which, figure)) for which, figure in _FIGURES),
            _percent(content['force_error']['training'].get('relative_below_cutoff')),
            str(len(content['base_parameters'])),
            str(sum(one['status'] in KNOWN for one in content['base_parameters'])),
            f'{content["condition"]:.4g}',
            str(content['status']),
        )
        for name, content in ordered
    ]  # fmt: skip


def _held_out(content: dict[str, Any], which: str, figure: str) -> float | None:
    """Figure below the force cut-off on held-out data; ``None`` without such."""
    return (content['force_error'].get('validation') or {}).get(which, {}).get('below_cutoff', {}).get(figure)


def _percent(value: float | None) -> str:
    return '-' if value is None else f'{100.0 * value:.3g} %'


def compared_on_other_data(results: dict[str, dict[str, Any]]) -> str:
    """Say where results were judged on different held-out data; empty where they were not."""
    sources = {str((one['force_error'].get('validation') or {}).get('source', 'none')) for one in results.values()}
    if len(sources) < 2:
        return ''
    return (
        f'the results were judged on different held-out data ({", ".join(sorted(sources))}): their errors do not say '
        'which model is better; use compare --bag'
    )


def parameter_differences(first: dict[str, Any], second: dict[str, Any]) -> list[ParameterDifference]:
    """Base parameters that both results have, the largest difference in standard deviations first.

    The standard deviation of a difference is that of independent recordings.
    """
    others = {one['name']: one for one in second['base_parameters']}
    found = [
        ParameterDifference(
            one['name'], one['value'], other['value'],
            (other['value'] - one['value']) / max(hypot(one['std'], other['std']), 1e-300),
        )
        for one in first['base_parameters'] if (other := others.get(one['name']))
    ]  # fmt: skip
    return sorted(found, key=lambda one: -abs(one.sigmas))


class PayloadParameters(NamedTuple):
    """What is known of a body on the platform.

    Attributes
    ----------
    names : combinations of its ten parameters, about the platform's frame, that the motions determine; all ten one by
        one on a platform with six degrees of freedom
    values, std : of each, kg, kg m and kg m^2
    """

    names: tuple[str, ...]
    values: Array
    std: Array


def payload_between(without: IdentificationResult, loaded: IdentificationResult) -> PayloadParameters:
    """The body that was put on the platform between two identifications of one machine.

    It acts as the platform does, so that one recording tells their sum only. The change of the base parameters is that
    of the platform's, seen through the combinations; generalised least squares by the covariances of both results.

    Raises
    ------
    NotExcitedError
        No base parameter that both results have contains parameters of the platform.
    """
    base, names = without.base, without.base.full_names
    wanted = [f'{without.machine.platform.name}.{kind}' for kind in INERTIAL_PARAMETERS]
    both = [name for name in base.names if name in loaded.base.names]
    ours, theirs = ([one.base.names.index(name) for name in both] for one in (without, loaded))
    columns = base.combination[ours][:, [names.index(name) for name in wanted if name in names]]
    if not columns.any():
        raise NotExcitedError(wanted, 'the two results have no base parameter in common with these; record both alike')
    covariance = without.estimate.covariance[np.ix_(ours, ours)] + loaded.estimate.covariance[np.ix_(theirs, theirs)]
    size = np.sqrt(np.diag(covariance))
    white: Array = np.asarray(np.linalg.inv(np.linalg.cholesky(covariance / np.outer(size, size))) / size, dtype=float)
    change = loaded.estimate.parameters[theirs] - without.estimate.parameters[ours]
    free = [kind for kind, name in zip(INERTIAL_PARAMETERS, wanted, strict=True) if name in names]
    found = reduce_parameters(columns, [f'payload.{kind}' for kind in free], 1e-8, absence=1e-12)
    rows = white @ found.columns(columns)
    return PayloadParameters(found.names, solve(rows, white @ change), np.sqrt(np.diag(white_covariance(rows))))
