"""Curves of the figures, from the runs that the table uses, in the paper's axes (z down)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.models import STATE_SIZE
from pkm_estimation.sensors import SensorConditions

from verification.miletovic_2017.comparison import ESTIMATORS, SET_POINT_LEAD, deviations, errors_against, experiment
from verification.miletovic_2017.filter_run import FilterRun
from verification.miletovic_2017.pipeline_run import Laboratory, simulated
from verification.miletovic_2017.scenario import PRINTED, Scenario, machine_named

#: signs of the state's vectors between z up and z down
_SIGNS = np.tile([1.0, -1.0, -1.0], STATE_SIZE // 3)

BASELINE = 'Gauss-Newton + B2'

#: legs that the paper shows
LEGS = (0, 2, 4)

#: names, units and rows of the states
_BIASES = (('λx', 'm/s^2', 9), ('λz', 'm/s^2', 11), ('λp', 'rad/s', 12), ('λq', 'rad/s', 13))
_STATES_OF_FIGURE_10 = (
    ('x', 'm', 0), ('z', 'm', 2), ('u', 'm/s', 3), ('w', 'm/s', 5), ('ex', '', 6), ('ey', '', 7),
)  # fmt: skip
_STATES_OF_FIGURE_13 = (
    ('x', 'm', 0), ('y', 'm', 1), ('u', 'm/s', 3), ('w', 'm/s', 5), ('ex', '', 6), ('ey', '', 7),
)  # fmt: skip

#: s of the excerpts of Fig. 15
EXCERPT = 20.0


@dataclass(frozen=True)
class Curve:
    """Values over time [s]; the label tells what they are, if there are several."""

    time: Array
    values: Array
    label: str = ''


@dataclass(frozen=True)
class Panel:
    """Curves of one quantity in its SI unit, empty where it has none."""

    quantity: str
    unit: str
    curves: tuple[Curve, ...]


def signals(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 7: specific force x, roll rate, lengths of legs 1, 3, 5."""
    scenario = Scenario('centred', motion, _duration(lab))
    data = simulated(scenario)
    lengths = data.drive_positions + machine_named(scenario.machine).lengths_at_zero
    imu = np.hstack([data.specific_force, data.angular_rate]) * _SIGNS[:6]
    rows = [('f_x', 'm/s^2', imu[:, 0]), ('p', 'rad/s', imu[:, 3])]
    rows += [(f'l{leg + 1}', 'm', lengths[:, leg]) for leg in LEGS]
    return [Panel(name, unit, (Curve(scenario.time, values),)) for name, unit, values in rows]


def static_noise() -> list[tuple[str, str, dict[str, tuple[Array, Array]]]]:
    """Fig. 8: specific force x and roll rate at rest, (time, values) by kind of noise."""
    result = []
    records = {}
    for name, heavy in (('Gaussian', False), ('heavy tails', True)):
        scenario = Scenario('centred', 'hold', 30.0, conditions=SensorConditions(heavy_tails=heavy))
        records[name] = scenario.time, simulated(scenario)
    for quantity, unit, attribute in (('f_x', 'm/s²', 'specific_force'), ('p', 'rad/s', 'angular_rate')):
        samples = {name: (time, getattr(data, attribute)[:, 0]) for name, (time, data) in records.items()}
        result.append((quantity, unit, samples))
    return result


