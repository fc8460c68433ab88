"""How well the servo follows a motion on simulated physics: errors of the drives and of the platform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.rotation import angles_from_matrix
from pkm_description.machine import Machine, PlatformMotion

from pkm_bringup.control import ServoSettings
from pkm_bringup.simulation.controlled_simulation import ControlledSimulation
from pkm_bringup.simulation.mujoco_simulation import SimulationError
from pkm_bringup.simulation.sensors import Encoder

#: m or rad: PaLiDA's position sensors (Heimann & Abdellatif: about 20 um)
ENCODER_RESOLUTION = 20e-6


@dataclass(frozen=True)
class TrackingRecord:
    """A motion as it was wanted and as it was; N control periods, A drives.

    Attributes
    ----------
    machine : the simulated machine
    time : (N,) s of the motion
    desired, actual : (N, A) m or rad, positions of the drives; ``actual`` is the truth of the physics
    forces : (N, A) N or N m
    saturation_count : (A,) control periods with a force at its limit

    """

    machine: Machine
    time: Array
    desired: Array
    actual: Array
    forces: Array
    saturation_count: NDArray[np.int_]

    @property
    def errors(self) -> Array:
        """Tracking errors (N, A) m or rad, desired minus actual (Heimann & Abdellatif, Fig. 4)."""
        return self.desired - self.actual

    def rms(self, between: tuple[float, float] | None = None) -> Array:
        """Root mean square of the tracking errors (A,), of the times between two if given [s]."""
        return np.asarray(np.sqrt(np.mean(self.errors[self.during(between)] ** 2, axis=0)))

    def during(self, between: tuple[float, float] | None) -> NDArray[np.bool_]:
        """Samples (N,) between two times [s], both included."""
        first, last = between or (-np.inf, np.inf)
        return np.asarray((self.time >= first) & (self.time <= last))

    def platform_errors(self, step: int = 1) -> tuple[Array, Array, Array]:
        """Cartesian errors by forward kinematics of the drive positions (Heimann & Abdellatif, Fig. 5).

        Parameters
        ----------
        step : take every so many samples

        Returns
        -------
        time (M,) s, position error (M, 3) m, errors of the cardan angles about x, y, z (M, 3) rad

        """
        poses = []
        for positions in (self.desired[::step], self.actual[::step]):
            solved = forward_kinematics(self.machine, positions, tolerance=measured_tolerance(self.machine)).require()
            poses.append((solved.position, angles_from_matrix(solved.rotation_base_platform)))
        (desired_position, desired_angles), (position, angles) = poses
        turn = np.unwrap(desired_angles - angles, period=2.0 * np.pi, axis=0)
        return self.time[::step], desired_position - position, turn


def track(
    machine: Machine,
    motion: PlatformMotion,
    settings: ServoSettings | None = None,
    *,
    belief: Machine | None = None,
    seed: int = 0,
    encoder_resolution: float = ENCODER_RESOLUTION,
) -> TrackingRecord:
    """Let the servo follow a motion on MuJoCo physics with friction, sensor noise and quantised positions.

    Parameters
    ----------
    machine : the simulated machine, with the friction laws of its file (load-dependent ones: the nearest pair)
    motion : begins and ends at rest, begins at home
    settings : of the servo
    belief : what the servo believes the machine to be; default: the simulated machine itself
    seed : of the sensor noise
    encoder_resolution : m or rad, step of the measured positions

    Raises
    ------
    ReferenceRefusedError
        The motion cannot be followed.
    SimulationError
        The servo stopped the machine on the way.

    """
    encoder = Encoder(machine.leg_sensors, seed, encoder_resolution)
    controlled = ControlledSimulation(
        machine, seed, settings=settings, belief=belief, encoder=encoder, friction_laws=True
    )
    simulation, servo = controlled.simulation, controlled.servo
    reference = controlled.add_reference(motion, 0)
    times = np.arange(0, reference.end_ns + 1, simulation.step_ns, dtype=np.int64)
    actual, forces = np.empty((2, len(times), machine.actuated_count))
    for sample in range(len(times)):  # physics is sequential
        actual[sample] = simulation.joint_positions
        controlled.step()
        forces[sample] = simulation.data.ctrl
    if servo.trip_reason:
        raise SimulationError(f'{machine.name}: the servo stopped the machine: {servo.trip_reason}')
    desired = reference.evaluate(times).positions
    time = times * 1e-9 + motion.time[0]
    return TrackingRecord(machine, time, desired, actual, forces, servo.saturation_count.copy())
