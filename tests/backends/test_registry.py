"""Device strings: what they mean, which are refused and how, and backends that come from another package."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from backends import registry
from backends.registry import DeviceName, parse


@pytest.fixture(autouse=True)
def _only_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test loads is forgotten afterwards."""
    monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))


def present(*names: str) -> Any:
    return lambda text: text in names


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("cpu", DeviceName("cpu", None, "cpu")),
        ("CPU", DeviceName("cpu", None, "cpu")),
        (" cpu ", DeviceName("cpu", None, "cpu")),
        ("cpu:0", DeviceName("cpu", 0, "cpu")),
        ("cuda", DeviceName("cuda", None, "cuda")),
        ("cuda:1", DeviceName("cuda", 1, "cuda:1")),
        ("cuda:10", DeviceName("cuda", 10, "cuda:10")),
        ("mps", DeviceName("mps", None, "mps")),
        ("mps:0", DeviceName("mps", 0, "mps")),
        ("mlx", DeviceName("mps", None, "mps")),
        ("Metal", DeviceName("mps", None, "mps")),
        ("mlx:gpu", DeviceName("mps", None, "mps")),
        ("mlx:0", DeviceName("mps", 0, "mps")),
        ("mlx:cpu", DeviceName("mps", None, "mlx:cpu")),
        ("frozen", DeviceName("cpu", None, "frozen")),
        ("meta", DeviceName("meta", None, "meta")),
    ],
)
def test_names(text: str, want: DeviceName) -> None:
    assert parse(text) == want


def test_gpu_and_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, gpu in ((("cuda", "mps"), "cuda"), (("mps",), "mps"), (("cuda",), "cuda")):
        monkeypatch.setattr(registry, "available", present(*there))
        assert parse("gpu").type == parse("auto").type == gpu
    monkeypatch.setattr(registry, "available", present())
    assert parse("auto").type == "cpu"
    with pytest.raises(RuntimeError, match="no accelerator is available here; use 'cpu'"):
        parse("gpu")


@pytest.mark.parametrize("text", ["cuda:", "cuda:-1", "cuda:01", "cuda:x", "cpu:1.5", "mps: 1", "cuda:1:2"])
def test_bad_index(text: str) -> None:
    with pytest.raises(RuntimeError, match="Invalid device string"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "near"),
    [("cudo", "cuda"), ("gpuu", "gpu"), ("mls", "mps"), ("frozn", "frozen"), ("mettal", "metal"), ("zzzzzz", None)],
)
def test_unknown_name(text: str, near: str | None) -> None:
    with pytest.raises(RuntimeError, match="device type at start of device string") as caught:
        parse(text)
    assert (
        (f"did you mean {near!r}" in str(caught.value) or f"{near!r}" in str(caught.value))
        if near
        else "mean" not in str(caught.value)
    )


@pytest.mark.parametrize("text", ["", ":", ":0", "cpu cuda"])
def test_nonsense(text: str) -> None:
    with pytest.raises(RuntimeError):
        parse(text)


def test_a_backend_is_made_once() -> None:
    cpu = registry.load(parse("cpu"))
    assert registry.load(parse("cpu:0")) is cpu
    assert registry.load(parse("frozen")) is not cpu
    assert cpu in registry.loaded()
    assert registry.available("cpu")
    assert registry.available("frozen")


@pytest.mark.parametrize(("text", "package"), [("cuda", "cupy"), ("mps", "mlx"), ("mlx:cpu", "mlx")])
def test_a_missing_library(text: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`available` says no, and loading says what to install."""
    monkeypatch.setattr(registry, "_loaded", {})
    for name in (package, f"{package}.core"):
        monkeypatch.setitem(sys.modules, name, None)
    assert registry.available(text) is False
    with pytest.raises(RuntimeError, match=f"pip install {package}"):
        registry.load(parse(text))


def distribution(folder: Path, name: str, module: str) -> None:
    """A package installed in `folder` whose metadata offers a backend."""
    info = folder / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[framework.backends]\n{name} = {module}\n")


def test_another_packages_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "toy", "a_toy_backend")
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[Any] = []
    toy: Any = types.ModuleType("a_toy_backend")
    toy.available = lambda: True
    toy.load = lambda index: made.append(index) or types.SimpleNamespace(name=f"toy {index}")
    monkeypatch.setitem(sys.modules, "a_toy_backend", toy)
    assert "toy" in registry.names()
    assert parse("toy:2") == DeviceName("toy", 2, "toy:2")
    assert registry.available("toy")
    assert registry.load(parse("toy:2")).name == "toy 2"
    assert registry.load(parse("toy:2")) is registry.load(parse("toy:2"))
    assert made == [2]
    with pytest.raises(RuntimeError, match="did you mean 'toy'"):
        parse("toyy")


def test_another_packages_backend_that_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "toy", "no_such_module_at_all")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.available("toy") is False
    with pytest.raises(RuntimeError, match="no_such_module_at_all"):
        registry.load(parse("toy"))


def test_unknown_names_are_not_available() -> None:
    assert registry.available("no such device") is False
    assert registry.available("meta") is False
