"""Physics and sensors of a machine in MuJoCo, without ROS."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import bodies_exist
from pkm_description.errors import PkmError
from pkm_description.export.mjcf import LEAST_INERTIA, TIME_STEP, mjcf_text
from pkm_description.friction_laws import FrictionLaw, Sign
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import closure_ends, with_payload
from pkm_estimation.sensors.conditions import imu_truth

from pkm_bringup.simulation.sensors import ImuModel, JointSensorModel, Sample

#: name of the body
NAME = 'payload'
#: m/s or rad/s, in which the difference of two laws changes its sign
_FADE = 1e-3


class SimulationError(PkmError):
    """The physics cannot go on, or a setting cannot be simulated."""


class MujocoSimulation:
    """A machine that is driven by leg forces, step by step, from rest at home.

    Forces are constant during a step, so at an instant t_k the drive force jumps from that of the last step to that of
    the next. The sampled force is their mean, and the sampled acceleration is the one that belongs to this mean, to the
    positions and to the velocities of t_k: every sample fulfils the equation of motion exactly, and successive samples
    are derivatives of each other to second order in the step.

    Parameters
    ----------
    machine : geometry, bodies, friction and sensors
    seed : of the sensor noise
    noise : False switches noise and bias of every sensor off
    time_step : s, of the physics
    friction_laws : simulate the joints' own laws (:class:`FrictionCorrections`); else the viscous and Coulomb friction
        nearest to each

    Attributes
    ----------
    machine, time_step : as given
    step_ns : length of a step in nanoseconds
    step_index : steps done so far
    start_ns : time [ns] of step 0
    model, data : MuJoCo's objects, to look at (rendering)
    payload : on the platform, beside what the machine file has
    saturation_count : (A,) steps in which a drive was asked for more than its limit
    """

    def __init__(
        self,
        machine: Machine,
        seed: int = 0,
        noise: bool = True,
        time_step: float = TIME_STEP,
        friction_laws: bool = False,
    ) -> None:
        if not machine.has_platform:
            raise SimulationError(f'{machine.name} is an open chain: there is no platform to simulate sensors of')
        if not bodies_exist(machine):
            raise SimulationError(
                f'{machine.name}: a body has a negative mass or moments of inertia that no body can have; identify it '
                'with physical constraints, or look at its file'
            )
        self.machine = machine
        self.time_step = time_step
        self.step_ns = round(time_step * 1e9)
        self.model = mujoco.MjModel.from_xml_string(mjcf_text(machine, time_step))
        self.data = mujoco.MjData(self.model)
        self.payload = PlatformPayload(machine, self.model)
        self._friction = FrictionCorrections(machine, self.model) if friction_laws else None
        self._imu_steps = self._steps_per_sample(machine.imu.rate, 'imu.rate')
        self._joint_steps = self._steps_per_sample(machine.leg_sensors.rate, 'leg_sensors.rate')
        self._imu = ImuModel(machine.imu, seed, noise)
        self._joint_sensors = JointSensorModel(machine.leg_sensors, seed, noise)

        joints = [self.model.joint(joint.name) for joint in machine.actuated_joints]
        self._position_index = np.array([joint.qposadr[0] for joint in joints])
        self._velocity_index = np.array([joint.dofadr[0] for joint in joints])
        # three slides and a ball joint in a row: position and quaternion wxyz; velocities in the same order. On planar
        # machines two slides and a hinge
        place, self._twist_place = self.model.joint('platform_x'), [0, 1, 5] if machine.planar else slice(6)
        first, count = place.qposadr[0], 3 if machine.planar else 6
        self._pose_slice = slice(first, first + (3 if machine.planar else 7))
        self._twist_slice = slice(place.dofadr[0], place.dofadr[0] + count)
        self._platform = self.model.body(machine.platform.name).id
        ends = closure_ends(machine)
        self._tips = np.array([self.model.site(end.tip).id for end in ends])
        self._anchors = np.array([self.model.site(end.anchor).id for end in ends])
        self._effort_limits = np.array([joint.limits.effort for joint in machine.actuated_joints])

        self.step_index, self.start_ns = 0, 0
        self.saturation_count = np.zeros(len(joints), dtype=int)
        mujoco.mj_resetDataKeyframe(self.model, self.data, self.model.key('home').id)
        mujoco.mj_forward(self.model, self.data)
        self._last_forces = self.data.ctrl.copy()

    def _steps_per_sample(self, rate: float, key: str) -> int:
        steps = round(1.0 / (rate * self.time_step))
        if steps < 1 or abs(steps * rate * self.time_step - 1.0) > 1e-9:
            raise SimulationError(
                f'{self.machine.path}: {key} = {rate} Hz is not a whole fraction of the physics rate '
                f'{1.0 / self.time_step:g} Hz; choose a rate that divides it'
            )
        return steps

    @property
    def time_ns(self) -> int:
        """Present time, ns."""
        return self.start_ns + self.step_index * self.step_ns

    @property
    def time(self) -> float:
        """Present time, s."""
        return self.time_ns * 1e-9

    @property
    def joint_positions(self) -> Array:
        """True positions of the actuated joints (A,) m or rad."""
        return self.data.qpos[self._position_index]

    @property
    def joint_velocities(self) -> Array:
        """True velocities of the actuated joints (A,) m/s or rad/s."""
        return self.data.qvel[self._velocity_index]

    @property
    def closure_error(self) -> float:
        """Largest distance by which a closure is open, m."""
        gap = self.data.site_xpos[self._tips] - self.data.site_xpos[self._anchors]
        return float(np.sqrt((gap * gap).sum(axis=1)).max())

    def step(self, forces: Array) -> Sample | None:
        """Apply drive forces (A,) N or N m from now on for one step.

        Returns
        -------
        Sample or None
            Sensors and truth of the instant *before* the step, where a sensor's rate asks for one; none at the first.

        Raises
        ------
        ValueError
            Forces of a wrong number, or not finite.
        SimulationError
            The state is no longer finite.
        """
        forces = np.asarray(forces, dtype=float)
        if forces.shape != self._effort_limits.shape or not np.isfinite(forces).all():
            raise ValueError(f'leg forces {forces} N: expected {len(self._effort_limits)} finite numbers')
        applied = np.clip(forces, -self._effort_limits, self._effort_limits)
        self.saturation_count += applied != forces
        if self._friction is not None:
            self._friction.apply(self.data)
        sample = self._sample(applied)
        self.data.ctrl[:] = applied
        mujoco.mj_step(self.model, self.data)
        self._last_forces = applied
        self.step_index += 1
        return sample

    def _sample(self, forces: Array) -> Sample | None:
        index = self.step_index
        imu_due, joints_due = index % self._imu_steps == 0, index % self._joint_steps == 0
        if index == 0 or not (imu_due or joints_due):
            return None
        efforts = 0.5 * (self._last_forces + forces)
        self.data.ctrl[:] = efforts
        mujoco.mj_forward(self.model, self.data)
        truth = self._truth()
        if not np.isfinite(truth.linear_acceleration).all():
            raise SimulationError(f'the simulation diverged at t = {self.time:.3f} s under leg forces {forces} N')
        imu = None
        if imu_due:
            sensor = self.machine.imu
            ideal = imu_truth(truth, self.machine.gravity, sensor.position, sensor.rotation_platform_imu)
            imu = self._imu.measure(*(signal[0] for signal in sensor.readings(*ideal)))
        joints = None
        if joints_due:
            joints = self._joint_sensors.measure(self.joint_positions, self.joint_velocities, efforts)
        return Sample(self.time_ns, truth, self.closure_error, imu, joints)

    def _truth(self) -> PlatformMotion:
        pose, place = self.data.qpos[self._pose_slice], self._twist_place
        twist, change = np.zeros((2, 6))
        twist[place], change[place] = self.data.qvel[self._twist_slice], self.data.qacc[self._twist_slice]
        position, rotation = np.array([*pose[:2], self.machine.home.position[2]]), self.data.xmat[self._platform]
        if not self.machine.planar:
            position, rotation = pose[:3].copy(), np.empty(9)
            mujoco.mju_quat2Mat(rotation, pose[3:])
        rotation = rotation.reshape(3, 3).copy()
        # a ball joint's velocity is in the moving axes; its derivative there is that in the base axes, turned
        parts = position, rotation, twist[:3], rotation @ twist[3:], change[:3], rotation @ change[3:]
        return PlatformMotion(np.array([self.time]), *(part[None] for part in parts))


class FrictionCorrections:
    """Force of each joint's law less that of the pair which MuJoCo has in its place (its nearest one).

    MuJoCo's own dry friction sticks and slips; what is left to do is small and smooth. Load-dependent laws are left
    out, because MuJoCo does not tell the load of a joint: they stay at their nearest pair.

    Parameters
    ----------
    machine : joints and laws
    model : MuJoCo's model of it
    """

    def __init__(self, machine: Machine, model: Any) -> None:
        self._laws: list[tuple[int, FrictionLaw, float, float]] = []
        for joint in machine.joints:
            if joint.friction.is_viscous_coulomb or joint.friction.law.needs_load:
                continue
            law = joint.friction.law.with_sign(Sign('tanh', _FADE))
            dof = int(model.joint(joint.name).dofadr[0])
            self._laws.append((dof, law, joint.friction.viscous, joint.friction.coulomb))

    def apply(self, data: Any) -> None:
        """Set the forces for the velocities of now."""
        for dof, law, viscous, coulomb in self._laws:
            velocity = data.qvel[dof]
            near = viscous * velocity + coulomb * np.tanh(velocity / _FADE)
            data.qfrc_applied[dof] = near - float(law.force(velocity))


class PayloadError(PkmError):
    """No body can be like that."""


def point_mass(mass: float, center: Array) -> RigidBody | None:
    """Payload of a mass [kg] in one point (3,) [m] of the platform's frame; ``None`` without a mass.

    Raises
    ------
    PayloadError
        A negative mass, or numbers that are not finite.
    """
    center = np.asarray(center, dtype=float)
    if center.shape != (3,) or not (np.isfinite(mass) and np.isfinite(center).all()):
        raise PayloadError(f'payload of {mass} kg at {center} m: expected a mass and three coordinates, all finite')
    if mass < 0.0:
        raise PayloadError(f'payload of {mass:g} kg: a mass cannot be negative; 0 takes the payload off')
    return RigidBody(NAME, mass, center, np.zeros((3, 3))) if mass > 0.0 else None


class PlatformPayload:
    """Changes the platform of a compiled model to that of the machine with a payload.

    Its body is changed, and MuJoCo derives its constants anew, so that from then on the model is the one of a machine
    that had the payload from the start. The state stays: a payload arrives with the velocity of the platform, without
    an impact, and the model's energy jumps by its own.

    Parameters
    ----------
    machine : without payload
    model : of it, by :func:`~pkm_description.export.mjcf.mjcf_text`; is changed. What else was changed in it stays

    Attributes
    ----------
    body : present payload; ``None`` without
    """

    def __init__(self, machine: Machine, model: Any) -> None:
        self._machine, self._model = machine, model
        place = model.body(machine.platform.name).id
        self._platform = [part[place : place + 1] for part in (
            model.body_mass, model.body_ipos, model.body_inertia, model.body_iquat,
        )]  # fmt: skip
        self._plain = [part.copy() for part in self._platform]
        self.body: RigidBody | None = None

    def put(self, body: RigidBody | None) -> None:
        """Let ``body`` be the payload, in place of the present one; ``None``: none.

        Raises
        ------
        PayloadError
            A platform with it cannot exist.
        """
        machine = self._machine if body is None else with_payload(self._machine, body)
        if body is not None and not bodies_exist(machine):
            raise PayloadError(
                f'payload of {body.mass:g} kg: a platform with it would have a negative mass, or moments of inertia '
                'that no body has'
            )
        whole, wanted = machine.platform, self._plain
        if body is not None:
            moments, axes = np.linalg.eigh(whole.inertia)
            axes[:, 0] *= np.linalg.det(axes)  # right-handed
            moments = np.maximum(moments, LEAST_INERTIA)
            wanted = [whole.mass, whole.center_of_mass, moments, np.roll(quaternion_from_matrix(axes), 1)]
        for part, value in zip(self._platform, wanted, strict=True):
            part[:] = value
        mujoco.mj_setConst(self._model, mujoco.MjData(self._model))
        self.body = body
