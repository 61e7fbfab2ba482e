r"""Linear regression with two pservers and two trainers, each of which leaves the job with exe.close().

    PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_IP=ps0 PADDLE_PSERVER_IPS=ps0,ps1 PADDLE_TRAINERS=2 \
        PADDLE_PSERVER_PORT=6174 python fluid_dist.py
    PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_IP=ps1 PADDLE_PSERVER_IPS=ps0,ps1 PADDLE_TRAINERS=2 \
        PADDLE_PSERVER_PORT=6174 python fluid_dist.py
    PADDLE_TRAINING_ROLE=TRAINER PADDLE_PSERVER_IPS=ps0,ps1 PADDLE_TRAINERS=2 PADDLE_TRAINER_ID=0 \
        PADDLE_PSERVER_PORT=6174 python fluid_dist.py
    PADDLE_TRAINING_ROLE=TRAINER PADDLE_PSERVER_IPS=ps0,ps1 PADDLE_TRAINERS=2 PADDLE_TRAINER_ID=1 \
        PADDLE_PSERVER_PORT=6174 python fluid_dist.py
"""
import os

import paddle
import paddle.fluid as fluid

EPOCHS = int(os.getenv("EPOCHS", "30"))
BATCH_SIZE = 8


def network():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(input=y_predict, label=y))
    fluid.optimizer.SGD(learning_rate=0.001).minimize(loss)
    return [x, y], loss


def serve(t, exe, endpoint):
    program = t.get_pserver_program(endpoint)
    exe.run(t.get_startup_program(endpoint, program))
    exe.run(program)


def train(t, exe, inputs, loss):
    program = t.get_trainer_program()
    feeder = fluid.DataFeeder(place=fluid.CPUPlace(), feed_list=inputs)
    reader = paddle.batch(paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500),
                          batch_size=BATCH_SIZE)
    exe.run(fluid.default_startup_program())
    for epoch in range(EPOCHS):
        for batch_id, data in enumerate(reader()):
            value, = exe.run(program, feed=feeder.feed(data), fetch_list=[loss])
            if (batch_id + 1) % 10 == 0:
                print(f"Epoch: {epoch}, Batch: {batch_id}, loss: {value[0]}", flush=True)
    exe.close()  # the pservers no longer wait for this trainer


def main():
    role = os.getenv("PADDLE_TRAINING_ROLE")
    port = os.getenv("PADDLE_PSERVER_PORT", "6174")
    endpoints = ",".join(f"{ip}:{port}" for ip in os.getenv("PADDLE_PSERVER_IPS", "").split(","))
    inputs, loss = network()
    exe = fluid.Executor(fluid.CPUPlace())
    t = fluid.DistributeTranspiler()
    t.transpile(trainer_id=int(os.getenv("PADDLE_TRAINER_ID", "0")), pservers=endpoints,
                trainers=int(os.getenv("PADDLE_TRAINERS", "1")), sync_mode=os.getenv("SYNC_MODE", "1") != "0")
    if role == "PSERVER":
        serve(t, exe, os.getenv("PADDLE_CURRENT_IP", "") + ":" + port)
    elif role == "TRAINER":
        train(t, exe, inputs, loss)
    else:
        raise AssertionError("PADDLE_TRAINING_ROLE should be one of [TRAINER, PSERVER]")


main()
