"""The class ``Machine``, which ``load_machine`` returns; variants of it, where its loops close, and its motion."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.driver import STANDARD_DRIVER, Driver
from pkm_description.errors import ShapeError
from pkm_description.kernels.model import (
    ModelData,
    ScratchData,
    constraint_row_count,
    scratch_data,
)
from pkm_description.kernels.structures import structure
from pkm_description.machine.joint_arrays import JointArrays
from pkm_description.machine.model_data import model_data
from pkm_description.machine.parts import Closure, Joint, JointFriction, Leg, Pose, RigidBody, unit_inertia
from pkm_description.machine.rods import strut_constants
from pkm_description.machine.sensors import (
    NO_IMU,
    NO_LEG_SENSORS,
    NO_SERVO,
    ImuSensor,
    LegSensors,
    MissingSection,
    ServoGains,
)
from pkm_description.machine.tolerances import USUAL_TOLERANCES, Tolerances

Freedom = Literal['free', 'planar', 'none']
Joints = TypeVar('Joints', bound=JointArrays)


@dataclass(frozen=True, eq=False)
class Machine(JointArrays):
    """A parallel machine: what its file says, and the same as arrays (:class:`JointArrays`).

    Every function of the suite that asks for a machine takes this object. It does not change; machines that differ in
    something are made by :func:`dataclasses.replace`. Two machines are equal only if they are the same object.

    Attributes
    ----------
    name : short name, also the folder of the machine file
    path : the file that was read
    description : one sentence
    gravity : (3,) m/s^2 in ``base_link``
    home : platform pose at rest, also names the assembly mode
    platform : body of ``platform_link``; of open chains a body without mass that nothing exports
    legs : in the order that every leg-wise array has
    imu, leg_sensors, servo : see the classes; where the file has no such section, asking for a number of it raises a
        ConfigurationError that says what to add to the file
    freedom : how the platform can move where no leg holds it: ``'free'`` (legs end in ball joints), ``'planar'`` (x, y
        and about z of ``base_link``; legs end in pins) or ``'none'`` (open chains have no platform)
    driver : what the machine's driver publishes and takes, where that is not the suite's convention
    drive_weights : of machines with more drives than degrees of freedom: how willingly each drive takes a share of the
        force; empty: all alike, which makes the sum of the squares of the forces least
    tolerances : how exactly the machine was built as its file says
    provenance : dotted key -> ``printed: ...`` / ``derived: ...`` / ``assumed: ...``
    """

    name: str
    path: Path
    description: str
    gravity: Array
    home: Pose
    platform: RigidBody
    legs: tuple[Leg, ...]
    imu: ImuSensor = NO_IMU
    leg_sensors: LegSensors = NO_LEG_SENSORS
    servo: ServoGains = NO_SERVO
    provenance: dict[str, str] = field(default_factory=dict)
    freedom: Freedom = 'free'
    driver: Driver = STANDARD_DRIVER
    drive_weights: tuple[float, ...] = ()
    tolerances: Tolerances = USUAL_TOLERANCES

    @property
    def has_imu(self) -> bool:
        """Whether the machine file has ``sensors.imu``."""
        return not isinstance(self.imu, MissingSection)

    @property
    def has_leg_sensors(self) -> bool:
        """Whether the machine file has ``sensors.legs``."""
        return not isinstance(self.leg_sensors, MissingSection)

    @property
    def has_servo(self) -> bool:
        """Whether the machine file has ``servo``."""
        return not isinstance(self.servo, MissingSection)

    def on_topics(self, joint_topic: str = '', imu_topic: str = '') -> Machine:
        """Return the same machine, whose driver publishes on other topics; empty: its own."""
        driver = self.driver.with_topics(joint_topic, imu_topic)
        return self if driver is self.driver else replace(self, driver=driver)

    @cached_property
    def has_closed_form(self) -> bool:
        """True if all legs are universal joint and strut on a ball joint: no iterations close them."""
        return all(strut_constants(leg, self.freedom) is not None for leg in self.legs)

    @cached_property
    def drives_are_struts(self) -> bool:
        """True where each drive is the length of a strut on a universal joint: length = position + length at zero."""
        driven = [[joint.actuated for joint in leg.joints] for leg in self.legs]
        return self.has_closed_form and all(own == [False, False, True] for own in driven)

    @property
    def is_strut_hexapod(self) -> bool:
        """True for six driven struts: their lengths determine the pose, with a fast solver."""
        return self.drives_are_struts and self.leg_count == 6

    @cached_property
    def platform_radius(self) -> float:
        """Mean distance of the platform joints from the platform origin [m]: the length by which turns are measured."""
        return float(self.model.radius[0])

    @cached_property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom of the closed machine, by the rank of its closures at home."""
        return int(self.model.degrees_of_freedom[0])

    @cached_property
    def constraint_count(self) -> int:
        """Equations K that legs and plane put on the platform's twist, dependent ones included."""
        return constraint_row_count(self.model) if self.has_platform else 0

    @property
    def legs_hold_platform(self) -> bool:
        """Whether legs take freedom from the platform (3-RPS), so that they admit some poses only."""
        return self.constraint_count > (3 if self.planar else 0)

    @property
    def is_redundant(self) -> bool:
        """Whether there are more drives than degrees of freedom, which then share the force by ``drive_weights``."""
        return self.actuated_count > self.degrees_of_freedom

    @cached_property
    def model(self) -> ModelData:
        """The machine as arrays, for the kernels.

        Raises
        ------
        KinematicsError
            Legs that cannot be computed: names the part, and says what to do.
        """
        return model_data(self)

    @cached_property
    def compiled_model(self) -> ModelData:
        """Compiled form of :attr:`model`, the first argument of every kernel."""
        return structure(self.model)

    @property
    def scratch(self) -> tuple[ScratchData, ScratchData]:
        """Memory of this thread for kernels: as arrays, and compiled; both are the same memory."""
        memory = self._memory
        if not hasattr(memory, 'scratch'):
            data = scratch_data(self.model)
            memory.scratch = data, structure(data)
        return memory.scratch

    @cached_property
    def _memory(self) -> threading.local:
        return threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Fields only: what was worked out is worked out again, compiled structures cannot be pickled."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    @cached_property
    def as_converted(self) -> Machine:
        """The same machine for values that are in the suite's convention already: without its driver."""
        return self if self.driver.is_standard else replace(self, driver=STANDARD_DRIVER)

    def __repr__(self) -> str:
        return f'Machine({self.name!r}, {len(self.legs)} legs)'


