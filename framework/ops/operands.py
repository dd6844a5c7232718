"""Public forms of primitives that take fewer Python numbers than the primitives themselves do, as in PyTorch."""

from __future__ import annotations

from framework.dispatch.registry import PUBLIC, T, register

TENSORS = ("maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "nextafter", "heaviside", "gcd", "lcm", "logaddexp", "logaddexp2",
           "logical_and", "logical_or", "logical_xor", "igamma", "igammac")  # fmt: skip  # both operands are tensors
TENSOR_FIRST = ("eq", "ne", "lt", "le", "gt", "ge", "fmod", "copysign")  # the first one is


def narrowed(name: str, kinds: dict[str, str]) -> None:
    """Publish `name` with operands of these kinds, those not named as they come; in place, the primitive stays as it is."""
    primitive = T.__dict__[name]
    e = primitive.entry

    def public(input, other):
        return primitive(input, other)

    public.__annotations__, public.__doc__ = kinds, e.doc
    register(name, public, composite=True, alias=e.alias, spaces=e.spaces, method=e.method)


for _name in TENSORS:
    narrowed(_name, {"input": "Num", "other": "Num"})
for _name in TENSOR_FIRST:
    narrowed(_name, {"input": "Num"})
PUBLIC["special"].update(gammainc=PUBLIC["special"]["igamma"], gammaincc=PUBLIC["special"]["igammac"])
