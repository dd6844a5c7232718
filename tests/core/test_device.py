"""Device strings, and what decides the device of new tensors."""

from __future__ import annotations

import copy
import pickle

import pytest

import framework
from framework.core import device as devices


@pytest.fixture(autouse=True)
def no_setting(monkeypatch, tmp_path):
    monkeypatch.delenv("FRAMEWORK_DEVICE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "_looked_at", -1e9)
    yield
    framework.set_default_device(None)
    devices._looked_at = -1e9


def made_on() -> str:
    devices._looked_at = -1e9
    return str(framework.zeros(1).device)


def test_each_setting_outranks_those_after_it(monkeypatch, tmp_path, capsys):
    assert made_on() == "cpu"
    user = tmp_path / "home" / ".config" / "framework"
    user.mkdir(parents=True)
    (user / "config.toml").write_text('device = "frozen"\n')
    assert made_on() == "frozen"
    (tmp_path / "framework.toml").write_text('device = "cpu"\n')
    assert made_on() == "cpu"
    monkeypatch.setenv("FRAMEWORK_DEVICE", "frozen")
    assert made_on() == "frozen"
    framework.set_default_device("cpu")
    assert made_on() == "cpu"
    with framework.device("frozen"):
        assert made_on() == "frozen"
        framework.config.show()
        assert "frozen" in (shown := capsys.readouterr().out) and "with device" in shown
        assert str(framework.zeros(1, device="cpu").device) == "cpu"
    assert made_on() == "cpu"


@pytest.mark.parametrize(("text", "type_", "index"), [("cpu", "cpu", None), ("cuda", "cuda", None), ("cuda:1", "cuda", 1), ("mps:0", "mps", 0),
                                                      ("mlx:cpu", "mps", None), ("metal", "mps", None), ("mlx", "mps", None)])  # fmt: skip
def test_parts(text, type_, index):
    d = framework.device(text)
    assert (d.type, d.index) == (type_, index)
    assert framework.device(d) is d
    assert d == copy.deepcopy(d) == pickle.loads(pickle.dumps(d))
    assert hash(d) == hash(framework.device(text))


def test_index_is_part_of_the_identity():
    assert framework.device("cuda") != framework.device("cuda:0") == framework.device("cuda", 0)
    assert repr(framework.device("cuda", 1)) == "device(type='cuda', index=1)"


@pytest.mark.parametrize(("text", "kind", "match"), [
    ("cdua", RuntimeError, "did you mean 'cuda'"), ("cuda:x", RuntimeError, "Invalid device string"), ("cuda:-1", RuntimeError, "Invalid device"),
    (1.5, TypeError, "must be str"),
])  # fmt: skip
def test_errors(text, kind, match):
    with pytest.raises(kind, match=match):
        framework.device(text)


def test_what_is_available_is_the_truth():
    assert framework.cuda.is_available() == (framework.cuda.device_count() > 0)
    found = framework.accelerator.current_accelerator()
    assert framework.accelerator.is_available() == (found is not None)
    if not framework.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError)):
            framework.zeros(1).cuda()


def test_mixed_devices_are_named():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device.*cpu.*frozen"):
        framework.zeros(2) + framework.zeros(2, device="frozen")
    assert (framework.zeros(()) + framework.ones(2, device="frozen")).tolist() == [
        1.0,
        1.0,
    ]  # a 0-d CPU tensor goes anywhere
