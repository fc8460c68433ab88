"""Errors of the identification."""

from __future__ import annotations

from collections.abc import Sequence

from pkm_description.errors import PkmError


class RecordingError(PkmError):
    """A recording cannot be used: too short, gaps, NaN, unknown joints, no motion."""


class NotExcitedError(PkmError):
    """The motion does not determine the parameters.

    Parameters
    ----------
    parameters : names of the base parameters that the recording leaves open
    reason : what was found and what to do about it
    """

    def __init__(self, parameters: Sequence[str], reason: str) -> None:
        self.parameters = tuple(parameters)
        super().__init__(f'{reason}: {", ".join(parameters)}')


class NotConvergedError(PkmError):
    """Nonlinear parameters, or forces that depend on the result, do not settle."""


class InfeasibleParametersError(PkmError):
    """The identified bodies cannot exist (negative mass, inertia not positive definite), so no overlay is written."""


class ExcitationError(PkmError):
    """No excitation can be designed: no feasible motion to start from, or nothing that it could excite."""
