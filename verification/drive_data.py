"""Motion and efforts of drives as arrays, with sensor noise by seed, and those of a machine that is simulated.

The machine is led along a motion by a servo, integrated with the library's forward dynamics: truth for identification.
The paper of Mata et al. uses ADAMS for this. What a sample holds belongs together exactly: the acceleration is the one
that :func:`pkm_description.dynamics.forward_dynamics` gives for the state and the efforts, its friction included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import forward_dynamics, inverse_dynamics
from pkm_description.dynamics.energy import mass_matrix
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.kinematics.pose_solver import PoseSolver
from pkm_description.machine import Machine, PlatformMotion

#: rad/s, bandwidth of the servo; m/s or rad/s over which the sign of a velocity changes
BANDWIDTH, SMOOTHING = 60.0, 1e-4


@dataclass(frozen=True)
class DriveNoise:
    """Standard deviations of white noise, one number or one per drive.

    Attributes
    ----------
    positions : m or rad
    velocities, accelerations : their time derivatives, where sensors of their own measure them
    efforts : N or N m
    uniform : the noise is uniform with these standard deviations, as of a quantised reading; else Gaussian
    """

    positions: ArrayLike = 0.0
    velocities: ArrayLike = 0.0
    accelerations: ArrayLike = 0.0
    efforts: ArrayLike = 0.0
    uniform: bool = False


@dataclass(frozen=True)
class DriveData:
    """Samples of A drives.

    Attributes
    ----------
    time : (N,) s
    positions, velocities, accelerations : (N, A) m or rad and time derivatives
    efforts : (N, A) N or N m
    """

    time: Array
    positions: Array
    velocities: Array
    accelerations: Array
    efforts: Array

    def __getitem__(self, samples: slice | NDArray[np.intp]) -> DriveData:
        """Some of the samples."""
        parts = (self.time, self.positions, self.velocities, self.accelerations, self.efforts)
        return DriveData(*(part[samples] for part in parts))

    def with_noise(self, noise: DriveNoise, seed: int) -> DriveData:
        """Add noise; the same seed gives the same numbers, and each quantity has a stream of its own."""
        streams = np.random.default_rng(seed).spawn(4)
        noisy = {}
        for name, stream in zip(('positions', 'velocities', 'accelerations', 'efforts'), streams, strict=True):
            clean = getattr(self, name)
            draws = stream.uniform(-np.sqrt(3.0), np.sqrt(3.0), clean.shape) if noise.uniform else (
                stream.normal(size=clean.shape)
            )
            noisy[name] = clean + np.asarray(getattr(noise, name), dtype=float) * draws
        return replace(self, **noisy)

    def motion(self, machine: Machine) -> PlatformMotion:
        """Motion of the platform that belongs to the drives, by forward kinematics of every sample."""
        return motion_from_drives(machine, self.time, self.positions, self.velocities, self.accelerations)


def forward_run(
    machine: Machine, wanted: PlatformMotion, every: int = 1, smoothing: float = SMOOTHING,
    believed: Machine | None = None,
) -> DriveData:  # fmt: skip
    """Integrate a machine that follows a motion, and keep every so many samples.

    Parameters
    ----------
    machine : with the friction of the truth; as many drives as degrees of freedom
    wanted : samples at the steps of the integration, from the state in which the run begins
    every : steps per sample that is kept
    smoothing : of the sign in the friction, see :func:`pkm_description.dynamics.forward_dynamics`
    believed : machine of the servo's feed-forward; default the true one

    Notes
    -----
    Semi-implicit steps. The servo feeds forward rigid bodies and friction of the wanted motion; its gains act on the
    drives' accelerations, through the inertia in the first pose.
    """
    columns = machine.drive_columns
    goal = joint_motion(machine, wanted)
    feed = inverse_dynamics(believed or machine, wanted, sign_smoothing=max(smoothing, 1e-3))
    step = float(wanted.time[1] - wanted.time[0])
    q, rate = goal.positions[0, columns].copy(), goal.velocities[0, columns].copy()
    solver = PoseSolver(machine, 1e-12, 20)
    found = solver.solve(q, None)
    spread = found.inverse_jacobian
    inertia = spread.T @ mass_matrix(machine, found.position, found.rotation) @ spread
    record = np.empty((4, len(wanted), len(columns)))
    for index in range(len(wanted)):
        found = solver.solve(q, found)
        twist = found.inverse_jacobian @ rate
        error, slip = goal.positions[index, columns] - q, goal.velocities[index, columns] - rate
        efforts = feed[index] + inertia @ (BANDWIDTH**2 * error + 2.0 * BANDWIDTH * slip)
        start = found.joint_positions.copy()
        platform = forward_dynamics(
            machine, found.position, found.rotation, twist, efforts, True, smoothing, start=start
        )
        now = PlatformMotion(
            wanted.time[index : index + 1], found.position[None], found.rotation[None], twist[None, :3],
            twist[None, 3:], platform[None, :3], platform[None, 3:],
        )  # fmt: skip
        second = joint_motion(machine, now, start).accelerations[0, columns]
        record[:, index] = q, rate, second, efforts
        rate = rate + step * second
        q = q + step * rate
    kept = slice(None, None, every)
    return DriveData(wanted.time[kept], *(part[kept] for part in record))
