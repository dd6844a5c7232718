"""Tensors overwritten with random numbers: `uniform_`, `normal_`, `random_` and their kin.

PyTorch visits the elements in the order in which they lie in memory; so do these. What is overwritten keeps its place
on the tape, with a gradient of zero.
"""

from __future__ import annotations

from typing import Any

from backends.dtypes import bool_
from framework.core.promotion import scalar_type_name
from framework.core.shape import as_int
from framework.core.tensor import Tensor
from framework.dispatch import inplace
from framework.dispatch.errors import not_implemented_for
from framework.dispatch.registry import T, attach

from .bounds import check_all_from, check_bernoulli, check_integers, check_normal, check_uniform, probability
from .random_draw import Source, drawn, memory_order
from .random_sampling import bernoulli_tensor


def _overwritten(self: Tensor, name: str, distribution: str, parameters: tuple[Any, ...], generator: Any) -> Tensor:
    """Write draws from a distribution into a tensor."""
    inplace.check_writable(self, name)
    source = Source(name, generator, distribution, parameters)
    u = drawn(self.backend, tuple(self.shape), self.dtype, source, memory_order(self))
    return inplace.assign(self, u, name)


def _parameters(name: str, args: tuple[Any, ...], named: dict[str, Any], defaults: dict[str, Any]) -> tuple[Any, ...]:
    """Positional and named arguments in order; for functions with a parameter `from`, which Python cannot spell."""
    values = dict(zip(defaults, args, strict=False))
    for key, value in named.items():
        if key not in defaults or key in values:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        values[key] = value
    if len(args) > len(defaults):
        raise TypeError(f"{name}() takes {len(defaults)} positional arguments but {len(args)} were given")
    return tuple((defaults | values).values())


def uniform_(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
    """`uniform_(from=0, to=1)`: overwrite with numbers drawn uniformly from [from, to).

    NotImplementedError for integer tensors, RuntimeError for bounds that the dtype cannot hold or that are not in
    order.
    """
    low, high = map(float, _parameters("uniform_", args, named, {"from": 0.0, "to": 1.0}))
    check_uniform(self.dtype, low, high)
    return _overwritten(self, "uniform_", "uniform", (low, high), generator)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite with normal numbers of this mean and standard deviation; complex: both parts of this mean, sharing
    the variance.

    NotImplementedError for integer tensors, RuntimeError for a negative `std`.
    """
    mean, std = float(mean), float(std)
    check_normal(self.dtype, mean, std)
    return _overwritten(self, "normal_", "normal", (mean, std), generator)


def random_(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
    """`random_()`, `random_(to)`, `random_(from, to)`: overwrite with integers from `from` (0) up to but without `to`.

    Without `to`: up to the largest of an integer dtype, or 2**mantissa of a floating one. RuntimeError for an empty
    range or bounds that the dtype cannot hold.
    """
    if len(args) == 1 and not named:
        args = (0, *args)
    low, high = _parameters("random_", args, named, {"from": None, "to": None})
    if self.dtype.is_complex and low is None and high is None:
        not_implemented_for("random_kernel_cpu", self.dtype)
    if low is None and high is None:
        return _overwritten(self, "random_", "random_full", (), generator)
    low = as_int(0 if low is None else low, "from")
    bounds = check_all_from(self.dtype, low) if high is None else check_integers(self.dtype, low, as_int(high, "to"))
    return _overwritten(self, "random_", "integers", bounds, generator)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Overwrite with 1 with probability p, else 0. p: a number, or a floating tensor that broadcasts to this one's
    shape.

    RuntimeError for what is no probability, NotImplementedError for complex tensors.
    """
    check_bernoulli(self.dtype)
    if not isinstance(p, Tensor):
        return _overwritten(self, "bernoulli_", "bernoulli", (probability(p),), generator)
    inplace.check_writable(self, "bernoulli_")
    chances = p.detach() if tuple(p.shape) == tuple(self.shape) else T.expand(p.detach(), tuple(self.shape))
    return inplace.assign(self, bernoulli_tensor(chances, generator, memory_order(self)), "bernoulli_")


def _continuous(self: Tensor, name: str) -> None:
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"{name} distribution is a continuous probability distribution. dtype must be a floating "
                           f"point but you specified {scalar_type_name(self.dtype)}")  # fmt: skip


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite with exponential numbers of this rate. RuntimeError unless lambd > 0 and the tensor is floating."""
    lambd = float(lambd)
    _continuous(self, "Exponential")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _overwritten(self, "exponential_", "exponential", (lambd,), generator)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Overwrite with the number of trials up to the first success of probability p. RuntimeError unless 0 < p < 1."""
    p = float(p)
    if self.dtype is bool_ or self.dtype.is_complex:
        not_implemented_for("geometric_cpu", self.dtype)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _overwritten(self, "geometric_", "geometric", (p,), generator)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Overwrite with Cauchy numbers. RuntimeError for other than floating tensors and unless sigma > 0."""
    median, sigma = float(median), float(sigma)
    _continuous(self, "Cauchy")
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return _overwritten(self, "cauchy_", "cauchy", (median, sigma), generator)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Overwrite with exp of normal numbers. RuntimeError unless std > 0, NotImplementedError unless floating."""
    mean, std = float(mean), float(std)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not self.dtype.is_floating_point:
        not_implemented_for("log_normal_cpu", self.dtype)
    return _overwritten(self, "log_normal_", "log_normal", (mean, std), generator)


attach(uniform_=uniform_, normal_=normal_, random_=random_, bernoulli_=bernoulli_, exponential_=exponential_,
       geometric_=geometric_, cauchy_=cauchy_, log_normal_=log_normal_)  # fmt: skip
