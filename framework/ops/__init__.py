"""The ops: one entry each, by family. Importing this package registers them."""

from framework.dispatch import inplace as _inplace

from . import (  # isort: skip  # a family comes after those whose primitives it widens
    cast,
    unary,
    binary,
    reduce,
    view,
    complex,
    shape,
    split,
    diagonal,
    linear,
    creation,
    softmax,
    join,
    convert,
    special,
    activation,
    indexing,
    getitem,
    index,
    scatter,
    masked,
    select,
    conv,
    pool,
    adaptive_pool,
    affine,
    arrange,
    stacks,
    ranges,
    new,
    compare,
)

_inplace.define()
