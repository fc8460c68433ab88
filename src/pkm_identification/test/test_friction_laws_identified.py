"""Machines whose joints follow a law of the friction library: identified, written as an overlay, and read again."""

from __future__ import annotations

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics.random_states import random_states
from pkm_description.loading import load_machine, write_overlay
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.judgement.physical import machine_with
from pkm_identification.report.overlay import overlay_values


def test_identified_law_goes_through_an_overlay(tmp_path):
    machine = load_machine('uf')  # dead band law in the struts
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
