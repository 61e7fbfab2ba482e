"""The network of the click-through example: embeddings of 26 categories beside 13 numbers, three hidden layers."""
import math

import paddle.fluid as fluid

DENSE_FEATURE_DIM = 13


def inputs():
    """Numbers, 26 categories and the label, in the order in which criteo_reader.py prints them."""
    dense_input = fluid.layers.data(name="dense_input", shape=[DENSE_FEATURE_DIM], dtype="float32")
    sparse_input_ids = [fluid.layers.data(name=f"C{i}", shape=[1], lod_level=1, dtype="int64") for i in range(1, 27)]
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    return dense_input, sparse_input_ids, label


def ctr_dnn_model_dataset(dense_input, sparse_inputs, label, embedding_size, sparse_feature_dim):
    """The summed cost of a batch, the AUC since the start and that of the last 20 batches."""
    def embed(ids):
        rows = fluid.layers.embedding(
            input=ids, is_sparse=True, size=[sparse_feature_dim, embedding_size],
            param_attr=fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform()))
        return fluid.layers.sequence_pool(input=rows, pool_type="sum")

    hidden = fluid.layers.concat([embed(ids) for ids in sparse_inputs] + [dense_input], axis=1)
    for _ in range(3):
        scale = 1 / math.sqrt(hidden.shape[1])
        hidden = fluid.layers.fc(input=hidden, size=400, act="relu",
                                 param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=scale)))
    scale = 1 / math.sqrt(hidden.shape[1])
    predict = fluid.layers.fc(input=hidden, size=2, act="softmax",
                              param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=scale)))
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    avg_cost = fluid.layers.reduce_sum(cost)
    auc_var, batch_auc_var, _ = fluid.layers.auc(input=predict, label=label, num_thresholds=2**12, slide_steps=20)
    return avg_cost, auc_var, batch_auc_var