def with_gravity(machine: Machine, gravity: Array) -> Machine:
    """Machine in another gravity (3,) m/s^2, ``base_link`` axes, zero included."""
    gravity = np.asarray(gravity, dtype=float)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise ValueError(f'gravity = {gravity}: expected three numbers, m/s^2 in base_link axes')
    return replace(machine, gravity=gravity)


def with_payload(machine: Machine, payload: RigidBody) -> Machine:
    """Machine with a body fixed to its platform.

    Parameters
    ----------
    payload : centre of mass and inertia (about the centre of mass) in ``platform_link`` axes

    Raises
    ------
    ValueError
        An open chain, which has no platform.
    """
    if not machine.has_platform:
        raise ValueError(f'{machine.name} is an open chain: there is no platform to carry a payload')
    return replace(machine, platform=joined(machine.platform, payload))


def with_friction(machine: Machine, friction: Callable[[Joint], JointFriction]) -> Machine:
    """Machine with other friction, joint by joint.

    Parameters
    ----------
    friction : friction of a joint; ``lambda joint: joint.friction`` changes nothing
    """
    return with_joints(machine, lambda joint: replace(joint, friction=friction(joint)))


def without_rotors(machine: Machine) -> Machine:
    """Machine whose rotors have no inertia, as formats and simulators have it that cannot express rotors."""
    return with_joints(machine, lambda joint: replace(joint, rotor_inertia=0.0))


def with_joints(machine: Joints, changed: Callable[[Joint], Joint]) -> Joints:
    """Machine or mechanism with other joints, each made of the one in its place."""
    legs = tuple(replace(leg, joints=tuple(map(changed, leg.joints))) for leg in machine.legs)
    return replace(machine, legs=legs)  # type: ignore[type-var]


def with_home(machine: Joints, positions: Array, pose: Pose) -> Joints:
    """Machine or mechanism with another home: joint positions (J,) rad, m, and the platform's pose."""
    values = iter(positions.tolist())
    moved = with_joints(machine, lambda joint: replace(joint, home=next(values)))
    return replace(moved, home=pose)  # type: ignore[type-var]


