"""Shortfalls that are accepted stand in one list, and none may grow."""

from __future__ import annotations

import pytest

from verification.accepted import accepted_in, with_acceptance
from verification.check import at_least, at_most, within

ENTRY = "- {id: S3-57, what: 'ratio, mp1', full: 0.8, date: 2026-01-31, why: the IMU is late}\n"


@pytest.fixture
def known(tmp_path):
    path = tmp_path / 'accepted.yaml'
    path.write_text(ENTRY)
    return accepted_in(path)


@pytest.mark.parametrize(
    ('check', 'status'),
    [
        (at_least('S3-57', 'ratio, mp1', 1.0, 1.2), 'met'),
        (at_least('S3-57', 'ratio, mp1', 1.0, 0.9), 'not met, accepted'),
        (at_least('S3-57', 'ratio, mp1', 1.0, 0.781), 'not met, accepted'),
        (at_least('S3-57', 'ratio, mp1', 1.0, 0.779), 'not met'),  # short by more than a tenth more than 0.2
        (at_least('S3-57', 'ratio, mp1', 1.0, float('nan')), 'not met'),
        (at_least('S3-57', 'ratio, mp2', 1.0, 0.9), 'not met'),
        (at_least('S3-56', 'ratio, mp1', 1.0, 0.9), 'not met'),
        (within('S3-57', 'ratio, mp1', 0.9, 0.95, 1.2), 'not met'),
        (at_most('S3-57', 'ratio, mp1', 0.7, 0.8), 'not met, accepted'),
    ],
)
def test_a_shortfall_may_not_grow_by_a_tenth(known, check, status):
    (judged,) = with_acceptance([check], False, known)
    assert judged.status == status
    assert judged.failed == (status == 'not met')
    assert with_acceptance([check], True, known)[0].status == check.status  # no figure of a quick run is accepted
    assert ('2026-01-31: the IMU is late' in judged.measured) == (status == 'not met, accepted')


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (ENTRY * 2, 'stands there twice'),
        (ENTRY.replace(', why: the IMU is late', ''), 'entry 1 needs date, id, what, why, and full or quick'),
        (ENTRY.replace('0.8', 'small'), 'entry 1 .S3-57.: could not convert'),
        (ENTRY.replace('2026-01-31', 'today'), 'entry 1 .S3-57.: Invalid isoformat'),
    ],
)
def test_a_wrong_list_is_refused(text, message, tmp_path):
    (tmp_path / 'accepted.yaml').write_text(text)
    with pytest.raises(ValueError, match=message):
        accepted_in(tmp_path / 'accepted.yaml')
