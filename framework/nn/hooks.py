"""Hooks of modules: how they are registered, for one module or for all, and the call that runs them.

`Module.__call__` is one test and the call of `forward` as long as nobody registered a hook; everything here is the
other path.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from framework.autograd.handle import RemovableHandle
from framework.core.tensor import Tensor

__all__ = [
    "HookMethods", "call_with_hooks", "global_call_hooks", "register_module_backward_hook",
    "register_module_buffer_registration_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook", "run_registration_hooks",
]  # fmt: skip

FORWARD_PRE, FORWARD, BACKWARD_PRE, BACKWARD, FULL_BACKWARD = (
    "forward_pre",
    "forward",
    "backward_pre",
    "backward",
    "full",
)

# Hooks of all modules. One table for everything that a call must look at, so that the call tests one truth value.
global_call_hooks: OrderedDict[int, _GlobalHook] = OrderedDict()
_registration_hooks: dict[str, OrderedDict[int, Callable[..., Any]]] = {
    "buffer": OrderedDict(), "module": OrderedDict(), "parameter": OrderedDict(),
}  # fmt: skip


class _GlobalHook:
    """A hook of every module: what it listens to, and how it wants to be called."""

    __slots__ = ("always_call", "hook", "kind", "with_kwargs")

    def __init__(
        self, kind: str, hook: Callable[..., Any], with_kwargs: bool = False, always_call: bool = False
    ) -> None:
        self.kind, self.hook, self.with_kwargs, self.always_call = kind, hook, with_kwargs, always_call


class WrappedHook:
    """A hook that gets its module passed first, held weakly so that the module's table keeps no cycle; it pickles."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        functools.update_wrapper(self, hook)
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# ---------------------------------------------------------------- hooks of all modules


def _register_global(entry: _GlobalHook) -> RemovableHandle:
    handle = RemovableHandle(global_call_hooks)
    global_call_hooks[handle.id] = entry
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(module, args)` before the forward of every module; a result other than None replaces the arguments."""
    return _register_global(_GlobalHook(FORWARD_PRE, hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Run `hook(module, args, output)` after the forward of every module; a result other than None replaces the output.

    `with_kwargs` also passes the keyword arguments, before the output; `always_call` runs the hook after an error, too.
    """
    return _register_global(_GlobalHook(FORWARD, hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(module, grad_output)` when the gradients of the outputs of any module are known."""
    return _register_global(_GlobalHook(BACKWARD_PRE, hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(module, grad_input, grad_output)` when the gradients of the inputs of any module are known."""
    _refuse_mix(BACKWARD)
    return _register_global(_GlobalHook(FULL_BACKWARD, hook))


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The older kind of `register_module_full_backward_hook`: sees only the gradients of each module's last
    operation.
    """
    _refuse_mix(FULL_BACKWARD)
    return _register_global(_GlobalHook(BACKWARD, hook))


def _refuse_mix(other: str) -> None:
    if any(entry.kind == other for entry in global_call_hooks.values()):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )


def _register_registration(kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(_registration_hooks[kind])
    _registration_hooks[kind][handle.id] = hook
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(module, name, buffer)` whenever a buffer is registered; a result other than None takes its place."""
    return _register_registration("buffer", hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(module, name, child)` whenever a child module is registered; a result other than None takes its
    place.
    """
    return _register_registration("module", hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run `hook(module, name, parameter)` whenever a parameter is registered; a result other than None takes its
    place.
    """
    return _register_registration("parameter", hook)


def run_registration_hooks(kind: str, module: Any, name: str, value: Any) -> Any:
    """The value to register under `name` after the hooks of this kind ("buffer", "module", "parameter") saw it."""
    for hook in _registration_hooks[kind].values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


# ---------------------------------------------------------------- hooks of one module


class HookMethods:
    """The part of `Module` that registers hooks. Each method returns a handle whose `remove()` takes the hook away."""

    _forward_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Callable[..., Any]]
    _backward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Run `hook(module, args)` before `forward`; what it returns, made a tuple if it is none, replaces the
        arguments.

        With `with_kwargs` the hook is `hook(module, args, kwargs)` and returns None or a pair `(args, kwargs)`.
        With `prepend` it runs before the hooks that this module already has.
        """
        handle = RemovableHandle(self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs)
        _insert(self._forward_pre_hooks, handle, hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Run `hook(module, args, output)` after `forward`; a result other than None replaces the output.

        With `with_kwargs` the hook is `hook(module, args, kwargs, output)`. With `always_call` it also runs when
        `forward` or another hook raised; the error is raised afterwards. With `prepend` it runs before the hooks there
        are.
        """
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = RemovableHandle(self._forward_hooks, extra_dict=extra)
        _insert(self._forward_hooks, handle, hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_output)` before the backward of this module; a result replaces the gradients of the
        outputs.
        """
        handle = RemovableHandle(self._backward_pre_hooks)
        _insert(self._backward_pre_hooks, handle, hook, prepend)
        return handle

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_input, grad_output)` when the gradients of this module's inputs are known.

        Both are tuples over the positional arguments and over the outputs, None where there is no tensor or no
        gradient. A result replaces `grad_input`. Where no input needs a gradient the hook runs with the gradients of
        the outputs.
        """
        self._choose_backward_hooks(full=True)
        handle = RemovableHandle(self._backward_hooks)
        _insert(self._backward_hooks, handle, hook, prepend)
        return handle

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older kind of `register_full_backward_hook`: sees only the gradients of this module's last operation."""
        self._choose_backward_hooks(full=False)
        handle = RemovableHandle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        return handle

    def _choose_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full


def _insert(table: OrderedDict[int, Any], handle: RemovableHandle, hook: Callable[..., Any], prepend: bool) -> None:
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)


