"""Whether the IMU is left out, why, and when it may be used again."""

from __future__ import annotations

from pkm_description.arrays import Array

from pkm_estimation.filters import Innovation
from pkm_estimation.stream.samples import Instant, seconds

#: s for which the IMU must agree with the legs to be used again; factor on it, at most, if it fails again so soon after
_PROBATION, _LONGEST_PROBATION, _RELAPSE = 0.5, 8.0, 10.0
#: mean NIS per leg up to which it agrees
_AGREES = 3.0


class ImuFault:
    """State of an IMU that is left out, and its trial: a second filter uses it until it is believed again.

    Attributes are replaced, never written into.

    Attributes
    ----------
    is_on : whether the IMU is left out
    kind, detail : of the failure
    named : kinds before, of the same failure
    began : instant of the failure
    trial : instant at which the present trial began, ``None`` between trials
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Believe the IMU."""
        self.is_on = False
        self.kind = self.detail = ''
        self.named: tuple[str, ...] = ()
        self.began: Instant | None = None
        self.returned: Instant | None = None
        self.trial: Instant | None = None
        self.at_run_begin: tuple[Instant, Array] | None = None
        self._probation = _PROBATION
        self._nis = 0.0
        self._numbers = 0

    def begin(self, instant: Instant, kind: str, detail: str) -> None:
        """Leave the IMU out from now on."""
        is_relapse = (
            self.returned is not None
            and self.returned.epoch == instant.epoch
            and seconds(self.returned, instant) < _RELAPSE
        )
        self._probation = min(2.0 * self._probation, _LONGEST_PROBATION) if is_relapse else _PROBATION
        self.is_on, self.kind, self.detail, self.began, self.trial = True, kind, detail, instant, None
        self.named = ()

    def name(self, kind: str, detail: str) -> None:
        """Replace kind and detail by those that say more."""
        self.named, self.kind, self.detail = (*self.named, self.kind), kind, detail

    def begin_trial(self, instant: Instant) -> None:
        """Begin to look whether the IMU agrees with the legs."""
        self.trial, self._nis, self._numbers = instant, 0.0, 0

    def has_passed(self, instant: Instant, innovation: Innovation, count: int) -> bool:
        """Add an innovation of ``count`` legs; whether the IMU has agreed for long enough."""
        assert self.trial is not None
        self._nis, self._numbers = self._nis + innovation.nis, self._numbers + count
        return seconds(self.trial, instant) >= self._probation

    @property
    def agrees(self) -> bool:
        """Whether the innovations of the trial are as large as they should be."""
        return self._nis <= _AGREES * self._numbers

    def end(self, instant: Instant) -> None:
        """Use the IMU again."""
        self.is_on, self.trial, self.returned = False, None, instant
        self.kind = self.detail = ''

    def moved_since(self, begin: Instant, positions: Array) -> Array:
        """Positions (A,) of the drives at the first measurement that was asked for with this ``begin``."""
        if self.at_run_begin is None or self.at_run_begin[0] != begin:
            self.at_run_begin = begin, positions
        return self.at_run_begin[1]

    @property
    def description(self) -> str:
        """Kind and detail; empty where the IMU is used."""
        return f'{self.kind.removeprefix("imu_").replace("_", " ")}: {self.detail}' if self.is_on else ''
