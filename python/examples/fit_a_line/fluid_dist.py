r"""Prices of houses by linear regression, on two pservers and two trainers: the quick start.

Start four processes, on as many machines or on one:

    PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_ENDPOINT=ps0:7164 PADDLE_PSERVER_ENDPOINTS=ps0:7164,ps1:7164 TRAINERS=2
    \
        python fluid_dist.py
    PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_ENDPOINT=ps1:7164 PADDLE_PSERVER_ENDPOINTS=ps0:7164,ps1:7164 TRAINERS=2
    \
        python fluid_dist.py
    PADDLE_TRAINING_ROLE=TRAINER PADDLE_PSERVER_ENDPOINTS=ps0:7164,ps1:7164 TRAINERS=2 TRAINER_ID=0 python fluid_dist.py
    PADDLE_TRAINING_ROLE=TRAINER PADDLE_PSERVER_ENDPOINTS=ps0:7164,ps1:7164 TRAINERS=2 TRAINER_ID=1 python fluid_dist.py

Without PADDLE_TRAINING_ROLE one process trains alone. SYNC_MODE=0 lets every trainer go at its own pace.
"""
import math
import os
import sys

import paddle
import paddle.fluid as fluid

BATCH_SIZE = 20
PASSES = int(os.getenv("PASSES", "100"))

x = fluid.layers.data(name="x", shape=[13], dtype="float32")
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
y_predict = fluid.layers.fc(input=x, size=1, act=None)
avg_cost = fluid.layers.mean(fluid.layers.square_error_cost(input=y_predict, label=y))
fluid.optimizer.SGD(learning_rate=0.001).minimize(avg_cost)

place = fluid.CPUPlace()
exe = fluid.Executor(place)
train_reader = paddle.batch(paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500),
                            batch_size=BATCH_SIZE)


def train_loop(main_program):
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    exe.run(fluid.default_startup_program())
    for pass_id in range(PASSES):
        losses = []
        for data in train_reader():
            loss, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
            losses.append(float(loss[0]))
            if math.isnan(losses[-1]):
                sys.exit("got NaN loss, training failed.")
        print(f"pass {pass_id}, mean loss {sum(losses) / len(losses):.4f}", flush=True)


role = os.getenv("PADDLE_TRAINING_ROLE", "")
endpoints = os.getenv("PADDLE_PSERVER_ENDPOINTS", "").replace(" ", "")
trainers = int(os.getenv("TRAINERS", "1"))
trainer_id = int(os.getenv("TRAINER_ID", "0"))

if role == "":
    train_loop(fluid.default_main_program())
    sys.exit()

t = fluid.DistributeTranspiler()
t.transpile(trainer_id=trainer_id, pservers=endpoints, trainers=trainers, sync_mode=os.getenv("SYNC_MODE", "1") != "0")
if role == "TRAINER":
    train_loop(t.get_trainer_program())
    exe.close()
elif role == "PSERVER":
    current_endpoint = os.getenv("PADDLE_CURRENT_ENDPOINT", "")
    pserver_prog, pserver_startup = t.get_pserver_programs(current_endpoint)
    exe.run(pserver_startup)
    exe.run(pserver_prog)
else:
    sys.exit(f"PADDLE_TRAINING_ROLE must be TRAINER or PSERVER, not {role}")
