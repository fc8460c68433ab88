"""NamedTuples of arrays as kernels take them: a StructRef, one address instead of hundreds of numbers."""

from __future__ import annotations

import hashlib
from typing import Any

from numba import types
from numba.experimental import structref
from numba.extending import overload

from pkm_description.kernels.jit import kernel


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
