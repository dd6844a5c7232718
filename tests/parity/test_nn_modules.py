"""Modules against PyTorch: arguments, printing, state keys, initial values from one seed, outputs and gradients."""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest

import framework
from framework import nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

IMAGE, SERIES, VOLUME = (2, 4, 6, 7), (2, 4, 9), (2, 4, 5, 6, 5)

# (class, positional arguments, keywords, shapes of the inputs)
CASES = [
    ("Identity", (3,), {"x": 1}, [(2, 3)]),
    ("Linear", (3, 4), {}, [(2, 3)]),
    ("Linear", (3, 4), {"bias": False}, [(2, 5, 3)]),
    ("Bilinear", (3, 4, 5), {}, [(2, 3), (2, 4)]),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, [SERIES]),
    ("Conv1d", (4, 6, 4), {"padding": "same", "padding_mode": "reflect"}, [SERIES]),
    ("Conv2d", (4, 6, (3, 2)), {"padding": (1, 0), "dilation": (1, 2), "bias": False}, [IMAGE]),
    ("Conv2d", (4, 8, 3), {"padding": 1, "padding_mode": "circular", "groups": 4}, [IMAGE]),
    ("Conv2d", (4, 3, 3), {"padding": "same"}, [IMAGE[1:]]),
    ("Conv3d", (4, 2, 2), {"padding": 1, "padding_mode": "replicate"}, [VOLUME]),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1}, [SERIES]),
    ("ConvTranspose2d", (4, 6, 3), {"stride": (2, 1), "padding": 1, "groups": 2, "dilation": 2}, [IMAGE]),
    ("ConvTranspose3d", (4, 2, 2), {"bias": False}, [VOLUME]),
    ("MaxPool1d", (3,), {"stride": 2, "padding": 1}, [SERIES]),
    ("MaxPool2d", ((3, 2),), {"ceil_mode": True}, [IMAGE]),
    ("MaxPool3d", (2,), {"dilation": 2}, [VOLUME]),
    ("AvgPool1d", (3,), {"padding": 1, "count_include_pad": False}, [SERIES]),
    ("AvgPool2d", (3, 2), {"divisor_override": 4}, [IMAGE]),
    ("AvgPool3d", (2,), {"ceil_mode": True}, [VOLUME]),
    ("LPPool1d", (2, 3), {}, [SERIES]),
    ("LPPool2d", (3, 2), {"ceil_mode": True}, [IMAGE]),
    ("LPPool3d", (2, 2), {}, [VOLUME]),
    ("AdaptiveAvgPool1d", (4,), {}, [SERIES]),
    ("AdaptiveAvgPool2d", ((3, None),), {}, [IMAGE]),
    ("AdaptiveAvgPool3d", (2,), {}, [VOLUME]),
    ("AdaptiveMaxPool1d", (4,), {}, [SERIES]),
    ("AdaptiveMaxPool2d", ((3, 4),), {}, [IMAGE]),
    ("AdaptiveMaxPool3d", (2,), {}, [VOLUME]),
    *[
        (name, (), {}, [(3, 4)])
        for name in (
            "ReLU",
            "ReLU6",
            "SiLU",
            "Mish",
            "SELU",
            "Hardswish",
            "Hardsigmoid",
            "Sigmoid",
            "Tanh",
            "LogSigmoid",
            "Softsign",
            "Tanhshrink",
            "GELU",
            "GLU",
            "Softplus",
            "Hardshrink",
            "Softshrink",
            "ELU",
            "CELU",
            "LeakyReLU",
            "Hardtanh",
            "PReLU",
        )
    ],
    ("ReLU", (True,), {}, [(3, 4)]),
    ("LeakyReLU", (0.2, True), {}, [(3, 4)]),
    ("ELU", (0.5, True), {}, [(3, 4)]),
    ("Hardtanh", (-0.5, 0.7, True), {}, [(3, 4)]),
    ("Threshold", (0.1, 20), {}, [(3, 4)]),
    ("PReLU", (4, 0.1), {}, [IMAGE]),
    ("GELU", ("tanh",), {}, [(3, 4)]),
    ("GLU", (0,), {}, [(4, 3)]),
    ("Softplus", (2, 1), {}, [(3, 4)]),
    ("Softmax", (1,), {}, [(3, 4)]),
    ("Softmin", (0,), {}, [(3, 4)]),
    ("LogSoftmax", (-1,), {}, [(3, 4)]),
    ("Softmax2d", (), {}, [IMAGE]),
    ("BatchNorm1d", (4,), {}, [SERIES]),
    ("BatchNorm1d", (4,), {"momentum": None}, [(5, 4)]),
    ("BatchNorm2d", (4,), {"eps": 0.1, "momentum": 0.3}, [IMAGE]),
    ("BatchNorm2d", (4,), {"bias": False}, [IMAGE]),
    ("BatchNorm3d", (4,), {"affine": False, "track_running_stats": False}, [VOLUME]),
    ("InstanceNorm1d", (4,), {}, [SERIES]),
    ("InstanceNorm2d", (4,), {"affine": True, "track_running_stats": True}, [IMAGE]),
    ("InstanceNorm3d", (4,), {}, [VOLUME[1:]]),
    ("LayerNorm", (7,), {}, [IMAGE]),
    ("LayerNorm", ([6, 7],), {"elementwise_affine": False}, [IMAGE]),
    ("LayerNorm", ((7,),), {"bias": False}, [IMAGE]),
    ("GroupNorm", (2, 4), {}, [IMAGE]),
    ("GroupNorm", (4, 4), {"affine": False}, [SERIES]),
    ("RMSNorm", (7,), {}, [IMAGE]),
    ("RMSNorm", ((6, 7),), {"eps": 0.1}, [IMAGE]),
    ("LocalResponseNorm", (3,), {"alpha": 0.1, "k": 2.0}, [IMAGE]),
    ("CrossMapLRN2d", (3,), {}, None),  # PyTorch's never drops the first channel from its running sum
    ("Dropout", (0.3,), {}, None),
    ("Dropout1d", (), {}, None),
    ("Dropout2d", (), {"inplace": True}, None),
    ("Dropout3d", (), {}, None),
    ("AlphaDropout", (), {}, None),
    ("FeatureAlphaDropout", (), {}, None),
    ("RReLU", (0.1, 0.2), {}, None),
    ("Embedding", (5, 3), {"padding_idx": -1, "max_norm": 1.0, "norm_type": 1.0, "scale_grad_by_freq": True}, None),
    ("EmbeddingBag", (5, 3), {"mode": "sum", "padding_idx": 2}, None),
    *[
        (f"{kind}Pad{n}d", (1,), {}, [shape])
        for kind in ("Zero", "Reflection", "Replication", "Circular")
        for n, shape in ((1, SERIES), (2, IMAGE), (3, VOLUME))
    ],
    ("ConstantPad1d", ((1, 2), 3.5), {}, [SERIES]),
    ("ConstantPad2d", ((1, 2, -1, 0), 3.5), {}, [IMAGE]),
    ("ConstantPad3d", (1, 0.5), {}, [VOLUME]),
    ("Flatten", (), {}, [IMAGE]),
    ("Unflatten", (1, (2, 2)), {}, [IMAGE]),
    ("PixelShuffle", (2,), {}, [IMAGE]),
    ("PixelUnshuffle", (2,), {}, [(2, 4, 6, 8)]),
    ("ChannelShuffle", (2,), {}, [IMAGE]),
    ("CosineSimilarity", (), {}, [(3, 4), (3, 4)]),
    ("PairwiseDistance", (), {"p": 1.0, "keepdim": True}, [(3, 4), (3, 4)]),
    ("Upsample", (), {"scale_factor": 2}, [IMAGE]),
    ("Upsample", ((3, 4),), {"mode": "bilinear"}, [IMAGE]),
    ("UpsamplingNearest2d", (5,), {}, [IMAGE]),
    ("UpsamplingBilinear2d", (), {"scale_factor": (2, 3)}, [IMAGE]),
    ("Fold", ((4, 5), 2), {}, [(2, 8, 12)]),
    ("Unfold", (2,), {"padding": 1}, [IMAGE]),
    ("MaxUnpool2d", (2,), {}, None),
    ("FractionalMaxPool2d", (2, 3), {}, [IMAGE]),
    ("FractionalMaxPool3d", ((2, 1, 2),), {"output_ratio": 0.5}, [VOLUME]),
    ("L1Loss", (), {}, [(3, 4), (3, 4)]),
    ("MSELoss", (), {"reduction": "sum"}, [(3, 4), (3, 4)]),
    ("SmoothL1Loss", (), {"beta": 0.5}, [(3, 4), (3, 4)]),
    ("HuberLoss", (), {"delta": 0.5}, [(3, 4), (3, 4)]),
    ("BCEWithLogitsLoss", (), {}, [(3, 4), (3, 4)]),
    ("KLDivLoss", (), {"reduction": "batchmean", "log_target": True}, [(3, 4), (3, 4)]),
    ("TripletMarginLoss", (), {"swap": True}, [(3, 4), (3, 4), (3, 4)]),
    ("TripletMarginWithDistanceLoss", (), {}, [(3, 4), (3, 4), (3, 4)]),
    *[
        (name, (), {}, None)
        for name in (
            "CrossEntropyLoss",
            "NLLLoss",
            "BCELoss",
            "PoissonNLLLoss",
            "GaussianNLLLoss",
            "HingeEmbeddingLoss",
            "MultiLabelMarginLoss",
            "MultiLabelSoftMarginLoss",
            "SoftMarginLoss",
            "CosineEmbeddingLoss",
            "MarginRankingLoss",
            "MultiMarginLoss",
            "CTCLoss",
        )
    ],
]
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]
every = pytest.mark.parametrize("name, args, kwargs, shapes", CASES, ids=IDS)
called = [case for case in CASES if case[3] is not None]
CALLED_IDS = [i for i, case in zip(IDS, CASES, strict=True) if case[3] is not None]

