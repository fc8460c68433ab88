"""Settings classes for node parameters, YAML files and Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import yaml

from pkm_description.bounded_yaml import bounded_file
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


def section(kind: type[Settings]) -> Any:
    """Declare a section of a :class:`Settings` dataclass: settings of their own, with names ``section.setting``."""
    return field(default_factory=kind, metadata={'section': kind})


@dataclass(frozen=True)
class Settings:
    """Base of a frozen dataclass of :func:`setting` and :func:`section`; checks types, ranges and choices.

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

        Parameters
        ----------
        values : settings of a section by names with a dot, or as a mapping of their own

        Raises
        ------
        ConfigurationError
            For an unknown name or a value that is not allowed.
        """
        known, given = settings_of(cls), _flat(values)
        for name, value in given.items():
            if any(own.startswith(f'{name}.') for own in known):
                raise ConfigurationError(f'{name} = {value!r}: is a section, needs names and values')
            if name not in known:
                raise ConfigurationError(f'unknown setting {name!r}; there are {", ".join(sorted(known))}')
        return _build(cls, {name: _plain(known[name], value) for name, value in given.items()})

    def mapping(self) -> dict[str, Any]:
        """Names and values as plain data, a section as a mapping of its own; :meth:`from_mapping` takes it."""
        found: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            listed = list(value) if isinstance(value, tuple) else value
            found[entry.name] = value.mapping() if isinstance(value, Settings) else listed
        return found

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
        left_out = {name for other in others for name in settings_of(other)} | {_OF_EVERY_NODE}
        try:
            content = bounded_file(Path(path))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigurationError(f'{path}: cannot be read: {error}') from None
        values = of_node({} if content is None else content, node)
        if not isinstance(values, dict):
            raise ConfigurationError(f'{path}: expected names and values of settings, found {content!r:.60}')
        known, given = settings_of(cls), _flat(values)
        try:
            read = cls.from_mapping({name: given[name] for name in given if name in known or name not in left_out})
        except ConfigurationError as error:
            raise ConfigurationError(f'{path}: {error}') from None
        object.__setattr__(read, '_path', path)  # not a setting: two files may say the same
        return read

    def refusal(self, name: str, reason: str) -> ConfigurationError:
        """Error for a setting that is not allowed here, for a machine for example; names the file that it is from."""
        path = getattr(self, '_path', None)
        return ConfigurationError(f'{f"{path}: " if path else ""}{name} = {getattr(self, name)!r}: {reason}')


def settings_of(kind: type[Settings]) -> dict[str, Field[Any]]:
    """All settings of a class by name, those of sections as ``section.setting``."""
    found: dict[str, Field[Any]] = {}
    for entry in fields(kind):
        inner = entry.metadata.get('section')
        if inner is None:
            found[entry.name] = entry
        else:
            found |= {f'{entry.name}.{name}': own for name, own in settings_of(inner).items()}
    return found


def _build(kind: type[AnySettings], values: Mapping[str, Any]) -> AnySettings:
    """Settings from names, those of sections with a dot, and values."""
    own = {name: value for name, value in values.items() if '.' not in name}
    for entry in fields(kind):
        inner = entry.metadata.get('section')
        if inner is None:
            continue
        start = f'{entry.name}.'
        try:
            own[entry.name] = _build(
                inner, {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}
            )
        except ConfigurationError as error:  # begins with the name of a setting
            raise ConfigurationError(f'{start}{error}') from None
    return kind(**own)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Names with dots and values, of mappings in mappings."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= {f'{name}.{inner}': own for inner, own in _flat(value).items()}
        else:
            found[name] = value
    return found


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


def of_node(content: Any, node: str) -> Any:
    """Names and values for a node in the content of a YAML file; the content itself if it is no parameter file."""
    sections = list(_sections(content, ''))
    if not sections:
        return content
    mine = [values for name, values in sections if name in (node, '*', '**')] or [values for _, values in sections]
    if not all(isinstance(values, dict) for values in mine):
        return None
    return {name: value for values in mine for name, value in _flat(values).items()}


def _sections(content: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Node names without namespace, and their ``ros__parameters``."""
    if isinstance(content, dict):
        if 'ros__parameters' in content:
            yield name, content['ros__parameters']
        for key, value in content.items():
            if key != 'ros__parameters':
                yield from _sections(value, str(key).rpartition('/')[2])


def _check(entry: Field[Any], value: Any) -> None:
    kind = entry.metadata.get('section')
    if kind is not None:
        if not isinstance(value, kind):
            raise ConfigurationError(f'{entry.name} = {value!r}: needs {kind.__name__}')
        return
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
