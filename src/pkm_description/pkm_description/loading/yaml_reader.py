"""Read values from a YAML file with errors that name file, key and value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.arrays import Array
from pkm_description.bounded_yaml import QUICK_LOADER, UnreadableYamlError, bounded_text, bounded_yaml, is_shallow
from pkm_description.errors import MachineFileError, nearest_of
from pkm_description.machine import Closure, Joint, Leg, Machine, RigidBody

MILLIMETRES = 'looks like millimetres; give metres'
IDENTIFIER = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
IDENTIFIER_RULE = 'use letters, digits and _, and begin with a letter'


class _UniqueKeys(yaml.constructor.SafeConstructor):
    """Refuses a key that stands twice in a mapping (YAML would keep the last one silently)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == 'tag:yaml.org,2002:merge':
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, 'a key must be a single word', key_node.start_mark
                )
            key = self.construct_object(key_node, deep=deep)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'key {key!r} stands twice in the same mapping', key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Loader(_UniqueKeys, yaml.SafeLoader):
    """In Python; its errors show the place."""


class _FastLoader(_UniqueKeys, QUICK_LOADER):
    """Every start of a program gains from it."""


def _parsed(text: str) -> Any:
    if is_shallow(text):
        with suppress(yaml.YAMLError):
            return bounded_yaml(text, _FastLoader)
    return bounded_yaml(text, _Loader)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises
    ------
    MachineFileError
        No such file, not YAML, a key twice, or not a mapping.
    """
    try:
        content = _parsed(bounded_text(path))
    except OSError as error:
        raise _whole_file_error(path, None, f'cannot be read: {error.strerror}') from None
    except UnreadableYamlError as error:
        raise _whole_file_error(path, None, str(error)) from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a date that does not exist
        raise _whole_file_error(path, None, f'is not valid YAML: {error}') from None
    if content is None:
        raise _whole_file_error(path, None, 'is empty; copy the file of a machine that is like yours')
    if not isinstance(content, dict):
        raise _whole_file_error(path, content, 'must be a mapping of keys to values')
    return content


def _whole_file_error(path: Path, content: object, reason: str) -> MachineFileError:
    return MachineFileError(path, MachineFileError.WHOLE_FILE, content, reason)


class Named(dict[str, Any]):
    """Entries of a list by their names, in the order of the list."""


def by_name(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Content of a machine file whose lists of legs, joints and closures are mappings by ``name``.

    The file has lists, because the order of legs and joints counts: whoever rewrites a YAML file may sort the keys of
    mappings.

    Raises
    ------
    MachineFileError
        A mapping in place of a list, as files had it once, or an entry without a name of its own.
    """
    return _each_list(content, lambda place, value: value if isinstance(value, Named) else _named(path, place, value))


