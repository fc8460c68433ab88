"""Names of the packages' ``__init__``, which stand once, in its imports; and lazy imports, when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import getsource
from types import ModuleType
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562) for the names that it imports under ``TYPE_CHECKING``.

    So they stand once, where type checkers and editors read them, too; they are its ``__all__`` where it has none.

    Parameters
    ----------
    package : its ``__name__``
    """
    namespace = vars(sys.modules[package])
    modules = {
        alias.name: statement.module or package
        for block in ast.parse(getsource(sys.modules[package])).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == 'TYPE_CHECKING'
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    namespace.setdefault('__all__', sorted(modules))

    def get_attribute(name: str) -> Any:
        if name not in modules:
            known = ', '.join(sorted(modules))
            raise AttributeError(f'module {package!r} has no attribute {name!r}; there are {known}')
        namespace[name] = getattr(import_module(modules[name]), name)
        return namespace[name]

    return get_attribute, lambda: sorted({*namespace, *modules})


def exported(namespace: dict[str, Any]) -> list[str]:
    """``__all__`` of a package that imports all of its names at once: what its ``globals()`` have been given."""
    return sorted(
        name for name, thing in namespace.items()
        if not (name.startswith('_') or isinstance(thing, ModuleType) or thing is exported)
    )  # fmt: skip