NOT_YET = {"DataParallel"}


def both(name, args, kwargs, seed=0):
    framework.manual_seed(seed)
    torch.manual_seed(seed)
    return getattr(nn, name)(*args, **kwargs), getattr(torch.nn, name)(*copy.deepcopy(args), **kwargs)


def modules_of(namespace, base):
    found = {n: getattr(namespace, n) for n in dir(namespace)}
    return {n: c for n, c in found.items() if isinstance(c, type) and issubclass(c, base)}


def test_every_module_exists():
    theirs = modules_of(torch.nn, torch.nn.Module)
    assert set(theirs) - set(modules_of(nn, nn.Module)) == NOT_YET


@pytest.mark.parametrize(
    "name", sorted(set(modules_of(torch.nn, torch.nn.Module)) & set(modules_of(nn, nn.Module)) - {"NLLLoss2d"})
)
def test_constructors_take_the_same_arguments(name):
    def arguments(cls):
        return [
            (p.name, p.kind, getattr(p.default, "__name__", p.default))
            for p in inspect.signature(cls.__init__).parameters.values()
        ]

    assert arguments(getattr(nn, name)) == arguments(getattr(torch.nn, name))


@every
def test_printing(name, args, kwargs, shapes):
    ours, theirs = both(name, args, kwargs)
    assert repr(ours) == repr(theirs)


