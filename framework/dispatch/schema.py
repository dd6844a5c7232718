"""The op entry: one op, said once. The signature of its forward is its public signature, annotations are the schema.

Annotations of parameters, by name:
    Num      tensor or Python number; promoted with the other Nums, differentiated
    Nums     sequence of tensors; the same for each of its members
    Index    tensor taken as it is (integer indices, masks); not promoted, not differentiated
    Indices  tuple of tensors and None, taken as they are
    Dim      a dimension number: wrapped and checked against the first tensor's rank
    Dims     one or several of them, or None for all
    Ints     a size or list of ints; as the last positional parameter it may be given as separate arguments
    Cast     a dtype or None: the Nums are cast to it first
Everything else is passed through as it is.

Fused kernels. Of a formula with `kernel=True` a backend may have a kernel of its own: a method of the entry's name that
takes the forward's arguments (but `xp` and a Cast), named in the backend's `kernels`. With `kernel_vjp=True` it may
have one for the derivative too, used on raw arrays: see `vjp_kernel`. A kernel that returns NotImplemented declines
these operands (they are too small, of another dtype, not contiguous), and the formula runs. What is used otherwise,
under transforms and for derivatives of derivatives, is always the formula, so a kernel must give the formula's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Num = Nums = Index = Indices = Dim = Dims = Ints = Cast = Any

TENSORS = frozenset(("Num", "Nums", "Index", "Indices"))
DIFFERENTIABLE = frozenset(("Num", "Nums"))
SEQUENCES = frozenset(("Nums", "Indices"))


class Rule:
    """A derivative rule and the names it asks for: xp, g, shape (of the input in question), outputs, tensors,
    parameters.

    `one`: gives the gradient of one input; otherwise a tuple, one for each. `times`: is a plain derivative, so the
    gradient is g times its conjugate.
    """

    __slots__ = ("fn", "names", "one", "times")

    def __init__(self, fn: Callable[..., Any], one: bool = True, times: bool = False) -> None:
        self.fn, self.names, self.one, self.times = fn, parameter_names(fn), one, times

    def __call__(self, env: dict[str, Any]) -> Any:
        value = self.fn(*[env[name] for name in self.names])
        return env["g"] * conjugate(env["xp"], value) if self.times else value


def conjugate(xp: Any, value: Any) -> Any:
    """The complex conjugate of a number, array or Tensor; real ones as they are."""
    if isinstance(value, (int, float, complex)):
        return value.conjugate()
    return xp.conj(value) if xp.dtype_of(value).is_complex else value


@dataclass(slots=True, eq=False)
class Entry:
    """One op. Rules are functions of what they name; see `Rule`."""

    name: str
    forward: Callable[..., Any]  # (xp, *args) on arrays and on Tensors alike; a composite is (*args) on Tensors
    vjp: tuple[Rule | None, ...] = ()  # one rule a differentiable input, or one function giving all
    deriv: bool = False  # the rules are plain derivatives d out / d input: elementwise and holomorphic
    linear: str | None = None  # "jointly" | "each": linear in its inputs together, or in each: the jvp is the op itself
    jvp: Callable[..., Any] | None = None  # (xp, tangents, out, *args); not stated: the vjp of the vjp
    batch: Any = None  # (fn, size, flags, args); "dims": from the annotations (the default of opaque ops); "loop"
    dtype: Any = "same"  # of the result: same | float | real | sum | a dtype | a function of the promoted dtype
    accept: str = "biufc"  # kinds of promoted dtype that the op is defined for
    opaque: bool = False  # the forward calls the backend's primitive: a mode cannot look inside
    composite: bool = False  # a plain function of public ops
    kernel: bool = False  # a backend may hold a fused kernel of this name
    kernel_vjp: bool = False  # and one for its derivative: `vjp_kernel`
    view: bool = False  # the result shares the input's memory
    elementwise: bool = False  # operands broadcast
    exact: bool = False  # moves or compares elements without arithmetic: half types need no wider dtype
    random: bool = False
    numbers_alone: bool = False  # two Python numbers and no tensor make a 0-d tensor
    check: Callable[..., None] | None = (
        None  # (*args) on Tensors: raises what PyTorch raises; runs before every slow call
    )
    canon: Callable[..., Any] | None = (
        None  # (first tensor, *others that are no tensors) -> those, where annotations are not enough
    )
    # on the fast path the library checks and wraps: "checked"; "sized": the last parameter is the result's shape
    trusting: str = ""
    rewrite: Callable[..., Any] | None = (
        None  # (*args) -> a result by other ops where the entry's own rules do not serve, or NotImplemented
    )
    when: str = (
        ""  # the fast path's own condition on raw arrays `a_<parameter>`, where `rewrite` leaves the call to the entry
    )
    outs: tuple[str, ...] = ("out",)  # names of the outputs; those not in `diff_outs` have no gradient
    diff_outs: tuple[str, ...] = ("out",)
    # public names
    spaces: tuple[str, ...] = ("",)  # public modules that show it: "" is framework itself; () keeps it private
    alias: tuple[str, ...] = ()
    method: bool = True
    inplace: bool = False
    node: str = ""  # the name of its nodes; not stated: made of the op's name, as `MulBackward0`
    doc: str = ""
    # derived
    params: tuple[str, ...] = ()
    positional: int = 0  # how many of them may be given by position
    kinds: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    order: tuple[str | None, ...] = ()  # the kind of each parameter
    tensors: tuple[str, ...] = ()  # names of tensor parameters; of differentiable ones; of the others
    nums: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()  # every name that a rule asks for
    saves: bool = False  # whether a rule asks for a tensor or an output
    sequences: bool = False
    cast: str | None = None
    result: Any = None  # the namedtuple of several outputs
    fn: Any = None  # the public function
    backward: Callable[..., Any] | None = None  # its generated reverse on raw arrays, and on Tensors
    backward_on_tensors: Callable[..., Any] | None = None
    shown_classes: dict[type, Any] = field(default_factory=dict)  # classes of its nodes as users see them

    def run(self, xp: Any, args: Any) -> Any:
        """The forward on all arguments in order (a composite takes no `xp`)."""
        head = () if self.composite else (xp,)
        if self.positional == len(self.params):
            return self.forward(*head, *args)
        return self.forward(*head, *args[: self.positional], **self.keywords(args))

    def call(self, args: Any) -> Any:
        """The public function on all arguments in order."""
        if self.positional == len(self.params):
            return self.fn(*args)
        return self.fn(*args[: self.positional], **self.keywords(args))

    def keywords(self, args: Any) -> dict[str, Any]:
        """The keyword-only arguments among all arguments in order, by name."""
        return dict(zip(self.params[self.positional :], args[self.positional :], strict=True))

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], Entry], tuple[str]]:
        from .registry import entry_named

        return entry_named, (self.name,)


def parameter_names(f: Callable[..., Any]) -> tuple[str, ...]:
    """Names of a plain function's parameters, positional and keyword-only."""
    code = f.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def vjp_kernel(e: Entry, i: int) -> tuple[str, tuple[str, ...]]:
    """The name of the backend's kernel for the i-th rule of an entry, and what it is given.

    That is `<entry>_vjp`, or `<entry>_vjp_<input>` if there is one rule for each of several inputs. It takes the
    gradient and what the rule names after it, but no `xp`, and gives what the rule gives (for a plain derivative: times
    the gradient).
    """
    rule = e.vjp[i]
    assert rule is not None
    single = not rule.one or len(e.nums) == 1
    name = f"{e.name}_vjp" if single else f"{e.name}_vjp_{e.nums[i]}"
    return name, ("g", *[q for q in rule.names if q not in ("xp", "g")])
