"""Sliders that move a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pkm_description.errors import KinematicsError
from pkm_description.viewing.coupled_pose import COORDINATES

#: a slider of joint_state_publisher_gui knows as many places, and takes the next one below its value
_PLACES = 10000


def slider_name(coordinate: str) -> str:
    """Name of a coordinate's slider: ``platform_yaw``; joints keep their names."""
    return f'platform_{coordinate}' if coordinate in COORDINATES else coordinate


@dataclass(frozen=True)
class Slider:
    """One value that a user sets.

    Attributes
    ----------
    coordinate : one of x, y, z, roll, pitch, yaw from home; the joint's name on open chains
    kind : ``'prismatic'`` or ``'revolute'``
    lower, upper : m or rad, range with all other sliders at rest
    rest : m or rad, where the machine is at home
    """

    coordinate: str
    kind: str
    lower: float
    upper: float
    rest: float = 0.0

    @property
    def name(self) -> str:
        """See :func:`slider_name`."""
        return slider_name(self.coordinate)


class SliderBoard:
    """Tells sliders that a user has moved from values that are only repeated.

    Programs with sliders publish all values all the time. Only a change counts, so that other inputs are not overruled.

    Parameters
    ----------
    sliders : all of the machine
    start : coordinate -> value [m, rad] that the sliders have at first, as far as their resolution allows
    """

    def __init__(self, sliders: Sequence[Slider], start: Mapping[str, float]) -> None:
        self._sliders = {slider.name: slider for slider in sliders}
        self._values = {slider.name: start.get(slider.coordinate, slider.rest) for slider in sliders}
        self._have_moved = False

    def moved(self, names: Sequence[str], positions: Sequence[float]) -> dict[str, float]:
        """Coordinates [m, rad] of all sliders if one has moved, else nothing.

        Raises
        ------
        KinematicsError
            Unequal lengths, or a name that is no slider of this machine.
        """
        if len(names) != len(positions):
            raise KinematicsError(f'sliders with {len(names)} names and {len(positions)} positions')
        has_moved = False
        for name, value in zip(names, positions, strict=True):
            if name not in self._sliders:
                raise KinematicsError(f'no slider {name!r}; there are {", ".join(self._sliders)}')
            slider = self._sliders[name]
            place = 0.0 if self._have_moved else 1.001 * (slider.upper - slider.lower) / _PLACES
            # not "difference > place": NaN is a change, to be refused
            has_moved |= not abs(value - self._values[name]) <= place
        if not has_moved:
            return {}
        self._have_moved = True
        self._values.update(zip(names, positions, strict=True))
        return {slider.coordinate: self._values[name] for name, slider in self._sliders.items()}
