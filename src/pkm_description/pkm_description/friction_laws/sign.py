"""The sign of a velocity, exact or smoothed around zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import FrictionLawError

SIGN_KINDS = ('exact', 'tanh', 'dead_band')


@dataclass(frozen=True)
class Sign:
    """A model of sign(velocity): odd, between -1 and 1, never against the velocity.

    All models are zero at exactly zero velocity, so that no law of this package pushes a joint at rest.
    Sticking (a force that balances the others at rest) is not modelled; with a smooth sign a loaded joint creeps.

    Attributes
    ----------
    kind : ``'exact'``: -1, 0, 1; ``'tanh'``: tanh(velocity / width);
        ``'dead_band'``: velocity / width inside of +-width, -1 or 1 outside
    width : m/s or rad/s, > 0 except for ``'exact'``

    Raises
    ------
    FrictionLawError
        Unknown kind, or a width that does not fit it.
    """

    kind: str = 'exact'
    width: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in SIGN_KINDS:
            raise FrictionLawError('sign', self.kind, f'unknown; choose {", ".join(SIGN_KINDS)}')
        if self.kind == 'exact' and self.width != 0.0:
            raise FrictionLawError(
                'sign_width', self.width, "an exact sign has no width; add 'sign: tanh' or remove it"
            )
        if self.kind != 'exact' and not (np.isfinite(self.width) and self.width > 0.0):
            raise FrictionLawError(
                'sign_width', self.width, f'{self.kind!r} needs a velocity greater than 0, such as 0.001 m/s'
            )

    @property
    def number(self) -> int:
        """Number of the kind in :mod:`pkm_description.kernels.friction`."""
        return SIGN_KINDS.index(self.kind)

    def __call__(self, velocity: Array) -> Array:
        """Sign of velocities of any shape."""
        if self.kind == 'tanh':
            return np.tanh(velocity / self.width)
        if self.kind == 'dead_band':
            return np.clip(velocity / self.width, -1.0, 1.0)
        return np.sign(velocity)


EXACT_SIGN = Sign()
