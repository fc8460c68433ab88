"""Drives of the same kind share the shape of their friction law, unless the recording contradicts it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_friction
from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.pipeline import identify
from pkm_identification.result import INSUFFICIENT, IdentificationResult
from synthetic import clean_signals, recording

#: m/s, at which friction at rest fades
VELOCITY = 0.06


def identified(srs: Machine, signals: tuple, velocities: np.ndarray, **settings: object) -> IdentificationResult:
    """Identification of the law, with Stribeck friction of given velocities (A,) beside that of the machine file."""
    motion, positions, forces = signals
    rates = np.gradient(positions, motion.time, axis=0)
    excess = 150.0 * np.sign(rates) * np.exp(-((rates / velocities) ** 2))
    settings = {'friction_law': 'stribeck', 'extend': False} | settings
    config = IdentificationConfig.from_mapping({f'columns.{name}': value for name, value in settings.items()})
    return identify(srs, recording(srs, (motion, positions, forces + excess), 1), config=config)


def velocities_of(result: IdentificationResult) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard deviations."""
    places = [place for place, name in enumerate(result.shape.names) if name.endswith('stribeck_velocity')]
    return result.shape.values[places], result.shape.std[places]


@pytest.mark.usefixtures('fit_alone')
def test_equal_drives_share(srs: Machine) -> None:
    signals = clean_signals(srs, 'fourier', 12.0, 100.0, 0)
    pooled = identified(srs, signals, np.full(6, VELOCITY))
    single = identified(srs, signals, np.full(6, VELOCITY), pooled_laws=False)
    assert pooled.shape.names == ('drives.stribeck_velocity', 'drives.exponent')
    assert len(single.shape.names) == 7
    (value,), (std,) = velocities_of(pooled)
    own, own_std = velocities_of(single)
    print(f'pooled {value:.4f} +- {std:.4f}, single {np.round(own, 4)} +- {np.round(own_std, 4)}')
    assert abs(value - VELOCITY) < min(4.0 * std, 0.1 * VELOCITY)
    # of a drive's own, for drives may differ: better known than by that drive alone
    assert std < np.median(own_std)
    assert any('share their stribeck_velocity, exponent' in text for text in pooled.warnings)
    # Coulomb and viscous friction stay those of each drive
    assert sum(name.endswith('.coulomb') for name in pooled.physical.names) == 6


@pytest.mark.usefixtures('fit_alone')
def test_drives_that_differ_are_refused(srs: Machine) -> None:
    truth = VELOCITY * np.array([1.0, 1.0, 4.0, 1.0, 1.0, 1.0])
    result = identified(srs, clean_signals(srs, 'fourier', 24.0, 100.0, 0), truth, extend=True)
    assert any('do not share' in text for text in result.warnings)
    assert result.status != INSUFFICIENT
    values, std = velocities_of(result)
    print('velocities', np.round(values, 4), '+-', np.round(std, 4))
    assert np.all(np.abs(values - truth) < 4.0 * std)
    assert np.abs(values / truth - 1.0).max() < 0.3


def test_kinds_of_joints() -> None:
    """Sliding and turning drives, and passive joints of other places, have parameters of their own."""
    machine = known_machine('srs')
    law = known_machine('khalifa_3prr').actuated_joints[0].friction.law
    machine = with_friction(machine, lambda joint: replace(joint.friction, law=law))
    term = FrictionTerm.of(machine, 'all')
    assert term.can_be_pooled
    names = {name.rpartition('.')[0] for name in term.pooling(True).shape_names}
    assert names == {'drives', 'leg_universal_1', 'leg_universal_2'}
    assert len(term.pooling(False).shape_names) == 18 + 3  # velocities of each joint, exponents of three kinds
    assert term.pooling(True).names == term.names
