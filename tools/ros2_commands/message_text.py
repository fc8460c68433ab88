"""Messages as YAML or lines of numbers, and back."""

from __future__ import annotations

import array
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from ros2_commands.errors import CommandError

#: words in the place of a time stamp or header: the time of publication
NOW = ('now', 'auto')


@dataclass(frozen=True)
class Style:
    """What is shown of arrays and strings; ``length``: of what is longer, the rest is left out (None: nothing)."""

    length: int | None = 128
    arrays: bool = True
    strings: bool = True


def type_class(name: str, kind: str) -> Any:
    """Class of a type such as ``std_msgs/msg/String`` or ``std_msgs/String``; ``kind`` is ``msg`` or ``srv``."""
    parts = name.split('/')
    if len(parts) == 2:
        parts.insert(1, kind)
    if len(parts) != 3 or parts[1] != kind:
        raise CommandError(f"'{name}' is no type; expected such as package/{kind}/Name")
    try:
        return getattr(importlib.import_module(f'{parts[0]}.{kind}'), parts[2])
    except ModuleNotFoundError:
        raise CommandError(f"type '{name}': there is no package {parts[0]} with {kind} types here") from None
    except AttributeError:
        module = importlib.import_module(f'{parts[0]}.{kind}')
        known = [word for word in dir(module) if word[0].isupper() and '_' not in word]
        raise CommandError(f"type '{name}': {parts[0]} has {', '.join(known)}") from None


def plain(value: Any, style: Style) -> Any:
    """Value of a message field as what YAML knows."""
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: _field(getattr(value, name), kind, style) for name, kind in _fields(value).items()}
    if isinstance(value, bytes):
        value = list(value)
    if isinstance(value, array.array | np.ndarray | list | tuple):
        items = value[: style.length] if style.length is not None else value
        shown = [plain(item, style) for item in items]
        return [*shown, '...'] if len(items) < len(value) else shown
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str) and style.length is not None and len(value) > style.length:
        return value[: style.length] + '...'
    return value


def _fields(message: Any) -> dict[str, str]:
    fields: dict[str, str] = message.get_fields_and_field_types()
    return fields


def _field(value: Any, kind: str, style: Style) -> Any:
    if re.search(r'sequence<|\[\d+\]$', kind) and not style.arrays:
        element = re.sub(r'^sequence<([^,>]*).*|\[\d+\]$', r'\1', kind)
        name = 'sequence' if kind.startswith('sequence') else 'array'
        return f'<{name} type: {element}, length: {len(value)}>'
    if kind.startswith('string') and not style.strings:
        return f'<string length: <{len(value)}>>'
    return plain(value, style)


def yaml_text(value: Any, style: Style, flow: bool = False) -> str:
    """Block of YAML with the message's order."""
    content = plain(value, style)
    if not isinstance(content, dict | list):
        return f'{content}\n'
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**9, default_flow_style=flow)
    return text


def csv_line(value: Any, style: Style) -> str:
    """All numbers and texts, with commas between them."""
    return ','.join(str(item) for item in _leaves(plain(value, style)))


def _leaves(content: Any) -> Iterator[Any]:
    if isinstance(content, dict | list):
        for item in content.values() if isinstance(content, dict) else content:
            yield from _leaves(item)
    else:
        yield content


def sub_field(message: Any, path: str) -> Any:
    """Field of a field, such as ``pose.pose.position``."""
    value = message
    for name in path.split('.'):
        if not hasattr(value, 'get_fields_and_field_types') or name not in _fields(value):
            known = ', '.join(_fields(value)) if hasattr(value, 'get_fields_and_field_types') else 'no fields'
            raise CommandError(f"Invalid field '{path}': {type(value).__name__} has {known}")
        value = getattr(value, name)
    return value


def filled(kind: Any, text: str) -> tuple[Any, list[Any]]:
    """Message from YAML, and its time stamps that are to be the time of publication.

    Raises
    ------
    CommandError
        Not YAML, an unknown field, or a value that does not fit.
    """
    try:
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise CommandError(f'values: {" ".join(str(error).split())}') from None
    stamps: list[Any] = []
    message = kind()
    _fill(message, values, stamps, '')
    return message, stamps


def _fill(message: Any, values: Any, stamps: list[Any], path: str) -> None:
    if not isinstance(values, dict):
        raise CommandError(f"values: {path.strip('.') or 'all'} = {values!r}: expected 'name: value, ...' in braces")
    known = _fields(message)
    for name, value in values.items():
        place = f'{path}{name}'
        if name not in known:
            raise CommandError(f"values: no field '{place}'; {type(message).__name__} has {', '.join(known) or 'none'}")
        current = getattr(message, name)
        if known[name] == 'std_msgs/Header' and value in NOW:
            stamps.append(current.stamp)
        elif known[name] == 'builtin_interfaces/Time' and value in NOW:
            stamps.append(current)
        elif hasattr(current, 'get_fields_and_field_types'):
            _fill(current, value, stamps, f'{place}.')
        else:
            try:
                setattr(message, name, _converted(known[name], value, current, stamps, place))
            except (AssertionError, TypeError, ValueError, OverflowError) as error:
                reason = ' '.join(str(error).split()) or f'not of type {known[name]}'
                raise CommandError(f'values: {place} = {value!r}: {reason}') from None


def _converted(kind: str, value: Any, current: Any, stamps: list[Any], place: str) -> Any:
    """Value in the type of a field that is no message."""
    element = re.sub(r'^sequence<([^,>]*).*|\[\d+\]$', r'\1', kind)
    if element != kind:
        if not isinstance(value, list):
            raise TypeError('expected a list in brackets')
        if '/' in element:
            items = []
            for number, item in enumerate(value):
                package, name = element.split('/')
                one = type_class(f'{package}/msg/{name}', 'msg')()
                _fill(one, item, stamps, f'{place}[{number}].')
                items.append(one)
            return items
        items = [_converted(element, item, None, stamps, place) for item in value]
        return np.asarray(items, dtype=current.dtype) if isinstance(current, np.ndarray) else items
    if kind.startswith(('string', 'wstring')):
        return value if isinstance(value, str) else str(value)
    if kind == 'boolean':
        if not isinstance(value, bool):
            raise TypeError('expected true or false')
        return value
    if isinstance(value, bool):
        raise TypeError('expected a number')
    if kind in ('double', 'float'):
        return float(value)
    if not isinstance(value, int):
        raise TypeError('expected a whole number')
    return bytes([value]) if kind == 'octet' else value
