"""Mata et al. (2008): every law of the paper in actuated and passive joints, the latter projected on the drives."""

from __future__ import annotations

from collections.abc import Iterator

from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine

from verification.check import Check, equal
from verification.mechanics.friction import power_check, typical_law

#: of Mata et al. 2008: section 6.2, Table 5, Eqs. 14, 16, 17 (symmetric and not) and 32
MATA_LAWS = (
    'viscous_coulomb', 'asymmetric_coulomb', 'asymmetric', 'atan', 'power', 'asymmetric_power', 'stribeck',
)  # fmt: skip


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """M6: every law in actuated and passive joints, the latter projected on the drives."""
    motion = random_states(machine, 20 if quick else 200, seed=22)
    laws = [typical_law(name) for name in MATA_LAWS]
    count = [len(law.linear_parameters()) + len(law.nonlinear_parameters) for law in laws]
    yield equal('M6', 'parameters per joint: ' + ', '.join(MATA_LAWS), [2, 3, 4, 4, 3, 4, 5], count)
    for name in MATA_LAWS:
        yield power_check('M6', machine, name, motion)
