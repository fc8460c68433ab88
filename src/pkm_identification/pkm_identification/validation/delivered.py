"""The machine as delivered: the nominal machine file with the overlay that an identification writes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import friction_forces, inverse_dynamics
from pkm_description.errors import MachineFileError
from pkm_description.machine import Machine

from pkm_description import loading
from pkm_identification.blocks import joined
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.fitting.machine_of_parameters import is_carried
from pkm_identification.fitting.overlay_values import overlay_values
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.prepared_data import PreparedData


@dataclass(frozen=True)
class DeliveredMachine:
    """What a user of the files gets.

    Attributes
    ----------
    machine : read again from the machine file with the overlay
    from_files : False for a machine that has no file: then it is the identified machine itself
    problem : why the overlay does not fit the file, for a machine that was changed in memory; then it is the identified
        machine itself, too
    lost : what the overlay does not carry: names of forces that stand in ``parameters.yaml`` only
    """

    machine: Machine
    from_files: bool
    lost: tuple[str, ...]
    problem: str = ''


def delivered_machine(model: ObservationModel, identified: Machine) -> DeliveredMachine:
    """Write the overlay, and load the machine with it.

    Parameters
    ----------
    model : that was fitted
    identified : machine with the identified bodies and friction
    """
    lost = tuple(dict.fromkeys(term.title for term in model.terms if not is_carried(term, model)))
    if not identified.path.is_file():
        return DeliveredMachine(identified, False, lost)
    with tempfile.TemporaryDirectory() as folder:
        overlay = loading.write_overlay(
            Path(folder) / 'overlay.yaml', identified.name,
            overlay_values(identified, model.identical_legs, model.rubbing, model.has_rotors),
            date='', data='', method='',
        )  # fmt: skip
        try:
            machine = loading.load_machine(identified.path, overlay, 'standard')
        except MachineFileError as error:
            return DeliveredMachine(identified, False, lost, f'the overlay does not fit {identified.path}: {error}')
    return DeliveredMachine(machine, True, lost)


def library_efforts(machine: Machine, data: PreparedData) -> Array:
    """Efforts (N, A) of all samples by the library's inverse dynamics, nothing of the fit in it.

    Friction jumps where a drive reverses, so there it takes the livelier motion, as everywhere in the identification.
    """

    def efforts(part: slice) -> Array:
        smooth, lively = data.motion[part], data.lively[part]
        friction = np.where(data.turning[part], friction_forces(machine, lively), friction_forces(machine, smooth))
        return np.asarray(inverse_dynamics(machine, smooth, friction=False) + friction)

    return joined(efforts, len(data.motion))


def forces_beyond_overlay(model: ObservationModel, data: PreparedData, parameters: Array) -> Array:
    """Efforts (N, A) by the terms that an overlay does not carry: offsets, ripples, springs, load friction ...

    Parameters
    ----------
    parameters : all parameters of the model, in the order of ``model.all_names``
    """
    carried = [is_carried(term, model) for term in model.terms]
    if all(carried):
        return np.zeros_like(data.recording.forces)
    pairs = list(zip(model.terms, model.term_parts, carried, strict=True))
    kept = model.with_terms([term for term, _, good in pairs if good])
    own = np.concatenate([parameters[: model.structure_count], *(parameters[part] for _, part, good in pairs if good)])
    return predicted_efforts(model, data, parameters) - predicted_efforts(kept, data.with_model(kept), own)
