"""Inverse dynamics: drive forces of a motion and their terms, and forces that hold the machine at rest."""

from __future__ import annotations

from dataclasses import dataclass, fields
from weakref import WeakKeyDictionary

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.kernels.dynamics import inverse_dynamics as kernels
from pkm_description.kinematics.arguments import (
    NO_WRENCH,
    of_poses,
    packed_wrench,
    require_drives,
    require_machine_and_motion,
    require_platform,
    run_kernel,
)
from pkm_description.kinematics.joint_motion import FROM_HOME, packed_motion, start_of
from pkm_description.machine import Machine, PlatformMotion, RigidBody

#: least eigenvalue of second moments, over the largest, that counts as zero: flat and slender bodies have one
ROUNDING = 1e-9

_KNOWN: WeakKeyDictionary[Machine, bool] = WeakKeyDictionary()


def inverse_dynamics(
    machine: Machine,
    motion: PlatformMotion,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
    start: Array | None = None,
) -> Array:
    """Drive forces (N, A) [N, N m] that produce a motion; positive pushes the joint towards larger positions.

    Newton-Euler's equations of all bodies, projected onto the drives by virtual power (Heimann & Abdellatif, Eqs. 1
    and 3). With more drives than degrees of freedom the forces are those with the least sum of squares, weighted by the
    machine's ``drive_weights``.

    Parameters
    ----------
    motion : N samples
    friction : add the friction of all joints, active and passive, as the machine file gives it
    sign_smoothing : velocity of a tanh in place of the sign of Coulomb friction; 0 keeps the sign
    external_wrench : (N, 6) or (6,) N and N m, what the surroundings do to the platform: force, and moment about the
        platform's origin, base axes
    start : see :func:`pkm_description.kinematics.joint_positions`

    Raises
    ------
    SingularPoseError
        Where the drives do not determine the platform's motion; names the sample.
    KinematicsError
        A motion that the machine does not admit, or a machine with fewer drives than degrees of freedom.
    ConvergenceError
        Friction that depends on the load does not settle with it; only where passive joints rub.
    """
    wrench = require_dynamics(machine, motion, external_wrench)
    forces = np.empty((len(motion), machine.actuated_count))
    run_kernel(
        machine, kernels.inverse_dynamics, start_of(machine, start), *packed_motion(motion), bool(friction),
        float(sign_smoothing), wrench, forces, 1,
    )  # fmt: skip
    return forces


def require_dynamics(machine: Machine, motion: PlatformMotion, external_wrench: Array | None = None) -> Array:
    """Check the arguments of a function of motion and drive forces; returns the wrench as kernels take it."""
    require_machine_and_motion(machine, motion)
    require_platform(machine, 'open_chain_forces')
    require_drives(machine)
    return packed_wrench(external_wrench, len(motion))


@of_poses
def gravity_forces(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Drive forces (N, A) [N, N m] that hold the machine still at poses (N, 3) m, (N, 3, 3) or one, without friction.

    Raises
    ------
    SingularPoseError
        Where no drive forces can hold the platform; names the sample.
    """
    require_platform(machine, 'open_chain_forces')
    require_drives(machine)
    forces = np.empty((len(position), machine.actuated_count))
    still = np.zeros((len(position), 3))
    run_kernel(
        machine, kernels.inverse_dynamics, FROM_HOME, packed(position), packed(rotation_base_platform), still, still,
        still, still, False, 0.0, NO_WRENCH, forces, 1,
    )  # fmt: skip
    return forces


def bodies_exist(machine: Machine) -> bool:
    """Whether every body has a mass and second moments of mass that are not negative, and so has every rotor."""
    if machine not in _KNOWN:
        bodies = [joint.body for leg in machine.legs for joint in leg.joints]
        if machine.has_platform:
            bodies.append(machine.platform)
        _KNOWN[machine] = bool(np.all(machine.rotor_inertia >= 0.0)) and all(map(_exists, bodies))
    return _KNOWN[machine]


def _exists(body: RigidBody) -> bool:
    moments = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    values = np.linalg.eigvalsh(moments)
    return bool(body.mass >= 0.0 and values[0] >= -ROUNDING * max(float(values[-1]), 0.0))


@dataclass(frozen=True)
class DriveForceTerms:
    """Shares of the drive forces, (N, A) N or N m each; they add up to the inverse dynamics.

    Attributes
    ----------
    pm, sm : inertia of platform and legs ("struts"), linear in the platform's acceleration
    cor, cen : Coriolis and centripetal terms
    grp, grs : weight of platform and legs
    frict : friction of all joints
    rotor : rotors and screws (``m/b`` in the source, zero there)
    """

    pm: Array
    sm: Array
    cor: Array
    cen: Array
    grp: Array
    grs: Array
    frict: Array
    rotor: Array

    @property
    def total(self) -> Array:
        """Sum of all shares."""
        return np.sum([getattr(self, field.name) for field in fields(self)], axis=0)

    def dominance(self) -> dict[str, float]:
        """Mean size of each share in per cent of the mean size of the drive forces (Oh 2003, Eqs. 2.76-2.81)."""
        scale = 100.0 / np.linalg.norm(self.total, axis=1).mean()
        return {name: float(scale * size.mean()) for name, size in self._sizes().items()}

    def variation(self) -> dict[str, float]:
        """Peak-to-peak size of each share in per cent of the mean drive force (Eqs. 2.82-2.88): what a fit can see."""
        scale = 100.0 / np.linalg.norm(self.total, axis=1).mean()
        return {name: float(scale * np.ptp(size)) for name, size in self._sizes().items()}

    def _sizes(self) -> dict[str, Array]:
        shares = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: np.linalg.norm(share, axis=1) for name, share in (*shares.items(), ('total', self.total))}


def drive_force_terms(
    machine: Machine, motion: PlatformMotion, friction: bool = True, sign_smoothing: float = 0.0
) -> DriveForceTerms:
    """Split the drive forces of a motion.

    Parameters and errors as :func:`pkm_description.dynamics.inverse_dynamics`.
    """
    wrench = require_dynamics(machine, motion)
    terms = np.zeros((8, len(motion), machine.actuated_count))
    run_kernel(
        machine, kernels.force_terms, FROM_HOME, *packed_motion(motion), bool(friction), float(sign_smoothing), wrench,
        terms,
    )  # fmt: skip
    return DriveForceTerms(*terms)
