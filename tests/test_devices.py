"""The option --devices keeps what it says."""

import pytest

from tests.devices import DEVICES, SAMPLE, selection

IDS = [f"tests/test_x.py::test_it[{device}-{n}]" for n in range(3000) for device in DEVICES]


def device_of(test: str) -> str:
    return test.split("[")[1].split("-")[0]


def kept(option: str, every: bool = False) -> list[str]:
    keeps = selection(option)
    return [test for test in IDS if keeps(test, device_of(test), every)]


def test_all_keeps_everything():
    assert kept("all") == IDS


def test_names_keep_those_devices():
    assert {device_of(test) for test in kept("cpu")} == {"cpu"}
    assert {device_of(test) for test in kept("frozen,mlx:cpu")} == {"frozen", "mlx:cpu"}


def test_sample_keeps_cpu_whole_and_a_fixed_share_elsewhere():
    first, again = kept("sample"), kept("sample")
    assert first == again
    assert sum(device_of(test) == "cpu" for test in first) == 3000
    for device in DEVICES[1:]:
        share = sum(device_of(test) == device for test in first) / 3000
        assert 0.5 / SAMPLE < share < 2 / SAMPLE


def test_sample_keeps_tests_marked_every_device():
    assert kept("sample", every=True) == IDS


def test_unknown_device_names_the_choices():
    with pytest.raises(ValueError, match=r"tpu.*frozen"):
        selection("tpu")
