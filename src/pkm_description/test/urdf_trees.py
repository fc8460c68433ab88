"""URDF texts of xacro; and any as plain trees: what is the same machine is equal, however it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import xacro
from scipy.spatial.transform import Rotation

XACRO_FILE = Path(__file__).parents[1] / 'urdf' / 'pkm.urdf.xacro'
#: digits to which numbers are compared
_DIGITS = 9


def xacro_text(**arguments: str | Path) -> str:
    """URDF that ``pkm.urdf.xacro`` makes of its arguments."""
    mappings = {name: str(value) for name, value in arguments.items()}
    text: str = xacro.process_file(str(XACRO_FILE), mappings=mappings).toxml()
    return text


def urdf_tree(text: str) -> dict[str, Any]:
    """``tag name`` -> content; rotations as matrices, numbers rounded, children of one tag in their order."""
    robot = ElementTree.fromstring(text)
    tree: dict[str, Any] = {'robot': robot.get('name')}
    for child in robot:
        key = f'{child.tag} {child.get("name") or child[0].get("name")}'
        assert key not in tree
        tree[key] = _content(child)
    return tree


def _content(element: ElementTree.Element) -> dict[str, Any]:
    content: dict[str, Any] = {key: _value(key, text) for key, text in element.attrib.items()}
    if element.text and element.text.strip():
        text = element.text.strip()
        content['text'] = _pose(text) if element.tag == 'pose' else _value('', text)
    if element.tag == 'visual' and element.find('origin') is None:
        content['origin'] = [{'xyz': _numbers([0.0] * 3), 'rpy': _rotation([0.0] * 3)}]
    for child in element:
        content.setdefault(child.tag, []).append(_content(child))
    return content


def _value(key: str, text: str) -> Any:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return text
    return _rotation(numbers) if key == 'rpy' else _numbers(numbers)


def _pose(text: str) -> Any:
    numbers = [float(word) for word in text.split()]
    return _numbers(numbers[:3]), _rotation(numbers[3:])


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple((np.round(values, _DIGITS) + 0.0).ravel().tolist())


def _rotation(rpy: list[float]) -> tuple[float, ...]:
    return _numbers(Rotation.from_euler('xyz', rpy).as_matrix())
