"""Results of an independent engine for a machine in motion."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.arrays import Array


class EngineMissingError(RuntimeError):
    """The engine is not installed; the text says how to install it."""


@dataclass(frozen=True)
class EngineResult:
    """Kinematics and forces of N samples without friction, computed by an engine that shares no line with the library.

    Attributes
    ----------
    gaps : (N,) m, largest distance between a leg's tip and its place on the platform at the given joint positions
    residuals : (N,) m/s or rad/s, what the loops leave open at the given platform velocity
    velocities, accelerations : (N, J) of the leg joints, solved from the loops; empty for open chains
    drive_forces : (N, A) N or N m; of redundant machines the weighted least ones; of open chains all joints (N, J)
    closure_forces, closure_moments : (N, K, 3) N, N m about the closing point, of the leg's body on what the closure
        holds, base axes; of planar machines the forces in the plane
    determined : whether rigid bodies determine the closures' forces: False for overconstrained machines
    joint_forces, joint_moments : (N, J, 3) N, N m about the joint's origin, of the body before the joint on the
        one behind it, base axes; None where the engine does not give them
    energy_rates : (N,) W, change of kinetic and potential energy of all bodies; None where the engine is not asked
    mass : kg, of all moving bodies
    """

    gaps: Array
    residuals: Array
    velocities: Array
    accelerations: Array
    drive_forces: Array
    closure_forces: Array
    closure_moments: Array
    mass: float
    determined: bool = True
    joint_forces: Array | None = None
    joint_moments: Array | None = None
    energy_rates: Array | None = None
