"""Rows of `framework/ops/einsum.py`; NumPy's einsum without its optimizer is the reference."""

import numpy as np

from . import OpInfo, Sample

EQUATIONS = [
    ("i->i", (3,)),
    ("i->", (3,)),
    ("->", ()),
    ("ij->ji", (2, 3)),
    ("ij->j", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iji->ij", (2, 3, 2)),
    ("...ij->...ji", (2, 2, 3)),
    ("i...->...", (2, 3)),
    ("ba", (2, 3)),
    ("Ab", (2, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ij", (2,), (3,)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("ij,k->i", (2, 3), (2,)),
    ("ii,ik->k", (2, 2), (2, 3)),
    ("...ij,...jk", (2, 1, 2, 3), (3, 3, 2)),
    ("...i,i->...", (2, 3), (3,)),
    ("b...,b...->...", (2, 3), (2, 3)),
    (" i j , j k -> i k ", (2, 3), (3, 2)),
    ("ij,jk", (2, 0), (0, 3)),
    ("i,->i", (3,), ()),
    ("ij,jk,kl", (2, 3), (3, 4), (4, 2)),
    ("bi,aij,bj->ba", (2, 3), (4, 3, 2), (2, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("i,j,k->kji", (2,), (3,), (2,)),
    ("...a,ab,...b->...", (2, 3), (3, 2), (2, 2)),
    ("ij,jk,kl,lm->im", (2, 3), (3, 2), (2, 3), (3, 2)),
]


def _equations(draw):
    for equation, *shapes in EQUATIONS:
        yield Sample((equation, *[draw(*s) for s in shapes]))


def _lists(draw):
    yield Sample((draw(2, 3), [0, 1], draw(3, 4), [1, 2], [2, 0]))
    yield Sample((draw(2, 3), [51, 0]))
    yield Sample((draw(2, 3), [..., 1], draw(3), [1], [...]))
    yield Sample((draw(2, 3), [0, 1], [0]))


def _broadcast(draw):
    """Sizes of 1 stand for their element repeated, which NumPy's einsum allows within operands of equal labels too."""
    yield Sample(("ij,ij->ij", draw(2, 1), draw(1, 3)))
    yield Sample(("ij,jk->ik", draw(2, 1), draw(3, 4)))
    yield Sample(("i,i,i", draw(1), draw(3), draw(3)))


def _sublists(*args):
    return np.einsum(*[[np.int64(s) if s is not ... else ... for s in a] if isinstance(a, list) else a for a in args])


ONE, TWO = np.zeros((2, 3)), np.zeros((3, 2))

ROWS = [
    OpInfo(
        "einsum",
        _equations,
        np.einsum,
        dtypes=("float64", "float32", "float16", "bfloat16", "complex128", "int64"),
        out=False,
        tolerance=2,
        errors=(
            (("ij,jk", ONE), RuntimeError, "fewer operands"),
            (("ij", ONE, ONE), RuntimeError, "more operands"),
            (("ij->ik", ONE), RuntimeError, "k does not appear"),
            (("ij->ii", ONE), RuntimeError, "more than once in the output"),
            (("ii", ONE), RuntimeError, "subscript i is repeated for operand 0"),
            (("ij,jk", ONE, ONE), RuntimeError, "subscript j has size 2 for operand 1 which does not broadcast"),
            (("i.j", ONE), RuntimeError, "not part of any ellipsis"),
            (("i...j...", ONE), RuntimeError, "already found"),
            (("ijk", ONE), RuntimeError, "number of subscripts"),
            (("i1", ONE), RuntimeError, "given at index 1"),
            (("ij->i->j", ONE), RuntimeError, "given at index 5"),
            (("ij",), ValueError, "must specify"),
            ((ONE, [0, 52]), ValueError, "valid range"),
            (("ij,jk", ONE, TWO.astype("float32")), RuntimeError, "expected scalar type"),
            (("ij", [1.0]), TypeError, "must be Tensor"),
        ),
    ),
    OpInfo("einsum", _lists, _sublists, out=False),
    OpInfo("einsum", _broadcast, lambda e, *x: np.einsum(e, *x), out=False),
]
