"""The click-rate guide with Fleet, async, over files through a pipe command, on a small network."""
import os
import sys

import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig

dense_feature_dim, slots, embedding_size, sparse_feature_dim = 13, 3, 4, 101
here = os.path.dirname(os.path.abspath(__file__))


def ctr_dnn_model_dataset(dense_input, sparse_inputs, label):
    def embedding(ids):
        return fluid.layers.embedding(ids, size=[sparse_feature_dim, embedding_size], is_sparse=True,
                                      param_attr=fluid.ParamAttr(name="SparseFeatFactors",
                                                                 initializer=fluid.initializer.Uniform()))
    pooled = [fluid.layers.sequence_pool(embedding(ids), "sum") for ids in sparse_inputs]
    x = fluid.layers.concat(pooled + [dense_input], axis=1)
    x = fluid.layers.fc(x, 16, act="relu")
    predict = fluid.layers.fc(x, 2, act="softmax")
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    auc_var, batch_auc_var, _ = fluid.layers.auc(input=predict, label=label, num_thresholds=2**8)
    return fluid.layers.reduce_sum(cost), auc_var, batch_auc_var


def train():
    dense_input = fluid.layers.data(name="dense_input", shape=[dense_feature_dim], dtype='float32')
    sparse_input_ids = [fluid.layers.data(name="C" + str(i), shape=[1], lod_level=1, dtype="int64")
                        for i in range(1, slots + 1)]
    label = fluid.layers.data(name='label', shape=[1], dtype='int64')
    loss, auc_var, batch_auc_var = ctr_dnn_model_dataset(dense_input, sparse_input_ids, label)

    role = role_maker.PaddleCloudRoleMaker()
    fleet.init(role)
    optimizer = fluid.optimizer.SGD(learning_rate=1e-4)
    strategy = DistributeTranspilerConfig()
    strategy.sync_mode = False
    optimizer = fleet.distributed_optimizer(optimizer, strategy)
    optimizer.minimize(loss)

    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    elif fleet.is_worker():
        fleet.init_worker()
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        dataset = fluid.DatasetFactory().create_dataset()
        dataset.set_use_var([dense_input] + sparse_input_ids + [label])
        dataset.set_pipe_command("%s %s %d" % (sys.executable, os.path.join(here, "criteo_reader.py"),
                                               sparse_feature_dim))
        dataset.set_batch_size(10)
        dataset.set_thread(2)
        whole_filelist = ["raw_data/part-%d" % x for x in range(len(os.listdir("raw_data")))]
        for i in range(2):
            dataset.set_filelist(fleet.split_files(whole_filelist))
            exe.train_from_dataset(program=fluid.default_main_program(), dataset=dataset, fetch_list=[auc_var],
                                   fetch_info=["auc"], debug=False)
            if fleet.worker_index() == 0:
                model_dir = "models/epoch" + str(i + 1) + ".model"
                sys.stderr.write("epoch%d finished\n" % (i + 1))
                fluid.io.save_inference_model(model_dir, [dense_input.name] + [v.name for v in sparse_input_ids] +
                                              [label.name],
                                              [loss, auc_var], exe)
        fleet.stop_worker()


train()
