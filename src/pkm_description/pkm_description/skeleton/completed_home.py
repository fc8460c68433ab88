"""Complete a machine file: a home pose that the legs admit, inertia from a CAD program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_yaml
from pkm_description.kinematics.closed_legs import AdmissibleHome, admissible_home
from pkm_description.kinematics.rotation_formats import rpy_from_rotation
from pkm_description.loading.load import machine_of_content, unchecked_machine
from pkm_description.loading.yaml_reader import joint_key, read_yaml
from pkm_description.machine import Machine, Pose
from pkm_description.machine.parts import INERTIA_ENTRIES, inertia_tensor, unit_inertia
from pkm_description.skeleton.text import home_text, vector


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
    angles = rpy_from_rotation(home.pose.rotation_base_platform)
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
