"""The generated function of an entry: what a plain call does, with everything inlined, and its reverse on raw arrays.

The text of each function is what a debugger shows when it steps in. It is compiled at the op's first call: until then
the function's code is a stub that compiles and runs the real one, so `import framework` compiles nothing.
"""

from __future__ import annotations

import builtins
import inspect
import linecache
import re
import weakref
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from backends.dtypes import BY_NAME, bool_, float32, float64, int64
from backends.numpy.quiet import QUIET, state
from framework.core import state as thread
from framework.core.graph import Node
from framework.core.shape import as_ints, wrap_dim, wrap_dims
from framework.core.storage import Storage, View, refresh, storage_of
from framework.core.tensor import FAST, Tensor

from .schema import Entry, vjp_kernel

new = object.__new__
FLOATS = frozenset((float32, float64))
INTEGERS = frozenset(d for d in BY_NAME.values() if d.category == 1)
ANY = frozenset(BY_NAME.values())
NUMBERS = frozenset((bool, int, float, complex))


def function_of(e: Entry) -> Any:
    """The public function of an entry; its code is generated at the first call."""
    if e.composite and e.forward.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return e.forward
    scope: dict[str, Any] = {"__name__": "framework.ops", "__builtins__": builtins, "ENTRY": e, "compiled": compiled}
    head, _ = signature(e)
    code = stub_code(head.removeprefix(f"def {e.name}"), passed_on(e))
    late = tuple([e.defaults[p] for p in e.params[: e.positional] if p in e.defaults and e.kinds.get(p) != "Ints"])
    f = FunctionType(code.replace(co_name=e.name, co_qualname=e.name), scope, e.name, late)
    f.__kwdefaults__ = {p: e.defaults[p] for p in e.params[e.positional :] if p in e.defaults}
    last = e.params[e.positional - 1] if e.positional else ""
    if e.kinds.get(last) == "Ints":
        f.__kwdefaults__[last] = e.defaults.get(last)
    if "out" not in e.params:
        f.__kwdefaults__["out"] = None
    space = "" if "" in e.spaces or "method" in e.spaces or not e.spaces else e.spaces[0]
    f.__doc__, f.__module__, f.__qualname__ = e.doc, f"framework.{space}".rstrip("."), e.name  # where pickle finds it
    f.entry = e  # type: ignore[attr-defined]
    return f


@cache
def stub_code(parameters: str, arguments: str) -> CodeType:
    """The code of a function with this signature that has the real code made and runs it. Most ops share a few
    signatures.
    """
    made = compile(
        f"def op{re.sub(r'=D_[a-z_0-9A-Z]+', '=None', parameters)} return compiled(ENTRY)({arguments})", "<op>", "exec"
    )
    return next(c for c in made.co_consts if isinstance(c, CodeType))


def compiled(e: Entry) -> Any:
    """Give an entry's function its generated code. Its signature stays, so other threads may call it meanwhile."""
    text, scope = source(e)
    file = f"<op {e.name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    if e.vjp:
        e.backward = scope[f"{e.name}_backward"]
    f = e.fn
    f.__globals__.update(scope)
    f.__code__ = scope[e.name].__code__
    return f


def plain_type(e: Entry, p: str) -> str:
    """The test that a composite's operand needs no attention: a plain tensor, a number where there may be one, None by
    default.
    """
    test = (
        f"type({p}) in FAST"
        + f" or type({p}) in NUMBERS" * e.elementwise
        + f" or {p} is None" * (e.defaults.get(p, e) is None)
    )
    return f"({test})" if " or " in test else test


def passed_on(e: Entry) -> str:
    """The arguments of an entry's function handed on as they came."""
    positional = list(e.params[: e.positional])
    spread = bool(positional) and e.kinds.get(positional[-1]) == "Ints"
    parts = [f"*{p}_" if spread and p == positional[-1] else p for p in positional]
    parts += [f"{p}={p}" for p in positional[-1:] if spread] + [f"{p}={p}" for p in e.params[e.positional :]]
    return ", ".join(parts + ([] if "out" in e.params else ["out=out"]))


