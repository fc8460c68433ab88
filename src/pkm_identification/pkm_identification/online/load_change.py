"""A change of the load that is being followed: whether it is one, how large, and whether only the load changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.online.payload import Payload, PayloadPrior
from pkm_identification.online.residual_noise import ResidualNoise

#: s after a change of the load, and part of its mass that its standard deviation may be, before the next is looked for
SETTLING, SETTLED = 6.0, 0.01
#: s after which the next change is looked for in any case: a motion may not tell the load that well
LONGEST = 20.0
#: s after which a change that is not confirmed is none
DISMISSED = 3.0
#: s between two looks
LOOK = 0.05


@dataclass(frozen=True)
class Kept:
    """What was known at a time.

    Attributes
    ----------
    stamp : ns
    change, covariance : (B,), (B, B) of the base parameters, against the file
    noise : of the residuals
    """

    stamp: int
    change: Array
    covariance: Array
    noise: ResidualNoise


class LoadChange:
    """Follows the base parameters since a change of the load.

    Parameters
    ----------
    since : ns
    before : what was known then
    payload_map, spread, jump : see :class:`~pkm_identification.online.payload.PayloadPrior`

    Attributes
    ----------
    since, before : as given
    covariance : (B, B) of the base parameters to go on from
    is_confirmed : the mass is beyond doubt
    is_settled : it is known well enough, or long enough, for the next change to be looked for
    is_none : it is not confirmed and will not be
    payload : present; ``None`` before it is confirmed
    """

    def __init__(self, since: int, before: Kept, payload_map: Array, spread: Array, jump: Array) -> None:
        self.since, self.before = since, before
        self._prior = PayloadPrior(since, before.change, before.covariance, payload_map, spread, jump)
        self.covariance = self._prior.covariance
        self.is_confirmed = self.is_settled = self.is_none = False
        self.payload: Payload | None = None
        self._next = since

    def follow(self, stamp: int, parameters: Array, covariance: Array) -> bool:
        """Judge by base parameters (B,), (B, B) at ``stamp``; whether it has settled with this call."""
        if stamp < self._next:
            return False
        self._next = stamp + round(LOOK * 1e9)
        found, is_load = self._prior.posterior(parameters, covariance)
        if self.is_confirmed or is_load:
            self.is_confirmed, self.payload = True, found
        elif stamp - self.since > DISMISSED * 1e9:
            self.is_none = True
        if self.is_settled or not self.is_confirmed or stamp - self.since <= SETTLING * 1e9:
            return False
        is_old = stamp - self.since > LONGEST * 1e9
        self.is_settled = is_old or bool(found.mass_std < SETTLED * np.abs(found.mass))
        return self.is_settled
