"""Lazy imports for the packages' ``__init__``: names are imported when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import getsource
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562) for the names that it imports under ``TYPE_CHECKING``.

    So they stand once, where type checkers and editors read them, too.

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

    def get_attribute(name: str) -> Any:
        if name not in modules:
            known = ', '.join(sorted(modules))
            raise AttributeError(f'module {package!r} has no attribute {name!r}; there are {known}')
        namespace[name] = getattr(import_module(modules[name]), name)
        return namespace[name]

    return get_attribute, lambda: sorted({*namespace, *modules})
