"""Groups of parameters that the data hardly tell apart (Belsley, Kuh, Welsch 1980, Regression Diagnostics, chapter 3).

The observation matrix with columns of norm one has singular values. Each small one is a combination of columns that
nearly cancels. Parameters that take most of their variance from such a combination form a group: their sum is known,
how it is shared among them is not. The difference of the two Coulomb levels of a drive is a constant force, and so
nearly is the weight on it (Mata et al. 2008, Table 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

#: largest over own singular value from which on columns count as nearly collinear, and the part of a parameter's
#: variance that makes it a member; both as in the book
CONDITION_INDEX, SHARE = 30.0, 0.5


@dataclass(frozen=True)
class CollinearGroup:
    """Parameters that nearly cancel each other.

    Attributes
    ----------
    condition_index : largest singular value over that of the combination
    names : of the parameters, the strongest first
    combination : (K,) unit vector of their changes that leaves nearly no force, in units of ``1 / norm of the column``
    """

    condition_index: float
    names: tuple[str, ...]
    combination: Array

    def __str__(self) -> str:
        return (
            f'{" and ".join(self.names)} are hardly told apart (condition index {self.condition_index:.3g}): a motion '
            'with other poses or directions, or a model without one of them, would help'
        )


def collinear_groups(
    observation: Array, names: Sequence[str], condition_index: float = CONDITION_INDEX, share: float = SHARE
) -> tuple[CollinearGroup, ...]:
    """Find groups of nearly collinear columns, the worst first.

    Parameters
    ----------
    observation : (..., P), of full column rank
    names : P
    condition_index, share : see :data:`CONDITION_INDEX`

    Notes
    -----
    Combinations with condition indices above the limit are taken together where one parameter spreads its variance
    over several: a parameter belongs to the combination from which it has the largest part, if all those above the
    limit give it at least ``share`` of its variance.
    """
    rows = observation.reshape(-1, len(names))
    scaled = rows / np.linalg.norm(rows, axis=0)
    triangle = np.linalg.qr(scaled, mode='r')
    _, sizes, directions = np.linalg.svd(triangle)
    index = sizes[0] / sizes
    variances = (directions / sizes[:, None]) ** 2
    shares = variances / variances.sum(axis=0)
    weak = np.flatnonzero(index > condition_index)
    if not len(weak):
        return ()
    members = shares[weak].sum(axis=0) >= share
    owner = weak[np.argmax(shares[weak], axis=0)]
    groups = []
    for place in weak[::-1]:
        # those that stand in its combination at all, if at least one has its variance from it
        own = np.flatnonzero(members & (owner == place))
        if not len(own):
            continue
        strong = np.flatnonzero(members & (np.abs(directions[place]) > 0.2))
        both = np.union1d(own, strong)
        order = both[np.argsort(-np.abs(directions[place, both]), kind='stable')]
        if len(order) > 1:
            groups.append(
                CollinearGroup(float(index[place]), tuple(names[k] for k in order), directions[place, order])
            )
    return tuple(groups)
