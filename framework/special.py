"""The functions of `framework.special`. They are the ops that show themselves here; see `framework/ops`."""

from framework.dispatch.registry import PUBLIC

globals().update(PUBLIC["special"])
