"""Text of a new machine file: round or solved numbers in the template, an admissible home, inertias from CAD."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from math import ceil, degrees, floor, log10
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_yaml
from pkm_description.dynamics import gravity_forces
from pkm_description.export.rest import lightest_inertia
from pkm_description.kinematics.closed_legs import AdmissibleHome, admissible_home
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.loading.load import machine_of_content, unchecked_machine
from pkm_description.loading.yaml_reader import joint_key, read_yaml
from pkm_description.machine import Machine, Pose
from pkm_description.machine.parts import INERTIA_ENTRIES, inertia_tensor, unit_inertia
from pkm_description.skeleton.kinds import KINDS, frame_of, sizes_of

#: least force [N] or torque [N m] of a drive, and how many times the force that holds home it gets
_LEAST_EFFORT, _RESERVE = {'prismatic': 100.0, 'revolute': 20.0}, 5.0

#: rad, reach of passive joints and cranks to both sides of home
_MARGIN = 0.8

#: 1/s, bandwidth of the servo's damping in the lightest direction, and of its stiffness over the damping
_SERVO_BANDWIDTH, _STIFFNESS_OVER_DAMPING = 200.0, 25.0


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
    lengths = sizes_of(kind, sizes or {})
    frame = frame_of(kind, lengths)
    drives = {'effort': 1e5, 'stiffness': 1e4, 'damping': 1e3}  # until the masses are known
    values: dict[str, Any] = {
        'kind': kind, 'name': name, 'sizes': lengths, 'frame': frame, 'homes': {}, 'drives': drives
    }  # fmt: skip
    path = Path(f'{name}.yaml')
    rough = unchecked_machine(path, bounded_yaml(_file_text(values)))
    home = admissible_home(rough)
    columns = home.joint_positions.reshape(rough.leg_count, -1).T
    keys = [joint.name.removeprefix('leg1_') for joint in rough.legs[0].joints]
    values |= {
        'frame': dataclasses.replace(frame, home=home.pose.position),
        'homes': dict(zip(keys, columns, strict=True)),
        'drives': _drives(dataclasses.replace(rough, home=home.pose)),
    }
    text = _file_text(values)
    machine_of_content(path, bounded_yaml(text))
    return text


def _file_text(values: Mapping[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader('pkm_description.skeleton'), undefined=StrictUndefined, keep_trailing_newline=True,
        trim_blocks=True,
    )  # fmt: skip
    filters = {'number': number, 'vector': vector, 'home': home_text, 'degrees': degrees, 'around': around_text}
    environment.filters.update(filters, two_digits=two_digits)
    kind = values['kind']
    title = f'{kind[0]}-{kind[1:].upper()}'
    return environment.get_template('machine.yaml.j2').render(title=title, what=KINDS[kind], **values)


def two_digits(value: float) -> float:
    """A round number near by."""
    return float(f'{value:.2g}')


def around_text(angles: Array) -> str:
    """Round limits around angles (L,) rad, with a margin on both sides."""
    least, most = float(np.min(angles)), float(np.max(angles))
    lower, upper = floor(10.0 * (least - _MARGIN)) / 10.0, ceil(10.0 * (most + _MARGIN)) / 10.0
    return f'lower: {number(lower)}, upper: {number(upper)}'


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


def home_text(positions: ArrayLike) -> str:
    """Joint positions (L,) at home: one number where all legs have the same, else a list.

    Six digits: they say which branch of the legs is meant, and where iterations begin.
    """
    rounded = np.round(np.atleast_1d(positions), 6)
    return number(rounded[0]) if np.all(rounded == rounded[0]) else vector(rounded)


def _drives(machine: Machine) -> dict[str, float]:
    """What masses at home determine: drive force [N or N m], the servo's stiffness and damping (per m or rad)."""
    pose = machine.home.position[None], machine.home.rotation_base_platform[None]
    holding = float(np.abs(gravity_forces(machine, *pose)).max())
    kind = machine.actuated_joints[0].kind
    effort = _round_up(max(_LEAST_EFFORT[kind], _RESERVE * holding))
    damping = two_digits(_SERVO_BANDWIDTH * lightest_inertia(machine))
    return {'effort': effort, 'stiffness': two_digits(_STIFFNESS_OVER_DAMPING * damping), 'damping': damping}


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, ... from a value on."""
    decade = 10.0 ** ceil(log10(value))
    return next(step * decade for step in (0.1, 0.2, 0.5, 1.0) if step * decade >= value * (1.0 - 1e-9))


def with_admissible_home(
    path: Path, height: float | None = None, drives: Array | None = None
) -> tuple[str, AdmissibleHome]:
    """Text of a machine file with a solved home; all else, comments too, stays.

    ``platform.home`` becomes the pose next to the file's that all legs admit, ``home`` of each joint the position
    there.

    Parameters
    ----------
    path : machine file; it need not pass the checks
    height : m, wished height of the platform in place of the file's
    drives : (A,) m or rad, wanted drive positions

    Returns
    -------
    text, solved home

    Raises
    ------
    MachineFileError
        The file cannot be read, or does not load with the solved home either.
    KinematicsError
        No pose near the wished one at which all legs close.
    """
    machine = unchecked_machine(path, read_yaml(path))
    wished = machine.home
    if height is not None:
        wished = Pose(np.array([*wished.position[:2], height]), wished.rotation_base_platform)
    home = admissible_home(machine, wished, drives)
    text = path.read_text(encoding='utf-8')
    for place, value in home_values(machine, home).items():
        text = with_value(text, place, value)
    machine_of_content(path, bounded_yaml(text))
    return text, home


def home_values(machine: Machine, home: AdmissibleHome) -> dict[tuple[str, ...], str]:
    """Keys of a machine file -> text of their values."""
    angles = rpy_from_matrix(home.pose.rotation_base_platform)
    values: dict[tuple[str, ...], str] = {
        ('platform', 'home', 'xyz'): vector(home.pose.position),
        ('platform', 'home', 'rpy'): vector(angles),
    }
    for chain in dict.fromkeys(leg.chain for leg in machine.legs):
        alike = [place for place, leg in enumerate(machine.legs) if leg.chain == chain]
        positions = np.array([home.joint_positions[machine.leg_slices[place]] for place in alike])
        texts: dict[str, list[str]] = {}
        for joint, column in zip(machine.legs[alike[0]].joints, positions.T, strict=True):
            texts.setdefault(joint_key(machine, joint), []).append(home_text(column))
            # a list for what is composed of several joints
            value = texts[joint_key(machine, joint)]
            text = f'[{", ".join(value)}]' if joint.part_of else value[0]
            values[(*joint_key(machine, joint).split('.'), 'home')] = text
    return values


def with_value(text: str, place: tuple[str, ...], value: str) -> str:
    """Text with another value at a place; a last key that is missing is put before the first of its mapping.

    Parameters
    ----------
    place : keys from the top
    value : YAML text of the value on one line

    Raises
    ------
    KeyError
        A mapping on the way does not exist.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in place[:-1]:
        found = _value(node, key)
        if found is None:
            raise KeyError(f'{".".join(place)}: there is no {key!r}')
        node = found
    old = _value(node, place[-1])
    if old is not None:
        return text[: old.start_mark.index] + value + text[_end(old) :]
    assert isinstance(node, yaml.MappingNode)
    entry = f'{place[-1]}: {value}'
    first = node.value[0][0].start_mark
    separator = ', ' if node.flow_style else '\n' + ' ' * first.column
    return text[: first.index] + entry + separator + text[first.index :]


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return value
    if isinstance(node, yaml.SequenceNode):  # entries with names
        return next((entry for entry in node.value if _named(entry, key)), None)
    return None


