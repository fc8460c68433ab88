"""Random faults for a while; ``./pkm verify soak --set steps=1000000`` runs a million."""

from __future__ import annotations

from dataclasses import replace

from pkm_description.loading import load_machine

from verification.soak.fault_soak import soak
from verification.soak.faulty_stream import ALL_FAULTS
from verification.soak.plan import judge


def test_random_faults_leave_the_estimator_alive_finite_and_positive():
    result = soak(load_machine('srs'), 4_050, seed=1, pace=4)
    assert result.not_finite == 0
    assert result.not_positive == 0
    assert set(result.faults) == set(ALL_FAULTS)
    assert result.outputs > 0.8 * result.steps
    assert {check.status for check in judge(result)} == {'met'}
    nan = float('nan')
    wrong = {
        'not_finite': 1, 'not_positive': 1, 'outputs': 0, 'largest_error': nan, 'largest_normalised': 7.0, 'faults': {},
        'unbalanced': (1, -1),
    }  # fmt: skip
    for name, value in wrong.items():
        checks = judge(replace(result, **{name: value}))
        assert [check.status for check in checks].count('not met') == 1, name
