"""What needs Numba: its form of kernels and structures. Imported by the first call of a kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.experimental import structref
from numba.extending import typeof_impl

from pkm_description.kernels.cache import KernelCache
from pkm_description.kernels.jit import Kernel, Structure, structures
from pkm_description.kernels.sources import package_of


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, _: object) -> Any:
    """Kernels call each other by the name in their module, which is a :class:`Kernel`."""
    return types.Dispatcher(kernel.dispatcher)


def dispatcher(function: Callable[..., Any]) -> Any:
    """Numba's form of a function, which finds its compiled code on the disk."""
    for structure in structures:
        _ = structure.proxy  # code that comes from the disk refers to its types
    variables = function.__globals__
    for name in function.__code__.co_names:
        if isinstance(variables.get(name), Structure):
            variables[name] = variables[name].proxy
    compiled: Any = numba.njit(error_model='numpy', nogil=True)(function)
    package = package_of(function.__module__)
    if package:
        compiled._cache = KernelCache(function, package)
    return compiled


def structure_type(data: Any) -> Any:
    """Class with which kernels make a structure of the same fields as a NamedTuple."""

    @structref.register
    class Twin(types.StructRef):
        def preprocess_fields(self, members: Any) -> Any:
            return tuple((name, types.unliteral(kind)) for name, kind in members)

    # the cache finds compiled code by its types, and these by module and name
    module, name = data.__module__, f'{data.__name__}Type'
    Twin.__module__, Twin.__name__, Twin.__qualname__ = module, name, name
    setattr(sys.modules[module], name, Twin)
    proxy = type(data.__name__, (structref.StructRefProxy,), {'__module__': module})
    structref.define_proxy(proxy, Twin, list(data._fields))
    return proxy
