"""Read how the drives of a redundant machine share the force."""

from __future__ import annotations

from collections.abc import Sequence

from pkm_description.loading.yaml_reader import Section


def read_drive_weights(top: Section, drives: Sequence[str]) -> tuple[float, ...]:
    """Weights of the drives; empty for ``minimum_norm``, the default, which treats all alike.

    Parameters
    ----------
    drives : names of the driven joints
    """
    if 'drive_forces' not in top.content or top.content['drive_forces'] == 'minimum_norm':
        return ()
    if not isinstance(top.content['drive_forces'], dict):
        raise top.error(
            'drive_forces', top.content['drive_forces'],
            "choose minimum_norm, or give weights: {weights: {leg1_prismatic: 2.0}}; a drive with twice the weight "
            'takes twice the share, drives that are not named have 1',
        )  # fmt: skip
    section = top.section('drive_forces')
    section.expect_keys(['weights'])
    weights = section.section('weights')
    weights.expect_keys([], drives)
    return tuple(weights.number(name, 1.0, above=0.0) for name in drives)
