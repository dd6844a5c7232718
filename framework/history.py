"""`framework.explain(t)`: where a value comes from, op by op, with the rules that will differentiate it."""

from __future__ import annotations

from textwrap import indent
from typing import Any

from framework.core.graph import AccumulateGrad, Node, Pick
from framework.core.tensor import Tensor
from framework.dispatch.schema import Entry
from framework.dispatch.show import place, rule_text, rules


def explain(tensor: Tensor, file: Any = None) -> None:
    """Print the history of a value, from its leaves to itself.

    Each line is one op of the graph that autograd recorded: a number, the op with the values it takes (by number; - is
    one that needs no gradient), shape and dtype of the result, the place of the op in the source. Below it are the
    rules that give the gradients. A value without a history (no gradient needed, or computed under `no_grad`) says so.
    TypeError if it is no tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"explain(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    print("\n".join(_lines(tensor)), file=file)


def _lines(tensor: Tensor) -> list[str]:
    if tensor.node is None:
        what = _what(tuple(tensor.shape), tensor.dtype)
        return [f"{what}: no history, since it needs no gradient or was computed under no_grad"]
    order = _in_order(tensor.node)
    number = {id(n): f"%{i}" for i, n in enumerate(order)}
    lines = []
    for n in order:
        head = f"{number[id(n)]} = {_call(n, number)}: {_what(n.shape, n.dtype)}"
        e = n.entry
        if isinstance(e, Entry) and type(n) is not Pick:
            lines.append(f"{head}    {place(e)}".rstrip())
            asked = dict(zip(e.nums, n.edges)) if len(e.nums) == len(n.edges) else {}
            for inputs, rule in rules(e):
                if not asked or asked.get(inputs, n) is not None:
                    text = rule_text(rule)
                    text = f"\n{indent(text, '        ')}" if "\n" in text else f" {text}"
                    lines.append(f"    gradient of {inputs}:{text}")
        else:
            lines.append(head)
    return lines


def _in_order(last: Node) -> list[Node]:
    """The nodes that a value needs, each after those it needs itself; no recursion, since histories are long."""
    order: list[Node] = []
    done: set[int] = set()
    todo: list[tuple[Node, bool]] = [(last, False)]
    while todo:
        n, ready = todo.pop()
        if ready:
            order.append(n)
        elif id(n) not in done:
            done.add(id(n))
            todo.append((n, True))
            todo += [(m, False) for m in reversed(n.edges) if m is not None]
    return order


def _call(n: Node, number: dict[int, str]) -> str:
    """How a node came about: `mul(%0, -)`, with the arguments that are no tensors by name."""
    if isinstance(n, AccumulateGrad):
        return "leaf" if n.variable is not None else "leaf (no longer in use)"
    inputs = [number[id(m)] if m is not None else "-" for m in n.edges]
    if type(n) is Pick:
        return f"output {n.index} of {inputs[0]}"
    e = n.entry
    if not isinstance(e, Entry):
        return f"{n.name()}({', '.join(inputs)})"
    return f"{e.name}({', '.join(inputs + [f'{p}={v!r}' for p, v in zip(e.static, n.params)])})"


def _what(shape: Any, dtype: Any) -> str:
    return f"{dtype.name}{list(shape)}"


__all__ = ["explain"]
