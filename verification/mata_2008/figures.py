"""Mata et al. (2008), M42: figures like 2 to 4, of synthetic data."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure as Drawing
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_MODELS
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_file
from pkm_description.machine import Machine
from pkm_identification.excitation.plots import excitation_figure

from verification.check import Check
from verification.force_figures import curves, shown
from verification.mata_2008.data import NOISE, excitation, truth_run
from verification.mata_2008.estimation import run_of
from verification.mata_2008.ladder import Ladder
from verification.mata_2008.prediction import ways
from verification.suite import Figure


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Every figure has the curves of the paper's."""
    path = str(machine.path)
    yield from shown('M42', 'figure like 2', excitation_figure(excitation(path)), [3, 3, 3, 3, 0])
    yield from shown('M42', 'figure like 3', fitted_forces(path), [3, 3, 3])
    yield from shown('M42', 'figure like 4', predicted_forces(path), [2, 2, 2])


def figures() -> tuple[Figure, ...]:
    """Of the report, for the machine file of the paper."""
    path = str(machine_file('valencia_3rps'))
    return (
        Figure('figure_02', 'Figure 2: an excitation of 11 harmonics', lambda: excitation_figure(excitation(path))),
        Figure('figure_03', 'Figure 3: synthetic forces, and those of both linear fits', lambda: fitted_forces(path)),
        Figure('figure_04', 'Figure 4: forces of a motion that the fit did not use', lambda: predicted_forces(path)),
    )


def fitted_forces(path: str) -> Drawing:
    """Measured forces, and those by least squares and by the constrained fit."""
    machine = load_machine(path)
    run = run_of(machine, 1)
    found = ways(machine, run)
    values = {'measured': run.noisy}
    values |= {word: way.predict(way.fit(run), run) for word, way in found.items() if word.startswith('linear')}
    return curves(run.time, values, machine.actuated_joint_names, 'N', ['measured'])


def predicted_forces(path: str) -> Drawing:
    """Model 4 found on one excitation, and the forces of another."""
    machine = load_machine(path)
    ladder, noisy = Ladder(machine), truth_run(path).with_noise(NOISE, 1)
    fit = ladder.fit(MATA_MODELS[3], noisy, truth_run(path))
    other = run_of(machine, 11)
    _, _, rows = ladder.rows(MATA_MODELS[3], other.data)
    values = {'measured': other.noisy, 'model 4': rows @ fit.estimate.parameters}
    return curves(other.time, values, machine.actuated_joint_names, 'N', ['measured'])
