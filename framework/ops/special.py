"""Special functions."""

from __future__ import annotations

from math import pi, sqrt

from framework.dispatch.registry import unary

erf = unary("erf", dtype="float", accept="biuf", deriv=(lambda xp, input: xp.exp(-(input * input)) * (2 / sqrt(pi)),), spaces=("", "special"))