@every
def test_state_and_initial_values(name, args, kwargs, shapes):
    ours, theirs = (m.state_dict() for m in both(name, args, kwargs, seed=3))
    assert list(ours) == list(theirs)
    assert dict(ours._metadata) == dict(theirs._metadata)
    for key, value in theirs.items():
        assert str(ours[key].dtype).split(".")[1] == str(value.dtype).split(".")[1]
        np.testing.assert_allclose(ours[key].numpy(), value.numpy(), rtol=0, atol=5e-7, err_msg=key)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name, args, kwargs, shapes", called, ids=CALLED_IDS)
def test_outputs_and_gradients(name, args, kwargs, shapes, training):
    ours, theirs = both(name, args, kwargs)
    ours, theirs = ours.double().train(training), theirs.double().train(training)
    ours.load_state_dict({k: framework.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    xs = [framework.tensor(a, requires_grad=True) for a in arrays]
    ys = [torch.tensor(a, requires_grad=True) for a in arrays]
    inplace = getattr(theirs, "inplace", False)
    for _ in range(2):  # the second time with the running statistics of the first
        a = ours(*[x * 1 if inplace else x for x in xs])
        b = theirs(*[y * 1 if inplace else y for y in ys])
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9)
    weights = rng.normal(size=tuple(b.shape))
    (a * framework.tensor(weights)).sum().backward()
    (b * torch.tensor(weights)).sum().backward()
    for p, q in [*zip(xs, ys, strict=True), *zip(ours.parameters(), theirs.parameters(), strict=True)]:
        if q.grad is not None:
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-8)
    for (key, p), q in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-9, atol=1e-9, err_msg=key)


