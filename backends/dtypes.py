"""The element types that every layer speaks of, as interned objects: compare them with `is`.

A backend maps each to its library's own dtype (`backend.native[dtype]`) and back (`backend.dtype_of(array)`).
"""

from __future__ import annotations

__all__ = [
    "ALL", "BY_NAME", "bfloat16", "bool_", "complex128", "complex64", "dtype", "float16", "float32", "float64", "int16",
    "int32", "int64", "int8", "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip


class dtype:
    """An element type. There is one object for each; the class makes no others.

    Attributes: `name`; `itemsize` in bytes; `kind`, one of "b" (bool), "i", "u", "f", "c"; `category`, the rank that
    promotion compares: 0 bool, 1 integral, 2 floating, 3 complex; `compute`, the dtype that arithmetic runs in
    before the result is rounded once (float32 for the half types, else itself).
    """

    __slots__ = ("category", "compute", "is_complex", "is_floating_point", "is_signed", "itemsize", "kind",
                 "name")  # fmt: skip
    name: str
    itemsize: int
    kind: str
    category: int
    compute: dtype
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    module = "framework"  # the name of the package in `repr`: see framework.core.printing.set_module_name

    def __new__(cls, name: str) -> dtype:
        try:
            return BY_NAME[name]
        except KeyError:
            raise TypeError(f"dtype: there is no dtype {name!r}; known are {', '.join(BY_NAME)}") from None

    def __repr__(self) -> str:
        return f"{self.module}.{self.name}"

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return dtype, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self

    def to_real(self) -> dtype:
        """The dtype of the real and imaginary parts: float32 for complex64; a real dtype is its own."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this dtype: complex64 for float32 and the half types."""
        return {float64: complex128, complex128: complex128}.get(self, complex64)


BY_NAME: dict[str, dtype] = {}


def _define(name: str, itemsize: int, kind: str) -> dtype:
    d: dtype = object.__new__(dtype)
    d.name, d.itemsize, d.kind, d.compute = name, itemsize, kind, d
    d.category = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[kind]
    d.is_floating_point, d.is_complex, d.is_signed = kind == "f", kind == "c", kind in "ifc"
    BY_NAME[name] = d
    return d


bool_ = _define("bool", 1, "b")
uint8 = _define("uint8", 1, "u")
int8 = _define("int8", 1, "i")
int16 = _define("int16", 2, "i")
uint16 = _define("uint16", 2, "u")
int32 = _define("int32", 4, "i")
uint32 = _define("uint32", 4, "u")
int64 = _define("int64", 8, "i")
uint64 = _define("uint64", 8, "u")
float16 = _define("float16", 2, "f")
bfloat16 = _define("bfloat16", 2, "f")
float32 = _define("float32", 4, "f")
float64 = _define("float64", 8, "f")
complex64 = _define("complex64", 8, "c")
complex128 = _define("complex128", 16, "c")
float16.compute = bfloat16.compute = float32
ALL = tuple(BY_NAME.values())
