"""Heimann & Abdellatif, R4-42, R4-46 to R4-48 with identified parameters: controller, predicted forces, repetition.

The plant is not the machine of the file: it carries a payload and rubs more. All that the controller gets to know of
this is what the identification finds in the plant's own recording.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from pkm_bringup.control import FEEDFORWARD_MODES
from pkm_description.dynamics import inverse_dynamics
from pkm_description.loading import load_machine
from pkm_description.machine import JointFriction, Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_friction, with_payload
from pkm_description.motion.circles import CirclePath
from pkm_description.motion.profiles import profile
from pkm_identification.judgement.force_error import ForceError, force_error
from pkm_identification.motion_source.bands import choose_bands
from pkm_identification.motion_source.by_name import LowPass
from pkm_identification.motion_source.filters import low_pass
from pkm_identification.recording.recording import Recording

from pkm_bringup import simulate
from pkm_identification import IdentificationResult, identify, recording_from_joint_states, write_overlay
from verification.check import Check, at_least, at_most, equal, holds
from verification.heimann_abdellatif.control import WITHOUT_GRAVITY, cartesian_checks, circle_study, stage_checks

#: what the plant carries, kg, m, kg m^2 in platform axes
PAYLOAD = RigidBody('payload', 2.0, np.array([0.02, -0.03, 0.06]), np.diag([0.01, 0.01, 0.012]))

#: viscous and Coulomb friction of the plant over those of the machine file
VISCOUS, COULOMB = 1.5, 1.4


def plant_of(machine: Machine) -> Machine:
    """A machine that its file does not describe."""
    rough = with_friction(
        machine,
        lambda joint: JointFriction.viscous_coulomb(VISCOUS * joint.friction.viscous, COULOMB * joint.friction.coulomb),
    )
    return with_payload(rough, PAYLOAD)


@cache
def identified(path: str, duration: float) -> IdentificationResult:
    """Identification from a simulated recording of the plant, sensors as in the machine file."""
    machine = load_machine(path)
    return identify(machine, recorded(machine, profile('fourier', plant_of(machine), duration, 100.0, seed=1), 5))


def recorded(machine: Machine, motion: PlatformMotion, seed: int) -> Recording:
    """What the sensors say while the plant follows a motion."""
    record = simulate(plant_of(machine), motion, seed=seed)
    return recording_from_joint_states(
        machine, record.joint_stamps, machine.actuated_joint_names, record.joint_positions, record.joint_efforts
    )


def identified_machine(path: str, duration: float) -> Machine:
    """The machine file with the overlay of the identification, as a controller loads them."""
    with tempfile.TemporaryDirectory() as folder:
        return load_machine(path, write_overlay(identified(path, duration), Path(folder, 'overlay.yaml')))


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Stages with identified parameters, and how much the identification is worth."""
    path, duration = str(machine.path), 12.0 if quick else 40.0
    plant, belief = plant_of(machine), identified_machine(path, duration)
    result = identified(path, duration)
    friction = [name for name in result.base.names if 'viscous' in name or 'coulomb' in name]
    yield equal('R4-42', 'identified friction parameters', 12, len(friction))
    study = circle_study(plant, belief, quick, stages=WITHOUT_GRAVITY if quick else FEEDFORWARD_MODES)
    remark = ', identified from its own recording'
    yield from stage_checks(study, 'PD', remark)
    yield from cartesian_checks(study, 'PD', remark)
    nominal = circle_study(plant, machine, quick, stages=('rigid_body_friction',))
    errors = [one.rms('rigid_body_friction') for one in (nominal, study)]
    yield at_least(
        'R4-42', 'PD + friction: smallest ratio of the errors with the machine file and with the overlay', 5.0,
        errors[0] / errors[1],
    )  # fmt: skip
    table = [
        f'{name} {value:.4g} +- {std:.1g}'
        for name, value, std in zip(result.base.names, result.estimate.parameters, result.estimate.std, strict=True)
    ]
    complete = bool(np.isfinite(result.estimate.std).all()) and len(table) == len(result.base)
    shown = '; '.join(entry for entry in table if 'coulomb' in entry)
    yield holds('R4-47', 'table of parameters with standard deviations', 'all of them', shown, complete)


#: slowest drive of the rows that are compared, m/s: near a reversal nobody knows when the friction turns
SLOWEST = 0.01


def validated(machine: Machine, quick: bool) -> Iterator[Check]:
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
    first, second = identified(path, duration), identified.__wrapped__(path, duration)
    for word, one, other in (
        ('parameters', first.estimate.parameters, second.estimate.parameters),
        ('standard deviations', first.estimate.std, second.estimate.std),
        ('predicted forces', first.training.predicted, second.training.predicted),
    ):
        same = bool(np.array_equal(one, other))
        yield equal('R4-48', f'{word} of two runs with the same seed, bit by bit', True, same)
