"""A textbook's identification pipeline with Pinocchio, as a peer on the same recordings.

Zero-phase Butterworth low-pass of drive positions and efforts, central differences, Pinocchio's regressor of the open
tree projected by the closures' Jacobian, viscous and Coulomb friction with the sign of the velocity and an offset per
drive, ordinary least squares for the weights of the drives, weighted least squares for the parameters. Poses that
belong to drive positions come from the product's kinematics.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.machine import Machine
from pkm_identification.recording.recording import Recording
from scipy.signal import butter, sosfiltfilt

from verification.engines.pinocchio import PinocchioTree

#: Hz, of the low-pass: ten times the excitation's highest frequency
CUTOFF = 10.0
#: Hz, at which rows are taken, and forces predicted: a jump of friction has no place in rows of 50 Hz
RATE, PREDICTED = 50.0, 500.0
#: singular values below this part of the largest belong to parameters that no force shows
_RANK = 1e-9


class TextbookPipeline:
    """Identify from one recording, predict the forces of another."""

    def __init__(self, machine: Machine) -> None:
        self._tree, self._machine = PinocchioTree(machine), machine

    def rows(self, recording: Recording, wanted: float = RATE) -> tuple[Array, Array, Array]:
        """Instants (n,) s at about a rate [Hz], regressor (n, A, P), filtered efforts (n, A)."""
        rate, machine = recording.sample_rate, self._machine
        low_pass = butter(4, CUTOFF, fs=rate, output='sos')
        positions = sosfiltfilt(low_pass, recording.drive_positions, axis=0)
        efforts = sosfiltfilt(low_pass, recording.forces, axis=0)
        velocities = np.gradient(positions, recording.time, axis=0)
        accelerations = np.gradient(velocities, recording.time, axis=0)
        every = max(1, round(rate / wanted))
        chosen = slice(every, len(positions) - every, every)
        motion = motion_from_drives(
            machine, recording.time[chosen], positions[chosen], velocities[chosen], accelerations[chosen]
        )
        joints = joint_motion(machine, motion).positions
        bodies = np.array([self._bodies(joints[row], motion, row) for row in range(len(motion))])
        speed, drives = velocities[chosen], machine.actuated_count
        friction = np.zeros((len(motion), drives, 3 * drives))
        for drive in range(drives):
            columns = np.stack([speed[:, drive], np.sign(speed[:, drive]), np.ones(len(motion))], axis=1)
            friction[:, drive, 3 * drive : 3 * drive + 3] = columns
        return recording.time[chosen], np.concatenate([bodies, friction], axis=-1), efforts[chosen]

    def _bodies(self, joints: Array, motion: object, row: int) -> Array:
        tree = self._tree
        configuration, velocity, acceleration, _ = tree.state(joints, motion, row)  # type: ignore[arg-type]
        regressor = tree.pin.computeJointTorqueRegressor(
            tree.model, tree.data, configuration, velocity, acceleration
        )
        known = np.array(regressor)
        rotors = np.zeros((len(known), self._machine.actuated_count))
        for drive, place in enumerate(tree.driven):
            rotors[place, drive] = acceleration[place]
        return tree.projection(configuration, np.hstack([known, rotors])).drives

    def identify(self, recording: Recording) -> Array:
        """Parameters (P,), the shortest of all that fit equally well."""
        _, regressor, efforts = self.rows(recording)
        plain = _least_squares(regressor, efforts, np.ones(efforts.shape[1]))
        deviations = (efforts - regressor @ plain).std(axis=0)
        return _least_squares(regressor, efforts, 1.0 / deviations)

    def predict(self, recording: Recording, parameters: Array) -> tuple[Array, Array]:
        """Instants (n,) s and efforts (n, A)."""
        time, regressor, _ = self.rows(recording, PREDICTED)
        return time, regressor @ parameters


def _least_squares(regressor: Array, efforts: Array, weights: Array) -> Array:
    rows = (regressor * weights[:, None]).reshape(-1, regressor.shape[-1])
    scale = np.linalg.norm(rows, axis=0)
    scale[scale < 1e-12 * scale.max()] = np.inf  # a column without any force
    solution = np.linalg.lstsq(rows / scale, (efforts * weights).ravel(), rcond=_RANK)[0]
    return np.asarray(solution / scale)
