"""Oh (2003), chapter 4: A1 to A10, A13 and A16, with his model and his filter on samples of our own making."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.friction_laws import DeadBand
from pkm_description.machine import Machine

from verification.check import Check, at_least, at_most, equal
from verification.oh_2003.campaign import (
    AXES,
    FORCE_VARIANCE,
    TRUE,
    WORK_VARIANCE,
    Result,
    Samples,
    energy_samples,
    force_samples,
    free_fall,
    motion_of,
    named,
    part,
    unscented,
    with_noise,
)
from verification.oh_2003.kinematics import strut_kinematics
from verification.oh_2003.parameters import OhModel, oh_model
from verification.oh_2003.staged import friction_columns

#: ours: variances of the filter for noise in the states, N^2 and J^2 at 1 %; they grow with its square
NOISY_FORCE, NOISY_WORK = 0.25, 1e-3

#: ours, J^2: what the left rule of the energy model errs by, 1e-4 J
LEFT_WORK = 1e-8

#: samples of a noisy run, by the axes of Figs. 4.43, 4.44 and C.1 to C.10
NOISY_SAMPLES = 40

#: printed errors of the masses m_e, m_b, m_p with noise, per cent (grades B, B, A; C, B, C)
PRINTED = {0.01: (2.57, 2.04, 5.40), 0.05: (10.7, 3.25, 19.0)}

_INERTIA_SUMS = {'Ixxb + Ixxe': (3, 9), 'Izzb + Izze': (5, 11)}


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """All of chapter 4 on the UF machine."""
    model = oh_model(machine)
    results = {name: unscented(force_samples(model, motion_of(model, name)), FORCE_VARIANCE) for name in AXES}
    for id, name, printed in (('A1', 'X', '0.04'), ('A2', 'XY', '0.04')):
        what = f'UKF, force, {name}, original order: masses, worst (printed {printed} %, grade A)'
        yield at_most(id, what, 0.05, results[name].mass_errors, '%')
    for name in _INERTIA_SUMS:
        yield at_most(
            'A3', f'UKF, force, XY: {name} (printed 0.03 %, grade B)', 0.1, _sum_error(results['XY'], name), '%'
        )
    yield at_most(
        'A4', 'UKF, force, X: Ixxb + Ixxe (printed 0.04 %, C)', 0.1, _sum_error(results['X'], 'Ixxb + Ixxe'), '%'
    )
    what = 'parameters in unobserved directions, X (Izzb: printed 10.69 % off, B)'
    left_open = ['Iyyb', 'Izzb', 'Ixxp', 'Iyyp', 'Izzp', 'Ixxe', 'Iyye', 'Izze']
    yield equal('A4', what, left_open, named(results['X'].unobserved))
    yield from _order_checks(model)
    yield from friction_checks(machine, model)
    yield from _energy_checks(model)
    yield from _noise_checks(model, 5 if quick else 20)
    text = 'X, samples until the masses stay within 5 % of their last values (printed about 5)'
    yield at_most('A13', text, 20, results['X'].settled_after(0.05))
    yield from _open_checks(model, results)


def _sum_error(result: Result, name: str) -> Array:
    places = list(_INERTIA_SUMS[name])
    return np.asarray(100.0 * (result.estimates[-1, places].sum() / TRUE[places].sum() - 1.0))


def _order_checks(model: OhModel) -> Iterator[Check]:
    """A5 and A6: samples in random order, and every tenth."""
    for name in AXES:
        samples = force_samples(model, motion_of(model, name))
        chosen = np.random.default_rng(0).permutation(len(samples.measured))[:120]
        errors = unscented(samples.ordered(chosen), FORCE_VARIANCE).mass_errors
        yield at_most('A5', f'UKF, force, {name}, 120 samples in random order: masses, worst', 0.5, errors, '%')
        spread = force_samples(model, part(motion_of(model, name, 2.0), slice(None, None, 10)))
        errors = unscented(spread, FORCE_VARIANCE).mass_errors
        yield at_most('A6', f'UKF, force, {name}, every tenth sample of 2 s: masses, worst', 0.05, errors, '%')


def friction_checks(machine: Machine, model: OhModel) -> Iterator[Check]:
    """A7: friction of the samples by Eq. 4.5 written out, of the model by the library; Table 4.1 is unreadable."""
    laws = [joint.friction.law for joint in machine.actuated_joints]
    bands = [law for law in laws if isinstance(law, DeadBand)]
    for name, printed in (('X', 3.0), ('Z', 2.6), ('XY', 16.2)):
        motion = motion_of(model, name)
        rates = strut_kinematics(model.geometry, motion).rate
        friction = np.stack([law.force(rates[:, place]) for place, law in enumerate(bands)], axis=1)
        samples = force_samples(model, motion)
        written = friction_columns(rates) @ np.ravel([(law.viscous, law.coulomb) for law in bands])
        measured = samples.measured + written
        errors = unscented(Samples(samples.regressors, measured - friction), FORCE_VARIANCE).mass_errors
        what = f'UKF, force, {name}, friction known exactly: masses, worst (printed {printed:g} %, grade A)'
        yield at_most('A7', what, printed, errors, '%')
        off = unscented(Samples(samples.regressors, measured - 0.9 * friction), FORCE_VARIANCE).mass_errors
        yield at_most('A7', f'the same with coefficients 10 % too small in the model, {name}', printed, off, '%')


def _energy_checks(model: OhModel) -> Iterator[Check]:
    """A8, with the trapezoidal rule; the printed left rule errs by 1 % of each step."""
    trapezoid = []
    for name in AXES:
        motion = motion_of(model, name)
        errors = unscented(energy_samples(model, motion), WORK_VARIANCE).mass_errors
        trapezoid.append(np.abs(errors).max())
        yield at_most(
            'A8', f'UKF, energy, {name}, trapezoidal rule: masses, worst (printed 7.3 %, A)', 7.3, errors, '%'
        )
    left = [unscented(energy_samples(model, motion_of(model, name), rule='left'), LEFT_WORK) for name in AXES]
    for name, found in zip(AXES, left, strict=True):
        what = f'UKF, energy, {name}, left rule as printed: masses, worst (printed 7.3 %, A)'
        yield at_most('A8', what, 7.3, found.mass_errors, '%')
    worst = [np.abs(found.mass_errors).max() for found in left]
    yield at_least('A8', 'left rule over trapezoidal rule, least of X, Z, XY', 1.0, np.divide(worst, trapezoid))


def _noise_checks(model: OhModel, seeds: int) -> Iterator[Check]:
    """A9 and A10: uniform noise of a share of each state's range, forces without."""
    motion, first = motion_of(model, 'XY'), slice(NOISY_SAMPLES)
    found: dict[tuple[str, float], Array] = {}
    for share in PRINTED:
        factor = (share / 0.01) ** 2
        for kind, maker, variance in (
            ('force', force_samples, NOISY_FORCE), ('energy', energy_samples, NOISY_WORK)
        ):  # fmt: skip
            errors = [
                unscented(
                    maker(model, part(motion, first), part(with_noise(motion, share, seed), first)), variance * factor
                ).mass_errors
                for seed in range(seeds)
            ]
            found[kind, share] = np.median(np.abs(errors), axis=0)
    text = f'UKF, XY, {NOISY_SAMPLES} samples, median of {seeds} seeds: masses, worst'
    yield at_most('A9', f'force, 1 % noise; {text}', 5.4, found['force', 0.01], '%')
    ratio = found['energy', 0.01].max() / found['force', 0.01].max()
    what = f'energy ({found["energy", 0.01].max():.3g} %, printed 37.8) over force, 1 % noise; {text}'
    yield at_least('A9', what, 1.0, ratio)
    for place, name in enumerate(('m_e', 'm_b', 'm_p')):
        printed = PRINTED[0.05][place]
        yield at_most('A10', f'force, 5 % noise; {text}: {name}', printed, found['force', 0.05][place], '%')


