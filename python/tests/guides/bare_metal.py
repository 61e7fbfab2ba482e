"""The bare-metal guide: transpile() takes what minimize() returned, and trainers have no id: both run the same
command line."""
import os

import paddle.v2 as paddle
import paddle.fluid as fluid

x = fluid.layers.data(name='x', shape=[13], dtype='float32')
y_predict = fluid.layers.fc(input=x, size=1, act=None)
y = fluid.layers.data(name='y', shape=[1], dtype='float32')
cost = fluid.layers.square_error_cost(input=y_predict, label=y)
avg_cost = fluid.layers.mean(x=cost)
sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.001)
optimize_ops, params_grads = sgd_optimizer.minimize(avg_cost)

train_reader = paddle.batch(paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500), batch_size=20)
place = fluid.CPUPlace()
feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
exe = fluid.Executor(place)

pserver_endpoints = os.environ["PSERVERS"]
current_endpoint = os.getenv("SERVER_ENDPOINT")
training_role = os.getenv("TRAINING_ROLE", "TRAINER")
t = fluid.DistributeTranspiler()
t.transpile(optimize_ops, params_grads, pservers=pserver_endpoints, trainers=int(os.getenv("TRAINER_COUNT", 2)))
if training_role == "PSERVER":
    pserver_prog = t.get_pserver_program(current_endpoint)
    pserver_startup = t.get_startup_program(current_endpoint, pserver_prog)
    exe.run(pserver_startup)
    exe.run(pserver_prog)
else:
    trainer_prog = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    for pass_id in range(100):
        fluid.io.save_persistables(exe, "./fit_a_line.model.%d/" % os.getpid())
        fluid.io.load_persistables(exe, "./fit_a_line.model.%d/" % os.getpid())
        for data in train_reader():
            avg_loss_value, = exe.run(trainer_prog, feed=feeder.feed(data), fetch_list=[avg_cost])
            print("loss:", avg_loss_value[0])
            if avg_loss_value[0] < 10.0:
                exit(0)  # good enough
    exit(1)
