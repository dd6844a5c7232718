"""The modules, by family. All of them are also names of `framework.nn`."""

from framework.nn.module import Module
from framework.nn.modules.activation import *  # noqa: F403
from framework.nn.modules.adaptive import *  # noqa: F403
from framework.nn.modules.attention import *  # noqa: F403
from framework.nn.modules.batchnorm import *  # noqa: F403
from framework.nn.modules.channelshuffle import *  # noqa: F403
from framework.nn.modules.container import *  # noqa: F403
from framework.nn.modules.conv import *  # noqa: F403
from framework.nn.modules.distance import *  # noqa: F403
from framework.nn.modules.dropout import *  # noqa: F403
from framework.nn.modules.flatten import *  # noqa: F403
from framework.nn.modules.fold import *  # noqa: F403
from framework.nn.modules.instancenorm import *  # noqa: F403
from framework.nn.modules.lazy import *  # noqa: F403
from framework.nn.modules.linear import *  # noqa: F403
from framework.nn.modules.linear_loss import *  # noqa: F403
from framework.nn.modules.loss import *  # noqa: F403
from framework.nn.modules.normalization import *  # noqa: F403
from framework.nn.modules.padding import *  # noqa: F403
from framework.nn.modules.pixelshuffle import *  # noqa: F403
from framework.nn.modules.pooling import *  # noqa: F403
from framework.nn.modules.rnn import *  # noqa: F403
from framework.nn.modules.sparse import *  # noqa: F403
from framework.nn.modules.transformer import *  # noqa: F403
from framework.nn.modules.upsampling import *  # noqa: F403