def innovations(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 9: without the first seconds, which would set the scale."""
    run = _run(lab, motion)
    return [_band_panel(run.time, run.residual, run.residual_std, leg, 5.0) for leg in LEGS]


def state_errors(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 10: x, z, u, w, ex, ey with two standard deviations."""
    return [_error_panel(_run(lab, motion), *one) for one in _STATES_OF_FIGURE_10]


def bias_errors(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 11."""
    return [_error_panel(_run(lab, motion), *one) for one in _BIASES]


def experiment_innovations(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 12."""
    run = lab.pipelines([experiment(lab, motion)])[0]
    result = run.result
    return [_band_panel(run.time, result.innovation, result.innovation_std, leg, 5.0) for leg in LEGS]


def experiment_states(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 13: of the IMU's point."""
    return _experiment(lab, motion, _STATES_OF_FIGURE_13, 0.0)


def experiment_biases(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 14: settled."""
    return _experiment(lab, motion, _BIASES, 10.0)


def excerpts(lab: Laboratory, motion: str) -> list[Panel]:
    """Fig. 15: x, roll, u of filter and baseline."""
    scenario = experiment(lab, motion)
    run = lab.pipelines([scenario])[0]
    shown = (run.time >= lab.settling) & (run.time <= lab.settling + EXCERPT)
    pair = errors_against(run, scenario, SET_POINT_LEAD)
    panels = []
    for name, unit, attribute in (('x', 'm', 'position'), ('φ', 'rad', 'attitude'), ('u', 'm/s', 'velocity')):
        labels = (BASELINE, 'filter')
        series = (getattr(errors, attribute)[shown, 0] for errors in (pair[1], pair[0]))
        both = tuple(Curve(run.time[shown], values, label) for label, values in zip(labels, series, strict=True))
        panels.append(Panel(name, unit, both))
    return panels


@dataclass(frozen=True)
class Bars:
    """Standard deviations (3,) of one quantity in its SI unit, by estimator; names of the axes."""

    quantity: str
    unit: str
    axes: tuple[str, str, str]
    values: dict[str, Array]


def standard_deviations(lab: Laboratory, motion: str) -> dict[str, list[Bars]]:
    """Figs 16, 17: by reference; of the filters, and of the baseline beside the first of them."""
    result: dict[str, list[Bars]] = {}
    for reference, lead in (('set-points 34 ms ahead', SET_POINT_LEAD), ('the truth', 0.0)):
        pairs = {name: deviations(lab, experiment(lab, motion, config), lead) for name, config in ESTIMATORS.items()}
        found = {name: pair[0] for name, pair in pairs.items()} | {BASELINE: next(iter(pairs.values()))[1]}
        result[reference] = [
            Bars(quantity, unit, axes, {name: getattr(errors, quantity) for name, errors in found.items()})
            for quantity, unit, axes in (
                ('position', 'm', ('x', 'y', 'z')),
                ('attitude', 'rad', ('φ', 'θ', 'ψ')),
                ('velocity', 'm/s', ('u', 'v', 'w')),
            )
        ]
    return result


def _duration(lab: Laboratory) -> float:
    return lab.duration if lab.quick else 100.0


def _run(lab: Laboratory, motion: str) -> FilterRun:
    scenario = Scenario(motion=motion, duration=100.0, config=replace(PRINTED, integrator='heun'), start='printed')
    return lab.filters([scenario])[0]


def _error_panel(run: FilterRun, name: str, unit: str, row: int) -> Panel:
    shown = run.time >= 5.0
    time, error, band = run.time[shown], run.error[shown, row] * _SIGNS[row], 2.0 * run.std[shown, row]
    return Panel(name, unit, (Curve(time, error), Curve(time, band, '2 sigma'), Curve(time, -band, '2 sigma')))


def _band_panel(time: Array, residual: Array, std: Array, leg: int, begin: float) -> Panel:
    shown = time >= begin
    band = 2.0 * std[shown, leg]
    curves = (Curve(time[shown], residual[shown, leg]), *(Curve(time[shown], s * band, '2 sigma') for s in (1.0, -1.0)))
    return Panel(f'innovation l{leg + 1}', 'm', curves)


def _experiment(lab: Laboratory, motion: str, wanted: tuple[tuple[str, str, int], ...], begin: float) -> list[Panel]:
    run = lab.pipelines([experiment(lab, motion)])[0]
    shown = run.time >= begin
    return [
        Panel(name, unit, (Curve(run.time[shown], run.state[shown, row] * _SIGNS[row]),)) for name, unit, row in wanted
    ]
