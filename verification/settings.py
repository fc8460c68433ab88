"""Settings of suites from the command line: ``--set seeds=50``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from verification.suite import Suite


def settings_of(suites: Sequence[Suite], quick: bool, assignments: Sequence[str]) -> dict[str, Any]:
    """Settings of each suite that has any: its defaults, changed by ``key=value`` texts.

    Values have the type of the default; those of a tuple are separated by commas.

    Raises
    ------
    ValueError
        For a key that no suite has, and for a value of the wrong form.
    """
    result = {
        suite.name: suite.quick_settings if quick else suite.settings for suite in suites if suite.settings is not None
    }
    for assignment in assignments:
        key, equals, text = assignment.partition('=')
        owners = [name for name, settings in result.items() if key in _keys(settings)]
        if not (equals and owners):
            there = '; '.join(f'{name}: {", ".join(_keys(settings))}' for name, settings in result.items())
            raise ValueError(f'--set {assignment}: must be KEY=VALUE; keys of these suites: {there or "none"}')
        for name in owners:
            result[name] = _changed(result[name], key, text)
    return result


def _keys(settings: Any) -> list[str]:
    return [field.name for field in fields(settings)]


def _changed(settings: Any, key: str, text: str) -> Any:
    kind = type(getattr(settings, key))
    try:
        value = tuple(text.split(',')) if kind is tuple else kind(text)
    except ValueError:
        raise ValueError(f'--set {key}={text}: must be {"a whole number" if kind is int else "a number"}') from None
    try:
        return replace(settings, **{key: value})
    except ValueError as error:
        raise ValueError(f'--set {error}') from None
