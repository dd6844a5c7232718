"""Rows of `framework/ops/attention.py` and `multihead.py`."""

import numpy as np
from scipy.special import softmax

from . import OpInfo, Sample


def _attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Row by row, over the keys that each query sees only; the numbers themselves in double precision."""
    q, k, v = (x.astype("float64") for x in (q, k, v))
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    length, keys = q.shape[-2], k.shape[-2]
    mask = np.tri(length, keys, dtype=bool) if is_causal else np.zeros((), "float64") if mask is None else mask
    mask = np.broadcast_to(mask, (*batch, length, keys))
    q, k, v = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (q, k, v))
    out = np.zeros((*batch, length, v.shape[-1]))
    for at in np.ndindex(*batch, length):
        seen = mask[at] if mask.dtype == bool else np.isfinite(mask[at])
        if seen.any():
            scores = k[at[:-1]][seen] @ q[at] * (q.shape[-1] ** -0.5 if scale is None else scale)
            out[at] = softmax(scores if mask.dtype == bool else scores + mask[at][seen]) @ v[at[:-1]][seen]
    return out


def _samples(draw):
    q, k, v = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 3)
    yield Sample((q, k, v))
    yield Sample((draw(3, 4), draw(5, 4), draw(5, 2)))
    yield Sample((q, k, v), {"is_causal": True, "scale": 0.7})
    yield Sample((q, k, v, np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)))
    yield Sample((q, k, v, draw(3, 5)), {"scale": 0.3})
    yield Sample((draw(2, 4, 3, 2), draw(2, 2, 5, 2), draw(2, 2, 5, 2)), {"enable_gqa": True})
    yield Sample((draw(1, 3, 4), draw(2, 1, 4), draw(2, 1, 4)))
    yield Sample((draw(2, 3, 4), draw(2, 0, 4), draw(2, 0, 4)))


ONE = np.ones((2, 3))

ROWS = [
    OpInfo("nn.functional.scaled_dot_product_attention", _samples, _attention, dtypes=("float64", "float32", "bfloat16", "float16"), out=False,
           tolerance=4, errors=(
               ((np.ones(3), ONE, ONE), RuntimeError, "at least 2 dimensional"), ((ONE, np.ones((2, 4)), ONE), RuntimeError, "do not fit"),
               ((ONE, ONE, ONE, np.ones((2, 2), bool), 0.0, True), RuntimeError, "should not be set when is_causal=True"),
               ((ONE, ONE, ONE, np.ones((2, 2), "int64")), RuntimeError, "Expected attn_mask dtype to be bool or float"),
               ((ONE, ONE, ONE, None, 2.0), RuntimeError, "dropout probability has to be between 0 and 1"))),
]  # fmt: skip
