"""Where the numbers of a result come from."""

from __future__ import annotations

import platform

import numpy as np
import scipy
from pkm_description.machine import Machine
from pkm_description.report.words import now_in_words, time_of_data

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.motion_source.by_name import motion_source
from pkm_identification.recording.recording import Recording

#: estimators in words
_METHODS = {
    'gls': 'generalised least squares', 'wls': 'weighted least squares', 'ls': 'least squares',
    'irls': 'robust least squares', 'iv': 'instrumental variables', 'rls': 'recursive least squares',
}  # fmt: skip


def provenance_of(
    machine: Machine, recording: Recording, validation: Recording | None, config: IdentificationConfig
) -> dict[str, str]:
    """Where the numbers come from; the date is that of the run, the data have their own clock."""
    legs = 'identical legs' if config.columns.identical_legs else 'legs one by one'
    source = motion_source(config.motion).title
    return {
        'machine': machine.name,
        'machine file': str(machine.path),
        'data': recording.source + (f', {validation.source}' if validation else ''),
        'date': now_in_words(),
        'time of the data': time_of_data(recording.start_stamp),
        'method': f'{_METHODS[config.estimator.method]} on base parameters, {legs}, '
        f'friction of {config.columns.friction} joints, motion from {source}',
        'versions': f'Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}',
    }
