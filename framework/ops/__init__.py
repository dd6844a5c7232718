"""The ops: one entry each, by family. Importing this package registers them."""

from framework.dispatch import inplace as _inplace

from . import cast, unary, binary, reduce, view, linear, creation, softmax, join, convert, special, affine, activation  # noqa: I001

_inplace.define()
