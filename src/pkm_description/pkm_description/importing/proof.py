"""Compare a machine with its source in the source's own engine: closed loops, platform poses, drive forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import PkmError
from pkm_description.importing.closing import Configuration, Loops
from pkm_description.importing.engine import SourceEngine, SourceMotion, TurnRow, closed, drive_forces
from pkm_description.importing.freedoms import independent_drives, random_configurations
from pkm_description.importing.mechanism import Mechanism
from pkm_description.importing.placement import Placement
from pkm_description.importing.selection import Selection
from pkm_description.kinematics import forward_kinematics_sequence, motion_from_drives
from pkm_description.machine import Machine

#: change of the drives from home, rad or shares of the machine's size
_SIZE = 0.1

#: steps from home to a configuration
_WAY = 8


@dataclass(frozen=True)
class Figures:
    """How well machine and source agree, over home and random configurations and drive motions.

    Attributes
    ----------
    engine : name
    samples : number
    machine_gap, source_gap : largest gap [m, 1] of the loops
    position, rotation : largest difference of the platform's pose [m, rad]
    joints : largest difference of joint positions [rad, m] that both have
    force : largest difference of drive forces, relative to the largest force
    """

    engine: str
    samples: int
    machine_gap: float
    source_gap: float
    position: float
    rotation: float
    joints: float
    force: float

    @property
    def text(self) -> str:
        """Figures as lines of text."""
        return (
            f'compared with {self.engine} on the source, {self.samples} configurations and motions:\n'
            f'  gaps of the loops: machine {self.machine_gap:.2g}, source {self.source_gap:.2g} m\n'
            f'  platform pose: {self.position:.2g} m, {self.rotation:.2g} rad; joints {self.joints:.2g}\n'
            f'  drive forces: {self.force:.2g} of the largest'
        )


class Comparison:
    """A machine and its source side by side.

    Parameters
    ----------
    machine : read from the written file
    mechanism, selection : of which it was written
    engine : with the source
    """

    def __init__(self, machine: Machine, mechanism: Mechanism, selection: Selection, engine: SourceEngine) -> None:
        self._machine, self._mechanism, self._selection, self._engine = machine, mechanism, selection, engine
        self._loops = Loops(mechanism)
        self._independent = independent_drives(self._loops)
        held = mechanism.held
        self._links = [link for link in (*selection.graph.links, *selection.floating) if not link.is_loop]
        self._moving_joints = [link.name for link in self._links if link.name not in held]
        self._moving = [column for name in self._moving_joints for column in engine.columns(name)]
        self._drives = [self._column(mechanism.joints[drive].name) for drive in self._independent]
        self._engine.turn_rows = tuple(self._turn_row(name) for name in held if not engine.columns(name))

    def _column(self, joint: str) -> int:
        column = self._engine.column(joint)
        if column is None:
            raise PkmError(f'{self._engine.name} has no joint {joint!r}')
        return column

    def _turn_row(self, part: str) -> TurnRow:
        """What holds one of the three turns of a ball: the axes of the two others stay perpendicular."""
        ball, _, axis = part.rpartition('_')
        frames = self._mechanism.balls[ball]
        first, second = {'x': (1, 2), 'y': (0, 2), 'z': (0, 1)}[axis]
        return TurnRow(
            frames.first, frames.first_frame.rotation[:, first], frames.second, frames.second_frame.rotation[:, second]
        )

    def figures(self, samples: int = 20, seed: int = 0) -> Figures:
        """Compare at home and at random configurations, for random rates and accelerations of the drives."""
        random, drives = np.random.default_rng(seed), list(self._mechanism.drives)
        configurations = [self._loops.home, *random_configurations(self._loops, samples - 1, seed + 10, _SIZE)]
        own_gap, gap, position, rotation, joints = 0.0, 0.0, 0.0, 0.0, 0.0
        needed, wanted = [], []
        for configuration in configurations:
            # from home by small steps, as the machine would go
            home = self._loops.home.positions[drives]
            way = home + np.linspace(0.0, 1.0, _WAY)[:, None] * (configuration.positions[drives] - home)
            result = forward_kinematics_sequence(self._machine, way)
            found = np.ravel(result.joint_positions[-1])
            pose = result.position[-1], result.rotation_base_platform[-1]
            source = closed(self._engine, self._start(configuration), self._moving, self._drives)
            gap = max(gap, source.gap)
            own_gap = max(own_gap, float(np.abs(self._loops.gaps(self._loops.configuration(found, *pose))).max()))
            place = self._platform(source)
            position = max(position, float(np.linalg.norm(place.position - pose[0])))
            turn = Rotation.from_matrix(place.rotation.T @ pose[1]).as_rotvec()
            rotation = max(rotation, float(np.linalg.norm(turn)))
            joints = max(joints, self._joint_difference(source, found))
            rates, accelerations = random.uniform(-1.0, 1.0, (2, len(self._independent))) * [[1.0], [3.0]]
            wanted.append(drive_forces(self._engine, source, self._moving, self._drives, rates, accelerations))
            needed.append(self._own_forces(source, configuration.positions[drives], rates, accelerations))
        force = float(np.abs(np.array(needed) - wanted).max() / np.abs(wanted).max())
        return Figures(self._engine.name, len(configurations), own_gap, gap, position, rotation, joints, force)

    def _start(self, wanted: Configuration) -> Array:
        """Configuration of the engine in which the file's bodies are where the mechanism has them."""
        own = self._loops.places(wanted)
        places = {name: own[body] @ frame for name, (body, frame) in self._mechanism.bodies.items()}
        configuration = self._engine.start
        for name, value in self._mechanism.held.items():
            if self._engine.column(name) is not None:
                configuration = self._engine.with_position(configuration, name, value)
        for link in self._links:
            if link.name not in self._mechanism.held and {link.first, link.second} <= set(places):
                first = places[link.first] @ link.first_frame
                motion = (places[link.second] @ link.second_frame).seen_from(first)
                configuration = self._engine.with_motion(configuration, link, motion)
        return configuration

    def _platform(self, source: SourceMotion) -> Placement:
        body, frame = self._selection.base
        base = self._engine.place(source.configuration, body) @ frame
        return (self._engine.place(source.configuration, self._selection.platform) @ self._selection.frame).seen_from(
            base
        )

    def _joint_difference(self, source: SourceMotion, found: Array) -> float:
        largest = 0.0
        for joint, value in zip(self._mechanism.joints, found.tolist(), strict=True):
            if self._engine.column(joint.name) is not None and joint.name in self._moving_joints:
                difference = self._engine.position(source.configuration, joint.name) - value
                if joint.kind == 'revolute':
                    difference = (difference + np.pi) % (2.0 * np.pi) - np.pi
                largest = max(largest, abs(difference))
        return largest

    def _own_forces(self, source: SourceMotion, positions: Array, rates: Array, accelerations: Array) -> Array:
        """Forces of the machine's drives for rates and accelerations of the independent ones, on these."""
        columns = [self._column(self._mechanism.joints[drive].name) for drive in self._mechanism.drives]
        share = source.per_drive[columns]
        bias = np.zeros(len(columns))
        if len(columns) > len(self._independent):
            raise PkmError('forces of redundant drives are compared elsewhere')
        motion = motion_from_drives(
            self._machine, np.zeros(1), positions[None], (share @ rates)[None], (share @ accelerations + bias)[None]
        )
        forces = inverse_dynamics(self._machine, motion)[0]
        own: Array = share.T @ forces
        return own
