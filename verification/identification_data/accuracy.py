"""How well the simulated drives obey the equations of motion that identification uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.friction_laws.coulomb import NO_FRICTION
from pkm_description.friction_laws.stribeck import LoadDependentStribeck
from pkm_description.kinematics import motion_from_drives
from pkm_description.machine import Joint, JointFriction, Machine
from pkm_description.machine.machine import with_friction
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt

from verification.identification_data.dataset import DataSet, Measured
from verification.identification_data.hidden import passive_radius

#: Hz, band in which forces are compared: well above the excitation, below what the bristles do at a reversal
BAND = 15.0
#: s, left out at both ends, where spline and filter begin
_EDGE = 0.3


def rigid_force_error(data: DataSet, measured: Measured) -> float:
    """Efforts less friction against the inverse dynamics of the true machine along the true drive positions.

    Returns
    -------
    float
        Root mean square of the difference below :data:`BAND`, over that of the forces.
    """
    run = measured.run
    spline = make_interp_spline(run.time, run.positions, k=5)
    motion = motion_from_drives(data.true_machine, run.time, spline(run.time), spline(run.time, 1), spline(run.time, 2))
    forces = inverse_dynamics(_as_simulated(data), motion)
    low_pass = butter(4, BAND, fs=1.0 / data.step, output='sos')
    difference = sosfiltfilt(low_pass, run.efforts - run.friction - forces, axis=0)
    edge = round(_EDGE / data.step)
    return float(np.sqrt(np.mean(difference[edge:-edge] ** 2) / np.mean(forces[edge:-edge] ** 2)))


def _as_simulated(data: DataSet) -> Machine:
    """The true machine with the friction that MuJoCo has in its passive joints, and none in its drives."""
    radius = passive_radius(data.nominal, data.case)

    def friction(joint: Joint) -> JointFriction:
        if joint.actuated:
            return replace(joint.friction, law=NO_FRICTION)
        if joint.kind != 'revolute' or not radius > 0.0:
            return joint.friction
        both = LoadDependentStribeck(
            viscous=joint.friction.viscous, coulomb_coefficient=radius, static_coefficient=radius,
            stribeck_velocity=1.0, additional_load=joint.friction.coulomb / radius,
        )  # fmt: skip
        return replace(joint.friction, law=both)

    return with_friction(data.true_machine, friction)
