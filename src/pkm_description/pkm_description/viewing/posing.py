"""Joint positions for a pose or slider values, refused where a joint limit is violated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kinematics import ForwardKinematicsResult
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import overall_jacobian, scaled_condition
from pkm_description.kinematics.joint_limits import LimitViolation, position_limits
from pkm_description.kinematics.workspace import free_axes, position_violations, single_axis_limits
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.viewing.coupled_pose import (
    COORDINATES,
    coordinates_of_pose,
    home_configuration,
    independent_coordinates,
    pose_of_coordinates,
    solve_coordinates,
    solve_coordinates_near,
)
from pkm_description.viewing.sliders import Slider

#: condition number of the drives from which a pose is called singular
_MAX_CONDITION = 1e4

#: rad, range of pitch: roll, pitch and yaw mean one pose only up to a quarter turn of it
_MAX_PITCH = 1.5

#: from home to the farthest value that a slider may have
_SCAN_STEPS = 40

#: range of joints without limits, rad and m
_UNLIMITED = {'revolute': np.pi, 'prismatic': 1.0}


@dataclass(frozen=True)
class Posture:
    """All joints of a machine, and where its platform is.

    Attributes
    ----------
    joint_positions : (J,) rad or m
    position, rotation_base_platform : (3,) m, (3, 3); None on open chains
    condition : of the drives' and constraints' Jacobian; 1 on open chains
    """

    joint_positions: Array
    position: Array | None
    rotation_base_platform: Array | None
    condition: float


class Poser:
    """Makes postures of one machine.

    Machines whose legs leave the platform free along and about single axes are moved by these coordinates; machines
    whose legs couple them (3-RPS) by as many coordinates as they have degrees of freedom; open chains by their joints.

    Parameters
    ----------
    machine : any machine

    Attributes
    ----------
    coordinates : names of what may be chosen, in the order of the sliders
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._places: tuple[int, ...] = ()
        if not machine.has_platform:
            self.coordinates: tuple[str, ...] = machine.joint_names
            return
        self._places = free_axes(machine)
        self._is_coupled = not self._places
        if self._is_coupled:
            self._places = independent_coordinates(machine)
        self.coordinates = tuple(COORDINATES[place] for place in self._places)
        home = machine.home
        self._determinant = self._jacobian_determinant(home.position, home.rotation_base_platform)

    @property
    def rest(self) -> dict[str, float]:
        """Coordinates at home."""
        if self._machine.has_platform:
            return dict.fromkeys(self.coordinates, 0.0)
        return dict(zip(self.coordinates, self._machine.home_positions.tolist(), strict=True))

    def sliders(self) -> tuple[Slider, ...]:
        """Sliders for the coordinates; their ranges are found by trying, which takes up to seconds."""
        machine = self._machine
        if not machine.has_platform:
            return tuple(
                Slider(
                    joint.name,
                    joint.kind,
                    joint.limits.lower if np.isfinite(joint.limits.lower) else -_UNLIMITED[joint.kind],
                    joint.limits.upper if np.isfinite(joint.limits.upper) else _UNLIMITED[joint.kind],
                    self.rest[joint.name],
                )
                for joint in machine.joints
            )
        return tuple(
            Slider(
                COORDINATES[place],
                'revolute' if place >= 3 else 'prismatic',
                *(float(end) for end in ends),
            )
            for place, ends in self._ranges().items()
        )

    def from_pose(self, position: Array, rotation_base_platform: Array) -> Posture:
        """Posture with the platform at a pose (3,) m, (3, 3).

        Raises
        ------
        KinematicsError
            Naming leg and limit that the pose breaks, or the singular pose beyond which it lies.
        """
        machine = self._machine
        if not machine.has_platform:
            raise KinematicsError(
                f'{machine.name} is an open chain, it has no platform: give joint positions'
            )
        pose = PlatformMotion.at_rest(position, rotation_base_platform)
        try:
            _refuse(position_violations(machine, pose))
            legs = close_legs(machine, pose.position, pose.rotation_base_platform)
        except KinematicsError as error:
            if not self._is_coupled:
                raise
            chosen = ', '.join(self.coordinates)
            raise type(error)(f'{error} (of a pose only {chosen} are free, the legs determine the rest)') from None
        condition = float(scaled_condition(legs)[0])
        if not condition <= _MAX_CONDITION:
            raise SingularPoseError(f'singular pose, condition number {condition:.3g}: the drives cannot hold it')
        if self._jacobian_determinant(position, rotation_base_platform) * self._determinant < 0.0:
            raise SingularPoseError('the pose lies beyond a singular pose, the machine cannot reach it from home')
        return Posture(legs.positions[0], pose.position[0], pose.rotation_base_platform[0], condition)

    def from_coordinates(self, values: Mapping[str, float]) -> Posture:
        """Posture of coordinates [m, rad]; those that are not given rest at home.

        Raises
        ------
        KinematicsError
            As :meth:`from_pose`; also for coordinates that this machine does not let one choose, and for NaN.
        """
        for name, value in values.items():
            if name not in self.coordinates:
                raise KinematicsError(
                    f'{self._machine.name} cannot be moved by {name!r} but by {", ".join(self.coordinates)}'
                )
            if not np.isfinite(value):
                raise KinematicsError(f'{name} = {value}: not a finite number')
        complete = {**self.rest, **values}
        return self._posture(np.array([complete[name] for name in self.coordinates]))

    def coordinates_of(self, posture: Posture) -> dict[str, float]:
        """Coordinates of a posture, inverse of :meth:`from_coordinates`."""
        if posture.position is None or posture.rotation_base_platform is None:
            values = posture.joint_positions
        else:
            home = self._machine.home
            values = coordinates_of_pose(posture.position, posture.rotation_base_platform, home)[list(self._places)]
        return dict(zip(self.coordinates, values.tolist(), strict=True))

    def _posture(self, values: Array) -> Posture:
        machine = self._machine
        if not machine.has_platform:
            positions = values[None]
            _refuse(position_limits(machine, positions).violations(np.zeros(1)))
            return Posture(positions[0], None, None, 1.0)
        if self._is_coupled:
            closed = solve_coordinates(machine, self._places, values)
            return self.from_pose(closed.position[0], closed.rotation_base_platform[0])
        coordinates = np.zeros(6)
        coordinates[list(self._places)] = values
        return self.from_pose(*pose_of_coordinates(coordinates, machine.home))

    def _jacobian_determinant(self, position: Array, rotation: Array) -> float:
        """Determinant of drives and constraints; 0, which says nothing, where they are more than six."""
        legs = close_legs(self._machine, position[None], rotation[None])
        jacobian = overall_jacobian(legs)[0]
        return float(np.linalg.det(jacobian)) if jacobian.shape[0] == jacobian.shape[1] else 0.0

    def _ranges(self) -> dict[int, Array]:
        """Place of each coordinate -> smallest and largest value (2,) with the others at home."""
        limits = single_axis_limits(self._machine, tolerance=1e-4)
        limits = limits or {place: self._coupled_range(number) for number, place in enumerate(self._places)}
        return {place: np.array([self._allowed(place, end) for end in ends]) for place, ends in limits.items()}

    def _allowed(self, axis: int, end: float) -> float:
        """An end of a coordinate, drawn back from the singular pose that it may lie in."""
        if COORDINATES[axis] == 'pitch':
            end = float(np.clip(end, -_MAX_PITCH, _MAX_PITCH))
        for part in np.linspace(1.0, 0.9, 21):
            try:
                self.from_coordinates({COORDINATES[axis]: part * end})
            except KinematicsError:
                continue
            return float(part * end)
        return 0.0

    def _coupled_range(self, number: int) -> Array:
        """Smallest and largest value (2,) of a coordinate that the legs couple with others."""
        machine = self._machine
        span = 2.0 * float(np.linalg.norm(machine.home.position) + float(machine.model.radius[0]))
        farthest = _MAX_PITCH if self._places[number] >= 3 else span
        direction = np.eye(len(self._places))[number]

        def step_to(value: float, start: ForwardKinematicsResult) -> ForwardKinematicsResult | None:
            try:
                closed = solve_coordinates_near(machine, self._places, value * direction, start)
                self.from_pose(closed.position[0], closed.rotation_base_platform[0])
            except KinematicsError:
                return None
            return closed

        home = home_configuration(machine)
        return np.array([_reach(step_to, home, -farthest), _reach(step_to, home, farthest)])


def _reach(
    step_to: Callable[[float, ForwardKinematicsResult], ForwardKinematicsResult | None],
    start: ForwardKinematicsResult,
    farthest: float,
) -> float:
    """Last value before the first that is refused: steps from configuration to configuration, then halving."""
    reached, width = 0.0, farthest / _SCAN_STEPS
    while abs(width) > 1e-4 * abs(farthest) and abs(reached) < abs(farthest):
        closed = step_to(reached + width, start)
        if closed is None:
            width *= 0.5
        else:
            reached, start = reached + width, closed
    return reached


def _refuse(violations: list[LimitViolation]) -> None:
    """Raise KinematicsError that names every broken limit, the worst first."""
    if violations:
        ordered = sorted(violations, key=lambda one: -one.excess)
        raise KinematicsError('; '.join(str(one) for one in ordered))
