"""What comes sample by sample is what the batch says, and errors are as large as is stated."""

from __future__ import annotations

import numpy as np
import pytest

from verification.accepted import with_acceptance
from verification.identification.online_consistency import batch_checks, consistency_checks, normalised_error


@pytest.mark.parametrize('name', ['srs', 'valencia_3rps', 'khalifa_3prr'])
def test_the_end_is_that_of_the_batch(name):
    checks = list(batch_checks(name, 0, duration=10.0))
    assert len(checks) == 3
    assert [one.status for one in checks] == ['met'] * 3, checks


@pytest.mark.campaign
def test_errors_are_as_stated():
    """Of the estimators inside the bounds; those of the node, which learns the noise, not above them."""
    *estimators, node = with_acceptance(consistency_checks('valencia_3rps', range(2)), True)
    assert [one.status for one in estimators] == ['met'] * 3
    assert not node.failed, node


def test_a_covariance_that_is_too_small_is_seen():
    random = np.random.default_rng(0)
    factor = random.normal(size=(5, 5)) * np.array([[1e-4], [1.0], [1.0], [1e3], [1.0]])
    covariance = factor @ factor.T
    errors = [normalised_error(factor @ random.normal(size=5), covariance) for _ in range(400)]
    assert np.mean(errors) == pytest.approx(5.0, abs=0.5)
    assert normalised_error(factor[:, 0], 0.25 * covariance) == pytest.approx(4.0)
