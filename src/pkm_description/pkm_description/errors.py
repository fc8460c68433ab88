"""The errors of the suite, and findings: what a check of a recording or of a driver says."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


def nearest_of(value: object, known: Iterable[str], otherwise: str) -> str:
    """What to say of a word that is none of the known ones: the nearest, or else ``otherwise``."""
    near = difflib.get_close_matches(str(value), known, n=1)
    return f'did you mean {near[0]!r}?' if near else otherwise


class PkmError(Exception):
    """Base class: anything that the user can understand and put right."""


class MachineFileError(PkmError):
    """A machine file (or overlay) cannot be used.

    Parameters
    ----------
    path : file that was read
    key : dotted path of the entry, e.g. ``legs.leg3.platform_point``; :data:`WHOLE_FILE` where none is concerned
    value : what stands there (``None`` when it is missing)
    reason : what is wrong and what to do about it
    """

    #: key of an error that concerns no single entry
    WHOLE_FILE = '(file)'

    def __init__(self, path: str | Path, key: str, value: object, reason: str) -> None:
        self.path, self.key, self.value, self.reason = Path(path), key, value, reason
        entry = '' if key == self.WHOLE_FILE and value is None else f'{key} = {value!r}: '
        super().__init__(f'{path}: {entry}{reason}')


class UnwritableError(PkmError):
    """A file that cannot be written: the disk is full, or the place is not ours."""


class UnknownMachineError(MachineFileError):
    """There is neither a machine of this name nor a file of this path.

    Parameters
    ----------
    given : name or path that was asked for
    known : names of the machines that there are
    """

    def __init__(self, given: str, known: Sequence[str]) -> None:
        super().__init__(given, self.WHOLE_FILE, None, 'no such machine')
        self.reason = f'no machine {given!r} and no such file; machines here: {", ".join(known)}'
        self.args = (self.reason,)


class ConfigurationError(PkmError):
    """A setting has an unknown name or a value that cannot be used."""


class JointStateError(PkmError):
    """A joint state cannot be read: names or values are missing, doubled or not finite.

    Parameters
    ----------
    reason : short name for counters, e.g. ``missing_joint``
    detail : what is wrong, with names and values
    sample : index of the message in a recording
    """

    def __init__(self, reason: str, detail: str, sample: int = 0) -> None:
        self.reason, self.sample = reason, sample
        super().__init__(detail)


class KinematicsError(PkmError):
    """A pose or a set of leg lengths that the machine cannot take."""


class SingularPoseError(KinematicsError):
    """The machine loses or gains a degree of freedom at this pose."""


class ConvergenceError(KinematicsError):
    """Forward kinematics did not converge; nothing is returned in its place."""


class AssemblyModeError(KinematicsError):
    """The solution lies on another assembly mode than the machine's."""


class InfeasibleMachineError(PkmError):
    """Bodies that cannot exist leave a motion of the machine without inertia: it cannot be simulated."""


class ArgumentError(PkmError, ValueError):
    """An argument of another kind than a function takes."""


class ShapeError(ArgumentError):
    """An array of another shape than a function takes.

    Parameters
    ----------
    name : of the argument
    expected : shape or shapes in words, e.g. ``(N, 3) or (3,)``
    shape : what was given
    """

    def __init__(self, name: str, expected: str, shape: tuple[int, ...]) -> None:
        self.name, self.expected, self.shape = name, expected, shape
        super().__init__(f'{name} has shape {shape}, expected {expected}')


class FrictionLawError(PkmError, ValueError):
    """A friction law that does not exist, or a parameter that it does not take.

    Parameters
    ----------
    key : name of the parameter
    value : what was given (``None`` when it is missing)
    reason : what is wrong and what to do about it
    """

    def __init__(self, key: str, value: object, reason: str) -> None:
        self.key, self.value, self.reason = key, value, reason
        super().__init__(f'friction: {key} = {value!r}: {reason}')


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
