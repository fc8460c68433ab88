"""Passes near singular poses, where forces say little and errors grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.findings import Finding, State
from pkm_description.kinematics import drive_positions, forward_kinematics
from pkm_description.machine import Machine

from pkm_identification.diagnosis.force_model import ForceModel

#: condition number of the map from drives to platform that is named: absolute, and of that at home
_LARGE, _OF_HOME = 50.0, 5.0
#: part of it from which efforts are not judged: they hang on details of the geometry
_CAREFUL = 0.3


@dataclass(frozen=True)
class Conditioning:
    """How well the drives determine the motion of the platform.

    Attributes
    ----------
    time : (n,) s
    condition : (n,) condition numbers
    home, limit : that at home, and that from which a pose is nearly singular
    """

    time: Array
    condition: Array
    home: float
    limit: float

    def is_poor_at(self, time: Array) -> NDArray[np.bool_]:
        """Samples (N,) near poses at which efforts are not judged."""
        return np.asarray(np.interp(time, self.time, self.condition) > _CAREFUL * self.limit)


def conditioning(machine: Machine, model: ForceModel) -> Conditioning:
    """Condition numbers at the model's poses."""
    condition = forward_kinematics(machine, model.positions).condition
    at_home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    home = float(forward_kinematics(machine, at_home[None]).condition[0])
    return Conditioning(model.time, np.nan_to_num(condition, nan=np.inf), home, max(_LARGE, _OF_HOME * home))


def singular_findings(found: Conditioning) -> Iterator[Finding]:
    """Where the drives hardly determine the motion of the platform."""
    worst = int(np.argmax(found.condition))
    if found.condition[worst] > found.limit:
        near = found.condition > found.limit
        seconds = float(np.count_nonzero(near) * np.median(np.diff(found.time)))
        yield Finding(
            'singular_pose', State.SUSPICIOUS, (),
            f'the motion passes a nearly singular pose at {found.time[worst]:.2f} s: condition number '
            f'{found.condition[worst]:.3g}, at home {found.home:.3g}; {seconds:.2g} s are beyond {found.limit:.3g}',
            'plan an excitation that stays away from it (inspect_machine shows the condition number), or leave this '
            'part of the recording out',
            {'condition': float(found.condition[worst]), 'time_s': float(found.time[worst]), 'seconds': seconds},
        )  # fmt: skip
