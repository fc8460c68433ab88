"""Friction laws by name, from the mapping in a machine file."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from pkm_description.errors import FrictionLawError
from pkm_description.friction_laws import coulomb, stribeck
from pkm_description.friction_laws.law import FrictionLaw, Sign

#: by name; the modules define nothing else that is a law
_LAWS: dict[str, type[FrictionLaw]] = {
    law.law: law
    for module in (coulomb, stribeck)
    for law in vars(module).values()
    if isinstance(law, type) and issubclass(law, FrictionLaw) and law is not FrictionLaw
}
_SIGN_KEYS = ('sign', 'sign_width')


def friction_law_names() -> list[str]:
    """Names of all laws."""
    return list(_LAWS)


def friction_law_class(name: object) -> type[FrictionLaw]:
    """Class of a law, whose ``parameter_names`` say what it needs.

    Raises
    ------
    FrictionLawError
        There is no such law; suggests the nearest one.
    """
    if not isinstance(name, str) or name not in _LAWS:
        near = difflib.get_close_matches(str(name), _LAWS, n=1)
        hint = f'did you mean {near[0]!r}?' if near else f'choose one of {", ".join(_LAWS)}'
        raise FrictionLawError('law', name, f'unknown law; {hint}')
    return _LAWS[name]


def friction_law(description: Mapping[str, Any]) -> FrictionLaw:
    """Build a law from ``{'law': name, parameter: value, ...}``; ``sign`` and ``sign_width`` are optional.

    Raises
    ------
    FrictionLawError
        Unknown law; unknown, missing, negative or non-numeric parameter. Says which value, and what to do.
    """
    if 'law' not in description:
        raise FrictionLawError('law', None, f'is missing; choose one of {", ".join(_LAWS)}')
    law = friction_law_class(description['law'])
    fields = {item.name: item for item in dataclasses.fields(law) if item.name != 'sign'}
    for key, value in description.items():
        if key not in ('law', *_SIGN_KEYS, *fields):
            near = difflib.get_close_matches(str(key), [*fields, *_SIGN_KEYS], n=1)
            hint = f'did you mean {near[0]!r}?' if near else f'known here: {", ".join([*fields, *_SIGN_KEYS])}'
            raise FrictionLawError(str(key), value, f'unknown parameter of law {law.law!r}; {hint}')
    for name, item in fields.items():
        if name not in description and item.default is dataclasses.MISSING:
            needed = [other.name for other in fields.values() if other.default is dataclasses.MISSING]
            raise FrictionLawError(name, None, f'is missing; law {law.law!r} needs {", ".join(needed)}')
    width = description.get('sign_width', 0.0)
    if isinstance(width, bool) or not isinstance(width, int | float):
        raise FrictionLawError('sign_width', width, 'must be a number')
    sign = Sign(description.get('sign', 'exact'), float(width))
    return law(sign=sign, **{name: description[name] for name in fields if name in description})
