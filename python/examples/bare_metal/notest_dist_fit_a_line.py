"""The same regression as a job on bare machines: trainers carry no number, so both have the same command line.

    PSERVERS=192.168.1.2:6174 SERVER_ENDPOINT=192.168.1.2:6174 TRAINING_ROLE=PSERVER python notest_dist_fit_a_line.py

Wait for `Server listening on 192.168.1.2:6174`, then, on two machines:

    PSERVERS=192.168.1.2:6174 SERVER_ENDPOINT=192.168.1.2:6174 TRAINING_ROLE=TRAINER python notest_dist_fit_a_line.py

A trainer ends with 0 when its loss has fallen below 10, and with 1 when 100 passes did not suffice.
"""
import os
import sys

import paddle.v2 as paddle
import paddle.fluid as fluid

BATCH_SIZE = 20
TRAINERS = 2
PASSES = 100

x = fluid.layers.data(name="x", shape=[13], dtype="float32")
y_predict = fluid.layers.fc(input=x, size=1, act=None)
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
avg_cost = fluid.layers.mean(x=fluid.layers.square_error_cost(input=y_predict, label=y))
optimize_ops, params_grads = fluid.optimizer.SGD(learning_rate=0.01).minimize(avg_cost)

place = fluid.CPUPlace()
exe = fluid.Executor(place)
pserver_endpoints = os.getenv("PSERVERS", "127.0.0.1:6174")
current_endpoint = os.getenv("SERVER_ENDPOINT", "127.0.0.1:6174")
training_role = os.getenv("TRAINING_ROLE", "TRAINER")

t = fluid.DistributeTranspiler()
t.transpile(optimize_ops, params_grads, pservers=pserver_endpoints, trainers=TRAINERS,
            sync_mode=os.getenv("SYNC_MODE", "1") != "0")

if training_role == "PSERVER":
    pserver_prog = t.get_pserver_program(current_endpoint)
    exe.run(t.get_startup_program(current_endpoint, pserver_prog))
    exe.run(pserver_prog)
elif training_role == "TRAINER":
    trainer_prog = t.get_trainer_program()
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    reader = paddle.batch(paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500),
                          batch_size=BATCH_SIZE)
    exe.run(fluid.default_startup_program())
    good = False
    for pass_id in range(PASSES):
        losses = []
        for data in reader():
            loss, = exe.run(trainer_prog, feed=feeder.feed(data), fetch_list=[avg_cost])
            losses.append(float(loss[0]))
        print(f"pass {pass_id}, mean loss {sum(losses) / len(losses):.4f}", flush=True)
        good = good or min(losses) < 10.0
    exe.close()
    sys.exit(0 if good else 1)
else:
    sys.exit("TRAINING_ROLE must be TRAINER or PSERVER")
