"""Time line of the demo, in simulated time."""

from __future__ import annotations

from dataclasses import dataclass

#: s of rest before, between and after the motions
REST = 1.5
#: part of the last motion after which the payload comes
DROP = 0.35


@dataclass(frozen=True)
class Phase:
    """One motion of the demo.

    Attributes
    ----------
    name : ``'tracking'``, ``'excitation'``, ``'validation'`` or ``'payload'``
    profile : name for :func:`pkm_description.motion.profiles.profile`
    start, duration : s of simulated time
    recorded : whether the identification node records it
    title : for people
    """

    name: str
    profile: str
    start: float
    duration: float
    recorded: bool
    title: str

    @property
    def end(self) -> float:
        """End of the motion, s."""
        return self.start + self.duration

    @property
    def drop(self) -> float:
        """When a payload is dropped, s: most of the motion comes after it."""
        return self.start + DROP * self.duration


@dataclass(frozen=True)
class Timeline:
    """The motions in order, with rests between them; ``end`` is when the demo stops the recording, s."""

    phases: tuple[Phase, ...]
    end: float

    def phase(self, name: str) -> Phase:
        """Return the phase of that name."""
        return next(phase for phase in self.phases if phase.name == name)

    def at(self, time: float) -> Phase | None:
        """Return the phase that moves at ``time`` s, None while at rest."""
        return next((phase for phase in self.phases if phase.start <= time < phase.end), None)


def plan(
    tracking: float = 70.0, excitation: float = 25.0, validation: float = 20.0, payload: float = 20.0
) -> Timeline:
    """Lay the four motions out; durations in s.

    Raises
    ------
    ValueError
        If a duration is shorter than its fades need (4 s).
    """
    for name, duration in (
        ('tracking', tracking),
        ('excitation', excitation),
        ('validation', validation),
        ('payload', payload),
    ):
        if not duration >= 4.0:
            raise ValueError(f'duration of the {name} motion = {duration} s; at least 4 s are needed')
    described = (
        ('tracking', 'mp1', tracking, False, 'motion profile 1: the estimator against truth and baseline'),
        ('excitation', 'fourier', excitation, True, 'Fourier excitation: recorded for identification'),
        (
            'validation',
            'fourier_validation',
            validation,
            True,
            'another Fourier motion: held out for validation',
        ),
        ('payload', 'fourier_validation', payload, False, 'the same motion: a payload is dropped on the platform'),
    )
    phases, start = [], REST
    for name, profile, duration, recorded, title in described:
        phases.append(Phase(name, profile, start, duration, recorded, title))
        start += duration + REST
    return Timeline(tuple(phases), start)
