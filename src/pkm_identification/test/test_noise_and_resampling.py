"""Noise floor, block bootstrap and Monte Carlo against known noise."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.errors import ConfigurationError
from pkm_description.machine import Machine
from pkm_identification.columns.observation import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.estimator.least_squares import weighted
from pkm_identification.fitting.model_fit import fit_model
from pkm_identification.judgement.significance import NOT_TRUSTED
from pkm_identification.pipeline import identify
from pkm_identification.preparation import prepare
from pkm_identification.result import INSUFFICIENT, PARTIAL, IdentificationResult
from pkm_identification.validation.resampling import ResampledStd, block_bootstrap, monte_carlo
from synthetic import clean_signals, recording


def test_residual_of_a_complete_model_is_noise(result: IdentificationResult) -> None:
    floor = result.noise_floor
    assert floor is not None and floor.is_noise
    assert 0.7 < floor.total < 1.3
    assert str(floor).startswith('the residual is noise')
    # densities add up to the power below the cut-off, up to the edge of the filter and reversals
    step = floor.frequency[1] - floor.frequency[0]
    assert np.sqrt(floor.noise_density.sum(axis=0) * step) == pytest.approx(floor.noise, rel=0.3)
    # white effort noise below the cut-off, by its definition
    white = result.machine.leg_sensors.effort_noise * np.sqrt(2.0 * result.bands.force_cutoff / 100.0)
    assert floor.from_efforts == pytest.approx(np.broadcast_to(white, 6), rel=0.15)


def test_a_force_at_one_frequency_in_one_drive_is_named(srs: Machine, short: tuple) -> None:
    """An alternating force of 4 Hz in the third drive, which no model has."""
    motion, positions, forces = short
    disturbed = forces.copy()
    disturbed[:, 2] += 60.0 * np.sin(2.0 * np.pi * 3.0 * motion.time)
    run = recording(srs, (motion, positions, disturbed), 1)
    found = identify(srs, run, config=IdentificationConfig.from_mapping({'columns.extend': False}))
    assert found.noise_floor is not None and not found.noise_floor.is_noise
    drive, frequency = found.noise_floor.worst
    assert drive == 2 and frequency == pytest.approx(3.0, abs=0.3)
    assert srs.drive_labels[2] in str(found.noise_floor)
    assert found.status == INSUFFICIENT and set(found.classification) == {NOT_TRUSTED}
    assert str(found.noise_floor) in found.warnings[0]


@pytest.mark.parametrize('kind', ['quantised', 'noisier than the file says'])
def test_noise_that_the_file_does_not_state_is_no_missing_force(srs: Machine, short: tuple, kind: str) -> None:
    """Steps of the efforts, or white noise, of several times the noise of the file."""
    run, size = recording(srs, short, 1), 5.0 * srs.leg_sensors.effort_noise
    random = np.random.default_rng(2)
    steps, noisy = np.round(run.forces / size) * size, run.forces + size * random.normal(size=run.forces.shape)
    forces = steps if kind == 'quantised' else noisy
    found = identify(srs, replace(run, forces=forces))
    assert found.noise_floor is not None and found.noise_floor.is_noise
    assert not [one for one in found.findings if one.code == 'effort_drop_out']
    assert found.status == PARTIAL and found.classification.count('identified') >= 15


def test_bootstrap_agrees_with_known_noise() -> None:
    """Correlated residuals with a covariance that is known: the spread over blocks is that of the estimates."""
    random, count, lag = np.random.default_rng(0), 1200, 0.7
    rows = random.normal(size=(count, 2, 4)).cumsum(axis=0) * 0.1
    truth = np.arange(1.0, 5.0)

    def noise() -> np.ndarray:
        made = random.normal(size=(count + 50, 2))
        for sample in range(1, len(made)):
            made[sample] += lag * made[sample - 1]
        return made[50:]

    def solved(forces: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(rows.reshape(-1, 4), forces.ravel(), rcond=None)[0]

    real = np.std([solved(rows @ truth + noise()) for _ in range(400)], axis=0)
    stds = []
    for _ in range(8):
        forces = rows @ truth + noise()
        estimate = weighted(rows, forces, correlation_lags=6)
        fit = SimpleNamespace(
            estimate=estimate, noise=estimate.noise(0.0), fitted_columns=rows, base=range(4),
            errors=forces - rows @ estimate.parameters,
        )  # fmt: skip
        stds.append(block_bootstrap(fit, np.ones((count, 2)), 400, seed=3).std)
    assert np.mean(stds, axis=0) == pytest.approx(real, rel=0.25)
    white = np.sqrt(np.diag(np.linalg.inv(rows.reshape(-1, 4).T @ rows.reshape(-1, 4))) / (1.0 - lag**2))
    assert np.all(np.mean(stds, axis=0) > 1.3 * white)  # not that of white noise of the same size


def test_disagreement_is_said() -> None:
    one = ResampledStd('block bootstrap', 200, 0, np.zeros(3), np.array([1.0, 3.0, 0.2]), 0.05)
    texts = one.disagreements(('a', 'b', 'c'), np.ones(3))
    assert len(texts) == 2
    assert 'smaller by the formula, most in b: 1 instead of 3' in texts[0] and 'larger' in texts[1] and 'c:' in texts[1]


@pytest.mark.usefixtures('fit_alone')
def test_both_in_the_result() -> None:
    """Bias and spread are those of the formula's size."""
    machine = known_machine('palida')
    signals = clean_signals(machine, 'fourier', 8.0, 100.0, 0)
    config = IdentificationConfig.from_mapping({
        'judgement.bootstrap': 200, 'judgement.monte_carlo': 12, 'judgement.seed': 5, 'columns.fixed': ('leg_*',),
        'columns.extend': False,
    })  # fmt: skip
    run = recording(machine, signals, 1)
    found = identify(machine, run, config=config)
    assert [one.seed for one in found.resampled] == [5, 5]
    bootstrap, carlo = found.resampled
    assert (bootstrap.method, carlo.method) == ('block bootstrap', 'Monte Carlo')
    for one in found.resampled:
        ratio = one.std / found.estimate.std
        assert 0.5 < np.median(ratio) < 1.6
    assert np.abs((carlo.mean - found.estimate.parameters) / found.estimate.std).max() < 3.0


def test_seeds_decide_everything_and_an_executor_nothing() -> None:
    machine = known_machine('palida')
    run = recording(machine, clean_signals(machine, 'fourier', 8.0, 100.0, 0), 1)
    config = IdentificationConfig.from_mapping({'columns.fixed': ('leg_*',)})
    model = observation_model(machine, config, run.drive_positions, run.sample_rate)
    data = prepare(model, run, config)
    fit = fit_model(data, model, config)
    first, same, other = (block_bootstrap(fit, data.row_weights, 20, seed).std for seed in (5, 5, 6))
    assert np.array_equal(first, same) and not np.array_equal(first, other)
    first, other = (monte_carlo(data, fit, config, 3, seed).std for seed in (5, 6))
    with ThreadPoolExecutor(1) as executor:
        same = monte_carlo(data, fit, config, 3, 5, executor).std
    assert np.array_equal(first, same) and not np.array_equal(first, other)


def test_monte_carlo_needs_positions(result: IdentificationResult) -> None:
    config = replace(result.config, motion=replace(result.config.motion, source='estimator'))
    with pytest.raises(ConfigurationError, match='needs a motion from them'):
        monte_carlo(SimpleNamespace(), SimpleNamespace(), config, 3)
