"""`Optimizer`: parameter groups, state and its dictionary, hooks around a step; and what most optimizers share beyond
it.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import framework
from framework.autograd.handle import RemovableHandle
from framework.core.tensor import Tensor

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]


class _Required:
    """Stands for a default that every parameter group must give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_HOOK_TABLES = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip

_global_step_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_step_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(optimizer, args, kwargs)` before the step of every optimizer; a pair it returns replaces the
    arguments.
    """
    return _put(_global_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(optimizer, args, kwargs)` after the step of every optimizer."""
    return _put(_global_step_post_hooks, hook)


def _put(
    table: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any], prepend: bool = False
) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the hooks of all optimizers and of its own around it."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        given: tuple[Any, ...] = (self, *args)
        for hook in chain(_global_step_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            pair = hook(self, given, kwargs)
            if pair is None:
                continue
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {pair}.")
            given, kwargs = pair
        out = step(*given, **kwargs)
        self._steps_taken += 1
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_step_post_hooks.values()):
            hook(self, given, kwargs)
        return out

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """The base of all optimizers: subclass it with an `__init__` that passes the defaults on, and a `step`.

    `params` is an iterable of tensors, of (name, tensor) pairs, or of dictionaries, each a group: its tensors under
    "params", options of its own beside them. `param_groups` is the list of the groups with the defaults filled in,
    `state` a dictionary for each tensor.
    """

    _steps_taken = 0  # read by schedulers, which come after the step

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__ and not getattr(cls.step, "hooked", False):
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for table in _HOOK_TABLES:
            setattr(self, table, OrderedDict())
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # ------------------------------------------------------------ groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dictionary with "params" and options, of which the defaults stand in for those not given.

        TypeError for tensors that are none or come in a set, ValueError for a tensor that is no leaf or is in a group
        already.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        items = [params] if isinstance(params, Tensor) else list(params)
        names = [item[0] for item in items if isinstance(item, tuple)]
        params = param_group["params"] = [item[1] if isinstance(item, tuple) else item for item in items]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, Tensor):
                kind = type(param).__name__
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {kind}")
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        own = {id(param) for param in params}
        if len(own) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in group) != ("param_names" in param_group):
                how = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    f"all optimizer param groups should be with/without names. cannot add param group {how} to the "
                    "optimizer"
                )
            if any(id(param) in own for param in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradient of every parameter, or fill it with zeros."""
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is not None:
                param.grad.detach_()
            else:
                param.grad.requires_grad_(False)
            param.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients once. A `closure` computes the loss and the gradients anew; its loss
        is returned."""
        raise NotImplementedError(f"{type(self).__name__} has no step")

    # ------------------------------------------------------------ hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run `hook(optimizer, args, kwargs)` before a step; a pair it returns replaces the arguments."""
        return _put(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run `hook(optimizer, args, kwargs)` after a step."""
        return _put(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run `hook(optimizer)` before `state_dict`."""
        return _put(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run `hook(optimizer, state_dict)` after `state_dict`; a result other than None takes its place."""
        return _put(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run `hook(optimizer, state_dict)` before loading; a result other than None is loaded in its place."""
        return _put(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run `hook(optimizer)` after loading."""
        return _put(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ------------------------------------------------------------ state dictionary

    def state_dict(self) -> dict[str, Any]:
        """ "state": the state of each parameter under its number; "param_groups": the groups with numbers for the
        parameters.

        The tensors in it are the optimizer's own: copy it to keep what it holds now.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for i, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), i)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            start += len(packed["params"])
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        out: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replacement = hook(self, out)
            if replacement is not None:
                out = replacement
        return out

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over copies of the state and the options of a dictionary that `state_dict` gave.

        Parameters are matched by their order; tensors of the state are cast to the dtype and device of their parameter
        (the step count keeps its own). ValueError unless the groups have the same sizes.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replacement = hook(self, state_dict)
            if replacement is not None:
                state_dict = replacement
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(mine["params"]) != len(its["params"]) for mine, its in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params: dict[Any, tuple[Tensor, dict[str, Any]]] = {}
        for mine, its in zip(groups, saved, strict=True):
            params.update((number, (param, its)) for number, param in zip(its["params"], mine["params"], strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                param, group = params[key]
                state[param] = _fitted(value, param, group)
            else:
                state[key] = value
        for mine, its in zip(groups, saved, strict=True):
            its["params"] = mine["params"]
            if "param_names" in mine:
                its.setdefault("param_names", mine["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _fitted(value: Any, param: Tensor, group: dict[str, Any], key: Any = None) -> Any:
    """A copy of a piece of loaded state, its tensors cast to suit the parameter they belong to."""
    if isinstance(value, Tensor):
        if key == "step":
            on_device = group.get("capturable") or group.get("fused")
            return value.to(device=param.device, dtype=framework.float32, copy=True) if on_device else value.clone()
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.to(device=param.device, dtype=dtype, copy=True)
    if isinstance(value, dict):
        return {name: _fitted(item, param, group, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_fitted(item, param, group) for item in value)  # type: ignore[call-arg]
    return value
