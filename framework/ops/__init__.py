"""The ops: one entry each, by family. Importing this package registers them."""

from framework.dispatch import inplace as _inplace

from . import cast, unary, binary, reduce, view, indexing, getitem, index, scatter, masked, select, linear, creation, softmax, join, convert  # noqa: I001

_inplace.define()
