"""Which function measures which requirements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType

from verification.check import Check
from verification.miletovic_2017 import (
    accuracy,
    comparison,
    geometry,
    initialisation,
    interface,
    model,
    robustness,
    simulator,
)
from verification.miletovic_2017.figures import figures
from verification.miletovic_2017.pipeline_run import Laboratory
from verification.suite import Part, Plan, Request, Workers

#: by module: its functions, and the numbers of the requirements that each measures
_MEASURED: tuple[tuple[ModuleType, dict[str, Iterable[int]]], ...] = (
    (geometry, {'geometry': range(1, 10), 'never_above': [8], 'differentiator': [10], 'jacobian_velocity': [11]}),
    (model, {'vectors': [13, 37], 'inputs': [14], 'transform': [15], 'noise': [16, 17], 'integrators': [18]}),
    (accuracy, {
        'errors': range(19, 24), 'corrected_signals': [24], 'covariance': [25], 'unit_sphere': [26],
        'augmented_form': [27], 'periodic_errors': [28], 'innovations': [29], 'chi_square': [30], 'standstill': [31],
    }),
    (initialisation, {
        'printed_start': [32], 'forward_kinematics_start': [33], 'mirrored_start': [34], 'restart': [35],
        'convergence_times': [36], 'other_geometries': [62], 'extended_filters': [64],
    }),
    (simulator, {
        'first_profile': [41], 'second_profile': [42], 'imu_at_any_point': [43], 'sensor_effects': [44],
        'truths': [45], 'monte_carlo': [46],
    }),
    (robustness, {
        'other_points': [38], 'wrong_arm': [39], 'mounting': [40], 'experiment_tuning': [47], 'late_imu': [48],
        'offline_delay': [49], 'offsets': [50], 'bursts': [51], 'dropouts': [52], 'drift': [53], 'static_record': [54],
        'noise_from_innovations': [55],
    }),
    (comparison, {'error_tables': [12], 'against_baseline': [56, 57]}),
    (interface, {
        'speed': [58], 'determinism': [59], 'offline': [60], 'contents': [61], 'own_measurements': [63],
    }),
)  # fmt: skip

#: what measures requirements, by their ids
ROWS: dict[tuple[str, ...], Callable[[Laboratory], Iterator[Check]]] = {
    tuple(f'S3-{number:02d}' for number in numbers): getattr(module, name)
    for module, functions in _MEASURED
    for name, numbers in functions.items()
}


def part_of(ids: tuple[str, ...], lab: Laboratory) -> Part:
    """Part that measures some requirements."""
    return Part(ids[0] if len(ids) == 1 else f'{ids[0]} to {ids[-1]}', partial(ROWS[ids], lab), ids=ids)


def plan(request: Request, workers: Workers) -> Plan:
    """All rows, which share their runs, and figures 7 to 17."""
    lab = Laboratory(request.quick, workers)

    def remarks() -> list[str]:
        extent = f'{len(lab.seeds)} seeds of {lab.duration:g} s, {lab.starts} starts'
        return [f'{"quick: " if lab.quick else ""}{extent}; {lab.steps} filter steps']

    return Plan(tuple(part_of(ids, lab) for ids in ROWS), together=True, remarks=remarks, figures=figures(lab))
