"""Sequence of the demo: from waiting for the nodes to the end of the recording."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import NamedTuple, Protocol

from pkm_description.arrays import Array
from pkm_description.machine import PlatformMotion, RigidBody

from pkm_bringup.demo.criteria import DemoError
from pkm_bringup.demo.live_errors import HEADER
from pkm_bringup.demo.report import Journal

#: s of rest before, between and after the motions
REST = 1.5
#: part of the last motion after which the payload comes
DROP = 0.35
#: the identification's recordings begin and end this long before and after the motion, s of simulated time
RECORDING_MARGIN = REST / 2

#: s of wall-clock time: between two looks at the system, between two complaints, without simulated progress
_LOOK, _COMPLAINT, _STALLED = 0.05, 5.0, 20.0
#: s of wall-clock time in which nodes that start together are all found
_SETTLE = 3.0


class DemoSystem(Protocol):
    """The nodes around the demo, as seen from it."""

    def missing(self) -> list[str]:
        """Say who is not there yet or does not listen yet, one phrase each."""

    def conflicts(self) -> list[str]:
        """Say who else publishes what only this run's nodes may publish, one phrase each."""

    def wait(self, seconds: float) -> None:
        """Let messages come in for some wall-clock time."""

    def simulated_time(self) -> float:
        """Time on ``/clock``, s."""

    def estimated_time(self) -> float:
        """Stamp of the last estimate, s."""

    def send_reference(self, motion: PlatformMotion, start: float) -> None:
        """Hand a motion to the simulator, to begin at ``start`` s of simulated time."""

    def call(self, service: str, patience: float) -> str:
        """Call a Trigger service; return its message; raises :class:`DemoError` if it fails or is silent."""

    def put_payload(self, mass: float, center: Array) -> None:
        """Drop a mass [kg] on the simulated platform, at ``center`` (3,) m."""

    def payload_named(self) -> str:
        """What the identification while it runs says of the payload; empty: nothing yet."""

    def live_line(self, time: float, motion: str) -> str:
        """One line of errors since the last one."""


