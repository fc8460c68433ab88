"""Lazy imports for the packages' ``__init__``: names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562) whose names live in its modules.

    Parameters
    ----------
    package : its ``__name__``
    modules : name -> module of the package, e.g. ``{'inverse_dynamics': 'dynamics'}``
    """
    namespace = vars(sys.modules[package])

    def get_attribute(name: str) -> Any:
        if name not in modules:
            known = ', '.join(sorted(modules))
            raise AttributeError(f'module {package!r} has no attribute {name!r}; there are {known}')
        namespace[name] = getattr(import_module(f'{package}.{modules[name]}'), name)
        return namespace[name]

    return get_attribute, lambda: sorted({*namespace, *modules})
