"""Text of a new machine file: round numbers, or solved ones, filled into the template."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, degrees, log10
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_yaml
from pkm_description.dynamics import gravity_forces
from pkm_description.export.rest import lightest_inertia
from pkm_description.kinematics.closed_legs import admissible_home
from pkm_description.loading.load import machine_of_content, unchecked_machine
from pkm_description.machine import Machine
from pkm_description.skeleton.kinds import KINDS, Sketch, sizes_of, sketch_of, two_digits

#: least force [N] or torque [N m] of a drive, and how many times the force that holds home it gets
_LEAST_EFFORT, _RESERVE = {'prismatic': 100.0, 'revolute': 20.0}, 5.0

#: 1/s, bandwidth of the servo's damping in the lightest direction, and of its stiffness over the damping
_SERVO_BANDWIDTH, _STIFFNESS_OVER_DAMPING = 200.0, 25.0


@dataclass(frozen=True)
class Drives:
    """What the masses determine: force [N or N m], and the servo's stiffness and damping (per m or rad)."""

    effort: float = 1e5
    stiffness: float = 1e4
    damping: float = 1e3


def skeleton_text(kind: str, name: str | None = None, sizes: Mapping[str, float] | None = None) -> str:
    """Write the machine file of a new machine.

    All numbers are round, or solved: the joint positions at home close the legs. The text is that of a file that loads.

    Parameters
    ----------
    kind : one of :data:`KINDS`
    name : of the machine; default ``my_`` and the kind
    sizes : lengths in m by the names in :class:`Sizes`; the others are in proportion to the base radius

    Raises
    ------
    SkeletonError
        An unknown kind, or lengths that do not fit together.
    MachineFileError
        A name that cannot be part of link names, or a machine that cannot stand at home.
    ConvergenceError
        The legs do not close at home.
    """
    name = name or f'my_{kind}'
    sketch = sketch_of(kind, sizes_of(kind, sizes or {}))
    path = Path(f'{name}.yaml')
    rough = unchecked_machine(path, bounded_yaml(_file_text(kind, name, sketch, Drives())))
    home = admissible_home(rough)
    machine = dataclasses.replace(rough, home=home.pose)
    columns = home.joint_positions.reshape(machine.leg_count, -1).T
    joints = tuple(dataclasses.replace(joint, home=own) for joint, own in zip(sketch.joints, columns, strict=True))
    sketch = dataclasses.replace(sketch, joints=joints, home=home.pose.position)
    text = _file_text(kind, name, sketch, _drives(machine))
    machine_of_content(path, bounded_yaml(text))
    return text


def _file_text(kind: str, name: str, sketch: Sketch, drives: Drives) -> str:
    environment = Environment(
        loader=PackageLoader('pkm_description.skeleton'), undefined=StrictUndefined, keep_trailing_newline=True,
        trim_blocks=True,
    )  # fmt: skip
    environment.filters.update(number=number, vector=vector, home=home_text, degrees=degrees)
    title = f'{kind[0]}-{kind[1:].upper()}'
    return environment.get_template('machine.yaml.j2').render(
        name=name, title=title, what=KINDS[kind], sketch=sketch, drives=drives
    )


def number(value: float) -> str:
    """Number that YAML reads as one: with a decimal point, also before an exponent."""
    text = f'{value + 0.0:.15g}'
    mantissa, _, exponent = text.partition('e')
    mantissa += '' if '.' in mantissa else '.0'
    return f'{mantissa}e{exponent}' if exponent else mantissa


def vector(values: Iterable[float]) -> str:
    """List of numbers; what is only rounding is zero."""
    flat = [float(value) for value in values]
    return f'[{", ".join(number(0.0 if abs(value) < 1e-15 else value) for value in flat)}]'


def home_text(positions: Array) -> str:
    """Joint positions (L,) at home: one number where all legs have the same, else a list.

    Six digits: they say which branch of the legs is meant, and where iterations begin.
    """
    rounded = np.round(positions, 6)
    return number(rounded[0]) if np.all(rounded == rounded[0]) else vector(rounded)


def _drives(machine: Machine) -> Drives:
    """Drive force and servo gains for the machine's masses at home."""
    pose = machine.home.position[None], machine.home.rotation_base_platform[None]
    holding = float(np.abs(gravity_forces(machine, *pose)).max())
    kind = machine.actuated_joints[0].kind
    effort = _round_up(max(_LEAST_EFFORT[kind], _RESERVE * holding))
    damping = two_digits(_SERVO_BANDWIDTH * lightest_inertia(machine))
    return Drives(effort, two_digits(_STIFFNESS_OVER_DAMPING * damping), damping)


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, ... from a value on."""
    decade = 10.0 ** ceil(log10(value))
    return next(step * decade for step in (0.1, 0.2, 0.5, 1.0) if step * decade >= value * (1.0 - 1e-9))
