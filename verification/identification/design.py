"""Designed excitations against random ones, and rotors in the observation matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine.machine import with_joints
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.excitation.design import design_excitation
from pkm_identification.excitation.objective import ExcitationSettings

from verification.check import Check, at_least, at_most

#: random series that a design is compared with
RANDOM = 500
#: optimisations, in as many processes as the issue's computer has
_STARTS, _PROCESSES = 4, 2
#: kg or kg m^2, of every drive
ROTOR = 2.0


def design_checks(source: str, seed: int) -> Iterator[Check]:
    """Condition number of a design against the best of random series within the same limits."""
    settings = ExcitationSettings(starts=_STARTS, draws=RANDOM // _STARTS, seed=seed)
    begin = perf_counter()
    found = design_excitation(load_machine(source), settings, workers=_PROCESSES)
    seconds = perf_counter() - begin
    gain = 100.0 * (1.0 - found.objective / found.random_objective)
    text = (
        f'{found.settings.objective} {found.objective:.4g} below the best of {found.random_count} random series, '
        f'{found.random_objective:.4g}'
    )
    yield at_least('excitation', text, 45.0, gain, '%')
    yield at_most('excitation', f'time of that with {_PROCESSES} processes', 60.0, seconds, 's')


def rotor_checks(source: str) -> Iterator[Check]:
    """Observation matrix times parameters against inverse dynamics, with heavy rotors: known, and identified."""
    plain = load_machine(source)
    machine = with_joints(plain, lambda one: replace(one, rotor_inertia=ROTOR) if one.actuated else one)
    motion = random_states(machine, 200, seed=5)
    expected = inverse_dynamics(machine, motion)
    moved = float(np.abs(expected - inverse_dynamics(plain, motion)).max())
    model = ObservationModel(machine)
    matrix, known = model.regressor(motion)
    error = float(np.abs(matrix @ model.parameters(machine) + known - expected).max() / np.abs(expected).max())
    what = f'rotors of {ROTOR:g} (forces of up to {moved:.3g}): observation matrix, relative'
    yield at_most('rotors', what, 1e-9, error)
