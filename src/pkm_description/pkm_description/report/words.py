"""Phrases of reports: sentences, and the clock of a recording."""

from __future__ import annotations

from datetime import UTC, datetime

#: s after 1970 below which a stamp is that of a simulator's clock, not of a wall clock: the year 2001
SIMULATED = 1e9


def sentence_of(value: object) -> str:
    """Text of a value as a sentence: capital letter, full stop."""
    text = str(value)
    return f'{text[:1].upper()}{text[1:]}.'


def now_in_words() -> str:
    """Date and time of this moment, by the wall clock."""
    return datetime.now(tz=UTC).isoformat(timespec='seconds')


def time_of_data(start_stamp: int) -> str:
    """First stamp, in ns, as a date, or as seconds of a simulator's clock."""
    seconds = start_stamp / 1e9
    if seconds < SIMULATED:
        return f'begins at {seconds:.3f} s of simulated time'
    return f'begins at {datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="milliseconds")}'
