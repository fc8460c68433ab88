"""YAML of users' files: what would fill the memory or never end is refused before it is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import yaml

#: characters; the largest files of the suite have some hundred thousand
_LONGEST = 4_000_000
#: values that a file stands for, those of aliases counted wherever they are named
_MOST_VALUES = 1_000_000
#: libyaml knows no limit and crashes the process where brackets, dashes or indentation go thousands deep
_DEEPEST, _MOST_DASHES = 100, 50
#: brackets that Python's parser cannot nest, and characters that it reads in a moment
_HOPELESS, _LONGEST_SLOW = 1000, 300_000
_DASHES = re.compile(rf'^\s*(?:[-?:]\s+){{{_MOST_DASHES},}}', re.MULTILINE)
_INDENTED = re.compile(rf'^ {{{4 * _DEEPEST},}}', re.MULTILINE)
_TOO_DEEP = 'has too many brackets or mappings inside each other; is a closing bracket missing?'
_ALIAS = re.compile(r'(?:^|[\s\[{,:])\*\S', re.MULTILINE)


#: by libyaml, ten times as fast, where PyYAML has it; for shallow texts
QUICK_LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class UnreadableYamlError(yaml.YAMLError):
    """A text that is not read, whether it is YAML or not."""


def bounded_yaml(text: str, loader: Any = None) -> Any:
    """Content of a YAML text.

    Parameters
    ----------
    loader : class of PyYAML by which it is read; default: one for plain data

    Raises
    ------
    yaml.YAMLError
        It is no YAML; an :class:`UnreadableYamlError` where it is too long or too deeply nested, stands for too many
        values, or contains itself.
    """
    if len(text) > _LONGEST:
        raise UnreadableYamlError(f'has more than {_LONGEST} characters, at most so many are read')
    quick = QUICK_LOADER if is_shallow(text) else yaml.SafeLoader
    if _bracket_depth(text) > _HOPELESS or (not is_shallow(text) and len(text) > _LONGEST_SLOW):
        raise UnreadableYamlError(_TOO_DEEP)
    try:
        if _ALIAS.search(text):
            _require_few_values(yaml.compose(text, Loader=quick))
        return yaml.load(text, Loader=loader or quick)
    except RecursionError:
        raise UnreadableYamlError(_TOO_DEEP) from None


def bounded_file(path: Path) -> Any:
    """Content of a YAML file, see :func:`bounded_yaml`; of a long one no more is read than tells that it is long.

    Raises
    ------
    OSError, UnicodeDecodeError
        It cannot be read, or is no text.
    """
    return bounded_yaml(bounded_text(path))


def bounded_text(path: Path) -> str:
    """Text of a file, cut where :func:`bounded_yaml` refuses it."""
    with path.open(encoding='utf-8') as file:
        return file.read(_LONGEST + 1)


def is_shallow(text: str) -> bool:
    """Whether a text cannot be nested so deeply that libyaml crashes the process."""
    return _bracket_depth(text) <= _DEEPEST and not _DASHES.search(text) and not _INDENTED.search(text)


def _bracket_depth(text: str) -> int:
    """Most brackets that are open at once, those in comments and strings counted, too."""
    characters = np.frombuffer(text.encode('utf-8', 'replace'), dtype=np.uint8)
    opened = np.isin(characters, np.frombuffer(b'[{', np.uint8)).astype(np.int64)
    closed = np.isin(characters, np.frombuffer(b']}', np.uint8))
    # what is closed once too often, in a comment, does not make room for deeper brackets
    depth = np.cumsum(opened - closed)
    return int((depth - np.minimum.accumulate(np.minimum(depth, 0))).max(initial=0))


def _require_few_values(root: Any) -> None:
    """Refuse what aliases make endless or too large; every node is looked at once."""
    sizes: dict[int, int] = {}
    path: set[int] = set()

    def size(node: Any) -> int:
        if isinstance(node, yaml.ScalarNode) or node is None:
            return 1
        if id(node) in path:
            raise UnreadableYamlError('contains itself by an alias')
        if id(node) not in sizes:
            path.add(id(node))
            pairs = node.value if isinstance(node, yaml.SequenceNode) else [one for pair in node.value for one in pair]
            sizes[id(node)] = 1 + sum(size(one) for one in pairs)
            path.remove(id(node))
        return sizes[id(node)]

    if size(root) > _MOST_VALUES:
        raise UnreadableYamlError(f'stands for more than {_MOST_VALUES} values, by aliases inside each other')
