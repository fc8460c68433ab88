"""Every error that the suite raises on purpose, in one small hierarchy."""

from __future__ import annotations

from pathlib import Path


class PkmError(Exception):
    """Base class: anything that the user can understand and put right."""


class MachineFileError(PkmError):
    """A machine file (or overlay) cannot be used.

    Parameters
    ----------
    path : file that was read
    key : dotted path of the entry, e.g. ``legs.leg3.platform_point``
    value : what stands there (``None`` when it is missing)
    reason : what is wrong and what to do about it
    """

    def __init__(self, path: str | Path, key: str, value: object, reason: str) -> None:
        self.path, self.key, self.value, self.reason = Path(path), key, value, reason
        super().__init__(f'{path}: {key} = {value!r}: {reason}')


class KinematicsError(PkmError):
    """A pose or a set of leg lengths that the machine cannot take."""


class SingularPoseError(KinematicsError):
    """The machine loses or gains a degree of freedom at this pose."""


class ConvergenceError(KinematicsError):
    """Forward kinematics did not converge; nothing is returned in its place."""


class AssemblyModeError(KinematicsError):
    """The solution lies on another assembly mode than the machine's."""


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
