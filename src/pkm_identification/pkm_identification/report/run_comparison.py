"""Compares the results of several identifications by their files ``parameters.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf
from pathlib import Path
from typing import Any

import yaml
from pkm_description.bounded_yaml import bounded_file

from pkm_identification.errors import RecordingError
from pkm_identification.judgement.significance import KNOWN


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
            name, *(
                _percent(_held_out(content, which, figure))
                for which, figure in _FIGURES
            ),
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