# ---------------------------------------------------------------- the call


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `module.forward` with every hook of the module and of all modules around it, in PyTorch's order.

    Forward pre-hooks, the watch on the inputs, `forward`, forward hooks, the watch on the outputs. Hooks of all modules
    run before the module's own.
    """
    call = _Call(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.finish_after_error()
        raise


class _Call:
    """One call in progress: the arguments as the hooks left them, the result so far, the hooks that already ran."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.ran: set[int] = set()

    def run(self) -> Any:
        module = self.module
        # Which backward hooks take part is settled before the forward hooks run, which may register more of them.
        before = [*_global(BACKWARD_PRE), *module._backward_pre_hooks.values()]
        full = [
            *_global(FULL_BACKWARD),
            *(module._backward_hooks.values() if module._is_full_backward_hook is True else ()),
        ]
        partial = [
            *_global(BACKWARD),
            *(module._backward_hooks.values() if module._is_full_backward_hook is False else ()),
        ]
        self.run_pre_hooks()
        watch = _watch(module, full, before) if full or before else None
        if watch is not None:
            self.args = watch.watch_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook, with_kwargs, _ in list(self.forward_hooks()):
            self.ran.add(key)
            self.call_forward_hook(hook, with_kwargs)
        if watch is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                    f"received {type(self.result)}",
                    stacklevel=4,
                )
            self.result = watch.watch_outputs(self.result)
        if partial:
            from framework.nn.backward_hooks import register_on_grad_fn

            register_on_grad_fn(self.args, self.result, [WrappedHook(hook, module) for hook in partial])
        return self.result

    def run_pre_hooks(self) -> None:
        module = self.module
        for hook in _global(FORWARD_PRE):
            self.replace_args(hook(module, self.args))
        for key, hook in list(module._forward_pre_hooks.items()):
            if key not in module._forward_pre_hooks_with_kwargs:
                self.replace_args(hook(module, self.args))
                continue
            pair = hook(module, self.args, self.kwargs)
            if pair is None:
                continue
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {pair}."
                )
            self.args, self.kwargs = pair

    def replace_args(self, value: Any) -> None:
        if value is not None:
            self.args = value if isinstance(value, tuple) else (value,)

    def forward_hooks(self) -> Iterator[tuple[int, Callable[..., Any], bool, bool]]:
        """(key, hook, wants keyword arguments, runs after an error) of each forward hook, in the order of running."""
        for key, entry in global_call_hooks.items():
            if entry.kind == FORWARD:
                yield key, entry.hook, entry.with_kwargs, entry.always_call
        module = self.module
        for key, hook in module._forward_hooks.items():
            yield key, hook, key in module._forward_hooks_with_kwargs, key in module._forward_hooks_always_called

    def call_forward_hook(self, hook: Callable[..., Any], with_kwargs: bool) -> None:
        args = (self.args, self.kwargs, self.result) if with_kwargs else (self.args, self.result)
        replacement = hook(self.module, *args)
        if replacement is not None:
            self.result = replacement

    def finish_after_error(self) -> None:
        """Run the hooks that asked for it and did not run yet; an error of theirs must not hide the one on its way."""
        for key, hook, with_kwargs, always_call in list(self.forward_hooks()):
            if not always_call or key in self.ran:
                continue
            try:
                self.call_forward_hook(hook, with_kwargs)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}",
                    stacklevel=4,
                )


def _global(kind: str) -> Iterable[Callable[..., Any]]:
    return [entry.hook for entry in global_call_hooks.values() if entry.kind == kind] if global_call_hooks else ()


def _watch(module: Any, hooks: list[Any], pre_hooks: list[Any]) -> Any:
    from framework.nn.backward_hooks import BackwardHooks

    return BackwardHooks(module, hooks, pre_hooks)
