"""NamedTuples of arrays as kernels take them: a StructRef, one address instead of hundreds of numbers."""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar, cast

from numba import types
from numba.experimental import structref
from numba.extending import overload

from pkm_description.kernels.jit import COMPILED, kernel

Data = TypeVar('Data', bound=tuple[Any, ...])


@structref.register
class StructureType(types.StructRef):
    """Type of a structure."""

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Its name in symbols: short, as it is a part of every one."""
        told = ' '.join(f'{field}: {kind}' for field, kind in self._fields)
        return f'structure{hashlib.sha256(told.encode()).hexdigest()[:8]}', ()


class Structure(structref.StructRefProxy):
    """What Python hands to kernels in place of a NamedTuple; they share its arrays."""


structref.define_boxing(StructureType, Structure)


def of_fields(data: Any) -> Any:
    """A structure with the fields of a NamedTuple, in kernels."""
    raise NotImplementedError(data)


@overload(of_fields)
def _of_fields(data):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    kind = StructureType(tuple(zip(data.fields, tuple(data), strict=True)))
    fields = ''.join(f'    made.{name} = data.{name}\n' for name in data.fields)
    names = {'new': structref.new, 'kind': kind}
    exec(f'def make(data):\n    made = new(kind)\n{fields}    return made', names)
    return names['make']


@kernel
def structure_of(data: Any) -> Any:
    """The structure of a NamedTuple."""
    return of_fields(data)


def structure(data: Data) -> Data:
    """Form of a NamedTuple that kernels take: they read the same attributes, but an argument costs 1 us, not 6.

    Its arrays are shared. Without compilation it is the NamedTuple itself.
    """
    return cast(Data, structure_of(data)) if COMPILED else data
