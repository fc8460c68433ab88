"""Replace the line ``<!-- generated: NAME -->`` of a page by what NAME generates from the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import python_api
import reference_tables
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from suite_contents import PACKAGES

#: modules whose functions the pages about the mathematics name
FURTHER_MODULES = (
    'pkm_description.machine', 'pkm_description.kinematics', 'pkm_description.kinematics.assembly_modes',
    'pkm_description.kinematics.drive_map', 'pkm_description.kinematics.rotation',
    'pkm_description.kinematics.closed_legs', 'pkm_description.kinematics.forward',
    'pkm_description.kinematics.workspace', 'pkm_description.dynamics', 'pkm_description.dynamics.inverse',
    'pkm_description.kernels.dynamics.newton_euler', 'pkm_description.kernels.dynamics.regressor',
    'pkm_description.dynamics.parameter_reduction.reduction', 'pkm_description.friction_laws',
    'pkm_description.motion.fourier', 'pkm_description.motion.limits', 'pkm_description.motion.profiles',
    'pkm_description.loading', 'pkm_description.skeleton', 'pkm_description.settings', 'pkm_description.errors',
    'pkm_estimation.filters', 'pkm_estimation.models', 'pkm_estimation.models.inertial_process',
    'pkm_estimation.models.extra_states', 'pkm_estimation.models.leg_model', 'pkm_estimation.kernels.process',
    'pkm_estimation.kernels.input_path', 'pkm_estimation.kernels.input_noise', 'pkm_estimation.kernels.carried',
    'pkm_estimation.kernels.leg_lengths', 'pkm_estimation.kernels.unscented', 'pkm_estimation.filtering.point_motion',
    'pkm_estimation.filtering.backward_pass', 'pkm_estimation.tracking.tracker_state',
    'pkm_estimation.tracking.leg_sets', 'pkm_estimation.tracking.bank', 'pkm_estimation.baseline',
    'pkm_estimation.sensors', 'pkm_estimation.tuning.allan', 'pkm_estimation.bags',
    'pkm_identification.motion_source.bands', 'pkm_identification.motion_source.by_name',
    'pkm_identification.motion_source.interface', 'pkm_identification.motion_source.filters',
    'pkm_identification.motion_source.periods',
    'pkm_identification.preparation',
    'pkm_identification.fitting.aliases',
    'pkm_identification.estimator.least_squares', 'pkm_identification.estimator.interface',
    'pkm_identification.estimator.generalised', 'pkm_identification.estimator.residual_covariance',
    'pkm_identification.estimator.recursive',
    'pkm_identification.estimator.maximum_likelihood', 'pkm_identification.estimator.feasible',
    'pkm_identification.estimator.feasible_problem',
    'pkm_identification.judgement.significance',
    'pkm_identification.judgement.force_error', 'pkm_identification.estimator.bodies',
    'pkm_identification.online.estimators',
)

GENERATORS: dict[str, Callable[[], str]] = {
    **{f'python-api-{package}': partial(python_api.front_door, package) for package in PACKAGES},
    'python-api-further': partial(python_api.further, FURTHER_MODULES),
    'nodes': reference_tables.nodes,
    'programs': reference_tables.programs,
    'launch-files': reference_tables.launch_files,
    'machine-file-keys': reference_tables.machine_file_keys,
    'machine-file-example': reference_tables.machine_file_example,
}
_PLACE = re.compile(r'^<!-- generated: (?P<name>[\w-]+) -->$', re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the reading of pages."""
    app.connect('source-read', _fill)
    app.connect('missing-reference', python_api.resolve)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = _PLACE.sub(lambda match: _generated(page, match['name']), source[0])


def _generated(page: str, name: str) -> str:
    if name not in GENERATORS:
        raise ExtensionError(f'{page}: nothing generates {name!r}; there are {", ".join(GENERATORS)}')
    return GENERATORS[name]()