class DemoRun:
    """Leads the system through the time line.

    Parameters
    ----------
    system : the nodes
    timeline : what to do when
    motion : makes the platform motion of a phase
    journal : where to say what happens
    period : s of simulated time between two lines
    patience : s of wall-clock time to wait for nodes and services
    payload : dropped on the platform in the last motion; default: none
    """

    def __init__(
        self,
        system: DemoSystem,
        timeline: Timeline,
        motion: Callable[[Phase], PlatformMotion],
        journal: Journal,
        period: float = 5.0,
        patience: float = 60.0,
        payload: RigidBody | None = None,
    ) -> None:
        self._payload, self._named = payload, False
        self._system, self._timeline, self._motion = system, timeline, motion
        self._say, self._period, self._patience = journal.say, period, patience

    def wait_for_nodes(self) -> None:
        """Wait until all nodes run and all topics have their subscribers.

        Raises
        ------
        DemoError
            Naming who did not come in time, or that another system talks in between.
        """
        began = complained = time.monotonic()
        while missing := self._system.missing():
            now = time.monotonic()
            if now - began > self._patience:
                raise DemoError(
                    f'after {self._patience:.0f} s still missing: {", ".join(missing)}; see above'
                )
            if now - complained > _COMPLAINT:
                self._say(f'  waiting for {", ".join(missing)}')
                complained = now
            self._system.wait(_LOOK)
        # those found first may be another system's, while this run's own are still starting
        self._system.wait(_SETTLE)
        if conflicts := self._system.conflicts():
            raise DemoError(
                f'{"; ".join(conflicts)}: other nodes run in this ROS domain; stop them, or set another ROS_DOMAIN_ID'
            )
        self._say(f'  all nodes are ready after {time.monotonic() - began:.1f} s')

    def play(self) -> None:
        """Send the references, start the simulation and follow it to the end of the time line."""
        for phase in self._timeline.phases:
            self._system.send_reference(self._motion(phase), phase.start)
        self._system.wait(0.5)  # references have reached the simulator before its clock starts
        self._system.call('simulator/start', self._patience)
        self._say(f'  the simulation runs; {self._timeline.end:.0f} s of simulated time to go')
        self._say(HEADER)
        events = self._events()
        next_line, last_time, moved_at = self._period, -1.0, time.monotonic()
        while True:
            self._system.wait(_LOOK)
            now = self._system.simulated_time()
            while events and now >= events[0][0]:
                events.pop(0)[1]()
            self._tell_payload(now)
            if now >= next_line:
                moving = self._timeline.at(now)
                self._say(self._system.live_line(now, moving.name if moving else 'at rest'))
                next_line += self._period * max(1, int((now - next_line) // self._period) + 1)
            if now >= self._timeline.end:
                self._wait_for_estimator()
                # what follows needs the processor
                self._system.call('simulator/pause', self._patience)
                return
            if now > last_time:
                last_time, moved_at = now, time.monotonic()
            elif time.monotonic() - moved_at > _STALLED:
                raise DemoError(
                    f'the simulation stands still at t = {now:.2f} s for {_STALLED:.0f} s; see above'
                )

    def _tell_payload(self, now: float) -> None:
        """Say once that the payload is named."""
        named = '' if self._named else self._system.payload_named()
        if named:
            self._named = True
            self._say(f'          identification while it runs, at {now:.1f} s: the load has changed: {named}')

    def _identify(self, service: str) -> None:
        self._say(f'          identification: {self._system.call(f"identification/{service}", self._patience)}')

    def _drop(self, payload: RigidBody, time: float) -> None:
        place = ', '.join(f'{value:.3g}' for value in payload.center_of_mass)
        self._system.put_payload(payload.mass, payload.center_of_mass)
        self._say(f'          {time:.1f} s: a payload of {payload.mass:.4g} kg drops on the platform, at {place} m')

    def _wait_for_estimator(self) -> None:
        """Let an estimator that is behind (a busy computer) finish, so that the bag has all estimates."""
        began = time.monotonic()
        while (lag := self._timeline.end - self._system.estimated_time()) > 0.1:
            if time.monotonic() - began > _STALLED:
                self._say(f'  the estimator is {lag:.1f} s behind; continuing without its last estimates')
                return
            self._system.wait(_LOOK)

    def _events(self) -> list[tuple[float, Callable[[], None]]]:
        """List what has to be done when: announcements and the identification's recordings."""
        events: list[tuple[float, Callable[[], None]]] = []
        for phase in self._timeline.phases:
            text = f'  -- {phase.start:.1f} s to {phase.end:.1f} s: {phase.title}'
            events.append((phase.start - RECORDING_MARGIN, partial(self._say, text)))
            if phase.recorded:
                events.append((phase.start - RECORDING_MARGIN, partial(self._identify, 'start_recording')))
                events.append((phase.end + RECORDING_MARGIN, partial(self._identify, 'stop_recording')))
            if phase.name == 'payload' and self._payload is not None:
                events.append((phase.drop, partial(self._drop, self._payload, phase.drop)))
        return sorted(events, key=itemgetter(0))


class Phase(NamedTuple):
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


class Timeline(NamedTuple):
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
    described = (
        ('tracking', 'mp1', tracking, False, 'motion profile 1: the estimator against truth and baseline'),
        ('excitation', 'fourier', excitation, True, 'Fourier excitation: recorded for identification'),
        ('validation', 'fourier_validation', validation, True, 'another Fourier motion: held out for validation'),
        ('payload', 'fourier_validation', payload, False, 'the same motion: a payload is dropped on the platform'),
    )
    phases, start = [], REST
    for name, profile, duration, recorded, title in described:
        if not duration >= 4.0:
            raise ValueError(f'duration of the {name} motion = {duration} s; at least 4 s are needed')
        phases.append(Phase(name, profile, start, duration, recorded, title))
        start += duration + REST
    return Timeline(tuple(phases), start)