def joined(first: RigidBody, *others: RigidBody) -> RigidBody:
    """One body of several that are fixed to each other, all in the same frame; named like the first."""
    parts = [body for body in (first, *others) if body.mass != 0.0 or body.inertia.any()]
    mass = sum(body.mass for body in parts)
    if mass == 0.0:
        return replace(first, inertia=sum((body.inertia for body in parts), np.zeros((3, 3))))
    center = sum((body.mass * body.center_of_mass for body in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for body in parts:
        inertia += body.inertia + body.mass * unit_inertia(body.center_of_mass - center)
    return RigidBody(first.name, mass, center, inertia)


@dataclass(frozen=True)
class ClosureEnd:
    """One closure and the names of its frames.

    Attributes
    ----------
    leg : that has the closure
    closure : see the class
    tip, anchor : names of the closure's frames on ``closure.body`` and on ``closure.other``; on a closed machine their
        origins coincide
    link : name of the small link by which SDF closes the loop
    """

    leg: Leg
    closure: Closure
    tip: str
    anchor: str
    link: str


def closure_ends(machine: Machine) -> tuple[ClosureEnd, ...]:
    """Closures of all legs, leg by leg.

    A leg that ends at one point of the platform has ``legN_tip``, ``platform_anchorN`` and ``legN_ball``; where there
    is more than one closure, or another end, the frames are named after the closure.
    """
    ends = []
    closures = {closure.name for leg in machine.legs for closure in leg.closures}
    for number, leg in enumerate(machine.legs, start=1):
        for closure in leg.closures:
            if len(leg.closures) == 1 and closure.other == machine.platform.name:
                names = f'{leg.name}_tip', f'platform_anchor{number}', f'{leg.name}_ball'
            else:
                names = f'{closure.name}_tip', f'{closure.name}_anchor', f'{closure.name}_ball'
            if names[2] in closures:  # a closure may be called so
                names = *names[:2], f'{closure.name}_link'
            ends.append(ClosureEnd(leg, closure, *names))
    return tuple(ends)


def closure_points(leg: Leg, body: str) -> list[Array]:
    """Points (3,) m at which closures of a leg hold one of its bodies, in the body's frame."""
    points = [closure.point for closure in leg.closures if closure.body == body]
    return points + [closure.other_point for closure in leg.closures if closure.other == body]


@dataclass(frozen=True)
class PlatformMotion:
    """Pose, velocity and acceleration of ``platform_link`` in ``base_link`` axes, N samples.

    Attributes
    ----------
    time : (N,) s
    position : (N, 3) m, origin of ``platform_link``
    rotation_base_platform : (N, 3, 3)
    linear_velocity, linear_acceleration : (N, 3) m/s, m/s^2 of the platform's origin, base axes
    angular_velocity, angular_acceleration : (N, 3) rad/s, rad/s^2, base axes

    Raises
    ------
    ShapeError
        Arrays of other shapes.
    """

    time: Array
    position: Array
    rotation_base_platform: Array
    linear_velocity: Array
    angular_velocity: Array
    linear_acceleration: Array
    angular_acceleration: Array

    def __post_init__(self) -> None:
        if np.ndim(self.time) != 1:
            raise ShapeError('time', '(N,)', np.shape(self.time))
        count = len(self.time)
        shapes = {'time': (count,), 'rotation_base_platform': (count, 3, 3)}
        for name in self.__dataclass_fields__:
            shape = shapes.get(name, (count, 3))
            values = getattr(self, name)
            if not isinstance(values, np.ndarray):
                values = np.asarray(values, dtype=float)
                object.__setattr__(self, name, values)  # the class is frozen for its users
            if values.shape != shape:
                raise ShapeError(name, f'{shape} beside a time of shape ({count},)', values.shape)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, index: slice | NDArray[np.bool_] | NDArray[np.intp]) -> PlatformMotion:
        """Pick samples; the leading axis stays."""
        return PlatformMotion(**{name: getattr(self, name)[index] for name in self.__dataclass_fields__})

    @property
    def twist(self) -> Array:
        """Linear and angular velocity stacked, (N, 6), base axes."""
        return np.concatenate([self.linear_velocity, self.angular_velocity], axis=1)

    @property
    def acceleration(self) -> Array:
        """Linear and angular acceleration stacked, (N, 6), base axes."""
        return np.concatenate([self.linear_acceleration, self.angular_acceleration], axis=1)

    @classmethod
    def at_rest(cls, position: Array, rotation_base_platform: Array) -> PlatformMotion:
        """Describe one motionless sample at a pose: position (3,), rotation (3, 3)."""
        zero = np.zeros((1, 3))
        position, rotation = (np.asarray(values, dtype=float)[None] for values in (position, rotation_base_platform))
        return cls(np.zeros(1), position, rotation, zero, zero, zero, zero)
