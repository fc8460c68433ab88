"""Replace single values in a YAML text and keep everything else, comments included."""

from __future__ import annotations

import yaml


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
    return None


def _end(node: yaml.Node) -> int:
    """Where a value ends; PyYAML ends block collections only before what follows them."""
    end: int = node.end_mark.index
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return end
