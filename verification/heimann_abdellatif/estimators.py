"""R4-34 to R4-38, R4-40: least squares, weighted, likelihood, recursive, bound, on PaLiDA."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.kinematics import motion_from_drives
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.bodies import bodies_by_name, infeasibilities
from pkm_identification.estimator.interface import estimator_by_name
from pkm_identification.estimator.least_squares import error_bound
from pkm_identification.estimator.maximum_likelihood import DriveSeries
from pkm_identification.judgement.significance import excited_parameters
from pkm_identification.motion_source.filters import fourier_basis

from verification.check import Check, at_most, equal, within

#: N of noise of the drives' forces, unequal
NOISE = np.array([1.0, 2.0, 1.0, 15.0, 1.0, 5.0])

#: Hz and number of harmonics of the motion of the likelihood, m of noise of its encoders
FREQUENCY, HARMONICS, ENCODER = 0.5, 4, 2e-3


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks on the observation matrix of an excitation of 12 s."""
    model = ObservationModel(machine)
    motion = profile('fourier', machine, duration=12.0, rate=50.0)
    regressor, _ = model.regressor(motion)
    truth = model.parameters(machine)
    structure = model.base_parameters()
    base, _ = excited_parameters(structure.columns(regressor), structure)
    rows, clean, expected = base.columns(regressor), regressor @ truth, base.values(truth)
    exact = estimator_by_name('ls')(rows, clean)
    present = np.abs(expected) > 1e-9
    error = (exact.parameters - expected)[present] / expected[present]
    yield at_most('R4-34', 'inertial and friction parameters of noise-free data, relative', 1e-8, error)
    errors: dict[str, list[np.ndarray]] = {'ls': [], 'wls': []}
    bounds = []
    for seed in range(20 if quick else 200):
        force = clean + NOISE * np.random.default_rng(seed).normal(size=clean.shape)
        for name, found in errors.items():
            estimate = estimator_by_name(name)(rows, force)
            found.append(estimate.parameters - expected)
            if name == 'ls':
                actual = np.linalg.norm(found[-1]) / np.linalg.norm(expected)
                bounds.append(actual / error_bound(estimate, rows, force))
    ratio = np.var(errors['wls'], axis=0) / np.var(errors['ls'], axis=0)
    what = f'variance of weighted over ordinary least squares, mean of {len(base)} parameters, {len(bounds)} runs'
    yield at_most('R4-35', what, 1.0, float(ratio.mean()))
    yield at_most('R4-38', 'error of the parameters over the bound of Eq. 8', 1.0, bounds)
    batch = estimator_by_name('wls')(rows, force, None, NOISE)
    yield from likelihood_checks(machine, 4 if quick else 40)
    live = estimator_by_name('rls')(rows, force, None, NOISE)
    difference = np.abs(live.parameters - batch.parameters) / batch.std
    yield at_most('R4-37', 'recursive against batch, in standard deviations', 1e-8, difference)
    diagnosed = list(infeasibilities(bodies_by_name(model.names, truth)))
    yield equal('R4-40', 'bodies of the machine that are diagnosed', [], diagnosed)
    wrong = truth.copy()
    wrong[model.names.index('platform_link.m')] *= -1.0
    wrong[model.names.index('leg_rod.Izz')] *= -1.0
    named = [text.partition(':')[0] for text in infeasibilities(bodies_by_name(model.names, wrong))]
    what = 'bodies with a negative mass or inertia that are diagnosed'
    yield equal('R4-40', what, ['platform_link', 'leg_rod'], named)


def likelihood_checks(machine: Machine, runs: int) -> Iterator[Check]:
    """R4-36: parameters and motion estimated together, from encoders with noise that matters (2 mm)."""
    model = ObservationModel(machine, True, 'none')
    time = np.arange(200) / 25.0
    random = np.random.default_rng(1)
    homes = np.array([joint.home for leg in machine.legs for joint in leg.joints])[machine.drive_columns]
    series = random.normal(size=(2 * HARMONICS + 1, machine.actuated_count))
    place, rate, second = (fourier_basis(time, FREQUENCY, HARMONICS, order) for order in range(3))
    series *= 0.04 / np.abs(place[:, 1:] @ series[1:]).max(axis=0)
    series[0] = homes
    motion = motion_from_drives(machine, time, place @ series, rate @ series, second @ series)
    regressor, known = model.regressor(motion)
    structure = model.base_parameters()
    base, _ = excited_parameters(structure.columns(regressor), structure)
    truth = model.parameters(machine)
    expected, clean = base.values(truth), regressor @ truth + known
    errors: dict[str, list[np.ndarray]] = {'ml': [], 'wls': []}
    noise, standardised = np.full(machine.actuated_count, 0.5), []
    for seed in range(runs):
        random = np.random.default_rng(seed)
        measured = place @ series + ENCODER * random.normal(size=(len(time), machine.actuated_count))
        force = clean + noise * random.normal(size=clean.shape)
        fitted = DriveSeries(model, base, time, measured, np.full(len(noise), ENCODER), FREQUENCY, HARMONICS)
        rows, fixed = fitted.observation(fitted.start)
        found = estimator_by_name('ml', {'motion': fitted})(rows, force, None, noise)
        errors['ml'].append(found.parameters - expected)
        errors['wls'].append(estimator_by_name('wls')(rows, force - fixed, None, noise).parameters - expected)
        standardised.append(errors['ml'][-1] / found.std)
    sizes = {name: np.sqrt(np.mean(np.square(every), axis=0)) for name, every in errors.items()}
    ratio = float(np.exp(np.mean(np.log(sizes['ml'] / sizes['wls']))))
    yield at_most('R4-36', f'errors over those with the fitted motion taken as known, {runs} runs', 0.9, ratio)
    rms = float(np.sqrt(np.mean(np.square(standardised))))
    yield within('R4-36', 'errors in their standard deviations, rms', 0.75, 1.25, rms)
