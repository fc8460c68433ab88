"""The one reader of joint states: any order, other joints, recordings, and what is wrong with a message."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from pkm_description.errors import JointStateError
from pkm_description.joint_states import JointStateReader
from pkm_description.loading import load_machine

READER = JointStateReader(['a', 'b', 'c'], ['passive'])


def test_messages_are_sorted_by_name() -> None:
    order = READER.order(['c', 'passive', 'a', 'b', 'other'])
    assert order.by_joint(array('d', [3.0, 9.0, 1.0, 2.0, 8.0])).tolist() == [1.0, 2.0, 3.0]
    assert (order.missing, order.unknown, order.is_plain) == ((), ('other',), False)
    assert READER.order(('c', 'passive', 'a', 'b', 'other')) is order


def test_values_in_order_are_copied_not_referred_to() -> None:
    given = np.array([1.0, 2.0, 3.0])
    sorted_values = READER.order(['a', 'b', 'c']).by_joint(given)
    given[0] = 5.0
    assert sorted_values.tolist() == [1.0, 2.0, 3.0]


def test_recordings_are_sorted_at_once() -> None:
    values = np.arange(8.0).reshape(2, 4)
    order = READER.order(['b', 'other', 'a', 'c'])
    assert order.by_joint(values).tolist() == [[2.0, 0.0, 3.0], [6.0, 4.0, 7.0]]
    each = [order.by_joint(row) for row in values]
    np.testing.assert_array_equal(order.by_joint(values), each)
    assert np.isnan(READER.order(['a', 'c']).by_joint(values[:, :2])[:, 1]).all()


def test_what_need_not_be_there_is_nan() -> None:
    order = READER.order(['c', 'a', 'b'])
    assert order.by_joint_or_nan([3.0, 1.0, 2.0]).tolist() == [1.0, 2.0, 3.0]
    for absent in (None, [], [1.0]):
        assert np.isnan(order.by_joint_or_nan(absent)).tolist() == [True] * 3


@pytest.mark.parametrize(
    ('names', 'values', 'quantity', 'reason', 'words'),
    [
        ('ab', [1.0, 2.0], 'effort', 'missing_joint', 'no effort of c; the joint state has a, b'),
        ('', [], 'position', 'missing_joint', 'no position of a, b, c; the joint state has no joints'),
        ('abc', [1.0], 'velocity', 'wrong_number_of_velocities', '3 joint names but 1 velocities'),
        ('abca', [1.0] * 4, 'position', 'duplicate_joint', 'a is named twice in'),
        ('abc', [1.0, np.nan, np.inf], 'position', 'position_not_finite', 'position of b, c is not a finite number'),
    ],
)
def test_what_is_wrong_is_named(names: str, values: list[float], quantity: str, reason: str, words: str) -> None:
    with pytest.raises(JointStateError, match=words) as caught:
        READER.order(list(names)).complete(values, quantity)
    assert caught.value.reason == reason


def test_the_first_bad_sample_of_a_recording_is_told() -> None:
    values = np.zeros((5, 3))
    values[3, 1] = np.nan
    with pytest.raises(JointStateError, match='effort of b is') as caught:
        READER.order(['a', 'b', 'c']).complete(values, 'effort')
    assert caught.value.sample == 3


def test_broken_drivers_do_not_fill_the_memory() -> None:
    reader = JointStateReader(['a'])
    for index in range(100):
        assert reader.order(['a', f'joint{index}']).unknown == (f'joint{index}',)
    assert len(reader._orders) < 20


def test_readers_of_a_machine() -> None:
    machine = load_machine('srs')
    everything = list(machine.joint_names)
    values = np.arange(float(len(everything)))
    of_drives = JointStateReader.of_drives(machine).order(everything)
    assert of_drives.unknown == ()
    assert of_drives.by_joint(values).tolist() == [everything.index(name) for name in machine.actuated_joint_names]
    backwards = JointStateReader(machine.joint_names).order(everything[::-1])
    assert backwards.by_joint(values[::-1]).tolist() == values.tolist()