def _named(entry: yaml.Node, name: str) -> bool:
    return isinstance(entry, yaml.MappingNode) and any(
        key.value == 'name' and value.value == name for key, value in entry.value
    )


def _end(node: yaml.Node) -> int:
    """Where a value ends; PyYAML ends block collections only before what follows them."""
    end: int = node.end_mark.index
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return end


def inertia_from_cad(
    moments: ArrayLike,
    products: ArrayLike,
    mass: float,
    about: ArrayLike = (0.0, 0.0, 0.0),
    positive_products: bool = True,
    kilogram: float = 1.0,
    metre: float = 1e3,
) -> dict[str, float]:
    """Inertia about the centre of mass [kg m^2], as it stands below ``inertia:`` in a machine file.

    Parameters
    ----------
    moments : Ixx, Iyy, Izz as printed
    products : Ixy, Ixz, Iyz as printed
    mass : as printed
    about : centre of mass (3,) as seen from the point about which moments and products are printed; zero where that is
        the centre of mass
    positive_products : True where the program prints products as ``+sum m x y`` (most do), False where it prints the
        entries of the tensor, ``-sum m x y``, as the machine file has them
    kilogram, metre : how many of the program's units of mass and length make 1 kg and 1 m: 1000 and 1000 for g and mm

    Returns
    -------
    dict
        ``ixx``, ``ixy``, ``ixz``, ``iyy``, ``iyz``, ``izz``

    Raises
    ------
    ValueError
        Not three moments, products and coordinates.
    """
    moments, products, arm = (np.asarray(values, dtype=float) for values in (moments, products, about))
    for name, values in (('moments', moments), ('products', products), ('about', arm)):
        if values.shape != (3,):
            raise ValueError(f'{name} has shape {values.shape}, expected (3,)')
    xy, xz, yz = -products if positive_products else products
    tensor = inertia_tensor([moments[0], xy, xz, moments[1], yz, moments[2]])
    # Steiner's theorem, backwards
    tensor -= mass * unit_inertia(arm)
    tensor /= kilogram * metre**2
    return {key: float(tensor[place]) for key, place in INERTIA_ENTRIES.items()}
