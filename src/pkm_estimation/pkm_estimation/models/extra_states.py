"""Constants as extra states in addition to the fifteen of Miletovic et al. 2017.

The IMU position affects the measurement only: the state describes the IMU's point, so the position only determines
where the platform's joints lie relative to it. Offsets and delay affect the measurement only, too. The mounting rotates
the process's input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pkm_description.kernels.model import Integers

#: names that the setting ``estimate`` takes, with their units; offsets of drives that turn are in rad
EXTRA_STATES = {'leg_offsets': 'm', 'imu_delay': 's', 'imu_rotation': 'rad', 'imu_position': 'm'}


def extra_state_units(position_units: Sequence[str]) -> dict[str, str]:
    """Units by name, on a machine whose drives' positions have units such as ``('m', 'm', 'm')``."""
    return EXTRA_STATES | {'leg_offsets': ', '.join(dict.fromkeys(position_units))}


@dataclass(frozen=True)
class StateLayout:
    """Rows of each group of states.

    Attributes
    ----------
    size : number of states n
    leg_offsets, imu_delay, imu_rotation, imu_position : rows of the extra states, ``None`` where not estimated
    """

    size: int
    leg_offsets: slice | None = None
    imu_delay: slice | None = None
    imu_rotation: slice | None = None
    imu_position: slice | None = None

    @classmethod
    def of(cls, base_size: int, drive_count: int, estimate: Sequence[str]) -> StateLayout:
        """Layout with the extra states named in ``estimate``, in the order of :data:`EXTRA_STATES`.

        Raises
        ------
        ValueError
            For a name that is no extra state.
        """
        unknown = [name for name in estimate if name not in EXTRA_STATES]
        if unknown:
            raise ValueError(f'{unknown[0]!r} cannot be estimated; there are {", ".join(EXTRA_STATES)}')
        sizes = {'leg_offsets': drive_count, 'imu_delay': 1, 'imu_rotation': 3, 'imu_position': 3}
        rows, end = {}, base_size
        for name in EXTRA_STATES:
            if name in estimate:
                rows[name] = slice(end, end + sizes[name])
                end += sizes[name]
        return cls(end, **rows)

    @cached_property
    def groups(self) -> dict[str, slice]:
        """Rows of each extra state that is estimated."""
        return {name: rows for name in EXTRA_STATES if (rows := getattr(self, name)) is not None}

    @cached_property
    def first_rows(self) -> Integers:
        """First row of each extra state, in the order of :data:`EXTRA_STATES`; -1 where it is not estimated."""
        return np.array([-1 if (rows := getattr(self, name)) is None else rows.start for name in EXTRA_STATES])
