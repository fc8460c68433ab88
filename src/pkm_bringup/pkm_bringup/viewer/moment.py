"""What a viewer shows of one instant; plain numbers, whatever brought them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pkm_description.arrays import Array

#: levels of diagnostics: OK, WARN, ERROR, STALE
LEVELS = ('ok', 'warning', 'error', 'silent')


@dataclass(frozen=True)
class Body:
    """The platform as something sees it.

    Attributes
    ----------
    position, rotation : (3,) m and (3, 3), of ``platform_link`` in ``base_link``
    velocity : (3,) m/s, of its origin, platform axes
    position_covariance : (3, 3) m^2; zeros say nothing
    """

    position: Array
    rotation: Array
    velocity: Array
    position_covariance: Array


@dataclass(frozen=True)
class Moment:
    """One instant; what is not known is None.

    Attributes
    ----------
    time : s
    estimate, truth, baseline : the platform at that time
    shown : where the machine is drawn: the estimate, else the truth, else what the drives say
    joint_positions : (J,), of an open chain, which has no platform
    reference_position : (3,) m, where the platform should be
    forces : (A,) N or N m, measured; NaN where not
    """

    time: float
    shown: Body | None = None
    estimate: Body | None = None
    truth: Body | None = None
    baseline: Body | None = None
    joint_positions: Array | None = None
    reference_position: Array | None = None
    forces: Array | None = None


@dataclass(frozen=True)
class Status:
    """One status of ``/diagnostics``: ``level`` is a place in :data:`LEVELS`."""

    level: int
    message: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """What a click asks for.

    Attributes
    ----------
    kind : ``faults``, ``payload`` or a service: ``estimator/reset``, ``identification/identify`` ...
    texts : the faults
    numbers : of the payload: mass [kg] and x, y, z [m]
    """

    kind: str
    texts: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
