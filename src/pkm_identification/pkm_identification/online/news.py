"""What has happened since the last look at an identification that runs, in words."""

from __future__ import annotations

from pkm_identification.online.identifier import OnlineIdentifier

#: part of the deviation that was said of a load at which it is said again
BETTER = 0.1


class News:
    """Says each thing once, and a load again when it is known ten times better.

    Parameters
    ----------
    identifier : that is looked at
    """

    def __init__(self, identifier: OnlineIdentifier) -> None:
        self._identifier = identifier
        self._since: int | None = None
        self._said = 0.0
        self._lack = ''
        self._drifts: set[tuple[str, int]] = set()

    def take(self) -> tuple[str, ...]:
        """What is new: a change of the load, a force that the model lacks, friction that drifts; none: nothing."""
        one, said = self._identifier, []
        payload = one.payload
        if payload is not None:
            is_new, time = payload.since != self._since, f'{payload.since / 1e9:.2f} s'
            if is_new:
                said.append(f'the load on the platform has changed at {time}: {payload}')
            elif payload.mass_std < BETTER * self._said:
                said.append(f'the load on the platform since {time} is known better: {payload}')
            self._said = payload.mass_std if said else self._said
        self._since = None if payload is None else payload.since
        lack = one.lack
        if lack is not None and lack.title != self._lack:
            said.append(str(lack))
        elif lack is None and self._lack:
            said.append(f'the model no longer lacks a force: {self._lack}')
        self._lack = '' if lack is None else lack.title
        drifts = {(drift.drive, drift.until): str(drift) for drift in one.drifts}
        said += [text for key, text in drifts.items() if key not in self._drifts]
        self._drifts = set(drifts)
        return tuple(said)
