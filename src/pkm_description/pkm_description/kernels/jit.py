"""The decorator of all compiled functions, and structures that they read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.experimental import structref

from pkm_description.kernels.cache import KernelCache
from pkm_description.kernels.sources import numba_options, package_of

Function = TypeVar('Function', bound=Callable[..., Any])

#: False with NUMBA_DISABLE_JIT=1: kernels run as plain Python, for a debugger and for test coverage
COMPILED = not numba_options.DISABLE_JIT


def kernel(function: Function) -> Function:
    """Compile a function of one sample, once for all processes; the only way to compile in this project.

    No ``fastmath``: the same bits come out of single calls, batches, threads and plain Python. Compiled code is kept on
    the disk for functions in packages of the name ``kernels`` (see :mod:`~pkm_description.kernels.cache`).
    """
    compiled: Any = numba.njit(error_model='numpy', nogil=True)(function)
    package = package_of(function.__module__)
    if COMPILED and package:
        if function.__closure__:
            names = ', '.join(function.__code__.co_freevars)
            raise TypeError(
                f'kernel {function.__qualname__} depends on {names} of the function around it: make it an argument'
            )
        compiled._cache = KernelCache(function, package)
    return cast(Function, compiled)


def structure(data: type) -> type:
    """Compiled twin of a NamedTuple: kernels read the same attributes of both, but an argument costs 1 us, not 6.

    Call the result inside a kernel only; called from Python it would compile in every process. Without compilation
    the NamedTuple itself is the structure.
    """
    if not COMPILED:
        return data
    fields: tuple[str, ...] = data._fields  # type: ignore[attr-defined]

    @structref.register
    class Twin(types.StructRef):
        def preprocess_fields(self, members: Any) -> Any:
            return tuple((name, types.unliteral(kind)) for name, kind in members)

    # the cache finds compiled code by its types, and these by module and name
    module, name = data.__module__, f'{data.__name__}Type'
    Twin.__module__, Twin.__name__, Twin.__qualname__ = module, name, name
    setattr(sys.modules[module], name, Twin)
    proxy = type(data.__name__, (structref.StructRefProxy,), {'__module__': module})
    structref.define_proxy(proxy, Twin, list(fields))
    return proxy
