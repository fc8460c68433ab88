"""Values of the joint states as such: not finite, none, or always the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.errors import Finding

from pkm_bringup.robot_check.findings import wrong
from pkm_bringup.robot_check.wiring import Wiring


def value_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the positions; velocities and efforts have checks of their own."""
    log = wiring.joints
    if log is None or wiring.columns is None:
        return
    positions = log.positions[wiring.leg_rows][:, wiring.columns]
    finite = np.isfinite(positions)
    if not finite.all():
        bad = np.asarray(~finite.all(axis=0))
        all_bad = not finite.any()
        how = 'no message has positions' if all_bad else f'{(~finite).any(axis=1).mean():.0%} of the messages'
        yield wrong(
            'position_missing',
            f'positions of {wiring.named(bad)} are missing or not finite ({how}); such messages are rejected',
            'let the driver publish position for every joint (joint_state_broadcaster: interfaces: [position, '
            'velocity, effort]), and nothing before its sensors are referenced',
        )
        if (~finite).all(axis=0).any():
            wiring.columns = None
            return
    still = np.array([len(np.unique(column[np.isfinite(column)])) == 1 for column in positions.T])
    if 0 < np.count_nonzero(still) < len(still) and _moves(positions[:, ~still]):
        yield wrong(
            'position_frozen',
            f'{wiring.named(still)} always reads the same number while other drives move',
            'see the encoder\'s cable and the driver\'s entry for it: the value is not read anew (or this drive does'
            ' stand still, in a simulation without noise: then move all of them)',
        )
        wiring.poses_trusted = False


def _moves(positions: np.ndarray) -> bool:
    """Whether one of the drives moves by much more than its samples scatter."""
    noise = np.nanmedian(np.abs(np.diff(positions, n=2, axis=0)), axis=0) + 1e-12
    return bool((np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0) > 50.0 * noise).any())
