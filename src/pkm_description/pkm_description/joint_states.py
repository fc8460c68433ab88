"""Read joint states from messages or recordings into arrays in the order of the machine's joints, in its units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.driver import STANDARD_DRIVER, Driver
from pkm_description.errors import JointStateError
from pkm_description.machine import Machine

_PLURALS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'efforts'}

#: orders that a reader remembers: a topic has few publishers, but a broken driver may change the names all the time
_REMEMBERED = 16

#: names that a joint state may have, and how much of them is told
_MOST_NAMES, _TOLD, _LONGEST_TOLD = 2000, 12, 60


class JointReading(NamedTuple):
    """A ``sensor_msgs/JointState``: stamp [ns], names, and arrays; its frame."""

    stamp: int
    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array
    frame: str


@dataclass(frozen=True)
class ChannelOrder:
    """Which entries of a joint state are those of one of the driver's channels of effort.

    Attributes
    ----------
    entries, joints : (K,) indices into the names and the wanted joints, of the entries that are there
    missing : entries that are not there
    """

    entries: NDArray[np.intp]
    joints: NDArray[np.intp]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class JointOrder:
    """Which entries of a joint state belong to which of J wanted joints, and what their values mean.

    Attributes
    ----------
    wanted : (J) names, in the order of the results
    names : (M) names in the joint state
    entries, joints : (K,) indices into ``names`` and ``wanted`` of the wanted joints that are there, by ``wanted``
    missing : wanted names that are not there
    unknown : names that are there, but belong to no joint of the machine
    blank : (J,) NaN
    is_plain : the joint state has the wanted joints in the wanted order, and no others
    driver : converts values where the driver has a convention of its own
    efforts : entries of the driver's channels of effort, if they are not the joints' own
    """

    wanted: tuple[str, ...]
    names: tuple[str, ...]
    entries: NDArray[np.intp]
    joints: NDArray[np.intp]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    blank: Array
    is_plain: bool
    driver: Driver = STANDARD_DRIVER
    efforts: tuple[ChannelOrder, ...] = ()

    def by_joint(
        self, values: Sequence[float] | Array, quantity: str = 'position', at: Sequence[float] | Array | None = None
    ) -> Array:
        """Sort one message's values (M,), or those of N messages (N, M), by wanted joint, in the suite's convention.

        Parameters
        ----------
        values : as many as there are names
        quantity : ``'position'``, ``'velocity'`` or ``'effort'``
        at : positions of the same messages: velocities of a sensor whose periodic error is compensated need them

        Returns
        -------
        Array
            (J,) or (N, J) in the units of the message, or of a driver in SI units; NaN for joints that are missing.

        Raises
        ------
        JointStateError
            ``wrong_number_of_positions``: there are more or fewer values than names.
        """
        numbers = np.array(values, dtype=float)
        if numbers.shape[-1] != len(self.names):
            plural = _PLURALS[quantity]
            raise JointStateError(
                f'wrong_number_of_{plural}', f'{len(self.names)} joint names but {numbers.shape[-1]} {plural}'
            )
        if quantity == 'effort':
            return self._efforts(numbers)
        placed = numbers if self.is_plain else self._placed(numbers)
        conversion = self.driver.position
        if conversion is None:
            return placed
        if quantity == 'position':
            return conversion.position(placed)
        if at is None or np.shape(at) != numbers.shape:  # a message may have velocities and no positions
            return conversion.rate(placed)
        return conversion.rate(placed, self._placed(np.array(at, dtype=float)))

    def by_joint_or_nan(self, values: Sequence[float] | Array | None) -> Array:
        """Sort efforts that a joint state need not have, see :meth:`by_joint`; all NaN if they are not there."""
        numbers = np.array(() if values is None else values, dtype=float)
        if numbers.shape[-1] != len(self.names):
            if numbers.ndim == 1:  # most messages have no efforts: a copy takes a third of the time
                return self.blank.copy()
            return np.full((*numbers.shape[:-1], len(self.wanted)), np.nan)
        return self._efforts(numbers)

    def _efforts(self, numbers: Array) -> Array:
        conversion = self.driver.effort
        if conversion is None:
            return numbers if self.is_plain else self._placed(numbers)
        if not self.efforts:
            return conversion.effort([numbers if self.is_plain else self._placed(numbers)])
        return conversion.effort([self._taken(numbers, own.entries, own.joints) for own in self.efforts])

    def _taken(self, numbers: Array, entries: NDArray[np.intp], joints: NDArray[np.intp]) -> Array:
        if len(joints) == len(self.wanted):
            return numbers.take(entries, axis=-1)
        result = np.full((*numbers.shape[:-1], len(self.wanted)), np.nan)
        result[..., joints] = numbers[..., entries]
        return result

    def _placed(self, numbers: Array) -> Array:
        return self._taken(numbers, self.entries, self.joints)

    def complete(
        self, values: Sequence[float] | Array, quantity: str = 'position', at: Sequence[float] | Array | None = None
    ) -> Array:
        """Sort values as :meth:`by_joint` does, and require a finite one for every wanted joint.

        Raises
        ------
        JointStateError
            ``wrong_number_of_positions``, ``missing_joint`` or ``position_not_finite``.
        """
        self.require_all(quantity)
        numbers = self.by_joint(values, quantity, at)
        require_finite(numbers, self.wanted, quantity)
        return numbers

    def require_all(self, quantity: str = 'position') -> None:
        """Raise :class:`JointStateError` (``missing_joint``) unless every wanted joint is there."""
        if self.missing:
            raise JointStateError('missing_joint', self.missing_text(quantity))
        lacking = [name for channel in self.efforts for name in channel.missing]
        if lacking and quantity == 'effort':
            raise JointStateError('missing_joint', self._absent_text(quantity, lacking))

    def missing_text(self, quantity: str = 'position') -> str:
        """Name the missing joints."""
        foreign = dict(zip(self.wanted, self.driver.joint_names, strict=False))
        told = [f'{name} (driver: {foreign[name]})' if name in foreign else name for name in self.missing]
        return self._absent_text(quantity, told)

    def _absent_text(self, quantity: str, absent: Sequence[str]) -> str:
        return f'no {quantity} of {told_names(absent)}; the joint state has {told_names(self.names) or "no joints"}'

    def unknown_text(self) -> str:
        """Name the joints that the machine does not have."""
        return f'{told_names(self.unknown, 6, quoted=True)} is no joint of this machine; ignored'


class JointStateReader:
    """Sorts joint states, whose joints come in whatever order, into one order of joints.

    Parameters
    ----------
    wanted : names of the joints, in the order of the results
    known : further names that joint states may have, without being called unknown
    driver : whose joint states they are; its names are by wanted joint
    """

    def __init__(self, wanted: Iterable[str], known: Iterable[str] = (), driver: Driver = STANDARD_DRIVER) -> None:
        self.wanted = tuple(wanted)
        self._driver = driver
        self._sought = driver.joint_names or self.wanted
        channels = driver.effort.channels if driver.effort else ()
        # one channel in the joints' own entries needs no order of its own
        self._channels = () if all(channel.names == self._sought for channel in channels) else channels
        of_channels = {name for channel in self._channels for name in channel.names}
        self._known = {*self._sought, *known, *of_channels}
        self._orders: dict[tuple[str, ...], JointOrder] = {}

    @classmethod
    def of_drives(cls, machine: Machine) -> JointStateReader:
        """Reader of the driven joints (A) of what the machine's driver publishes, in the suite's convention.

        The passive joints of the machine may be there, too.
        """
        return cls(machine.actuated_joint_names, machine.passive_joint_names, machine.driver)

    def order(self, names: Sequence[str]) -> JointOrder:
        """Order of a joint state with these names (M); remembered, as most messages have the same.

        Raises
        ------
        JointStateError
            ``duplicate_joint``: a wanted joint is named twice; ``too_many_joints``: 2000 are sorted at most.
        """
        if len(names) > _MOST_NAMES:
            detail = f'{len(names)} joints, at most {_MOST_NAMES} are read: {told_names(names, 3)}'
            raise JointStateError('too_many_joints', detail)
        key = tuple(names)
        order = self._orders.get(key)
        if order is None:
            order = self._sort(key)
            if len(self._orders) < _REMEMBERED:
                self._orders[key] = order
        return order

    def _sort(self, names: tuple[str, ...]) -> JointOrder:
        sought = (*self._sought, *(name for channel in self._channels for name in channel.names))
        doubled = sorted({name for name in sought if names.count(name) > 1})
        if doubled:
            raise JointStateError('duplicate_joint', f'{", ".join(doubled)} is named twice in {told_names(names)}')
        entries, joints = _places(self._sought, names)
        return JointOrder(
            self.wanted,
            names,
            entries,
            joints,
            tuple(want for want, name in zip(self.wanted, self._sought, strict=True) if name not in names),
            tuple(
                name
                for name in names
                if name not in self._known and not any(fnmatchcase(name, ignored) for ignored in self._driver.ignore)
            ),
            np.full(len(self.wanted), np.nan),
            names == self._sought,
            self._driver,
            tuple(
                ChannelOrder(*_places(channel.names, names), tuple(name for name in channel.names if name not in names))
                for channel in self._channels
            ),
        )


def told_names(names: Sequence[str], most: int = _TOLD, quoted: bool = False) -> str:
    """Names for a message, whatever a broken driver made of them: long ones and long lists are cut."""
    cut = [name if len(name) <= _LONGEST_TOLD else f'{name[:_LONGEST_TOLD]}...' for name in names[:most]]
    rest = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(map(repr, cut) if quoted else cut) + rest


def _places(sought: Sequence[str], names: tuple[str, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Entries of the names that are there, and their places among those that are sought."""
    joints = [place for place, name in enumerate(sought) if name in names]
    entries = [names.index(sought[place]) for place in joints]
    return np.array(entries, dtype=np.intp), np.array(joints, dtype=np.intp)


