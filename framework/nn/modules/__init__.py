"""The modules, by family. All of them are also names of `framework.nn`."""

from framework.nn.module import Module
from framework.nn.modules.activation import *
from framework.nn.modules.adaptive import *
from framework.nn.modules.attention import *
from framework.nn.modules.batchnorm import *
from framework.nn.modules.channelshuffle import *
from framework.nn.modules.container import *
from framework.nn.modules.conv import *
from framework.nn.modules.distance import *
from framework.nn.modules.dropout import *
from framework.nn.modules.flatten import *
from framework.nn.modules.fold import *
from framework.nn.modules.instancenorm import *
from framework.nn.modules.lazy import *
from framework.nn.modules.linear import *
from framework.nn.modules.linear_loss import *
from framework.nn.modules.loss import *
from framework.nn.modules.normalization import *
from framework.nn.modules.padding import *
from framework.nn.modules.pixelshuffle import *
from framework.nn.modules.pooling import *
from framework.nn.modules.rnn import *
from framework.nn.modules.sparse import *
from framework.nn.modules.transformer import *
from framework.nn.modules.upsampling import *
