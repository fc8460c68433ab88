"""NamedTuples of arrays as kernels take them: one address instead of hundreds of numbers. Needs Numba."""

from __future__ import annotations

import hashlib
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, typeof_impl, unbox

#: bytes of everything in the table of a structure, and of every element of its arrays
WORD = 8
#: words of an array in the form of Numba: owner, parent, count, size of an element, address; then shape and strides
COUNT, ADDRESS, SHAPE = 2, 4, 5


class StructureType(types.Type):
    """Type of a structure: the address of a table that holds each field, and never changes.

    Parameters
    ----------
    name : of the NamedTuple that has the same fields
    fields : names and types of the fields: C-contiguous arrays and numbers
    """

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields: dict[str, tuple[Any, int]] = {}
        words = 0
        for field, kind in fields:
            self.fields[field] = kind, words
            words += SHAPE + 2 * kind.ndim if isinstance(kind, types.Array) else 1
        told = ' '.join(f'{field}: {kind}' for field, kind in fields)
        # short, because it becomes a part of every symbol
        super().__init__(f'{name}.{hashlib.sha256(told.encode()).hexdigest()[:8]}')


register_default(StructureType)(models.OpaqueModel)


class StructureValue(int):
    """What Python hands to kernels in place of a NamedTuple: the address, so that nothing has to be looked up.

    Parameters
    ----------
    data : NamedTuple of C-contiguous arrays of float64 or int64, and of numbers; the arrays are shared

    Raises
    ------
    TypeError
        An array of another kind.
    """

    data: Any
    _table: Any
    _numba_type_: StructureType

    def __new__(cls, data: Any) -> StructureValue:
        """Write the table."""
        fields = dict(zip(data._fields, data, strict=True))
        table = np.concatenate([_words(name, value) for name, value in fields.items()])
        value = super().__new__(cls, table.ctypes.data)
        value.data, value._table = data, table
        # asking Numba takes a third of the time in which a machine is loaded, and machines are of few kinds
        key = type(data).__name__, *((name, *_kind(content)) for name, content in fields.items())
        if key not in _TYPES:
            kinds = tuple((name, numba.typeof(content)) for name, content in fields.items())
            _TYPES[key] = StructureType(type(data).__name__, kinds)
        value._numba_type_ = _TYPES[key]
        return value


#: by what decides them
_TYPES: dict[tuple[Any, ...], StructureType] = {}


def _kind(value: Any) -> tuple[Any, ...]:
    """What decides the type of a field."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.writeable, value.flags.aligned
    return (type(value),)


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
    kind, first = structure.fields[name]

    def word(number: int, as_type: Any) -> Any:
        place = cgutils.pointer_add(builder, address, WORD * (first + number))
        loaded = builder.load(builder.bitcast(place, as_type.as_pointer()))
        loaded.set_metadata('invariant.load', builder.module.add_metadata([]))
        return loaded

    if not isinstance(kind, types.Array):
        return word(0, context.get_value_type(kind))
    size = context.get_value_type(types.intp)
    array = context.make_array(kind)(context, builder)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    array.nitems = word(COUNT, size)
    array.itemsize = context.get_constant(types.intp, WORD)
    array.data = word(ADDRESS, array.data.type)
    array.shape = cgutils.pack_array(builder, [word(SHAPE + axis, size) for axis in range(kind.ndim)])
    array.strides = cgutils.pack_array(builder, [word(SHAPE + kind.ndim + axis, size) for axis in range(kind.ndim)])
    return impl_ret_borrowed(context, builder, kind, array._getvalue())


def _words(name: str, value: Any) -> Any:
    """What the table holds of a field."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous or value.dtype not in (np.dtype(np.float64), np.dtype(np.int64)):
            raise TypeError(f'{name}: kernels take C-contiguous arrays of float64 or int64, not {value.dtype}')
        return np.array([0, 0, value.size, WORD, value.ctypes.data, *value.shape, *value.strides])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f'{name}: kernels take arrays, integers and floats, not {type(value).__name__}')
    return np.array([value]).view(np.int64)
