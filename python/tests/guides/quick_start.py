"""The demo of the quick start: four processes by environment variables. (Its own slips, such as `trianers` for
`trainers`, are corrected; it fixes 100 passes, which PASS_NUM may lower here.)"""
import math
import os
import sys

import paddle
import paddle.fluid as fluid

x = fluid.layers.data(name='x', shape=[13], dtype='float32')
y_predict = fluid.layers.fc(input=x, size=1, act=None)
y = fluid.layers.data(name='y', shape=[1], dtype='float32')
cost = fluid.layers.square_error_cost(input=y_predict, label=y)
avg_cost = fluid.layers.mean(cost)
sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.001)
sgd_optimizer.minimize(avg_cost)

train_reader = paddle.batch(paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500), batch_size=20)
place = fluid.CPUPlace()
exe = fluid.Executor(place)


def train_loop(main_program):
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    exe.run(fluid.default_trainer_program())
    for pass_id in range(int(os.getenv("PASS_NUM", 100))):
        for batch_id, data in enumerate(train_reader()):
            avg_loss_value, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
            print(batch_id, avg_loss_value)
            if math.isnan(float(avg_loss_value)):
                sys.exit("got NaN loss, training failed.")


role = os.getenv("PADDLE_TRAINING_ROLE", "")
pserver_endpoints = os.getenv("PADDLE_PSERVER_ENDPOINTS", "")
trainers = int(os.getenv("TRAINERS", 1))
trainer_id = int(os.getenv("TRAINER_ID", 0))
current_endpoint = os.getenv("PADDLE_CURRENT_ENDPOINT", "")
t = fluid.DistributeTranspiler()
t.transpile(trainer_id=trainer_id, pservers=pserver_endpoints, trainers=trainers)
if role == "TRAINER":
    train_loop(t.get_trainer_program())
elif role == "PSERVER":
    pserver_prog = t.get_pserver_program(current_endpoint)
    startup_prog = t.get_startup_program(current_endpoint, pserver_prog)
    exe.run(startup_prog)
    exe.run(pserver_prog)