def source(e: Entry) -> tuple[str, dict[str, Any]]:
    """The text of an entry's function and of its reverse, and the names they use."""
    from .errors import stale
    from .slow import slow

    scope: dict[str, Any] = {
        "__name__": "framework.ops",
        "E": e,
        "FAST": FAST,
        "FLOATS": FLOATS,
        "ACTIVE": thread.ACTIVE,
        "STATE": thread.STATE,
        "next_seq": thread.next_seq,
        "state": state,
        "QUIET": QUIET,
        "Tensor": Tensor,
        "Node": Node,
        "Storage": Storage,
        "View": View,
        "storage_of": storage_of,
        "refresh": refresh,
        "new": new,
        "ref": weakref.ref,
        "slow": slow,
        "stale": stale,
        "forward": e.forward,
        "Dim": wrap_dim,
        "Dims": wrap_dims,
        "Ints": as_ints,
        "canon": e.canon,
        "BOOL": bool_,
        "DTYPES": fast_dtypes(e),
        "RESULT": e.dtype,
        "NUMBERS": NUMBERS,
    }
    scope |= {f"D_{name}": value for name, value in e.defaults.items()}
    head, before = signature(e)
    arguments = "(" + "".join(f"{p}, " for p in e.params) + ")"
    last = f"    return slow(E, {arguments}, out)" if "out" not in e.params else ""
    if e.composite:
        types = [plain_type(e, p) for p, k in zip(e.params, e.order, strict=True) if k in ("Num", "Index")]
        call = ", ".join([*e.params[: e.positional], *[f"{p}={p}" for p in e.params[e.positional :]]])
        if last:
            test = " and ".join(["not ACTIVE", "out is None", *types])
            lines = [f"    if {test}: return forward({call})", last]
        else:
            lines = [f"    return forward({call})"]
    elif e.random or e.sequences or len(e.outs) > 1 or not e.nums or e.dtype is None or callable(e.dtype):
        lines = [last]
    else:
        lines = [*fast_path(e), last]
    text = "\n".join([head, *before, *lines]) + "\n"
    if e.vjp:
        text += "\n" + reverse(e)
        scope |= {f"rule{i}": r.fn for i, r in enumerate(e.vjp) if r}
    return text, scope


def signature(e: Entry) -> tuple[str, list[str]]:
    """The `def` line, and lines that collect a trailing list of ints given as separate arguments."""
    positional, keyword = list(e.params[: e.positional]), list(e.params[e.positional :])

    def show(p: str) -> str:
        return f"{p}=D_{p}" if p in e.defaults else p

    before = []
    spread = bool(positional) and e.kinds.get(positional[-1]) == "Ints"
    parts = [show(p) for p in positional[: -1 if spread else None]]
    if spread:
        p = positional[-1]
        parts += [f"*{p}_", f"{p}=D_{p}" if p in e.defaults else f"{p}=None"]
        before = [f"    if {p}_: {p} = {p}_[0] if len({p}_) == 1 and type({p}_[0]) is not int else {p}_"]
        if p not in e.defaults:
            before += [f"    elif {p} is None: {p} = ()"]
    elif keyword or "out" not in e.params:
        parts += ["*"]
    parts += [show(p) for p in keyword] + ([] if "out" in e.params else ["out=None"])
    return f"def {e.name}({', '.join(parts)}):", before


def fast_dtypes(e: Entry) -> frozenset[Any]:
    """Dtypes in which the native result is PyTorch's result without a cast, a check or a conjugation."""
    if e.view:
        return ANY
    kinds = FLOATS if "f" in e.accept else frozenset()
    if e.dtype == "same" and (e.exact or e.name in _WRAPPING) or e.dtype is bool_:
        kinds = kinds | (INTEGERS if "i" in e.accept else frozenset())
    if e.exact and e.dtype == "same" and "b" in e.accept:
        kinds = kinds | {bool_}
    if e.exact and e.dtype is int64:  # counts or places of elements
        kinds = kinds | INTEGERS | {bool_}
    return frozenset(kinds)


_WRAPPING = frozenset(("add", "sub", "mul", "rsub", "square"))  # integer arithmetic that wraps on every library alike


