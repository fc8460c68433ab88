"""A machine beside its source: moved alike in MuJoCo, the source closes and pushes alike, or not.

The machine's motion at an instant (positions, rates and accelerations of all bodies) is carried over to the joints of
the source. There the loops of the file must close, and the forces that its tree needs, projected on the freedoms of the
closed machine (virtual power), must be those of the machine's drives. Nothing of the source is solved: MuJoCo says
where its bodies are and what forces they need.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import qr
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.importing.graph import Placement
from pkm_description.importing.importer import Imported
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.closed_legs import body_poses, close_legs
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_joints

if TYPE_CHECKING:
    from pkm_description.importing.engine import SourceEngine

#: rad or m of the fastest motion between instants of which the source's rates and accelerations are differences
_STEP = 0.02

#: weights of the differences of four instants on either side: first and second derivative of eighth order
_FIRST = np.array([4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0])
_SECOND = np.array([8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0])

#: rad/s or m/s that rounding leaves of a joint that stands still, whose friction has no sign
_STILL = 1e-9


@dataclass(frozen=True)
class Figures:
    """How well machine and source agree, at random configurations and motions.

    Attributes
    ----------
    samples : number
    gap : largest gap [m, 1] of the source's loops where the machine is closed
    position, rotation : largest difference of the platform's pose [m, rad]
    force : largest difference of the drive forces' powers along the freedoms of the platform, relative to the largest
    """

    samples: int
    gap: float
    position: float
    rotation: float
    force: float

    @property
    def text(self) -> str:
        """Figures as lines of text."""
        return (
            f'compared with MuJoCo on the source, {self.samples} configurations and motions:\n'
            f"  gaps of the source's loops where the machine is closed: {self.gap:.2g} m\n"
            f'  platform pose: {self.position:.2g} m, {self.rotation:.2g} rad\n'
            f'  drive forces: {self.force:.2g} of the largest'
        )


def compared(result: Imported, samples: int = 20) -> Figures | str:
    """Compare a machine with its source at random configurations and motions.

    Returns
    -------
    The figures; or, where the engine is not installed, a sentence that says so.

    Raises
    ------
    KinematicsError
        The machine cannot be moved, not even a little.
    """
    if importlib.util.find_spec('mujoco') is None:
        return 'not compared with the source: MuJoCo is not installed (pip install mujoco)'
    from pkm_description.importing.engine import SourceEngine

    return _Comparison(result, SourceEngine(result)).figures(samples)


class _Comparison:
    """A machine and its source side by side."""

    def __init__(self, result: Imported, engine: SourceEngine) -> None:
        self._machine, self._mechanism, self._selection = result.machine, result.mechanism, result.selection
        self._engine, held = engine, result.mechanism.held
        links = [link for link in (*self._selection.graph.links, *self._selection.floating) if not link.is_loop]
        self._moving = [link for link in links if link.name not in held]
        self._columns = [column for link in self._moving for column in engine.columns(link.name)]
        self._at_rest = engine.start
        for name, value in held.items():
            if len(engine.columns(name)) == 1:
                self._at_rest = engine.with_position(self._at_rest, name, value)

    def figures(self, samples: int) -> Figures:
        """Compare at random states."""
        machine, worst = self._machine, np.zeros(3)
        states = random_states(_without_redundance(machine), samples, turn=0.1, move=0.06)
        motion, own = joint_motion(machine, states), inverse_dynamics(machine, states)
        legs = close_legs(machine, states.position, states.rotation_base_platform, motion.positions)
        powers = []
        for sample in range(samples):
            pose = Placement(states.position[sample], states.rotation_base_platform[sample])
            at = motion.positions[sample], pose
            configuration = self._configuration(*at)
            place = self._platform(configuration)
            turn = np.linalg.norm(Rotation.from_matrix(place.rotation.T @ pose.rotation).as_rotvec())
            gap = np.abs(self._engine.gaps(configuration, self._columns)).max(initial=0.0)
            worst = np.maximum(worst, [gap, np.linalg.norm(place.position - pose.position), turn])
            velocity, acceleration = self._derivatives(
                *at, motion.velocities[sample], states.twist[sample], motion.accelerations[sample],
                states.acceleration[sample],
            )  # fmt: skip
            forces = self._engine.forces(configuration, velocity, acceleration)
            freedoms, still = legs.admitted[sample].T, (np.zeros(len(motion.positions[sample])), np.zeros(6))
            rates = [self._derivatives(*at, legs.joint_map[sample] @ one, one, *still)[0] for one in freedoms]
            powers.append([np.array(rates) @ forces, freedoms @ legs.drive_map[sample].T @ own[sample]])
        source, machines = np.moveaxis(np.array(powers), 1, 0)
        force = float(np.abs(source - machines).max() / np.abs(source).max())
        gap, position, rotation = worst.tolist()
        return Figures(samples, gap, position, rotation, force)

    def _configuration(self, positions: Array, pose: Placement, near: Any = None) -> Any:
        """Configuration of the engine, next to another one, with the source's bodies where the machine's are."""
        rotations, origins = (poses[0] for poses in body_poses(self._machine, positions[None]))
        own = {'base_link': Placement(), self._mechanism.platform.name: pose}
        for joint, origin, rotation in zip(self._mechanism.joints, origins, rotations, strict=True):
            own[joint.body.name] = Placement(origin, rotation)
        places = {name: own[body] @ frame for name, (body, frame) in self._mechanism.bodies.items()}
        configuration = np.array(self._at_rest if near is None else near)
        for link in self._moving:
            if link.first in places and link.second in places:
                first = places[link.first] @ link.first_frame
                motion = (places[link.second] @ link.second_frame).seen_from(first)
                configuration = self._engine.with_motion(configuration, link, motion)
        return configuration

    def _derivatives(
        self, positions: Array, pose: Placement, rates: Array, twist: Array, second_rates: Array, acceleration: Array
    ) -> tuple[Array, Array]:
        """Rates and accelerations (nv,) of the source's joints in a configuration of the machine.

        Parameters
        ----------
        rates, second_rates : (J,) first and second derivatives of the machine's joints
        twist, acceleration : (6,) of its platform, base axes
        """
        here = self._configuration(positions, pose)
        first, second = (np.abs(np.append(*parts)).max() for parts in ((rates, twist), (second_rates, acceleration)))
        step = _STEP / max(1.0, first, second**0.5)

        def at(time: float) -> Array:
            path = twist * time + 0.5 * acceleration * time**2
            there = Placement(pose.position + path[:3], rotation_exp(path[3:]) @ pose.rotation)
            moved = positions + rates * time + 0.5 * second_rates * time**2
            return self._engine.difference(here, self._configuration(moved, there, here))

        ahead, behind = (
            np.array([at(sign * number * step) for number in range(1, len(_FIRST) + 1)]) for sign in (1.0, -1.0)
        )
        velocity = _FIRST @ (ahead - behind) / step
        return np.where(np.abs(velocity) < _STILL, 0.0, velocity), _SECOND @ (ahead + behind) / step**2

    def _platform(self, configuration: Any) -> Placement:
        body, frame = self._selection.base
        base = self._engine.place(configuration, body) @ frame
        return (self._engine.place(configuration, self._selection.platform) @ self._selection.frame).seen_from(base)


def _without_redundance(machine: Machine) -> Machine:
    """The same machine with as many drives as it has freedoms: those that move it best at home."""
    if not machine.is_redundant:
        return machine
    home = machine.home
    legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    _, order = qr((legs.drive_map[0] @ legs.admitted[0]).T, mode='r', pivoting=True)
    kept = {machine.actuated_joint_names[drive] for drive in order[: machine.degrees_of_freedom]}
    lone = with_joints(machine, lambda joint: replace(joint, actuated=joint.name in kept))
    return replace(lone, drive_weights=())
