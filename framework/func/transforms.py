"""`grad`, `jvp` and `vmap` on functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from framework.autograd import engine
from framework.core.graph import Leaf
from framework.core.state import grad_enabled
from framework.core.tensor import Tensor
from framework.dispatch.batched import Batched, Vmap
from framework.dispatch.dual import Dual, Forward
from framework.dispatch.levels import fresh
from framework.dispatch.registry import T


def gradients(y: Tensor, variables: list[Tensor]) -> list[Tensor | None]:
    """Reverse from a scalar. The graph of the gradient is built only if some other variable can be reached: nobody else
    wants it.
    """
    if y.node is None:
        return [None] * len(variables)
    wanted = {x.node for x in variables}
    seen: set[Any] = set()
    todo: list[Any] = [y.node]
    while todo:
        n = todo.pop()
        if n is None or n in seen:
            continue
        seen.add(n)
        if n not in wanted:
            todo += n.edges
    outer = any([type(n) is Leaf and n not in wanted for n in seen]) or any(
        [type(x.node) is not Leaf for x in variables]
    )
    found = engine.run([y.node], [T.full(tuple(y.shape), 1, y)], retain_graph=outer, create_graph=outer,
                       inputs=[x.node for x in variables if x.node is not None], accumulate=False)  # fmt: skip
    return [found.get(x.node) for x in variables]  # type: ignore[arg-type]


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of `func`, which must return a scalar, with respect to the arguments
    `argnums`.
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        many = argnums if isinstance(argnums, tuple) else (argnums,)
        with grad_enabled(True):
            given = [fresh(a) if i in many else a for i, a in enumerate(args)]
            y = func(*given, **kwargs)
            y, aux = y if has_aux else (y, None)
            if not isinstance(y, Tensor):
                raise RuntimeError(f"Expected f(*args) to return a Tensor, got {type(y).__name__}")
            if y.ndim:
                raise RuntimeError(f"Expected f(*args) to return a scalar Tensor, got tensor with {y.ndim} dims")
            variables = [given[i] for i in many]
            found = [
                T.full(tuple(x.shape), 0, x) if g is None else g
                for x, g in zip(variables, gradients(y, variables), strict=True)
            ]
        result = tuple(found) if isinstance(argnums, tuple) else found[0]
        return (result, aux) if has_aux else result

    return gradient


def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """(func(*primals), its directional derivative along `tangents`)."""
    level = Forward()
    with level:
        out = func(*[Dual.of(level, p, t) for p, t in zip(primals, tangents, strict=True)])

        def part(o: Any) -> tuple[Any, Any]:
            if not (isinstance(o, Dual) and o.level is level):
                return o, T.full(tuple(o.shape), 0, o)
            return o.value, T.full(tuple(o.value.shape), 0, o.value) if o.extra is None else o.extra

        if isinstance(out, tuple):
            pairs = [part(o) for o in out]
            return tuple([v for v, _ in pairs]), tuple([t for _, t in pairs])
        return part(out)


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that maps `func` over dimension `in_dims` of its arguments, at the speed of whole-array operations."""

    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = [a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None]
        if not sizes:
            raise ValueError("vmap: at least one argument must be mapped (in_dims are all None)")
        if len(set(sizes)) > 1:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
                "mapped dimension"
            )
        level = Vmap(sizes[0], randomness)
        given = [a if d is None else Batched.of(level, moved(a, d, 0), True) for a, d in zip(args, dims, strict=True)]
        with level:
            out = func(*given, **kwargs)

        def unwrap(o: Any, d: int) -> Any:
            if not (isinstance(o, Batched) and o.level is level):
                o = T.expand(o, (level.size, *o.shape))
            else:
                o = o.value if o.extra else T.expand(o.value, (level.size, *o.value.shape))
            return moved(o, 0, d)

        if isinstance(out, tuple):
            outs = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(out)
            return tuple([unwrap(o, d) for o, d in zip(out, outs, strict=True)])
        return unwrap(out, out_dims)

    return mapped


def moved(x: Tensor, source: int, to: int) -> Tensor:
    """x with dimension `source` moved to position `to`."""
    source, to = source % x.ndim, to % x.ndim
    if source == to:
        return x
    order = [d for d in range(x.ndim) if d != source]
    order.insert(to, source)
    return T.permute(x, tuple(order))  # type: ignore[no-any-return]