def fast_path(e: Entry) -> list[str]:
    """What every plain call does, in order."""
    lead, static = e.nums[0], e.static
    scalar = "other" if e.nums[1:] == ("other",) and e.elementwise else None  # a Python number takes the same path
    own = [p for p in e.tensors if p != scalar]
    test = [f"type({p}) in FAST" for p in own] + ["not ACTIVE", "out is None"] + ["state() is QUIET"] * (not e.view)
    if e.cast:
        test.append(f"{e.cast} is None")
    # 1. plain tensors, no mode: read the slots
    lines = [f"if {' and '.join(test)}:", f"    b = {lead}.backend; d = {lead}.dtype"]
    lines += [f"    a_{p} = {p}.array" for p in own] + [f"    n_{p} = {p}.node" for p in e.nums if p != scalar]
    if scalar:
        lines += ["    if type(other) in FAST: a_other = other.array; n_other = other.node; "
                  "same = other.backend is b and other.dtype is d and a_other is not None",
                  f"    else: a_other = other; n_other = None; same = {number_test(e)}"]  # fmt: skip
    # 2. one device, one dtype that needs no cast, no stale array; a view only where arrays alias
    same = ["d in DTYPES"] if not e.view else ["b.aliasing"]
    same += [f"{p}.backend is b" + (f" and {p}.dtype is d" if p in e.nums else "") for p in own if p != lead]
    same += [f"a_{p} is not None" for p in own] + ["same"] * bool(scalar)
    if e.check:
        same += ["b.guards"]
    if e.when:
        same += [e.when]
    lines += [f"    if {' and '.join(same)}:", "        try:"]
    lines += [
        f"            {p} = {e.kinds[p]}({p}, len(a_{lead}.shape))" for p in static if e.kinds.get(p) in ("Dim", "Dims")
    ]
    if not e.trusting:
        lines += [f"            {p} = Ints({p})" for p in static if e.kinds.get(p) == "Ints"]
    if e.canon and not e.trusting:
        lines += [f"            {', '.join(static)}, = canon({lead}, {', '.join(static)})"]
    # 3. compute and wrap
    given = [(p, f"a_{p}" if p in e.tensors else p) for p in e.params if p != e.cast]
    raw = ", ".join(value for _, value in given)
    named = ", ".join(value if p in e.params[: e.positional] else f"{p}={value}" for p, value in given)
    call = f"b.{e.name}({raw})" if is_primitive(e) else f"forward(b, {named})"
    if e.kernel:
        lines += [f"            r = b.{e.name}({raw}) if {e.name!r} in b.kernels else NotImplemented",
                  f"            if r is NotImplemented: r = {call}"]  # fmt: skip
    else:
        lines += [f"            r = {call}"]
    arguments = "(" + "".join(f"{p}, " for p in e.params) + ")"
    lines += [
        f"        except Exception: return slow(E, {arguments}, out)"
    ]  # what went wrong is said there, in our words
    if e.view:
        lines += [
            f"        if r.base is not (a_{lead} if a_{lead}.base is None else a_{lead}.base): return slow(E, "
            f"{arguments}, out)"
        ]
    else:
        lines += ["        if type(r) is not b.array: r = b.asarray(r)"]
    if e.trusting == "sized":
        lines += [f"        {static[-1]} = r.shape"]
    result = "d" if e.dtype in ("same", "float", "real", "sum") else "RESULT"
    lines += [f"        t = new(Tensor); t.array = r; t.backend = b; t.dtype = {result}"]
    params = "(" + "".join(f"{p}, " for p in static) + ")"
    if e.view:
        lines += [
            f"        s = {lead}.storage or storage_of({lead}); t.storage = s; views = s.views; views.append(ref(t))",
            "        if len(views) > s.limit: s.forget()",
            f"        v = {lead}._view; w = t._view = new(View)",
            f"        if v is None or v.base is None: w.base = {lead}; w.chain = (None, E, {params}, a_{lead}.shape)",
            "        else:",
            f"            w.base = v.base; w.chain = (v.chain, E, {params}, a_{lead}.shape)",
            "            if v.origin: w.origin = v.origin",
        ]
    else:
        lines += ["        t.storage = t._view = None"]
    if not e.vjp:
        lines += ["        t.node = None", "        return t"]
        return ["    " + line for line in lines]
    # 4. leave a node, saving only what the rules of the inputs that need a gradient name
    need = {p: _askers(e, p) for p in e.tensors if p in e.uses}
    saved = [
        f"{p} if {' or '.join(f'n_{q} is not None' for q in need[p])} else None" if p in need else "None"
        for p in e.tensors
    ]
    version = "0 if {p}.storage is None else {p}.storage.version"
    versions = ["0" if p not in need else f"({version.format(p=p)})" if p != scalar else
                f"(None if type({p}) not in FAST else {version.format(p=p)})" for p in e.tensors]  # fmt: skip
    lines += [f"        if ({' or '.join(f'n_{p} is not None' for p in e.nums)}) and STATE.grad:",
              f"            n = t.node = new(Node); n.entry = E; n.edges = ({''.join(f'n_{p}, ' for p in e.nums)})",
              f"            n.saved = ({', '.join(saved)},)",
              f"            n.versions = ({', '.join(versions)},); n.params = {params}",
              "            n.shape = r.shape; n.dtype = d; n.seq = next_seq()"]  # fmt: skip
    if "out" in e.uses:
        lines += ["            n.out = r; n.out_storage = s = t.storage = Storage(); s.views.append(ref(t))"]
    lines += ["        else:", "            t.node = None"]
    if e.view:
        lines += [f"            if n_{lead} is not None: w.origin = 'no_grad'"]
    return ["    " + line for line in [*lines, "        return t"]]


