"""A Fleet worker or server whose parameter only adds up: the gradient of sum(x · w) is the sum of x, whatever w is.

With sgd, a rate of 1 and whole numbers all arithmetic is exact, so the parameter shows which gradients were applied,
and how often, in whatever order. Prints "sum" (what this worker sent) and "w" (when those of all are applied).
"""
import os
import sys
import time

import numpy as np

import paddle.fluid as fluid
from paddle.fluid.communicator import Communicator
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import StrategyFactory, fleet

mode, steps = sys.argv[1], int(sys.argv[2])
workers = int(os.environ["WORKER_NUM"])
is_worker = os.environ["IS_WORKER"] == "1"

x = fluid.layers.data("x", [6])
predict = fluid.layers.fc(x, 1, bias_attr=False, param_attr=fluid.ParamAttr(
    name="w", initializer=fluid.initializer.Constant(0.0)))
loss = fluid.layers.reduce_sum(predict)
fleet.init(role_maker.UserDefinedRoleMaker(
    current_id=int(os.environ["CURRENT_ID"]), role=role_maker.Role.WORKER if is_worker else role_maker.Role.SERVER,
    worker_num=workers, server_endpoints=os.environ["ENDPOINTS"].split(",")))
strategy = {"sync": StrategyFactory.create_sync_strategy, "async": StrategyFactory.create_async_strategy,
            "half_async": StrategyFactory.create_half_async_strategy}[mode]()
fleet.distributed_optimizer(fluid.optimizer.SGD(1.0), strategy).minimize(loss)


def row(name, values):
    print(name, *(float(v) for v in np.asarray(values).ravel()), flush=True)


def wait_for_all():
    """Until every worker has got here; they have a directory in common."""
    open(f"{mode}.done.{fleet.worker_index()}", "w").close()
    while not all(os.path.exists(f"{mode}.done.{i}") for i in range(workers)):
        time.sleep(0.01)  # between two looks


if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    fleet.init_worker()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    exchange = Communicator(fleet.main_program)
    exchange.start()
    rng = np.random.RandomState(fleet.worker_index())
    sent = np.zeros(6)
    for _ in range(steps):
        batch = rng.randint(-50, 51, (4, 6)).astype("float32")
        exe.run(fleet.main_program, feed={"x": batch}, fetch_list=[loss])
        sent += batch.sum(0)
    exchange.stop()  # all that this worker made is applied
    wait_for_all()
    exchange.start()
    exchange.stop()  # and now what the others made is here
    row("sum", sent)
    row("w", np.array(fluid.global_scope().find_var("w").get_tensor()))
    fleet.stop_worker()
