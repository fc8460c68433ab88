"""Heimann & Abdellatif, R4-46 and R4-48: forces on several validation motions, and a whole run that repeats.

Synthetic: the plant is the one of R4-42, with a payload and more friction than the machine file; the model is what the
identification finds in its recording. The paper shows such comparisons without figures.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.circles import CirclePath
from pkm_description.motion.profiles import profile
from pkm_identification.judgement.force_error import ForceError, force_error
from pkm_identification.motion_source.bands import choose_bands
from pkm_identification.motion_source.by_name import LowPass
from pkm_identification.motion_source.filters import low_pass
from pkm_identification.recording.recording import Recording

from pkm_bringup import simulate
from pkm_identification import IdentificationResult, identify, recording_from_joint_states
from verification.check import Check, at_most, equal
from verification.heimann_abdellatif.control_identified import identified, identified_machine, plant_of

#: slowest drive of the rows that are compared, m/s: near a reversal nobody knows when the friction turns
SLOWEST = 0.01


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Validation motions, then the same run again."""
    path, duration = str(machine.path), 12.0 if quick else 40.0
    yield from validation_checks(machine, identified_machine(path, duration), quick)
    yield from repetition_checks(path, duration)


def validation_motions(machine: Machine, quick: bool) -> dict[str, PlatformMotion]:
    """Motions that no identification has used."""
    found = {
        'another Fourier series': profile('fourier_validation', machine, 6.0 if quick else 15.0, 100.0, 7),
        'circle of 0.2 m': CirclePath(machine.home, diameter=0.2, speed=0.4).sample(100.0),
    }
    return found if quick else found | {'circle and rock': profile('mp1', machine, 40.0, 100.0)}


def recorded(machine: Machine, motion: PlatformMotion, seed: int) -> Recording:
    """What the sensors say while the plant follows a motion."""
    record = simulate(plant_of(machine), motion, seed=seed)
    return recording_from_joint_states(
        machine, record.joint_stamps, machine.actuated_joint_names, record.joint_positions, record.joint_efforts
    )


def compared(belief: Machine, recording: Recording) -> ForceError:
    """Measured forces and those of a machine along the measured motion, in the band of the motion's smoothing."""
    bands = choose_bands(belief, recording)
    moved = LowPass().motion(belief, recording, bands).smooth
    rate, cutoff = recording.sample_rate, bands.force_cutoff
    both = inverse_dynamics(belief, moved), recording.forces
    predicted, measured = (low_pass(forces, rate, cutoff) for forces in both)
    speeds = np.gradient(recording.drive_positions, recording.time, axis=0)
    moving = np.abs(low_pass(speeds, rate, cutoff)) > SLOWEST
    # the filter spreads the jump at a reversal over its pulse response
    reach = round(0.5 * rate / cutoff)
    near = np.stack([np.convolve(~column, np.ones(2 * reach + 1), 'same') for column in moving.T], axis=1)
    near[: 4 * reach] = near[-4 * reach :] = 1.0
    return force_error(measured, predicted, near < 0.5)


def validation_checks(machine: Machine, belief: Machine, quick: bool) -> Iterator[Check]:
    """R4-46: rms error per axis, absolute and relative, beside that of the machine file."""
    for place, (word, motion) in enumerate(validation_motions(plant_of(machine), quick).items()):
        recording = recorded(machine, motion, 20 + place)
        found, nominal = compared(belief, recording), compared(machine, recording)
        rows = '; '.join(f'{size:.2f} N, {100.0 * size / whole:.2f} %' for size, whole in zip(
            found.rms, found.force_rms, strict=True))  # fmt: skip
        yield at_most('R4-46', f'{word}: relative rms error of any axis', 0.05, found.rms / found.force_rms, note=rows)
        what = f'{word}: error with identified over that with nominal parameters, any axis'
        yield at_most('R4-46', what, 0.5, found.rms / nominal.rms)


def repetition_checks(path: str, duration: float) -> Iterator[Check]:
    """R4-48: excitation, simulation and identification of R4-42 once more, from the same settings and seed."""
    first, second = identified(path, duration), _run(path, duration, 5)
    for word, one, other in (
        ('parameters', first.estimate.parameters, second.estimate.parameters),
        ('standard deviations', first.estimate.std, second.estimate.std),
        ('predicted forces', first.training.predicted, second.training.predicted),
    ):
        same = bool(np.array_equal(one, other))
        yield equal('R4-48', f'{word} of two runs with the same seed, bit by bit', True, same)


def _run(path: str, duration: float, seed: int) -> IdentificationResult:
    machine = load_machine(path)
    plant = plant_of(machine)
    record = simulate(plant, profile('fourier', plant, duration, 100.0, seed=1), seed=seed)
    recording = recording_from_joint_states(
        machine, record.joint_stamps, machine.actuated_joint_names, record.joint_positions, record.joint_efforts
    )
    return identify(machine, recording)
