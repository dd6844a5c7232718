"""An entry as text: what `framework.ops.show` and `framework.explain` print of it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from textwrap import dedent, indent
from types import CodeType
from typing import Any

from .generate import source
from .registry import ENTRIES, PUBLIC
from .schema import Entry, Rule, vjp_kernel

_ROOT = Path(__file__).parents[2]  # locations are told from where the package lies


def entry_of(op: Any) -> Entry:
    """The entry of an op, given by name ("softmax", "nn.functional.gelu", "Tensor.add") or as its function.

    ValueError if there is none."""
    if not isinstance(op, str):
        found = getattr(op, "entry", None)
        if not isinstance(found, Entry):
            raise ValueError(f"show(): {op!r} is not the function of an op")
        return found
    name = op.removeprefix("framework.").removeprefix("torch.").removeprefix("Tensor.")
    space, _, last = name.rpartition(".")
    public = PUBLIC.get(space, {}).get(last)
    if space == "" and public is None:
        public = next((table[name] for table in PUBLIC.values() if name in table), None)
    found = getattr(public, "entry", None) or ENTRIES.get(name)
    if not isinstance(found, Entry):
        raise ValueError(f"show(): there is no op named {op!r}")
    if location(found.forward).startswith("framework/dispatch/registry.py"):  # checks arguments for the op of that name
        return ENTRIES[found.name]
    return found


def location(f: Callable[..., Any]) -> str:
    """`file:line` of a function; "" of one that was made at run time."""
    code = getattr(f, "__code__", None)
    if code is None or not Path(code.co_filename).is_file():
        return ""
    path = Path(code.co_filename)
    return f"{(path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path).as_posix()}:{code.co_firstlineno}"


def text_of(f: Callable[..., Any]) -> str:
    """The source text of a function; of a lambda, that expression alone; of an op in one line, that line.

    "" if there is no source."""
    code = getattr(f, "__code__", None)
    if code is None or not location(f):
        return ""
    source, tree = _parsed(code.co_filename)
    line = code.co_firstlineno
    if f.__name__ == "<lambda>" and (found := _lambda(code, tree)):
        return ast.get_source_segment(source, found) or ""
    best = None  # the smallest definition that begins there, or else the statement of the module that the line is in
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and line == min([node.lineno, *[d.lineno for d in node.decorator_list]]):
            best = node
    for statement in tree.body if best is None else []:
        if statement.lineno <= line <= (statement.end_lineno or 0):
            return ast.get_source_segment(source, statement) or ""
    return "" if best is None else dedent("\n".join(source.split("\n")[line - 1 : best.end_lineno]))


def _lambda(code: CodeType, tree: ast.Module) -> ast.Lambda | None:
    """The lambda of a code: the smallest around all places that its instructions come from."""
    places = [p for p in code.co_positions() if None not in p and p[2] != p[3]]
    found = None
    for node in ast.walk(tree):  # outer ones come first
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
            if places and all(first <= (p[0], p[2]) and (p[1], p[3]) <= last for p in places):
                found = node
    return found


@cache
def _parsed(file: str) -> tuple[str, ast.Module]:
    source = Path(file).read_text(encoding="utf-8")
    return source, ast.parse(source)


@cache
def place(e: Entry) -> str:
    """Where an entry is written: of its forward, else of the first of its rules."""
    return next((found for f in (e.forward, *[r.fn for r in e.vjp if r]) if (found := location(f))), "")


def forward_text(e: Entry) -> str:
    """The forward's text; an op that is the backend's primitive says so."""
    text = text_of(e.forward)
    if e.forward.__code__.co_name == e.name and e.elementwise and e.opaque and "def " not in text:
        return f"xp.{e.name}({', '.join(e.params)}), the backend's primitive:\n{text}".rstrip(":\n")
    return text


def rules(e: Entry) -> list[tuple[str, Rule | None]]:
    """The derivative rules, each with the inputs whose gradient it gives."""
    if len(e.vjp) == 1 and e.vjp[0] is not None and not e.vjp[0].one:
        return [(", ".join(e.nums), e.vjp[0])]
    return list(zip(e.nums, e.vjp))


@cache
def rule_text(rule: Rule | None) -> str:
    """The text of a rule, and what the engine makes of its value."""
    if rule is None:
        return "none: no gradient"
    text = text_of(rule.fn) or f"made at run time, of {', '.join(rule.names)}"
    return f"{text}    # times g" if rule.times else text


def derivative_text(e: Entry) -> str:
    """All derivative rules of an entry."""
    if e.composite:
        return "that of the ops it calls"
    if not e.vjp:
        return "none"
    return "\n".join(_titled(f"for {inputs}:", rule_text(rule)) for inputs, rule in rules(e))


def _titled(title: str, text: str) -> str:
    return f"{title}\n{indent(text, '    ')}" if "\n" in text else f"{title} {text}"


_KINDS = {"b": "bool", "i": "signed integers", "u": "unsigned integers", "f": "floating point", "c": "complex"}
_DTYPES = {
    "same": "that of the promoted operands",
    "float": "that of the promoted operands",
    "real": "that of the promoted operands; of complex ones, the real part's",
    "sum": "that of the promoted operands",
}
_WIDER = {"float": "; integers and bool become the default float", "sum": "; integers and bool become int64"}


def dtype_text(e: Entry) -> str:
    """Which dtypes an op takes and gives."""
    if e.composite:
        return "those of the ops it calls"
    if callable(e.dtype) and not isinstance(e.dtype, str):
        gives = _titled("a function of the promoted operands':", text_of(e.dtype) or repr(e.dtype))
    else:
        gives = _DTYPES.get(e.dtype, e.dtype) if isinstance(e.dtype, str) else str(e.dtype)
        if not set(e.accept).isdisjoint("biu") and isinstance(e.dtype, str):
            gives += _WIDER.get(e.dtype, "")
    return f"takes {', '.join(_KINDS[k] for k in e.accept if k in _KINDS)}\ngives {gives}"


def batch_text(e: Entry) -> str:
    """How an op works on operands with a further dimension."""
    if callable(e.batch):
        return text_of(e.batch) or repr(e.batch)
    if e.composite:
        return "that of the ops it calls"
    if e.batch == "loop":
        return "one example after another"
    if e.elementwise:
        return "elementwise: the further dimension is one more to broadcast"
    if e.batch == "dims" or e.opaque:
        return "dimension numbers are moved past the further dimension"
    return "that of the forward's own ops"


def show(op: Any, file: Any = None) -> None:
    """Print all that the framework knows of one op.

    Its place in the source, its forward, derivative, dtypes and batching, the backends' fused kernels that may replace
    the formula, and the function that is generated from them: what a plain call runs.
    op: a name ("softmax", "nn.functional.gelu"), or a function. ValueError if it is no op.
    """
    print(entry_text(entry_of(op)), file=file)


def entry_text(e: Entry) -> str:
    """What `show` prints."""
    parts = [f"{e.name}  {place(e)}".rstrip()]
    if e.doc:
        parts.append(inspect.cleandoc(e.doc))
    sections = [
        ("forward", forward_text(e)),
        ("derivative", derivative_text(e)),
        ("dtypes", dtype_text(e)),
        ("batching", batch_text(e)),
    ]
    if e.jvp:
        sections.append(("forward-mode derivative", text_of(e.jvp)))
    elif e.linear:
        sections.append(("forward-mode derivative", f"linear in its inputs ({e.linear}): the op on the tangents"))
    if e.kernel:
        names = [e.name] + [vjp_kernel(e, i)[0] for i, r in enumerate(e.vjp) if r and e.kernel_vjp]
        sections.append(("kernels", f"used instead where the backend has them: {', '.join(names)}"))
    sections.append(("generated function", source(e)[0].rstrip()))
    return "\n\n".join([*parts, *[f"{title}:\n{indent(text, '    ')}" for title, text in sections]])


__all__ = ["entry_of", "entry_text", "place", "rule_text", "rules", "show"]
