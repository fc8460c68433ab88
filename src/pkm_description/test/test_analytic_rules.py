"""Base parameters by the rules of the joints against the numerical reduction, for every machine file."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pkm_description.dynamics import reduce_parameters, rigid_body_parameter_names, rigid_body_regressor
from pkm_description.dynamics.parameter_reduction.analytic_rules import minimal_count, unseen_directions
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_names
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_gravity

#: platforms that only translate: more is hidden than the rules of single joints say
RESTRICTED = ('delta', 'three_upu')

CLOSED = [name for name in machine_names() if load_machine(name).has_platform]


def numerical(machine: Machine) -> tuple[np.ndarray, int]:
    """Stacked regressor and the number of base parameters that it has."""
    states = random_states(machine, 60, seed=3)
    rows = rigid_body_regressor(machine, states, identical_legs=False)
    stacked = rows.reshape(-1, rows.shape[-1])
    return stacked, len(reduce_parameters(stacked, rigid_body_parameter_names(machine, identical_legs=False)))


@pytest.mark.parametrize('name', CLOSED)
def test_directions_are_unseen_and_leave_the_right_number(name: str) -> None:
    machine = load_machine(name)
    stacked, count = numerical(machine)
    assert np.abs(stacked @ unseen_directions(machine)).max() < 1e-11 * np.abs(stacked).max()
    if name in RESTRICTED:
        assert minimal_count(machine) > count
    else:
        assert minimal_count(machine) == count


def test_gravity_along_a_fixed_axis_hides_the_first_moments() -> None:
    """The planar five-bar with gravity across its plane and in it."""
    machine = load_machine('five_bar')
    across, within = (with_gravity(machine, np.array(gravity)) for gravity in ((0.0, 0.0, -9.81), (0.0, -9.81, 0.0)))
    counts = []
    for one in (across, within):
        stacked, count = numerical(one)
        assert minimal_count(one) == count
        assert np.abs(stacked @ unseen_directions(one)).max() < 1e-11 * np.abs(stacked).max()
        counts.append(count)
    assert counts[0] < counts[1]


def test_a_sliding_joint_aslant_to_the_plane_is_not_planar() -> None:
    """Nothing is called unseen that a leg which leaves its plane shows."""
    machine = load_machine('valencia_3rps')
    leg = machine.legs[0]
    tilted = dataclasses.replace(leg.joints[1], axis=np.array([0.0, np.sin(0.3), np.cos(0.3)]))
    other = dataclasses.replace(leg, joints=(leg.joints[0], tilted))
    changed = dataclasses.replace(machine, legs=(other, *machine.legs[1:]))
    plain, aslant = (np.linalg.matrix_rank(unseen_directions(one)) for one in (machine, changed))
    assert aslant < plain
