"""Click-through rates in one process:

    paddle make_clicks --output_dir=raw_data --records=200000
    python train.py --epochs=2
"""
import os

import paddle.fluid as fluid

from network_conf import ctr_dnn_model_dataset, inputs
from settings import files, make_dataset, parse_args, save


def train():
    args = parse_args()
    os.makedirs(args.model_output_dir, exist_ok=True)
    dense_input, sparse_input_ids, label = inputs()
    variables = [dense_input] + sparse_input_ids + [label]
    loss, auc_var, _ = ctr_dnn_model_dataset(dense_input, sparse_input_ids, label, args.embedding_size,
                                             args.sparse_feature_dim)
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=args.learning_rate).minimize(loss)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    dataset = make_dataset(args, variables)
    train_files, test_files = files(args)
    for epoch in range(1, args.epochs + 1):
        dataset.set_filelist(train_files)
        exe.train_from_dataset(program=fluid.default_main_program(), dataset=dataset, fetch_list=[auc_var],
                               fetch_info=["auc"], debug=False)
        save(args, epoch, variables, [loss, auc_var], exe)
    if test_files:
        dataset.set_filelist(test_files)
        dataset.set_thread(1)  # lines are printed by the first thread, and others may take all files from it
        exe.infer_from_dataset(program=test_program, dataset=dataset, fetch_list=[loss], fetch_info=["test cost"],
                               print_period=20)


if __name__ == "__main__":
    train()
