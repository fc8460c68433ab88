"""NamedTuples of arrays as kernels take them: one address instead of hundreds of numbers. Needs Numba.

Of Numba's StructRef only the idea: with it kernels take longer to load, and count references, which batches feel.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload_attribute,
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
            _make_attribute(field)
            self.fields[field] = kind, words
            words += 1 + 2 * kind.ndim if isinstance(kind, types.Array) else 1
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
    """What the table holds of a field: a number, or address, shape and strides of an array."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous or value.dtype not in (np.dtype(np.float64), np.dtype(np.int64)):
            raise TypeError(f'{name}: kernels take C-contiguous arrays of float64 or int64, not {value.dtype}')
        return np.array([value.ctypes.data, *value.shape, *value.strides])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f'{name}: kernels take arrays, integers and floats, not {type(value).__name__}')
    return np.array([value]).view(np.int64)


@typeof_impl.register(StructureValue)
def _type_of_value(value: StructureValue, _: object) -> StructureType:
    return value._numba_type_


@unbox(StructureType)
def _address_of_value(_: StructureType, value: Any, c: Any) -> NativeValue:
    return NativeValue(c.pyapi.long_as_voidptr(value))


@cache
def _make_attribute(field: str) -> None:
    """Let kernels read a field of this name.

    It is declared constant, so that loops need not load it again after writing into an array. Its array has no owner
    (NULL), so that Numba leaves out the counting of references, to it and to all views of it.
    """

    @intrinsic
    def load_field(_: Any, structure: Any) -> Any:
        kind, first = structure.fields[field]

        def load(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            def word(form: Any, number: int) -> Any:
                start = builder.bitcast(arguments[0], form.as_pointer())  # all forms are a word long
                found = builder.load(builder.gep(start, [ir.IntType(64)(first + number)]))
                found.set_metadata('invariant.load', builder.module.add_metadata([]))
                return found

            form = context.get_value_type(kind)
            if not isinstance(kind, types.Array):
                return word(form, 0)
            array = context.make_array(kind)(context, builder)
            number = ir.IntType(64)
            sizes = [word(number, 1 + axis) for axis in range(2 * kind.ndim)]
            context.populate_array(
                array, data=word(context.get_data_type(kind.dtype).as_pointer(), 0), shape=sizes[: kind.ndim],
                strides=sizes[kind.ndim :], itemsize=number(WORD), meminfo=None,
            )  # fmt: skip
            return array._getvalue()

        return kind(structure), load

    # without annotations: Numba compares both signatures
    @overload_attribute(StructureType, field)
    def attribute(structure):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        return (lambda structure: load_field(structure)) if field in structure.fields else None  # type: ignore[call-arg]
