"""What train.py and dist_train.py share: arguments and the data set.

Environment variables stand in for arguments where a launcher starts the script: EPOCHS=1 for --epochs=1.
"""
import argparse
import os
import sys

import paddle.fluid as fluid


def parse_args():
    parser = argparse.ArgumentParser(description="Click-through rates by embeddings and a network.")
    for name, kind, default, what in (
            ("data_dir", str, "raw_data", "directory of part-0, part-1, …: paddle make_clicks --output_dir=raw_data"),
            ("model_output_dir", str, "models", "gets a model after each epoch"),
            ("sparse_feature_dim", int, 1000001, "rows of the table"),
            ("embedding_size", int, 10, "its columns"),
            ("batch_size", int, 100, "samples of a batch"),
            ("thread_num", int, 10, "threads that read and train"),
            ("epochs", int, 20, "runs over the data"),
            ("learning_rate", float, 1e-4, "of SGD, on the summed cost of a batch")):
        parser.add_argument(f"--{name}", type=kind, default=kind(os.getenv(name.upper(), default)), help=what)
    return parser.parse_args()


def make_dataset(args, variables):
    """A data set whose records criteo_reader.py makes of raw lines."""
    dataset = fluid.DatasetFactory().create_dataset()
    dataset.set_use_var(variables)
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "criteo_reader.py")
    dataset.set_pipe_command(f"'{sys.executable}' '{reader}' {args.sparse_feature_dim}")
    dataset.set_batch_size(args.batch_size)
    dataset.set_thread(args.thread_num)
    return dataset


def files(args):
    """The files to train on and those to test on: the last fifth."""
    every = [os.path.join(args.data_dir, f"part-{x}") for x in range(len(os.listdir(args.data_dir)))]
    cut = int(0.8 * len(every))
    return every[:cut], every[cut:]


def save(args, epoch, inputs, results, exe):
    """An inference model of this epoch."""
    model_dir = os.path.join(args.model_output_dir, f"epoch{epoch}.model")
    fluid.io.save_inference_model(model_dir, [v.name for v in inputs], results, exe)
    sys.stderr.write(f"epoch{epoch} finished\n")
