"""Oh (2003), T6: which groups of forces dominate, Eqs. 2.76 to 2.88, on his machines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from verification.check import Check, at_least, at_most
from verification.oh_2003.kane import group_regressors, pseudo_jacobian
from verification.oh_2003.parameters import OhModel, oh_model
from verification.oh_2003.trajectories import OH_FREQUENCIES, case

TRANSLATIONS, ALL_CASES = (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)


def shares(
    model: OhModel, parameters: Array, number: int, frequency: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Dominance (2.76 to 2.81) and variation (2.83 to 2.88) of the groups along a case of Table 2.2, in per cent."""
    time = np.linspace(0.0, 2.0 * np.pi / frequency, 100, endpoint=False)
    motion = case(number, frequency, time, model.home)
    jacobian = pseudo_jacobian(model.geometry, motion)
    groups = group_regressors(model.geometry, motion)
    sizes = {
        name: np.linalg.norm(np.linalg.solve(jacobian, (group @ parameters)[..., None])[..., 0], axis=1)
        for name, group in groups.items()
    }
    total = np.sum([group @ parameters for group in groups.values()], axis=0)
    mean = float(np.linalg.norm(np.linalg.solve(jacobian, total[..., None])[..., 0], axis=1).mean())
    return (
        {name: float(100.0 * size.mean() / mean) for name, size in sizes.items()},
        {name: float(100.0 * np.ptp(size) / mean) for name, size in sizes.items()},
    )


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """T6. The heights of the bars in Figs. 2.10 to 2.15 cannot be read: their order is what is judged."""
    model = oh_model(machine)
    masses = model.parameters
    ratio = masses[2] / (6.0 * masses[0])
    high, low = OH_FREQUENCIES['high'], OH_FREQUENCIES['low']
    fast = {number: shares(model, masses, number, high) for number in ALL_CASES}
    small = [fast[number][0]['cor'] + fast[number][0]['cen'] for number in ALL_CASES]
    yield at_most('T6', 'cor + cen, mean, all cases, high speed, % of the mean force', 2.0, small, '%')
    # section 2.4.1: struts below a mass ratio of 1, the platform above it
    first, second = ('sm', 'pm') if ratio < 1.0 else ('pm', 'sm')
    what = f'{first} / {second}, mean, cases 1 to 4, high speed, m_p / (6 m_e) = {ratio:.3g}: least'
    yield at_least('T6', what, 1.0, [fast[number][0][first] / fast[number][0][second] for number in TRANSLATIONS])
    slow = [shares(model, masses, number, low)[0] for number in ALL_CASES]
    gravity = [(entry['grp'] + entry['grs']) / (entry['pm'] + entry['sm']) for entry in slow]
    yield at_least('T6', 'gravity / inertia, mean, all cases, low speed: least', 10.0, gravity)
    cases = ALL_CASES if ratio < 1.0 else TRANSLATIONS
    varied = [fast[number][1] for number in cases]
    largest = [entry[first] / max(value for name, value in entry.items() if name != first) for entry in varied]
    what = f'variation of {first} / largest of the others, cases 1 to {len(cases)}, high speed: least'
    yield at_least('T6', what, 1.0, largest)
