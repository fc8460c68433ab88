"""Read joint states from messages or recordings into arrays in the order of the machine's joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import JointStateError
from pkm_description.machine import Machine

_PLURALS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'efforts'}

#: orders that a reader remembers: a topic has few publishers, but a broken driver may change the names all the time
_REMEMBERED = 16


@dataclass(frozen=True)
class JointOrder:
    """Which entries of a joint state belong to which of J wanted joints.

    Attributes
    ----------
    wanted : (J) names, in the order of the results
    names : (M) names in the joint state
    entries, joints : (K,) indices into ``names`` and ``wanted`` of the wanted joints that are there, by ``wanted``
    missing : wanted names that are not there
    unknown : names that are there, but belong to no joint of the machine
    blank : (J,) NaN
    is_plain : the joint state has the wanted joints in the wanted order, and no others
    """

    wanted: tuple[str, ...]
    names: tuple[str, ...]
    entries: NDArray[np.intp]
    joints: NDArray[np.intp]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    blank: Array
    is_plain: bool

    def by_joint(self, values: Sequence[float] | Array, quantity: str = 'position') -> Array:
        """Sort one message's values (M,), or those of N messages (N, M), by wanted joint.

        Parameters
        ----------
        values : as many as there are names
        quantity : ``'position'``, ``'velocity'`` or ``'effort'``, for the error

        Returns
        -------
        Array
            (J,) or (N, J) in the units of the message; NaN for joints that are missing.

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
        return numbers if self.is_plain else self._placed(numbers)

    def by_joint_or_nan(self, values: Sequence[float] | Array | None) -> Array:
        """Sort values that a joint state need not have, see :meth:`by_joint`; all NaN if they are not there."""
        numbers = np.array(() if values is None else values, dtype=float)
        if numbers.shape[-1] != len(self.names):
            if numbers.ndim == 1:  # most messages have no efforts: a copy takes a third of the time
                return self.blank.copy()
            return np.full((*numbers.shape[:-1], len(self.wanted)), np.nan)
        return numbers if self.is_plain else self._placed(numbers)

    def _placed(self, numbers: Array) -> Array:
        if not self.missing:
            return numbers.take(self.entries, axis=-1)
        result = np.full((*numbers.shape[:-1], len(self.wanted)), np.nan)
        result[..., self.joints] = numbers[..., self.entries]
        return result

    def complete(self, values: Sequence[float] | Array, quantity: str = 'position') -> Array:
        """Sort values as :meth:`by_joint` does, and require a finite one for every wanted joint.

        Raises
        ------
        JointStateError
            ``wrong_number_of_positions``, ``missing_joint`` or ``position_not_finite``.
        """
        self.require_all(quantity)
        numbers = self.by_joint(values, quantity)
        require_finite(numbers, self.wanted, quantity)
        return numbers

    def require_all(self, quantity: str = 'position') -> None:
        """Raise :class:`JointStateError` (``missing_joint``) unless every wanted joint is there."""
        if self.missing:
            raise JointStateError('missing_joint', self.missing_text(quantity))

    def missing_text(self, quantity: str = 'position') -> str:
        """Name the missing joints."""
        return f'no {quantity} of {", ".join(self.missing)}; the joint state has {", ".join(self.names) or "no joints"}'

    def unknown_text(self) -> str:
        """Name the joints that the machine does not have."""
        return f'{", ".join(map(repr, self.unknown[:6]))} is no joint of this machine; ignored'


class JointStateReader:
    """Sorts joint states, whose joints come in whatever order, into one order of joints.

    Parameters
    ----------
    wanted : names of the joints, in the order of the results
    known : further names that joint states may have, without being called unknown
    """

    def __init__(self, wanted: Iterable[str], known: Iterable[str] = ()) -> None:
        self.wanted = tuple(wanted)
        self._known = {*self.wanted, *known}
        self._orders: dict[tuple[str, ...], JointOrder] = {}

    @classmethod
    def of_drives(cls, machine: Machine) -> JointStateReader:
        """Reader of the driven joints (A); the passive joints of the machine may be there, too."""
        return cls(machine.actuated_joint_names, machine.joint_names)

    @classmethod
    def of_all_joints(cls, machine: Machine) -> JointStateReader:
        """Reader of all joints (L J), leg by leg."""
        return cls(machine.joint_names)

    def order(self, names: Sequence[str]) -> JointOrder:
        """Order of a joint state with these names (M); remembered, as most messages have the same.

        Raises
        ------
        JointStateError
            ``duplicate_joint``: a wanted joint is named twice.
        """
        key = tuple(names)
        order = self._orders.get(key)
        if order is None:
            order = self._sort(key)
            if len(self._orders) < _REMEMBERED:
                self._orders[key] = order
        return order

    def _sort(self, names: tuple[str, ...]) -> JointOrder:
        joints = [joint for joint, name in enumerate(self.wanted) if name in names]
        entries = [names.index(self.wanted[joint]) for joint in joints]
        doubled = sorted({name for name in self.wanted if names.count(name) > 1})
        if doubled:
            raise JointStateError('duplicate_joint', f'{", ".join(doubled)} is named twice in {list(names)}')
        return JointOrder(
            self.wanted,
            names,
            np.array(entries, dtype=np.intp),
            np.array(joints, dtype=np.intp),
            tuple(name for name in self.wanted if name not in names),
            tuple(name for name in names if name not in self._known),
            np.full(len(self.wanted), np.nan),
            names == self.wanted,
        )


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
    return f'{quantity} of {", ".join(names)} is not a finite number'