def as_lists(content: dict[str, Any]) -> dict[str, Any]:
    """Content of a machine file with legs, joints and closures as lists: the inverse of :func:`by_name`."""

    def listed(_place: str, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return [{'name': name, **entry} if isinstance(entry, dict) else entry for name, entry in value.items()]

    return _each_list(content, listed)


def _each_list(content: dict[str, Any], change: Callable[[str, object], object]) -> dict[str, Any]:
    changed = {key: change(key, value) if key in ('legs', 'leg_chain') else value for key, value in content.items()}
    if isinstance(content.get('leg_chains'), dict):
        changed['leg_chains'] = {
            name: {
                key: change(f'leg_chains.{name}.{key}', value) if key in ('joints', 'closures') else value
                for key, value in chain.items()
            }
            if isinstance(chain, dict)
            else chain
            for name, chain in content['leg_chains'].items()
        }
    return changed


def _named(path: Path, place: str, value: object) -> Named:
    if isinstance(value, dict) and value:
        first = next(iter(value))
        raise MachineFileError(
            path, place, first,
            f"must be a list: write '- name: {first}' in place of '{first}:'; the program convert_machine does it",
        )  # fmt: skip
    if not isinstance(value, list):
        raise MachineFileError(path, place, value, 'must be a list of entries, each with a name')
    named = Named()
    for index, entry in enumerate(value):
        name = entry.get('name') if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise MachineFileError(path, f'{place}[{index}].name', name, f'becomes part of a name; {IDENTIFIER_RULE}')
        if name in named:
            raise MachineFileError(path, f'{place}[{index}].name', name, 'stands here twice; names must differ')
        named[name] = {key: item for key, item in entry.items() if key != 'name'}
    return named


def dotted_keys(values: dict[str, Any], place: str, all_levels: bool = False) -> Iterator[str]:
    """Dotted keys of all values below a place; those of mappings, too, if ``all_levels``."""
    for key, value in values.items():
        where = f'{place}.{key}' if place else str(key)
        if all_levels or not isinstance(value, dict):
            yield where
        if isinstance(value, dict):
            yield from dotted_keys(value, where, all_levels)


class Section:
    """A mapping of the file, with its dotted place.

    Parameters
    ----------
    path : file
    place : dotted key of this mapping, empty for the whole file
    content : the mapping
    """

    def __init__(self, path: Path, place: str, content: object) -> None:
        self.path, self.place = path, place
        if not isinstance(content, dict):
            raise self.error('', content, 'must be a mapping of keys to values')
        self.content: dict[str, Any] = content

    def error(self, key: str, value: object, reason: str) -> MachineFileError:
        """Build the error for ``key`` below this place."""
        return MachineFileError(self.path, '.'.join(part for part in (self.place, key) if part), value, reason)

    def expect_keys(self, required: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Refuse missing and unknown keys; suggests the nearest known one."""
        required, known = list(required), [*required, *optional]
        for key in self.content:
            if key not in known:
                hint = nearest_of(key, known, f'known here: {", ".join(known)}')
                raise self.error(str(key), self.content[key], f'unknown key; {hint}')
        for key in required:
            if key not in self.content:
                raise self.error(key, None, f'is missing; add it (needed here: {", ".join(required)})')

    def section(self, key: str) -> Section:
        """Mapping below ``key``."""
        return Section(self.path, f'{self.place}.{key}' if self.place else key, self.content[key])

    def text(self, key: str, default: str | None = None) -> str:
        """Text at ``key``, not empty."""
        if key not in self.content and default is not None:
            return default
        value = self.content[key]
        if not isinstance(value, str) or not value:
            raise self.error(key, value, 'must be a text')
        return value

    def identifier(self, key: str) -> str:
        """Text at ``key`` that can be part of link, joint and topic names."""
        value = self.text(key)
        if not IDENTIFIER.fullmatch(value):
            raise self.error(key, value, f'becomes part of a name; {IDENTIFIER_RULE}')
        return value

    def named_sections(self) -> dict[str, Section]:
        """All sections of this mapping, whose keys (names of a list's entries) become parts of link and joint names."""
        for key, value in self.content.items():
            if not isinstance(key, str) or not IDENTIFIER.fullmatch(key):
                raise self.error(str(key), value, f'the key becomes part of a name; {IDENTIFIER_RULE}')
        return {key: self.section(key) for key in self.content}

    def flag(self, key: str, default: bool) -> bool:
        """Truth value at ``key``."""
        value = self.content.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, value, 'must be true or false')
        return value

    def number(
        self, key: str, default: float | None = None, above: float | None = None, least: float | None = None
    ) -> float:
        """Finite number at ``key``; ``above`` excludes its bound, ``least`` includes it."""
        if key not in self.content and default is not None:
            return default
        value = self.content[key]
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                pass
            else:
                raise self.error(
                    key, value, 'is a text to YAML; write a decimal point and a signed exponent, as 1.0e-5'
                )
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, value, 'must be a number')
        try:
            number = float(value)
        except OverflowError:  # YAML integers have no bound
            number = np.inf
        if not np.isfinite(number):
            raise self.error(key, value, 'must be finite')
        if above is not None and not number > above:
            raise self.error(key, value, f'must be greater than {above:g}')
        if least is not None and not number >= least:
            raise self.error(key, value, f'must be at least {least:g}')
        return number

    def choice(self, key: str, allowed: Iterable[str], default: str | None = None) -> str:
        """Text at ``key`` that is one of ``allowed``."""
        if key not in self.content and default is not None:
            return default
        value, known = self.content[key], list(allowed)
        if value not in known:
            hint = nearest_of(value, known, 'choose one')
            raise self.error(key, value, f'must be one of {", ".join(known)}; {hint}')
        return str(value)

    def entries(self, key: str, length: int, words: str) -> Section:
        """Entries ``key[0]``, ``key[1]``, ... of a list at ``key``; ``words`` say what it must be a list of."""
        value = self.content[key]
        if not isinstance(value, list) or len(value) != length:
            raise self.error(key, value, f'must be a list of {words}')
        return Section(self.path, self.place, {f'{key}[{i}]': item for i, item in enumerate(value)})

    def vector(self, key: str, length: int, least: float | None = None) -> Array:
        """List of ``length`` finite numbers at ``key``."""
        parts = self.entries(key, length, f'{length} numbers')
        return np.array([parts.number(part, least=least) for part in parts.content])

    def rows(self, key: str, lengths: Sequence[int]) -> Array:
        """Matrix (n, m) at ``key``: a list of n lists of finite numbers, as many as ``lengths`` says; others are 0."""
        parts = self.entries(key, len(lengths), f'{len(lengths)} rows')
        found = np.zeros((len(lengths), max(lengths, default=0)))
        for row, part, length in zip(found, parts.content, lengths, strict=True):
            row[:length] = parts.vector(part, length)
        return found

    def per_leg(
        self,
        key: str,
        count: int,
        default: float | None = None,
        above: float | None = None,
        least: float | None = None,
        each: str = 'leg',
    ) -> Array:
        """One number for all legs (drives, ...), or a list with one for each; (count,)."""
        if key not in self.content and default is not None:
            return np.full(count, default)
        value = self.content[key]
        if not isinstance(value, list):
            return np.full(count, self.number(key, above=above, least=least))
        if len(value) != count:
            raise self.error(
                key, value, f'has {len(value)} entries for {count} {each}s; give one number, or one per {each}'
            )
        parts = self.entries(key, count, f'{count} numbers')
        return np.array([parts.number(part, above=above, least=least) for part in parts.content])

    def vector_per_leg(self, key: str, length: int, count: int) -> Array:
        """Vectors (count, length); each component is one number for all legs, or a list with one per leg."""
        parts = self.entries(key, length, f'{length} numbers, or of {length} lists of {count}')
        return np.column_stack([parts.per_leg(part, count) for part in parts.content])


def bodies_with_keys(machine: Machine) -> list[tuple[str, RigidBody]]:
    """All bodies with their dotted keys."""
    legs = [(f'{joint_key(machine, joint)}.body', joint.body) for leg in machine.legs for joint in leg.joints]
    return [('platform.body', machine.platform), *legs] if machine.has_platform else legs


def joint_key(machine: Machine, joint: Joint) -> str:
    """Dotted key of a joint, or of what it is part of; its name is leg name, underscore, last part of the key."""
    leg = next(leg for leg in machine.legs if any(joint is own for own in leg.joints))
    key = (joint.part_of or joint.name).removeprefix(leg.name + '_')
    return f'leg_chains.{leg.chain}.joints.{key}' if leg.chain else f'leg_chain.{key}'


def closures_with_legs(machine: Machine) -> list[tuple[Leg, Closure]]:
    """All closures in order, each with its leg."""
    return [(leg, closure) for leg in machine.legs for closure in leg.closures]


def closure_key(leg: Leg, closure: Closure) -> str:
    """Dotted key of a closure; in files without closures, the one of the closing point."""
    name = closure.name.removeprefix(f'{leg.name}_')
    return f'leg_chains.{leg.chain}.closures.{name}' if leg.chain else 'leg_tip'


def machine_error(machine: Machine, key: str, value: object, reason: str) -> MachineFileError:
    """Build the error about a dotted key of the machine's file."""
    shown = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
    return MachineFileError(machine.path, key, shown, reason)
