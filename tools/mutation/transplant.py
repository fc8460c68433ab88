"""A changed module in the place of the imported one, in a process in which everything is imported already.

The code of its functions is exchanged, so all who hold a function call the changed one. Values of classes and
constants are exchanged wherever a module holds them by this name. Nothing is imported again: a trial costs no start.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType, ModuleType
from typing import Any


def transplant(name: str, source: str) -> None:
    """Give the module of this name the changed source.

    Raises
    ------
    Exception
        Whatever the changed source raises at import.
    """
    old = sys.modules[name]
    new = ModuleType(name)
    vars(new).update({key: value for key, value in vars(old).items() if key.startswith('__')})
    exec(compile(source, str(old.__file__), 'exec', dont_inherit=True), vars(new))
    for key, value in list(vars(new).items()):
        if not key.startswith('__'):
            _exchange_value(old, key, value)


def _exchange_value(old: ModuleType, key: str, value: Any) -> None:
    before = getattr(old, key, None)
    if isinstance(value, type) and value.__module__ == old.__name__:
        _exchange_class(before, value)
        return
    function = _function_of(value)
    if function is not None:
        if function.__module__ == old.__name__:
            _exchange_function(_function_of(before), function)
            if hasattr(before, 'cache_clear'):
                before.cache_clear()  # type: ignore[union-attr]
        return
    if isinstance(value, ModuleType) or _equal(before, value):
        return
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and vars(module).get(key) is before:
            setattr(module, key, value)


def _equal(before: Any, value: Any) -> bool:
    """Whether a constant is the same; what cannot be compared is another one."""
    if type(before) is not type(value) or type(value).__module__ not in ('builtins', 'pathlib', 're', '__future__'):
        return getattr(value, '__module__', '') != '' and before is value
    return repr(before) == repr(value)


def _function_of(value: Any) -> FunctionType | None:
    """Plain function in a function, a kernel, a property or what else wraps one."""
    for _ in range(5):
        if isinstance(value, FunctionType):
            return value
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, functools.cached_property):
            value = value.func
        elif isinstance(value, classmethod | staticmethod):
            value = value.__func__
        else:
            value = getattr(value, 'py_func', None) or getattr(value, '__wrapped__', None)
    return None


def _exchange_class(old: Any, new: type) -> None:
    for key, value in list(vars(new).items()):
        function, before = _function_of(value), vars(old).get(key)
        if isinstance(value, property) and isinstance(before, property):
            for part in ('fget', 'fset', 'fdel'):
                if getattr(value, part) is not None:
                    _exchange_function(_function_of(getattr(before, part)), _function_of(getattr(value, part)))
        elif function is not None:
            _exchange_function(_function_of(before), function)
        elif key == '__dataclass_fields__':
            for name, field in value.items():
                before[name].metadata = field.metadata  # bounds and choices of settings
        elif not key.startswith('__') and type(value).__module__ == 'builtins' and repr(before) != repr(value):
            setattr(old, key, value)


def _exchange_function(old: FunctionType | None, new: FunctionType | None) -> None:
    if old is None or new is None:
        return
    if old.__code__.co_freevars != new.__code__.co_freevars:
        raise RuntimeError(f'{new.__qualname__}: closure with other variables')
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    for cell, changed in zip(old.__closure__ or (), new.__closure__ or (), strict=True):
        _exchange_cell(cell, changed)
    if hasattr(old, '__wrapped__'):
        _exchange_function(_function_of(old.__wrapped__), _function_of(getattr(new, '__wrapped__', None)))


def _exchange_cell(cell: Any, changed: Any) -> None:
    """Functions in functions, and defaults of dataclasses, are in cells; classes stay those that all know."""
    try:
        before, after = cell.cell_contents, changed.cell_contents
    except ValueError:
        return
    if isinstance(after, FunctionType):
        _exchange_function(_function_of(before), after)
    elif not isinstance(after, type) and type(after).__module__ == 'builtins':
        cell.cell_contents = after


def compile_anew(kernels: set[str]) -> None:
    """Compile these kernels in this process, and neither read nor write their code on the disk.

    Code on the disk is found by the files' fingerprint, which knows nothing of a source that was exchanged.
    """
    import numba
    from numba.core.dispatcher import Dispatcher

    anew: dict[str, Any] = {}
    for module in list(sys.modules.values()):
        for key, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
            if not isinstance(value, Dispatcher):
                continue
            name = f'{value.py_func.__module__}.{value.py_func.__qualname__}'
            if name in kernels:
                if name not in anew:
                    anew[name] = numba.njit(error_model='numpy', nogil=True)(value.py_func)
                setattr(module, key, anew[name])