def _open_checks(model: OhModel, results: dict[str, Result]) -> Iterator[Check]:
    """A16: free fall leaves the scale open, translation says nothing of the platform's inertias."""
    falling_samples = force_samples(model, free_fall(model))
    falling = unscented(falling_samples, FORCE_VARIANCE)
    masses = [name for name in named(falling.unobserved) if name.startswith('m_')]
    yield equal('A16', 'masses in unobserved directions, free fall (printed 11.4 % off)', ['m_e', 'm_b', 'm_p'], masses)
    off = falling.mass_errors
    forces = falling_samples.regressors @ falling.estimates[-1]
    errors_text = ', '.join(f'{value:.1f}' for value in off)
    what = f'forces in free fall by the estimate, whose masses are {errors_text} % off (true: 0)'
    yield at_most('A16', what, 10.0 * np.sqrt(FORCE_VARIANCE), forces, 'N')
    for name in AXES:
        found = [entry for entry in named(results[name].unobserved) if entry.startswith('m_')]
        yield equal('A16', f'masses in unobserved directions, {name}', [], found)
    # the source's Z was 16.5 % off, in random order 56 %; on this geometry Z is excited nearly as well as XY
    worse = (results['Z'].std / results['XY'].std)[:3]
    yield at_least('A16', 'standard deviations of m_e, m_b, m_p, Z over XY: largest', 1.0, worse.max())
    artefacts = {'Ixxp': (6, 0.79), 'Iyyp': (7, 0.70), 'Iyye': (10, 26.19)}
    for name, (place, printed) in artefacts.items():
        errors = [100.0 * (1.0 - result.estimates[-1, place] / TRUE[place]) for result in results.values()]
        yield at_most(
            'A16', f'{name}, X, Z, XY: largest difference: it stays at its start (printed {printed} % off everywhere)',
            1e-3, np.ptp(errors), '%',
        )  # fmt: skip
