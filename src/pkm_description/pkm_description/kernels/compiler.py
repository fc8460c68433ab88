"""What needs Numba: its form of kernels. Imported by the first call of a kernel.

A kernel that Python calls becomes one piece of machine code with all kernels that it calls. Those are only typed and
simplified: machine code of their own, counted references to arrays and ways in from Python would double the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.extending import typeof_impl

from pkm_description.kernels.cache import KernelCache
from pkm_description.kernels.jit import Kernel
from pkm_description.kernels.sources import package_of


class KernelType(types.Dispatcher):
    """Type of a kernel that a kernel calls: it is not compiled again for each constant that it is called with."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Signature of a call."""
        return super().get_call_type(context, tuple(types.unliteral(kind) for kind in args), kws)


register_default(KernelType)(models.OpaqueModel)


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, _: object) -> KernelType:
    """Kernels call each other by the name in their module, which is a :class:`Kernel`."""
    return KernelType(kernel.for_kernels)


class InnerLibrary(JITCodeLibrary):
    """Code of a kernel that kernels call: simplified and handed on, not translated."""

    def finalize(self) -> None:
        """Put the called kernels in, and let LLVM's cheap passes shrink the whole."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        codegen = self._codegen
        passes, builder = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost='cheap'
        )
        passes.run(self._final_module, builder)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address: there is no machine code."""
        return 0

    @property
    def codegen(self) -> InnerLibrary:
        """What is asked to store the environment of the function."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Nothing to store: kernels raise no exceptions and print nothing."""


class InnerCompiler(Compiler):
    """Numba's compiler for kernels that kernels call."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function into a library of our kind."""
        self.state.library = InnerLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


def for_python(function: Callable[..., Any]) -> Any:
    """Numba's form of a function for calls from Python, which finds its compiled code on the disk."""
    compiled: Any = numba.njit(error_model='numpy', nogil=True)(function)
    package = package_of(function.__module__)
    if package:
        compiled._cache = KernelCache(function, package)
    return compiled


def entry(kernel: Kernel, structures: tuple[Any, ...], numbers: int) -> Any:
    """Compiled form of a kernel for structures, then so many floats, which asks for no types when it is called."""
    kinds = tuple(value._numba_type_ for value in structures)
    return kernel.for_python.compile((*kinds, *[types.float64] * numbers))


def for_kernels(function: Callable[..., Any]) -> Any:
    """Numba's form of a function for calls from other kernels, whose compiled code contains it."""
    not_needed: dict[str, Any] = {'no_cpython_wrapper': True, 'no_cfunc_wrapper': True, '_nrt': False}
    return numba.njit(error_model='numpy', nogil=True, pipeline_class=InnerCompiler, **not_needed)(function)
