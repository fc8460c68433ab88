"""Observation matrix of one sample, in base parameters, about the forces of the machine as its file has it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import DriveRegressor
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine

from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_terms import OFFSET, OneFactor
from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.columns.term import Term
from pkm_identification.online.settings import OnlineSettings
from pkm_identification.online.sliding_polynomial import WindowSample

#: random states that scale the parameters
SCALING_STATES = 150
#: friction that the file may have forgotten, as a part of typical forces
LEAST_FRICTION = 0.01
#: standard deviations of an acceleration below which it counts as none
NOISE = 3.0


class SampleRows(NamedTuple):
    """One sample of A drives.

    Attributes
    ----------
    matrix : (A, B) by the base parameters
    forces : (A,) N, N m of the machine as its file has it
    platform : (A, 10) by the inertial parameters of the platform, which are those of a payload
    """

    matrix: Array
    forces: Array
    platform: Array


class OnlineObservation:
    """Drive forces of one sample by base parameters: bodies, friction of the drives by their laws, effort offsets.

    What has no column, such as rotors and friction of passive joints, is in the forces of the file.

    Parameters
    ----------
    machine : with a platform that the drives determine

    Attributes
    ----------
    model : all parameters, of which the base parameters are made
    base : base parameters of bodies, friction and offsets
    nominal : (B,) their values in the file
    scale : (B,) change of each that changes forces as much as the file's forces typically are (their rms)
    size : (B,) of friction and offsets: values of the file, and a part of typical forces, as the file may lack them;
        zero for bodies
    typical_force : (A,) rms of the file's forces over the workspace, N or N m
    is_friction, is_offset : (B,) kinds of the base parameters; the others are bodies
    drive_of : (B,) drive of each friction parameter and offset; -1 for bodies
    has_offsets : whether offsets of the efforts are among the parameters
    inertia : (A, A) kg, kg m^2, of the file: forces of the drives per acceleration of each, at home
    payload_map : (B, 10) base parameters per inertial parameter of the platform
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        identical = legs_agree(machine)
        terms: list[Term] = [FrictionTerm.of(machine, 'actuated')]
        self.has_offsets = machine.actuated_count == machine.degrees_of_freedom
        if self.has_offsets:
            terms.append(OneFactor(OFFSET, machine.actuated_joint_names))
        model = ObservationModel(machine, identical, 'actuated', (), terms)
        states = random_states(machine, SCALING_STATES, seed=0)
        matrix, _ = model.regressor(states)
        self.model = model
        self.base = model.base_parameters()
        full = model.parameters(machine)
        self.nominal = self.base.values(full)
        self._columns = self.base.independent
        force = matrix @ full
        self.typical_force = np.sqrt(np.mean(force**2, axis=0))
        rms = np.sqrt(np.mean(self.base.columns(matrix) ** 2, axis=(0, 1)))
        self.scale = float(np.sqrt(np.mean(force**2))) / rms
        self.is_offset = np.array([model.names[place].endswith('.effort_offset') for place in self._columns])
        self.is_friction = (self._columns >= model.body_count) & ~self.is_offset
        own = np.abs(self.nominal) + LEAST_FRICTION * self.scale
        self.size = np.where(self.is_friction | self.is_offset, own, 0.0)
        places = np.concatenate([term.column_places for term in terms])
        drive_of_name = np.concatenate([np.full(model.body_count, -1), places])
        self.drive_of = drive_of_name[self._columns]
        name = f'{machine.platform.name}.'
        self._platform = np.array([place for place, one in enumerate(model.names) if one.startswith(name)])
        self.payload_map = self.base.combination[:, self._platform]
        self._regressor = DriveRegressor(machine, identical)
        self.inertia = self._inertia_at_home()
        self._offsets = np.eye(machine.actuated_count)

    def _inertia_at_home(self) -> Array:
        count = self.machine.actuated_count
        home, rest = self.machine.home_positions[self.machine.drive_columns], np.zeros(count)
        weight = self._regressor.rows(home, rest, rest).forces
        forces = [self._regressor.rows(home, rest, unit).forces for unit in np.eye(count)]
        self._regressor.reset()
        return np.array(forces).T - weight[:, None]

    def walk(self, settings: OnlineSettings) -> Array:
        """Standard deviations (B,) by which parameters walk in a second."""
        friction = np.where(self.is_friction, settings.friction_drift * self.size, 0.0)
        return friction + np.where(self.is_offset, settings.offset_drift * self.scale, 0.0)

    def reset(self) -> None:
        """Let the next sample start from home, as the first one did."""
        self._regressor.reset()

    def rows(self, sample: WindowSample) -> SampleRows:
        """Rows of the next sample.

        Raises
        ------
        KinematicsError
            Drive positions without a trusted configuration.
        """
        # of what the file knows no acceleration need be left out: noise in it is noise of the forces
        found = self._regressor.rows(sample.positions, sample.velocities, _significant(sample), sample.accelerations)
        parts = [found.bodies, found.friction, *([self._offsets] if self.has_offsets else [])]
        return SampleRows(
            np.concatenate(parts, axis=1)[:, self._columns], found.forces, found.bodies[:, self._platform]
        )


def _significant(sample: WindowSample) -> Array:
    """Accelerations (A,) as far as they are more than noise.

    Noise in a regressor looks like excitation: it pulls inertia towards zero, with growing certainty. What is left out
    here of small accelerations is missing in the forces instead, where it counts as noise.
    """
    noise = (NOISE * sample.acceleration_std) ** 2
    power = np.maximum(sample.accelerations**2, 1e-300)
    return sample.accelerations * np.maximum(1.0 - noise / power, 0.0)
