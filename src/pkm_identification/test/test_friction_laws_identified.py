"""Machines whose joints follow a law of the friction library: identified, written as an overlay, and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.friction_laws import ViscousCoulomb
from pkm_description.friction_laws.laws import LoadDependentStribeck
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine, write_overlay
from pkm_description.machine import Joint, JointFriction
from pkm_description.machine.machine import with_friction
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.bodies import machine_with
from pkm_identification.fitting.physical_machine import overlay_values


def test_identified_law_goes_through_an_overlay(tmp_path):
    machine = known_machine('uf')  # dead band law in the struts
    model = ObservationModel(machine)
    random = np.random.default_rng(4)
    values = model.parameters(machine)
    dry = [place for place, name in enumerate(model.names) if name.endswith('.coulomb')]
    values[dry] += random.uniform(5.0, 20.0, 6)
    identified = machine_with(machine, model.names, values)
    path = tmp_path / 'overlay.yaml'
    content = overlay_values(identified, identical_legs=True, friction='actuated')
    write_overlay(path, 'uf', content, date='2026-11-21', data='none', method='test')
    again = load_machine('uf', path)
    for new, old in zip(again.actuated_joints, machine.actuated_joints, strict=True):
        assert type(new.friction.law) is type(old.friction.law)
        assert new.friction.law.coulomb > old.friction.law.coulomb + 5.0
        # programs that know no law follow
        assert new.friction.coulomb > old.friction.coulomb + 4.0
    np.testing.assert_allclose(model.parameters(again), values, rtol=1e-9, atol=1e-9)
    motion = random_states(machine, 20)
    regressor, _ = model.regressor(motion)
    forces = inverse_dynamics(again, motion)
    np.testing.assert_allclose(regressor @ values, forces, atol=1e-9 * np.abs(forces).max())


@pytest.mark.parametrize('name', ['delta', 'tricept', 'three_upu', 'srs'])
def test_every_axis_of_a_joint_goes_through_an_overlay(name: str, tmp_path: Path) -> None:
    """Universal and spherical joints of a file are several axes, each with a law of its own, some by the load."""
    machine, random = known_machine(name), np.random.default_rng(7)

    def another(joint: Joint) -> JointFriction:
        viscous, coulomb = (float(value) for value in random.uniform(0.5, 2.0, 2))
        law = ViscousCoulomb(viscous=viscous, coulomb=coulomb)
        if not joint.actuated and random.uniform() < 0.3:
            law = LoadDependentStribeck(
                viscous=viscous, coulomb_coefficient=0.002, static_coefficient=0.003, stribeck_velocity=0.1,
                additional_load=coulomb,
            )  # fmt: skip
        return replace(joint.friction, law=law)

    identified = with_friction(machine, another)
    content = overlay_values(identified, identical_legs=False, friction='all')
    path = write_overlay(tmp_path / 'overlay.yaml', machine.name, content, date='', data='', method='')
    again = load_machine(name, path)
    motion = random_states(machine, 20)
    forces = inverse_dynamics(identified, motion)
    assert np.abs(forces - inverse_dynamics(machine, motion)).max() > 1e-3 * np.abs(forces).max()
    assert np.abs(inverse_dynamics(again, motion) - forces).max() < 1e-9 * np.abs(forces).max()
