"""The frequencies that a recording is worked on with, from its excitation and the sensors' noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.machine import Machine

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.motion_source.filters import excitation_band
from pkm_identification.motion_source.sticking import sign_cutoff
from pkm_identification.recording.recording import Recording

#: rows are left out this near to a reversal, in periods of the force cut-off, when Coulomb friction is six times the
#: noise of a force sample; its jump is known to a millisecond only, and the filter spreads that error. It dies with
#: distance, so stronger friction asks for more. Found on simulated machines: nearer, systematic errors exceed the
#: standard deviations; farther, too little of the data is left.
REVERSAL_REACH, REACH_PER_E_FOLD, REACH_LIMITS = 0.5, 0.25, (0.1, 0.9)


@dataclass(frozen=True)
class Bands:
    """Frequencies chosen for a recording, Hz, the dead band, m/s (negative: chosen for each drive from its noise).

    ``reversal_reach``: periods of the force cut-off around a leg's reversal in which rows are left out.
    """

    excitation: float
    motion_cutoff: float
    force_cutoff: float
    sign_cutoff: float
    dead_band: float
    reversal_reach: float


def choose_bands(machine: Machine, recording: Recording, config: IdentificationConfig | None = None) -> Bands:
    """Cut-off frequencies and dead band: the configured ones, else from the excitation and the sensors' noise.

    95 % of the acceleration's energy lie below the excitation band. Forces and regressor are filtered at four times
    that. The motion's cut-off is four times as high again: its smoothing has a gain of 1 where forces are compared, and
    predicted forces follow most of what happens at reversals. Signs of velocities take a fifth of the sample rate, or
    less where noise is worse than kinks that are rounded.
    """
    config = config or IdentificationConfig()
    rate = recording.sample_rate
    excitation = excitation_band(recording.drive_positions, rate)
    force = config.rows.cutoff_frequency or min(max(4.0 * excitation, 4.0), 0.1 * rate)
    motion = config.motion.cutoff_frequency or min(4.0 * force, 0.2 * rate)
    sign = sign_cutoff(recording.drive_positions, rate, float(motion))
    return Bands(excitation, float(motion), float(force), sign, config.rows.dead_band, _reversal_reach(machine))


def _reversal_reach(machine: Machine) -> float:
    """Reach around reversals by the nominal Coulomb friction and the force sensors' noise."""
    coulomb = max(abs(joint.friction.coulomb) for joint in machine.actuated_joints)
    noise = float(np.max(machine.leg_sensors.effort_noise))
    if coulomb <= 0.0 or noise <= 0.0:
        return REVERSAL_REACH if coulomb <= 0.0 else REACH_LIMITS[1]
    reach = REVERSAL_REACH + REACH_PER_E_FOLD * np.log(coulomb / noise / 6.0)
    return float(np.clip(reach, *REACH_LIMITS))
