"""The estimator's models, one state at a time, as plain Python functions: the same source, not compiled."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from pkm_description.kernels import jit, structures


def uncompiled(names: Sequence[str]) -> list[ModuleType]:
    """Import modules of kernels once more, as the plain Python that they are written in."""
    kept = {name: module for name, module in sys.modules.items() if _is_of_kernels(name)}
    compiled = jit.kernel, structures.structure
    for name in kept:
        del sys.modules[name]
    jit.kernel, structures.structure = _as_it_is, _as_it_is  # type: ignore[assignment]
    sys.modules |= {jit.__name__: jit, structures.__name__: structures}
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        jit.kernel, structures.structure = compiled
        for name in [name for name in sys.modules if _is_of_kernels(name)]:
            del sys.modules[name]
        sys.modules.update(kept)


def _is_of_kernels(name: str) -> bool:
    return name.startswith(('pkm_description.kernels.', 'pkm_estimation.kernels.'))


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function
