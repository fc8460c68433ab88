"""Maximum likelihood of base parameters and motion together (R4-36), on a 3-RPS and a hexapod."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics import motion_from_drives
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.interface import estimator_by_name
from pkm_identification.estimator.maximum_likelihood import DriveSeries
from pkm_identification.judgement.significance import excited_parameters
from pkm_identification.motion_source.filters import fourier_basis

FREQUENCY, HARMONICS = 0.5, 4


@dataclass(frozen=True)
class Truth:
    """A periodic motion of the drives and what it needs, without noise."""

    model: ObservationModel
    base: object
    time: np.ndarray
    positions: np.ndarray
    forces: np.ndarray
    parameters: np.ndarray
    weights: np.ndarray

    def series(self, positions: np.ndarray, std: float) -> DriveSeries:
        noise = np.full(positions.shape[1], std)
        return DriveSeries(self.model, self.base, self.time, positions, noise, FREQUENCY, HARMONICS)


def truth_of(name: str, friction: str, periods: int, rate: float = 25.0) -> Truth:
    machine = known_machine(name)
    model = ObservationModel(machine, True, friction)
    random = np.random.default_rng(1)
    drives = machine.drive_columns
    home = np.array([joint.home for leg in machine.legs for joint in leg.joints])[drives]
    time = np.arange(round(periods * rate / FREQUENCY)) / rate
    count = machine.actuated_count
    series = random.normal(size=(1 + 2 * HARMONICS, count)) / np.repeat(np.arange(HARMONICS + 1), 2)[1:, None].clip(1)
    bases = [fourier_basis(time, FREQUENCY, HARMONICS, order) for order in range(3)]
    series *= 0.04 / np.abs(bases[0] @ series - series[0]).max(axis=0)
    series[0] = home
    positions, rates, accelerations = (basis @ series for basis in bases)
    motion = motion_from_drives(machine, time, positions, rates, accelerations)
    regressor, known = model.regressor(motion)
    structure = model.base_parameters()
    base, _ = excited_parameters(structure.columns(regressor), structure)
    weights = (np.abs(rates) > 0.05 * np.abs(rates).max(axis=0)).astype(float) if friction != 'none' else None
    return Truth(
        model, base, time, positions,
        regressor @ model.parameters(machine) + known, base.values(model.parameters(machine)), weights,
    )  # fmt: skip


@pytest.fixture(scope='module')
def hexapod() -> Truth:
    return truth_of('palida', 'none', 4)


def estimates(truth: Truth, seed: int, position_std: float, force_std: float, names: tuple[str, ...]) -> dict:
    random = np.random.default_rng(seed)
    positions = truth.positions + position_std * random.normal(size=truth.positions.shape)
    forces = truth.forces + force_std * random.normal(size=truth.forces.shape)
    motion = truth.series(positions, position_std)
    matrix, known = motion.observation(motion.start)
    noise = np.full(forces.shape[1], force_std)
    found = {}
    for name in names:
        settings = {'motion': motion} if name == 'ml' else {}
        given = forces if name == 'ml' else forces - known
        found[name] = estimator_by_name(name, settings)(matrix, given, truth.weights, noise)
    return found


@pytest.mark.parametrize(('name', 'friction'), [('palida', 'none'), ('valencia_3rps', 'actuated')])
def test_exact_data_give_the_truth_and_derivatives_are_exact(name: str, friction: str) -> None:
    truth = truth_of(name, friction, 1)
    motion = truth.series(truth.positions, 1e-5)
    matrix, _ = motion.observation(motion.start)
    noise = np.ones(truth.forces.shape[1])
    found = estimator_by_name('ml', {'motion': motion})(matrix, truth.forces, truth.weights, noise)
    scale = np.abs(truth.parameters).max()
    assert np.abs(found.parameters - truth.parameters).max() < 1e-7 * scale
    slopes = motion.force_derivatives(motion.start, truth.parameters)
    for place in (0, 3, 1 + 2 * HARMONICS):
        step = 1e-6 * (np.arange(len(motion.start)) == place)
        ends = []
        for sign in (1.0, -1.0):
            columns, known = motion.observation(motion.start + sign * step)
            ends.append(columns @ truth.parameters + known)
        rough = (ends[0] - ends[1]) / 2e-6
        used = truth.weights > 0.0 if truth.weights is not None else np.ones(rough.shape, dtype=bool)
        assert np.abs(rough - slopes[..., place])[used].max() < 1e-5 * np.abs(rough).max()


def test_noise_of_the_motion_is_taken_into_account(hexapod: Truth) -> None:
    """Position noise that matters: errors of ML are as large as it says, and smaller than those of least squares."""
    errors: dict[str, list[np.ndarray]] = {'ml': [], 'wls': []}
    standardised = []
    for seed in range(6):
        found = estimates(hexapod, seed, 2e-3, 0.5, ('ml', 'wls'))
        assert found['ml'].solver.converged
        for name, estimate in found.items():
            errors[name].append(estimate.parameters - hexapod.parameters)
        standardised.append(errors['ml'][-1] / found['ml'].std)
    rms = np.sqrt(np.mean(np.square(standardised)))
    size = {name: np.sqrt(np.mean(np.square(found), axis=0)) for name, found in errors.items()}
    ratio = float(np.exp(np.mean(np.log(size['ml'] / size['wls']))))
    print(f'standardised errors of ml: rms {rms:.2f}; error of ml over wls, geometric mean {ratio:.2f}')
    assert 0.75 < rms < 1.25
    assert ratio < 0.9


def test_what_is_missing_is_said(hexapod: Truth) -> None:
    motion = hexapod.series(hexapod.positions, 1e-5)
    matrix, _ = motion.observation(motion.start)
    with pytest.raises(ConfigurationError, match='motion = None: give the measured motion'):
        estimator_by_name('ml')(matrix, hexapod.forces, None, np.ones(6))
    with pytest.raises(ConfigurationError, match='force_std = None'):
        estimator_by_name('ml', {'motion': motion})(matrix, hexapod.forces)
    machine = known_machine('octopod_8ups')
    others = ObservationModel(machine), hexapod.base, hexapod.time, np.zeros((len(hexapod.time), 8)), np.ones(8)
    with pytest.raises(ConfigurationError, match='octopod_8ups has 8 drives for 6 degrees of freedom'):
        DriveSeries(*others, 0.5, 3)
