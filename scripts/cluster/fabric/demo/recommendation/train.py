"""Guesses how many stars a user gives a film, from what is known of both (`paddle.dataset.movielens`).

Alone: python3 train.py. On a cluster paddle.py of the directory above starts it on every node; the settings are in the
variables PADDLE_INIT_…. Each trainer takes every n-th rating. Trainer 0 writes output/params_pass_N.tar.
"""
import os

import paddle.v2 as paddle
from paddle.dataset import movielens

CLUSTER = os.getenv("PADDLE_CLUSTER_TRAIN", "") == "True"
TRAINER_ID = int(os.getenv("PADDLE_INIT_TRAINER_ID", "0")) if CLUSTER else 0
TRAINERS = int(os.getenv("PADDLE_INIT_NUM_GRADIENT_SERVERS", "1")) if CLUSTER else 1
PASSES = int(os.getenv("PADDLE_INIT_NUM_PASSES", "5"))
LOG_PERIOD = int(os.getenv("PADDLE_INIT_LOG_PERIOD", "50"))
OUTPUT = os.getenv("PADDLE_INIT_SAVE_DIR", "./output")
BATCH_SIZE = 64


def features(parts):
    """One vector of a user or a film: name, kind and width of each part."""
    layers = []
    for name, kind, size in parts:
        table = paddle.layer.embedding(input=paddle.layer.data(name=name, type=kind), size=size)
        if kind.sequence:  # several numbers: their mean
            table = paddle.layer.pooling(input=table, pooling_type=paddle.pooling.Avg())
        layers.append(paddle.layer.fc(input=table, size=size))
    return paddle.layer.fc(input=layers, size=64, act=paddle.activation.Tanh())


def network():
    one, several = paddle.data_type.integer_value, paddle.data_type.integer_value_sequence
    user = features([("user_id", one(movielens.max_user_id() + 1), 32), ("gender_id", one(2), 8),
                     ("age_id", one(len(movielens.age_table)), 8), ("job_id", one(movielens.max_job_id() + 1), 8)])
    film = features([("movie_id", one(movielens.max_movie_id() + 1), 32),
                     ("category_id", several(len(movielens.movie_categories())), 16),
                     ("movie_title", several(len(movielens.get_movie_title_dict())), 16)])
    both = paddle.layer.fc(input=[user, film], size=64, act=paddle.activation.Tanh())
    rating = paddle.layer.fc(input=both, size=1)
    label = paddle.layer.data(name="score", type=paddle.data_type.dense_vector(1))
    return paddle.layer.square_error_cost(input=rating, label=label)


def share(reader):
    """Every n-th sample; all trainers get as many, as they step together."""
    def samples():
        for i, sample in enumerate(zip(*[reader()] * TRAINERS)):
            yield sample[(TRAINER_ID + i) % TRAINERS]

    return samples


def main():
    paddle.init(use_gpu=False)
    cost = network()
    parameters = paddle.parameters.create(cost)
    trainer = paddle.trainer.SGD(cost, parameters, paddle.optimizer.Adam(learning_rate=1e-3), is_local=not CLUSTER)

    def on_event(event):
        if isinstance(event, paddle.event.EndIteration) and event.batch_id % LOG_PERIOD == 0:
            print(f"Pass {event.pass_id}, Batch {event.batch_id}, Cost {event.cost:f}", flush=True)
        if isinstance(event, paddle.event.EndPass):
            result = trainer.test(paddle.batch(movielens.test(), BATCH_SIZE))
            print(f"Pass {event.pass_id}, Testing cost {result.cost:f}", flush=True)
            if TRAINER_ID == 0:
                os.makedirs(OUTPUT, exist_ok=True)
                with open(os.path.join(OUTPUT, f"params_pass_{event.pass_id}.tar"), "wb") as f:
                    trainer.save_parameter_to_tar(f)

    names = ["user_id", "gender_id", "age_id", "job_id", "movie_id", "category_id", "movie_title", "score"]
    trainer.train(paddle.batch(share(movielens.train()), BATCH_SIZE), num_passes=PASSES, event_handler=on_event,
                  feeding={name: place for place, name in enumerate(names)})


main()
