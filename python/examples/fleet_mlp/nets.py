"""The network of the Fleet example."""
import paddle.fluid as fluid


def mlp(input_x, input_y, hid_dim=128, label_dim=2):
    """Two hidden layers and a softmax; the mean cross entropy."""
    hidden = input_x
    for _ in range(2):
        hidden = fluid.layers.fc(input=hidden, size=hid_dim, act="tanh")
    prediction = fluid.layers.fc(input=[hidden], size=label_dim, act="softmax")
    return fluid.layers.mean(x=fluid.layers.cross_entropy(input=prediction, label=input_y))