def require_finite(values: Array, names: Sequence[str], quantity: str = 'position') -> None:
    """Raise :class:`JointStateError` (``position_not_finite``) if one of the values (J,) or (N, J) is not finite.

    The error's ``sample`` is the first message that has such a value.
    """
    if np.isfinite(values).all():
        return
    rows = np.atleast_2d(values)
    finite = np.isfinite(rows)
    sample = int(np.argmin(finite.all(axis=1)))
    bad = [name for name, is_right in zip(names, finite[sample], strict=True) if not is_right]
    raise JointStateError(f'{quantity}_not_finite', not_finite_text(bad, quantity), sample)


def not_finite_text(names: Sequence[str], quantity: str = 'position') -> str:
    """Name joints whose values are not finite."""
    return f'{quantity} of {told_names(names)} is not a finite number'


class DriverJointStates(NamedTuple):
    """Arrays (..., M) as a driver's joint states have them, in its names, order and units."""

    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array


class DriverStreams:
    """Turns values in the suite's convention into what the machine's driver publishes.

    Parameters
    ----------
    machine : with its driver; of a standard one the values stay as they are

    Attributes
    ----------
    names : (M) entries of a joint state
    """

    def __init__(self, machine: Machine) -> None:
        self._driver = driver = machine.driver
        joint_names = driver.joint_names or machine.actuated_joint_names
        order = driver.order or tuple(range(len(joint_names)))
        names = [joint_names[drive] for drive in order]
        channels = driver.effort.channels if driver.effort else ()
        for channel in channels:
            names += [name for name in channel.names if name not in names]
        self.names = tuple(names)
        self._joints = [names.index(name) for name in joint_names]
        self._channels = [[names.index(name) for name in channel.names] for channel in channels]
        self._plain = not driver.converts_joints

    def joint_states(self, positions: Array, velocities: Array, efforts: Array) -> DriverJointStates:
        """Joint states of drives at positions (..., A) m or rad, with velocities and efforts (..., A)."""
        if self._plain:
            return DriverJointStates(self.names, positions, velocities, efforts)
        conversion, effort = self._driver.position, self._driver.effort
        if conversion is not None:
            velocities = conversion.rate_reading(velocities, positions)
            positions = conversion.reading(positions)
        if effort is None:
            shown = self._placed([efforts], [self._joints])
        else:
            shown = self._placed(effort.readings(efforts), self._channels)
        return DriverJointStates(
            self.names, self._placed([positions], [self._joints]), self._placed([velocities], [self._joints]), shown
        )

    def imu(self, specific_force: Array, angular_rate: Array) -> tuple[Array, Array]:
        """Acceleration and angular rate (..., 3) as the driver's IMU has them."""
        if self._driver.imu.is_standard:
            return specific_force, angular_rate
        return self._driver.imu.readings(specific_force, angular_rate)

    def _placed(self, parts: list[Array], places: list[list[int]]) -> Array:
        """Values by drive at their entries; zero where an entry measures something else."""
        result = np.zeros((*np.shape(parts[0])[:-1], len(self.names)))
        for part, entries in zip(parts, places, strict=True):
            result[..., entries] = part
        return result
