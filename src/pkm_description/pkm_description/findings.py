"""What a check of a recording or of a driver says: one finding per fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class State(Enum):
    """What a check can say, and how much it matters; the value is what users read."""

    OK = 'ok'
    #: nothing works, or values are wrong
    WRONG = 'wrong'
    #: unusual; values may be wrong
    SUSPICIOUS = 'suspicious'
    #: the check could not be made
    CANNOT_TELL = 'cannot tell'


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes
    ----------
    code : short name of the finding, e.g. ``effort_sign``
    state : see the class
    drives : labels of the drives concerned, as in ``machine.drive_labels``; empty: all, or none in particular
    sentence : what was found; of ``cannot tell`` why, and which motion would tell
    remedy : the key, parameter or command that mends it; lines of a file stand as they go into it
    evidence : figures by name, with their unit in the name; ``..._std`` is a standard deviation
    """

    code: str
    state: State
    drives: tuple[str, ...]
    sentence: str
    remedy: str = ''
    evidence: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def is_fault(self) -> bool:
        """Whether something has to be done about it."""
        return self.state in (State.WRONG, State.SUSPICIOUS)

    def __str__(self) -> str:
        return f'{self.state.value}: {self.sentence}' + (f'; remedy: {self.remedy}' if self.remedy else '')
