"""Drive forces split into inertia, Coriolis, centripetal and gravity terms of platform and legs.

The six groups of Oh 2003 (Eq. 2.55 and Table 2.1), for legs of any joints: a Coriolis term is a product of the rates
of a prismatic and a revolute joint, a centripetal one a product of angular rates.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import require_dynamics
from pkm_description.kernels import inverse_dynamics as kernels
from pkm_description.kinematics.arguments import require_ok
from pkm_description.kinematics.joint_motion import FROM_HOME, packed_motion
from pkm_description.machine import Machine, PlatformMotion


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
    data, scratch = machine.scratch
    terms = np.zeros((8, len(motion), machine.actuated_count))
    status = kernels.force_terms(
        machine.compiled_model, scratch, FROM_HOME, *packed_motion(motion), bool(friction), float(sign_smoothing),
        wrench, terms,
    )  # fmt: skip
    if status < 0:
        require_ok(machine, status, data.detail)
    return DriveForceTerms(*terms)
