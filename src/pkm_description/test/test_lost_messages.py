"""Messages that the middleware lost, by the numbers of their publishers."""

from __future__ import annotations

from pkm_description.ros.diagnostics import LostMessages


def info(number, publisher=b'one'):
    return {'publication_sequence_number': number, 'publisher_gid': {'data': publisher}}


def test_what_is_missing_between_two_messages_of_a_publisher_is_lost():
    numbers = LostMessages()
    assert [numbers.before(info(number)) for number in (7, 8, 11, 12)] == [0, 0, 2, 0]


def test_publishers_are_counted_by_themselves_and_nobody_knows_what_was_before():
    numbers = LostMessages()
    assert [numbers.before(info(5)), numbers.before(info(100, b'other'))] == [0, 0]
    assert [numbers.before(info(7)), numbers.before(info(101, b'other'))] == [1, 0]


def test_what_comes_again_is_not_lost():
    numbers = LostMessages()
    assert [numbers.before(info(number)) for number in (5, 4, 5, 6, 8)] == [0, 0, 0, 0, 1]


def test_without_numbers_nothing_is_known():
    assert LostMessages().before({}) == 0
    assert LostMessages().before(info(None)) == 0


def test_the_memory_of_publishers_is_bounded():
    numbers = LostMessages()
    for k in range(1000):
        assert numbers.before(info(1, str(k).encode())) == 0
    assert len(numbers._last) <= 64
