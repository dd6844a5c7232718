"""Optimizers: they change parameters by their gradients, one `step` at a time. `lr_scheduler` changes their learning
rates.
"""

from framework.optim import lr_scheduler
from framework.optim.adadelta import Adadelta
from framework.optim.adafactor import Adafactor
from framework.optim.adagrad import Adagrad
from framework.optim.adam import Adam, AdamW
from framework.optim.adamax import Adamax
from framework.optim.asgd import ASGD
from framework.optim.lbfgs import LBFGS
from framework.optim.muon import Muon
from framework.optim.nadam import NAdam
from framework.optim.optimizer import Optimizer
from framework.optim.radam import RAdam
from framework.optim.rmsprop import RMSprop
from framework.optim.rprop import Rprop
from framework.optim.sgd import SGD
from framework.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
]
