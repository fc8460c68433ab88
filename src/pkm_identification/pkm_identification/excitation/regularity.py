"""How far a motion stays from singular poses, as smooth functions of the coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError

from pkm_identification.excitation.coordinates import MotionCoordinates
from pkm_identification.excitation.joint_rates import JointRates, joint_rates_of


class Regularity:
    """Two figures that are 1 at home and 0 at a singular pose, and how much of the room between is used.

    *joints*: size of the joint rates per rate of the coordinates, home over here. It falls where a leg is stretched or
    folded or a universal joint is near its axis; with the drives as coordinates also where the drives lose the
    platform. *drives*, with the platform's coordinates: smallest singular value of the drive rates per rate of the
    platform, here over home. It falls where the platform can move while the drives stand still.

    Turns are measured by the platform's radius, so that no unit matters.

    Parameters
    ----------
    condition_ratio : both figures stay above ``1 / condition_ratio``; > 1
    """

    def __init__(self, coordinates: MotionCoordinates, condition_ratio: float) -> None:
        if not condition_ratio > 1.0:
            raise ConfigurationError(f'condition_ratio = {condition_ratio}: must be greater than 1')
        machine = coordinates.machine
        self._floor = 1.0 / condition_ratio
        radius = machine.platform_radius
        joints = np.array([radius if joint.kind == 'revolute' else 1.0 for joint in machine.joints])
        own = np.array([radius if unit == 'rad' else 1.0 for unit in coordinates.units])
        self._scale = joints[:, None] / own
        self._drives = machine.drive_columns if coordinates.kernel == 'platform' else None
        count = len(coordinates)
        at_home = joint_rates_of(machine, coordinates.at(np.zeros((1, count))), 1, count, second=False).first
        scaled = at_home * self._scale
        self._size = float(np.linalg.norm(scaled[0]))
        if self._drives is not None:
            self._least = float(np.linalg.svd(scaled[0, self._drives], compute_uv=False)[-1])

    def uses(self, rates: JointRates) -> Iterator[tuple[str, Array, Callable[[], Array]]]:
        """Name, use (N,), 0 at home and 1 at the limit, and what makes its derivative (N, C) by the coordinates."""
        scaled = rates.first * self._scale
        size = np.sqrt(np.sum(scaled**2, axis=(1, 2)))

        def by_size() -> Array:
            change = np.einsum('njc,njcd->nd', scaled * self._scale, rates.second) / size[:, None]
            return np.asarray(self._size / size**2)[:, None] * change / (1.0 - self._floor)

        yield 'joints', (1.0 - self._size / size) / (1.0 - self._floor), by_size
        if self._drives is None:
            return
        own = scaled[:, self._drives]
        left, values, right = np.linalg.svd(own, full_matrices=False)

        def by_least() -> Array:
            bent = rates.second[:, self._drives] * self._scale[self._drives][..., None]
            change = np.einsum('na,nc,nacd->nd', left[..., -1], right[:, -1], bent)
            return np.asarray(-change / self._least / (1.0 - self._floor))

        yield 'drives', (1.0 - values[:, -1] / self._least) / (1.0 - self._floor), by_least
