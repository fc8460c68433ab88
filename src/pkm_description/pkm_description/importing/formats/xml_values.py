"""Numbers and elements of XML files, with errors that name file, element and value."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.graph import ImportMachineError, Placement


def xml_root(path: Path) -> Element:
    """Root element of a file.

    Raises
    ------
    ImportMachineError
        It is no XML, or cannot be read.
    """
    try:
        return parsed(path.read_text(encoding='utf-8-sig'), path)
    except (OSError, UnicodeDecodeError) as error:
        raise ImportMachineError(f'{path}: cannot be read: {error}') from None


def parsed(text: str, source: Path | str) -> Element:
    """Root element of a text; ``source`` is what messages name."""
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ImportMachineError(f'{source}: is not XML: {error}') from None


def numbers(text: str | None, count: int, where: str, default: Array | None = None) -> Array:
    """Numbers of a text.

    Parameters
    ----------
    count : how many there must be
    where : file, element and attribute, for the message
    default : what stands for a missing text; None: it must not be missing

    Raises
    ------
    ImportMachineError
        Missing, not numbers, or another number of them.
    """
    if text is None:
        if default is None:
            raise ImportMachineError(f'{where} is missing')
        return default
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not np.isfinite(values).all():
        raise ImportMachineError(f'{where} = {text!r}: expected {count} number{"s" if count > 1 else ""}')
    return values


def number(text: str | None, where: str, default: float | None = None) -> float:
    """Return one number of a text; see :func:`numbers`."""
    return float(numbers(text, 1, where, None if default is None else np.array([default]))[0])


def attribute(element: Element | None, key: str) -> str | None:
    """Return the attribute of an element that may be missing itself."""
    return None if element is None else element.get(key)


def rpy_placement(position: Array, rpy: Array) -> Placement:
    """Placement of a position (3,) m and roll, pitch, yaw (3,) rad, as URDF and SDF have them."""
    return Placement(position, Rotation.from_euler('xyz', rpy).as_matrix())


def unit(axis: Array, where: str) -> Array:
    """Return an axis (3,) with length one.

    Raises
    ------
    ImportMachineError
        It has no length.
    """
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise ImportMachineError(f'{where} = {axis.tolist()}: an axis needs a direction')
    direction: Array = axis / length
    return direction
