"""Click-through rates with pservers, by Fleet:

    paddle make_clicks --output_dir=raw_data --records=200000
    python -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 dist_train.py

starts two pservers and two workers on this machine; their logs are in logs/. SYNC_MODE=1 trains in step.
"""
import os

import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig

from network_conf import ctr_dnn_model_dataset, inputs
from settings import files, make_dataset, parse_args, save


def train():
    args = parse_args()
    os.makedirs(args.model_output_dir, exist_ok=True)
    dense_input, sparse_input_ids, label = inputs()
    variables = [dense_input] + sparse_input_ids + [label]
    loss, auc_var, _ = ctr_dnn_model_dataset(dense_input, sparse_input_ids, label, args.embedding_size,
                                             args.sparse_feature_dim)

    fleet.init(role_maker.PaddleCloudRoleMaker())
    strategy = DistributeTranspilerConfig()
    strategy.sync_mode = os.getenv("SYNC_MODE", "0") == "1"
    optimizer = fluid.optimizer.SGD(learning_rate=args.learning_rate)
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)

    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    elif fleet.is_worker():
        fleet.init_worker()
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        dataset = make_dataset(args, variables)
        train_files, _ = files(args)
        for epoch in range(1, args.epochs + 1):
            dataset.set_filelist(train_files)
            exe.train_from_dataset(program=fluid.default_main_program(), dataset=dataset, fetch_list=[auc_var],
                                   fetch_info=["auc"], debug=False)
            if fleet.worker_index() == 0:
                save(args, epoch, variables, [loss, auc_var], exe)
        fleet.stop_worker()


if __name__ == "__main__":
    train()
