"""Settings classes for node parameters, YAML files and Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import yaml

from pkm_description.errors import ConfigurationError

AnySettings = TypeVar('AnySettings', bound='Settings')

#: a parameter that every ROS node has
_OF_EVERY_NODE = 'use_sim_time'


def setting(
    default: Any,
    description: str,
    low: float | None = None,
    high: float | None = None,
    choices: Iterable[str] = (),
    commas: bool = False,
) -> Any:
    """Declare one setting of a :class:`Settings` dataclass.

    Parameters
    ----------
    default : bool, int, float, str, or a list of numbers or strings; its type is the setting's, and a list of numbers
        keeps its length
    description : one line, with the unit
    low, high : smallest and largest value of a number
    choices : allowed strings (each entry of a list)
    commas : a list of strings that is one string with commas as a node parameter
    """
    metadata = {
        'description': description, 'low': low, 'high': high, 'choices': tuple(choices), 'commas': commas,
    }  # fmt: skip
    if isinstance(default, list):
        return field(default_factory=lambda: tuple(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """Base of a frozen dataclass whose fields are made by :func:`setting`; checks types, ranges and choices.

    Raises
    ------
    ConfigurationError
        Naming the setting, its value and what is allowed.
    """

    def __post_init__(self) -> None:
        for entry in fields(self):
            _check(entry, getattr(self, entry.name))

    @classmethod
    def from_mapping(cls: type[AnySettings], values: Mapping[str, Any]) -> AnySettings:
        """Build from names and values, e.g. of node parameters.

        Raises
        ------
        ConfigurationError
            For an unknown name or a value that is not allowed.
        """
        known = {entry.name: entry for entry in fields(cls)}
        for name in values:
            if name not in known:
                raise ConfigurationError(f'unknown setting {name!r}; there are {", ".join(sorted(known))}')
        return cls(**{name: _plain(known[name], value) for name, value in values.items()})

    @classmethod
    def from_file(
        cls: type[AnySettings], path: str | Path, node: str, others: tuple[type[Settings], ...] = ()
    ) -> AnySettings:
        """Read a YAML file: names and values, or a ROS parameter file.

        Parameters
        ----------
        path : file to read
        node : name of the node whose ``ros__parameters`` are wanted; those of all nodes (``/**``) count, too. A file
            that has neither gives the parameters of all its nodes.
        others : further settings of that node, which may stand in the file and are left out

        Raises
        ------
        ConfigurationError
            The file cannot be read, or has an unknown name or a value that is not allowed.
        """
        left_out = {entry.name for other in others for entry in fields(other)} | {_OF_EVERY_NODE}
        try:
            content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigurationError(f'{path}: cannot be read: {error}') from None
        values = _of_node({} if content is None else content, node)
        if not isinstance(values, dict):
            raise ConfigurationError(f'{path}: expected names and values of settings, found {content!r:.60}')
        known = {entry.name for entry in fields(cls)}
        try:
            return cls.from_mapping({name: values[name] for name in values if name in known or name not in left_out})
        except ConfigurationError as error:
            raise ConfigurationError(f'{path}: {error}') from None


def default_of(entry: Field[Any]) -> Any:
    """Return the default of a setting; a tuple where it is a list."""
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


def _plain(entry: Field[Any], value: Any) -> Any:
    """Value with its sequence as a tuple: it comes as list (YAML), array (parameter server) or string with commas."""
    if isinstance(value, str):
        if entry.metadata['commas']:
            return tuple(part.strip() for part in value.split(',') if part.strip())
        return value
    return tuple(value) if isinstance(value, Iterable) else value


def _of_node(content: Any, node: str) -> Any:
    """Names and values for a node in the content of a YAML file; the content itself if it is no parameter file."""
    sections = list(_sections(content, ''))
    if not sections:
        return content
    mine = [values for name, values in sections if name in (node, '*', '**')] or [values for _, values in sections]
    if not all(isinstance(values, dict) for values in mine):
        return None
    return {name: value for values in mine for name, value in values.items()}


def _sections(content: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Node names without namespace, and their ``ros__parameters``."""
    if isinstance(content, dict):
        if 'ros__parameters' in content:
            yield name, content['ros__parameters']
        for key, value in content.items():
            if key != 'ros__parameters':
                yield from _sections(value, str(key).rpartition('/')[2])


def _check(entry: Field[Any], value: Any) -> None:
    default = default_of(entry)
    problem = (_problem_of_list if isinstance(default, tuple) else _problem)(entry, default, value)
    if problem:
        raise ConfigurationError(f'{entry.name} = {value!r}: {problem}')


def _problem_of_list(entry: Field[Any], default: tuple[Any, ...], value: Any) -> str:
    if not isinstance(value, tuple | list):
        choices = entry.metadata['choices']
        return f'needs a list of any of {", ".join(choices)}' if choices else 'needs a list'
    sample = default[0] if default else ''
    if not isinstance(sample, str) and len(value) != len(default):
        return f'needs {len(default)} numbers'
    return next(filter(None, (_problem(entry, sample, item, f'{item!r} ') for item in value)), '')


def _problem(entry: Field[Any], default: Any, value: Any, who: str = '') -> str:
    """Say what is wrong with a value of the type of ``default``, empty if nothing is."""
    metadata = entry.metadata
    kind, is_right = _KINDS[type(default)]
    if metadata['choices'] and value not in metadata['choices']:
        return f'{who + "is not" if who else "choose"} one of {", ".join(metadata["choices"])}'
    low, high = metadata['low'], metadata['high']
    if not is_right(value) or (low is not None and not low <= value <= high):
        return f'{who}must be {kind}' + ('' if low is None else f' from {low:g} to {high:g}')
    return ''


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


#: words for the types of settings, and their checks
_KINDS: dict[type, tuple[str, Callable[[Any], bool]]] = {
    bool: ('true or false', lambda value: isinstance(value, bool)),
    int: ('a whole number', lambda value: _is_finite(value) and value == int(value)),
    float: ('a number', _is_finite),
    str: ('a text', lambda value: isinstance(value, str)),
}