def number_test(e: Entry) -> str:
    """The test that a library takes the Python number `other` as PyTorch does: as a number of the other operand's
    dtype.

    A comparison would take an integer for what it is, where the dtype wraps it around; other ops raise, and come to
    `slow`.
    """
    whole = "type(other) is int"
    if e.dtype is bool_:
        whole += " and (d in FLOATS or 0 <= other < 128)"
    if bool_ in fast_dtypes(e):
        whole += " and d is not BOOL"
    return f"{whole} or type(other) is float and d in FLOATS"


def is_primitive(e: Entry) -> bool:
    """Whether the forward only hands its parameters to the backend's primitive of the same name, which can be called
    directly.
    """
    names = [p for p in e.params if p != e.cast]
    scope: dict[str, Any] = {}
    exec(f"def f(xp, {', '.join(e.params)}): return xp.{e.name}({', '.join(names)})", scope)
    plain, own = scope["f"].__code__, e.forward.__code__
    return bool(plain.co_code == own.co_code and plain.co_names == own.co_names)


def _askers(e: Entry, name: str) -> list[str]:
    """The inputs whose gradient needs `name`."""
    if len(e.vjp) != len(e.nums) or not all(r is None or r.one for r in e.vjp):
        return list(e.nums)
    return [q for q, r in zip(e.nums, e.vjp, strict=True) if r and name in r.names]


def on_tensors(e: Entry) -> Any:
    """The reverse of an op's plain nodes on Tensors, for gradients that are differentiated in their turn; generated when
    first asked for.
    """
    if e.backward_on_tensors is None:
        from .record import linked_to, output_of

        scope = e.fn.__globals__ | {"linked_to": linked_to, "output_of": output_of}
        text, file = reverse(e, tensors=True), f"<op {e.name}, on tensors>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), scope)
        e.backward_on_tensors = scope[f"{e.name}_backward"]
    return e.backward_on_tensors


def reverse(e: Entry, tensors: bool = False) -> str:
    """Reverse on raw arrays (or on Tensors with their history) for nodes of the fast path: rules called with what they
    name, no loop, no lookup.
    """
    lines = [f"def {e.name}_backward(n, g, xp):", f"    {''.join(f'e_{p}, ' for p in e.nums)} = n.edges"]
    for i, p in enumerate(e.tensors):
        if p in e.uses:
            lines += [f"    {p} = n.saved[{i}]; v = n.versions[{i}]",
                      f"    if {p} is not None and v is not None:",
                      f"        if v != (0 if {p}.storage is None else {p}.storage.version): stale(n, {p!r}, {p}, v)"]  # fmt: skip
            if not tensors:
                lines += [f"        {p} = {p}.array if {p}.array is not None else refresh({p})"]
            elif p in e.nums:
                lines += [f"        if {p}.node is not e_{p}: {p} = linked_to({p}, e_{p})"]
    if "out" in e.uses and tensors:
        lines += ["    out = output_of(n, 'out', g.backend)"]
    elif "out" in e.uses:
        lines += ["    if n.out_storage.version: stale(n, 'out', n.out_storage, 0)", "    out = n.out"]
    if any(p in e.uses for p in e.static):
        lines += [f"    {''.join(p + ', ' for p in e.static)} = n.params"]
    if len(e.vjp) == 1 and e.vjp[0] and not e.vjp[0].one:
        if e.kernel_vjp and not tensors:
            name, given = vjp_kernel(e, 0)
            lines += [f"    r = xp.{name}({', '.join(given)}) if {name!r} in xp.kernels else NotImplemented",
                      "    if r is not NotImplemented: return r"]  # fmt: skip
        return "\n".join([*lines, f"    return rule0({', '.join(e.vjp[0].names)})", ""])
    grads = []
    for i, (p, r) in enumerate(zip(e.nums, e.vjp, strict=True)):
        if r is None:
            grads.append("None, ")
            continue
        names = ", ".join(f"e_{p}.shape" if q == "shape" else q for q in r.names)
        call = f"{'g * ' if r.times else ''}rule{i}({names})"
        if e.kernel_vjp and not tensors:
            name, given = vjp_kernel(e, i)
            raw = ", ".join(f"e_{p}.shape" if q == "shape" else q for q in given)
            lines += [
                f"    r_{p} = xp.{name}({raw}) if e_{p} is not None and {name!r} in xp.kernels else NotImplemented"
            ]
            call = f"r_{p} if r_{p} is not NotImplemented else {call}"
        grads.append(f"({call}) if e_{p} is not None else None, ")
    return "\n".join([*lines, f"    return ({''.join(grads)})", ""])


__all__ = ["ANY", "FLOATS", "INTEGERS", "compiled", "function_of", "on_tensors", "source"]
