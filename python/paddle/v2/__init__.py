"""The API before Fluid: layers that are declared first, a trainer with events, parameters in tar files.

    import paddle.v2 as paddle

    paddle.init(use_gpu=False, trainer_count=1)
    x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(13))
    y = paddle.layer.data(name="y", type=paddle.data_type.dense_vector(1))
    price = paddle.layer.fc(input=x, size=1, act=paddle.activation.Linear())
    cost = paddle.layer.square_error_cost(input=price, label=y)
    parameters = paddle.parameters.create(cost)
    trainer = paddle.trainer.SGD(cost, parameters, paddle.optimizer.Momentum(momentum=0, learning_rate=1e-4))
    trainer.train(paddle.batch(paddle.dataset.uci_housing.train(), batch_size=20), num_passes=30)

Gradients are sums over the samples of a batch, and over the trainers of a job, as they always were here: learning rates
are smaller by the batch size than with Fluid, whose gradients are means.
"""
from .. import dataset, reader
from ..batch import batch
from . import activation, attr, data_type, event, inference, layer, optimizer, parameters, pooling, trainer
from .config import init
from .inference import infer

__all__ = [
    "activation", "attr", "batch", "data_type", "dataset", "event", "infer", "inference", "init", "layer", "optimizer",
    "parameters", "pooling", "reader", "trainer",
]
