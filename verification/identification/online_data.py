"""A stream of a hidden machine in MuJoCo on whose platform a load is put while it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion, RigidBody
from pkm_description.motion.profiles import excitation_profile, mp1_profile, sample_times
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.sliding_polynomial import WindowSample

from verification.identification_data.cases import CASES
from verification.identification_data.hidden import drive_friction, hidden_bodies, passive_radius, with_viscous_coulomb
from verification.identification_data.physics import Happening, Physics
from verification.identification_data.signals import drive_signals

#: s, of the physics, and between two samples
STEP = 0.001
#: part of the platform's mass; its centre in radii of the platform, its sides, too: a cube
LOAD, PLACE, SIDE = 0.1, (0.1, -0.06, 0.12), 0.2
#: part of what is told of a parameter that counts as nothing
_NOTHING = 1e-12
#: s, after the load and before the end, so that the fade of the motion comes after what is judged
AFTER = 8.0


@dataclass(frozen=True)
class OnlineData:
    """What the node would get, and the truth.

    Attributes
    ----------
    nominal : the machine as its file has it, which is not the simulated one
    motion : wanted
    time : (N,) s
    positions, efforts : (N, A) measured
    payload : the load; ``None``: none came
    since : s, when it came
    effort_noise : (A,) standard deviation of the white noise of a sample
    """

    nominal: Machine
    motion: PlatformMotion
    time: Array
    positions: Array
    efforts: Array
    payload: RigidBody | None
    since: float
    effort_noise: Array


def load_of(machine: Machine) -> RigidBody:
    """A cube of :data:`LOAD` of the platform's mass, beside and above its middle."""
    mass, radius = LOAD * machine.platform.mass, float(machine.model.radius[0])
    inertia = mass * (SIDE * radius) ** 2 / 6.0 * np.eye(3)
    return RigidBody('payload', mass, radius * np.array(PLACE), inertia)


def stream(
    source: str, case: str, seed: int, motion: str, since: float, duration: float,
    has_load: bool = True, friction: float | Array = 1.0,
) -> OnlineData:  # fmt: skip
    """Simulate.

    Parameters
    ----------
    source : name or path of a machine
    case : of :data:`verification.identification_data.cases.CASES`
    motion : ``fourier`` (platform shifts and turns; where it is not free: sines of the drives) or ``mp1`` (a circle,
        and slow turns)
    since, duration : s
    has_load : whether a load comes at all
    friction : factor by which friction has grown at the end, or one for each drive (A,)
    """
    known = CASES[case]
    nominal = with_viscous_coulomb(load_machine(source))
    hidden = hidden_bodies(nominal, known, seed)
    physics = Physics(hidden, STEP, passive_radius(nominal, known))
    rubbing = drive_friction(nominal, known, seed, physics.drive_inertia, STEP)
    profile = mp1_profile(nominal, duration) if motion == 'mp1' else excitation_profile(nominal, duration, seed)
    wanted = profile.evaluate(sample_times(duration, 1.0 / STEP))
    payload = load_of(nominal) if has_load else None
    run = physics.run(wanted, nominal, rubbing, Happening(payload, since if has_load else np.inf, friction))
    signals = drive_signals(nominal, known, seed)
    positions, _, efforts = signals.measure(run, seed, 3)
    return OnlineData(nominal, wanted, run.time, positions, efforts, payload, since, signals.effort_noise)


def center_bound(data: OnlineData, span: float) -> Array:
    """Least standard deviations (3,) m of a load's centre (Cramer-Rao) from ``span`` seconds after it came.

    For an estimator that knows all but the load's ten parameters, and the motion, from efforts with white noise alone.
    """
    assert data.payload is not None
    begin = round(data.since / STEP)
    places = np.arange(begin, begin + round(span / STEP), 10)
    joints, columns = joint_motion(data.nominal, data.motion[places]), data.nominal.drive_columns
    observation, none = OnlineObservation(data.nominal), np.zeros(len(columns))
    information = np.zeros((10, 10))
    for index in range(len(places)):
        position, velocity, acceleration = (
            values[index, columns] for values in (joints.positions, joints.velocities, joints.accelerations)
        )
        sample = WindowSample(0, position, velocity, acceleration, none, none, 0.0, none, none, none, none)
        rows = observation.rows(sample).platform
        information += 10.0 * (rows.T / data.effort_noise**2) @ rows
    told = np.diag(information)
    size = 1.0 / np.sqrt(np.where(told > 0.0, told, 1.0))
    scaled = information * np.outer(size, size) + _NOTHING * np.eye(10)
    covariance = np.outer(size, size) * np.linalg.inv(scaled)
    mass, center = data.payload.mass, data.payload.center_of_mass
    slope = np.concatenate([-center[:, None], np.eye(3)], axis=1) / mass
    return np.asarray(np.sqrt(np.diag(slope @ covariance[:4, :4] @ slope.T)))
