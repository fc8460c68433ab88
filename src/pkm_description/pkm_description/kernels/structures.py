"""NamedTuples of arrays as kernels take them: one address instead of hundreds of numbers. Needs Numba.

Of Numba's StructRef only the idea: with it kernels take longer to load, and count references, which batches feel.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate  # what infer_getattr decorates
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

#: bytes of everything in the table of a structure, and of every element of its arrays
WORD = 8


class StructureType(types.Type):
    """Type of a structure: the address of a table that holds each field, and never changes.

    Parameters
    ----------
    name : of the NamedTuple that has the same fields
    fields : types of the fields by name: C-contiguous arrays of float64 or int64, and numbers
    """

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.fields: dict[str, tuple[Any, int]] = {}
        words = 0
        for field, kind in fields.items():
            self.fields[field] = kind, words
            words += 5 + 2 * kind.ndim if isinstance(kind, types.Array) else 1
        told = ' '.join(f'{field}: {kind}' for field, kind in fields.items())
        # short, because it becomes a part of every symbol
        super().__init__(f'{name}.{hashlib.sha256(told.encode()).hexdigest()[:8]}')


register_model(StructureType)(models.OpaqueModel)


class StructureValue(int):
    """What Python hands to kernels in place of a NamedTuple: the address, so that nothing has to be looked up.

    Parameters
    ----------
    data : NamedTuple of C-contiguous arrays of float64 or int64, and of numbers; the arrays are shared

    Raises
    ------
    TypeError
        A field of another kind.
    """

    _numba_type_: StructureType
    _kept: Any

    def __new__(cls, data: Any) -> StructureValue:
        """Write the table."""
        table = np.concatenate([_words(name, value) for name, value in zip(data._fields, data, strict=True)])
        value = super().__new__(cls, table.ctypes.data)
        value._kept = data, table
        key = type(data), *((it.dtype, it.ndim, it.flags.num) if hasattr(it, 'flags') else type(it) for it in data)
        if key not in _TYPES:
            kinds = {name: numba.typeof(content) for name, content in zip(data._fields, data, strict=True)}
            _TYPES[key] = StructureType(type(data).__name__, kinds)
        value._numba_type_ = _TYPES[key]
        return value


#: by what decides them: asking Numba takes a third of the time in which a machine is loaded
_TYPES: dict[Any, StructureType] = {}


def _words(name: str, value: Any) -> Any:
    """What the table holds of a field; of an array what Numba does: owner, parent, sizes, address, shape, strides."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous or value.dtype not in (np.dtype(np.float64), np.dtype(np.int64)):
            raise TypeError(f'{name}: kernels take C-contiguous arrays of float64 or int64, not {value.dtype}')
        return np.array([0, 0, value.size, WORD, value.ctypes.data, *value.shape, *value.strides])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f'{name}: kernels take arrays, integers and floats, not {type(value).__name__}')
    return np.array([value]).view(np.int64)


@typeof_impl.register(StructureValue)
def _type_of_value(value: StructureValue, _: object) -> StructureType:
    return value._numba_type_


@unbox(StructureType)
def _address_of_value(_: StructureType, value: Any, c: Any) -> NativeValue:
    return NativeValue(c.pyapi.long_as_voidptr(value))


@infer_getattr
class _Fields(AttributeTemplate):
    key = StructureType

    def generic_resolve(self, structure: Any, name: str) -> Any:  # type: ignore[override]
        return structure.fields[name][0] if name in structure.fields else None


@lower_getattr_generic(StructureType)
def _load_field(context: Any, builder: Any, structure: StructureType, address: Any, name: str) -> Any:
    """Load a field. It is declared constant, so that loops need not load it again after writing into an array."""
    kind, number = structure.fields[name]

    def load(form: Any) -> Any:
        nonlocal number
        if isinstance(form, ir.LiteralStructType | ir.ArrayType):
            whole = ir.Constant(form, ir.Undefined)
            for place, part in enumerate(form.elements):
                whole = builder.insert_value(whole, load(part), place)
            return whole
        start = builder.bitcast(address, form.as_pointer())  # all forms are a word long
        found = builder.load(builder.gep(start, [ir.IntType(64)(number)]))
        found.set_metadata('invariant.load', builder.module.add_metadata([]))
        number += 1
        return found

    return load(context.get_value_type(kind))
