"""Random faults for a while; ``./pkm run pkm_estimation soak_estimator`` runs the million."""

from __future__ import annotations

from pkm_description.loading import load_machine

from verification.soak.fault_soak import ALL_FAULTS, soak


def test_random_faults_leave_the_estimator_alive_finite_and_positive():
    result = soak(load_machine('srs'), 20_000, seed=1)
    assert result.not_finite == 0
    assert result.not_positive == 0
    assert len(result.faults) > 0.8 * len(ALL_FAULTS)
    assert result.outputs > 0.8 * result.steps
