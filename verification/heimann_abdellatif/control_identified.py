"""Heimann & Abdellatif, R4-42 with identified parameters: excitation, recording, identification, overlay, controller.

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
from pkm_description.loading import load_machine
from pkm_description.machine import JointFriction, Machine, RigidBody
from pkm_description.machine.machine import with_friction, with_payload
from pkm_description.motion.profiles import profile

from pkm_bringup import simulate
from pkm_identification import IdentificationResult, identify, recording_from_joint_states, write_overlay
from verification.check import Check, at_least, equal, holds
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
    plant = plant_of(machine)
    record = simulate(plant, profile('fourier', plant, duration, 100.0, seed=1), seed=5)
    recording = recording_from_joint_states(
        machine, record.joint_stamps, machine.actuated_joint_names, record.joint_positions, record.joint_efforts
    )
    return identify(machine, recording)


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