ERRORS = [
    lambda nn, f: nn.Conv2d(3, 4, 3, groups=0),
    lambda nn, f: nn.Conv2d(3, 4, 3, groups=2),
    lambda nn, f: nn.Conv2d(4, 3, 3, groups=2),
    lambda nn, f: nn.Conv2d(3, 4, 3, padding="same", stride=2),
    lambda nn, f: nn.ConvTranspose1d(3, 4, 3, padding_mode="circular"),
    lambda nn, f: nn.ConvTranspose1d(1, 1, 3, stride=2)(f.ones(1, 1, 4), output_size=[20]),
    lambda nn, f: nn.ConvTranspose1d(1, 1, 3)(f.ones(1, 1, 4), output_size=[1, 2, 3, 4]),
    lambda nn, f: nn.Bilinear(0, 1, 1),
    lambda nn, f: nn.Dropout(1.5),
    lambda nn, f: nn.Hardtanh(2.0, 1.0),
    lambda nn, f: nn.Softmax2d()(f.ones(2, 2)),
    lambda nn, f: nn.BatchNorm1d(3)(f.ones(1, 3, 2, 2)),
    lambda nn, f: nn.BatchNorm2d(3)(f.ones(1, 3, 2)),
    lambda nn, f: nn.BatchNorm3d(3)(f.ones(1, 3, 2)),
    lambda nn, f: nn.BatchNorm1d(3)(f.ones(1, 3)),
    lambda nn, f: nn.InstanceNorm1d(3)(f.ones(3)),
    lambda nn, f: nn.InstanceNorm1d(3, affine=True)(f.ones(1, 4, 5)),
    lambda nn, f: nn.GroupNorm(2, 3),
    lambda nn, f: nn.Embedding(3, 2, padding_idx=3),
    lambda nn, f: nn.Embedding(3, 2, _weight=f.ones(2, 2)),
    lambda nn, f: nn.CircularPad2d(1)(f.ones(2, 2)),
    lambda nn, f: nn.Unflatten(1, (2, 2.0)),
    lambda nn, f: nn.Unflatten(1, 2),
    lambda nn, f: nn.FractionalMaxPool2d(2),
    lambda nn, f: nn.FractionalMaxPool2d(2, 2, 0.5),
    lambda nn, f: nn.FractionalMaxPool2d(2, output_ratio=1.5),
    lambda nn, f: nn.MultiMarginLoss(p=3),
    lambda nn, f: nn.TripletMarginLoss(margin=0),
    lambda nn, f: nn.HuberLoss(delta="x"),
    lambda nn, f: nn.LayerNorm(3)(f.ones(2, 4)),
    lambda nn, f: nn.Linear(3, 4)(f.ones(2, 5)),
    lambda nn, f: nn.PReLU(3)(f.ones(2, 4)),
]  # fmt: skip


@pytest.mark.parametrize("act", ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors_have_the_same_class(act):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:
            act(torch.nn, torch)
        with pytest.raises(theirs.type):
            act(nn, framework)
