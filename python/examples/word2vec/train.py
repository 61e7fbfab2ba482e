r"""Word vectors by guessing the fifth word from four, with the older API; alone or as one of several trainers.

    python prepare.py && python train.py                        # alone

    paddle pserver --port=7164 --ports_num=1 --ports_num_for_sparse=0 --num_gradient_servers=2 &
    export PADDLE_CLUSTER_TRAIN=True PADDLE_INIT_PSERVERS=127.0.0.1 PADDLE_INIT_PORT=7164 PADDLE_INIT_PORTS_NUM=1 \
           PADDLE_INIT_PORTS_NUM_FOR_SPARSE=0 PADDLE_INIT_NUM_GRADIENT_SERVERS=2
    OMPI_COMM_WORLD_RANK=0 PADDLE_INIT_TRAINER_ID=0 python train.py &
    OMPI_COMM_WORLD_RANK=1 PADDLE_INIT_TRAINER_ID=1 python train.py

A trainer reads those files train.txt-NNNNN whose number modulo the trainers is its own. Trainer 0 writes
params_pass_N.tar.gz after each pass. PASSES, MAX_BATCHES and ASYNC=1 change how it trains.
"""
import glob
import gzip
import itertools
import os
import pickle

import paddle.v2 as paddle

EMBEDDING, HIDDEN, N, BATCH_SIZE = 32, 256, 5, 100
PASSES = int(os.getenv("PASSES", "30"))
MAX_BATCHES = int(os.getenv("MAX_BATCHES", "0"))  # of a pass; 0 is all of them
CLUSTER = os.getenv("PADDLE_CLUSTER_TRAIN", "") in ("true", "True", "TRUE", "1", "yes", "Yes", "YES")

if CLUSTER:
    node_id = os.getenv("OMPI_COMM_WORLD_RANK")
    if not node_id:
        raise EnvironmentError("must provide OMPI_COMM_WORLD_RANK")
    TRAINER_ID, TRAINERS = int(node_id), int(os.environ["PADDLE_INIT_NUM_GRADIENT_SERVERS"])
else:
    TRAINER_ID, TRAINERS = 0, 1


def files_of(name):
    """The files of this trainer, by their numbers."""
    return [f for f in sorted(glob.glob(name + "-*")) if int(f.rsplit("-", 1)[1]) % TRAINERS == TRAINER_ID]


def ngrams(files, words):
    def samples():
        unknown = words["<unk>"]
        for path in files:
            with open(path, encoding="utf-8") as f:
                for line in f:
                    ids = [words.get(w, unknown) for w in ["<s>", *line.split(), "<e>"]]
                    yield from zip(*[ids[i:] for i in range(N)])

    return samples


def batches(name, words, most):
    made = paddle.batch(ngrams(files_of(name), words), BATCH_SIZE)
    # Synchronous trainers step together, so each takes as many batches as the others.
    return (lambda: itertools.islice(made(), most)) if most else made


def network(vocabulary):
    def table(word):
        return paddle.layer.embedding(input=word, size=EMBEDDING, param_attr=paddle.attr.Param(
            name="_proj", initial_std=0.001, learning_rate=1, l2_rate=0, sparse_update=True))

    kind = paddle.data_type.integer_value(vocabulary)
    words = [paddle.layer.data(name=name, type=kind) for name in ("firstw", "secondw", "thirdw", "fourthw")]
    context = paddle.layer.concat(input=[table(w) for w in words])
    hidden = paddle.layer.fc(input=context, size=HIDDEN, act=paddle.activation.Sigmoid(),
                             layer_attr=paddle.attr.Extra(drop_rate=0.5), bias_attr=paddle.attr.Param(learning_rate=2),
                             param_attr=paddle.attr.Param(initial_std=1.0 / (EMBEDDING * 8)**0.5, learning_rate=1))
    guess = paddle.layer.fc(input=hidden, size=vocabulary, bias_attr=paddle.attr.Param(learning_rate=2),
                            act=paddle.activation.Softmax())
    return paddle.layer.classification_cost(input=guess, label=paddle.layer.data(name="fifthw", type=kind))


def main():
    paddle.init(use_gpu=False, trainer_count=1)
    with open("word_dict.pickle", "rb") as f:
        words = pickle.load(f)
    cost = network(len(words))
    parameters = paddle.parameters.create(cost)
    optimizer = paddle.optimizer.AdaGrad(learning_rate=3e-3, regularization=paddle.optimizer.L2Regularization(8e-4),
                                         is_async=os.getenv("ASYNC", "0") == "1")
    trainer = paddle.trainer.SGD(cost, parameters, optimizer, is_local=not CLUSTER)

    def on_event(event):
        if isinstance(event, paddle.event.EndIteration) and event.batch_id % 100 == 0:
            print(f"Pass {event.pass_id}, Batch {event.batch_id}, Cost {event.cost:f}, {event.metrics}", flush=True)
        if isinstance(event, paddle.event.EndPass):
            result = trainer.test(batches("test.txt", words, 50))
            print(f"Pass {event.pass_id}, Testing cost {result.cost:f}, metrics {result.metrics}", flush=True)
            if TRAINER_ID == 0:
                with gzip.open(f"params_pass_{event.pass_id}.tar.gz", "wb") as f:
                    trainer.save_parameter_to_tar(f)

    trainer.train(batches("train.txt", words, MAX_BATCHES), num_passes=PASSES, event_handler=on_event)


main()
