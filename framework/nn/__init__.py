"""Neural networks: modules, parameters, initial values, and the functions behind them (`nn.functional`)."""

from framework.nn import functional, init, modules, utils
from framework.nn.modules import *
from framework.nn.modules import Module
from framework.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
