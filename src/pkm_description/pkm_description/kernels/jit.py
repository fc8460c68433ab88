"""The decorator of all compiled functions, and structures that they read. The first call of one imports Numba."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, TypeVar, cast

from pkm_description.kernels.sources import digest_at_import, package_of

Function = TypeVar('Function', bound=Callable[..., Any])
Data = TypeVar('Data', bound=tuple[Any, ...])

#: False with NUMBA_DISABLE_JIT=1: kernels run as plain Python, for a debugger and for test coverage
COMPILED = os.environ.get('NUMBA_DISABLE_JIT', '') in ('', '0')

_making = threading.RLock()


class Kernel:
    """A function that is compiled, or found on the disk, when it is first called.

    Importing kernels and calling some of them costs little: Numba takes half a second, and each function a millisecond.

    Parameters
    ----------
    function : the plain Python function
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._for_python: Any = None
        self._for_kernels: Any = None

    @property
    def for_kernels(self) -> Any:
        """What Numba makes of the function for calls from other kernels."""
        with _making:
            if self._for_kernels is None:
                self._for_kernels = _numba('compiler').for_kernels(self.py_func)
        return self._for_kernels

    @property
    def for_python(self) -> Any:
        """What Numba makes of the function for calls from Python."""
        with _making:
            if self._for_python is None:
                self._for_python = _numba('compiler').for_python(self.py_func)
        return self._for_python

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        return (self._for_python or self.for_python)(*args)


def kernel(function: Function) -> Function:
    """Compile a function of one sample, once for all processes; the only way to compile in this project.

    No ``fastmath``: the same bits come out of single calls, batches, threads and plain Python. Compiled code is kept on
    the disk for functions in packages of the name ``kernels`` (see :mod:`~pkm_description.kernels.cache`).
    """
    if not COMPILED:
        return function
    package = package_of(function.__module__)
    if package:
        digest_at_import(package)  # now: the files may change before the first call
        if function.__closure__:
            names = ', '.join(function.__code__.co_freevars)
            raise TypeError(
                f'kernel {function.__qualname__} depends on {names} of the function around it: make it an argument'
            )
    return cast(Function, Kernel(function))


def structure(data: Data) -> Data:
    """Form of a NamedTuple that kernels take: they read the same attributes, but an argument costs 1 us, not 6.

    Its arrays are shared. Without compilation it is the NamedTuple itself.
    """
    return cast(Data, _numba('structures').StructureValue(data)) if COMPILED else data


def bound(function: Callable[..., int], *structures: tuple[Any, ...], numbers: int) -> Callable[..., int]:
    """Kernel whose first arguments, structures, are given, and the others are ``numbers`` floats.

    A call then costs 0.3 us and not 2: nothing has to be found out about its arguments.
    """
    if not isinstance(function, Kernel):
        return partial(function, *structures)
    return partial(_numba('compiler').entry(function, structures, numbers), *structures)


def _numba(name: str) -> Any:
    """A module that imports Numba."""
    return importlib.import_module(f'pkm_description.kernels.{name}')
